"""The golden two-stage dataset, and what the official code made of it."""

from __future__ import annotations

import csv
import json
import lzma
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.support import golden
from tests.support.devkit_pickles import Devkit
from world4scorer.datasets.navsim.annotations import TYPE_NAMES
from world4scorer.datasets.navsim.pickles import load_restricted

COMPACT = golden.COMPACT / "navhard"
AGENTS = ("cv", "human", "stationary", "noise", "far")
POLICIES = ("reactive", "replay")
SPLIT = "mini_two_stage"


@dataclass(frozen=True, eq=False)
class NavhardGolden:
    """Expected values, and a dataset folder in the official layout that belongs to them."""

    expected: Path
    root: Path
    whole: bool
    """Whether all groups are there, so that the official means belong to them."""

    @property
    def store(self) -> Path:
        return self.root / "store" / SPLIT

    @cached_property
    def groups(self) -> list[dict[str, Any]]:
        return json.loads((self.expected / "groups.json").read_text())  # type: ignore[no-any-return]

    def split(self, agent: str) -> Path:
        """The split that an agent was evaluated on; the human has no future in scenes with extended traffic."""
        name = "mini_two_stage_frames" if agent == "human" else SPLIT
        return self.root / "config" / "train_test_split" / f"{name}.yaml"

    def tokens(self, agent: str, policy: str) -> list[dict[str, str]]:
        with (self.expected / "results" / f"{agent}.{policy}.tokens.csv").open() as stream:
            return list(csv.DictReader(stream))

    def summary(self, agent: str, policy: str) -> dict[str, dict[str, str]]:
        """Rows of the official CSV by token."""
        with (self.expected / "results" / f"{agent}.{policy}.csv").open() as stream:
            return {row["token"]: row for row in csv.DictReader(stream)}

    @cached_property
    def stored_plans(self) -> dict[str, dict[str, NDArray[np.float32]]]:
        """Plans by agent and token."""
        with np.load(self.expected / "plans.npz") as archive:
            tokens, names, poses = (archive[name] for name in ("tokens", "names", "poses"))
        return {
            str(name): {str(token): poses[row, column] for row, token in enumerate(tokens)}
            for column, name in enumerate(names)
        }

    @property
    def traces(self) -> list[tuple[Path, float]]:
        """Files of single traffic simulations, and the snap distance [m] they were made with."""
        return [
            (path, distance)
            for folder, distance in (("idm", 3.0), ("idm_snap", 0.6))
            for path in sorted((self.expected / folder).glob("*.npz"))
        ]


def lay_out(source: Path, logs: Path, root: Path, whole: bool) -> NavhardGolden:
    """Put the golden dataset into the official layout: links to logs and maps, pickles as the devkit writes them."""
    root.mkdir(parents=True, exist_ok=True)
    for name in ("navsim_logs", "maps"):
        os.symlink(logs / name, root / name)
    os.symlink(source / "dataset" / "config", root / "config")
    given = source / "dataset" / "navhard_two_stage"
    scenes = root / SPLIT / "synthetic_scene_pickles"
    scenes.mkdir(parents=True)
    for path in (given / "synthetic_scene_pickles").iterdir():
        (scenes / path.name.removesuffix(".xz")).write_bytes(_read(path))
    kit = Devkit()
    try:
        for path in (given / "synthetic_scene_plain_extended").iterdir():
            raw = load_restricted(_read(path))
            (scenes / path.name.removesuffix(".xz")).write_bytes(kit.dumps(_with_objects(kit, raw)))
    finally:
        kit.forget()
    return NavhardGolden(source, root, whole)


def _read(path: Path) -> bytes:
    return lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()


def _with_objects(kit: Devkit, raw: dict[str, Any]) -> dict[str, Any]:
    """A scene whose extended lists are plain, with the objects that real files have there."""
    tracks = [
        kit.detections([kit.tracked(TYPE_NAMES[row["type"].lower()], row) for row in entry])
        for entry in raw["extended_detections_tracks"]
    ]
    lights = [
        kit.lights([(light["lane_connector_id"], light["status"] == "RED") for light in entry])
        for entry in raw["extended_traffic_light_data"]
    ]
    return {**raw, "extended_detections_tracks": tracks, "extended_traffic_light_data": lights}


def full_navhard(root: Path) -> NavhardGolden | None:
    """The full set, where it is known."""
    if golden.FULL is None or not (golden.FULL / "navhard").is_dir():
        return None
    return lay_out(golden.FULL / "navhard", golden.FULL / "navsim" / "dataset", root, whole=True)


def compact_navhard(logs: Path, root: Path) -> NavhardGolden:
    """The compact set: one group of each form; `logs` is the dataset folder of the compact NAVSIM set."""
    return lay_out(COMPACT, logs, root, whole=False)
