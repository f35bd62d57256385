"""The golden NAVSIM dataset: a small synthetic town, and what the official code made of it."""

from __future__ import annotations

import json
import lzma
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.support import golden
from world4scorer.datasets.navsim.frames import LogFrame

COMPACT = golden.COMPACT / "navsim"
LOCATION = "us-nv-las-vegas-strip"
DATA_SPLIT = "test"


@dataclass(frozen=True, eq=False)
class NavsimGolden:
    """A dataset folder and the expected values; fields are named as in the official dump."""

    dataset: Path
    expected: Path | None
    """Folder of the full golden values; None for the compact ones."""

    @property
    def split_file(self) -> Path:
        return self.dataset / "config" / "train_test_split" / "synth_mini.yaml"

    def cache(self, version: str, token: str) -> dict[str, NDArray[Any]]:
        """Expected values of a token; the compact set has all of them for every ninth token only."""
        if self.expected is not None:
            with np.load(self.expected / f"cache_{version}" / f"{token}.npz") as archive:
                return {name: archive[name] for name in archive.files}
        values = {name: np.array(value) for name, value in self._rows["short"][f"{version}/{token}"].items()}
        prefix = f"{version}/{token}/"
        values |= {name[len(prefix) :]: value for name, value in self._arrays.items() if name.startswith(prefix)}
        states = np.zeros((51, 11))
        states[:, :3] = self._arrays[f"{version}/reference"][self.tokens.index(token)]
        return values | {"pdm_trajectory_states": states}

    def inputs(self, token: str) -> dict[str, NDArray[Any]]:
        if self.expected is not None:
            with np.load(self.expected / "inputs" / f"{token}.npz") as archive:
                return {name: archive[name] for name in archive.files}
        return self._group(f"inputs/{token}/")

    @property
    def cameras(self) -> dict[str, NDArray[Any]]:
        """Camera values of the first token."""
        return self.inputs(self.tokens[0]) if self.expected is not None else self._group("cameras/")

    @property
    def trajectories(self) -> dict[str, NDArray[Any]]:
        return self._file("trajectories")

    @property
    def map_objects(self) -> dict[str, NDArray[Any]]:
        return self._file("map_objects") if self.expected is not None else self._group("map/")

    def scores(self, version: str) -> list[dict[str, Any]]:
        return self._table(f"scores_{version}")

    def progress(self, version: str) -> dict[str, dict[str, float]]:
        return (
            self._table(f"pdm_progress_{version}") if self.expected is not None else self._table(f"progress_{version}")
        )

    @cached_property
    def tokens(self) -> list[str]:
        if self.expected is None:
            return list(self._rows["tokens"])
        return [row["token"] for row in self._table("tokens")]

    def _file(self, name: str) -> dict[str, NDArray[Any]]:
        if self.expected is None:
            return self._group(f"{name}/")
        with np.load(self.expected / f"{name}.npz") as archive:
            return {key: archive[key] for key in archive.files}

    def _table(self, name: str) -> Any:
        return self._rows[name] if self.expected is None else json.loads((self.expected / f"{name}.json").read_text())

    def _group(self, prefix: str) -> dict[str, NDArray[Any]]:
        return {name[len(prefix) :]: value for name, value in self._arrays.items() if name.startswith(prefix)}

    @cached_property
    def _rows(self) -> dict[str, Any]:
        return json.loads(lzma.decompress((COMPACT / "expected.json.xz").read_bytes()))

    @cached_property
    def _arrays(self) -> dict[str, NDArray[Any]]:
        with np.load(COMPACT / "expected.npz") as archive:
            return {name: archive[name] for name in archive.files}


def unpack_compact(folder: Path) -> NavsimGolden:
    """The compact set, its dataset unpacked into a folder."""
    for path in sorted((COMPACT / "dataset").rglob("*")):
        if path.is_file():
            packed = path.suffix == ".xz"
            target = folder / path.relative_to(COMPACT / "dataset")
            target = target.with_suffix("") if packed else target
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(lzma.decompress(path.read_bytes()) if packed else path.read_bytes())
    return NavsimGolden(folder, None)


def stored_plans(golden: NavsimGolden, token: str) -> NDArray[np.float32]:
    """(8, 8, 3) trajectories of a token, in the order of their names."""
    stored = golden.trajectories
    return np.asarray(stored["poses"][list(map(str, stored["tokens"])).index(token)])


def full_golden() -> NavsimGolden | None:
    """The full set, where it is known."""
    folder = golden.FULL
    return None if folder is None else NavsimGolden(folder / "navsim" / "dataset", folder / "navsim" / "golden")


def synthetic_frame(frame: LogFrame) -> dict[str, Any]:
    """A recorded frame in the form that second-stage pickles have, without cameras."""
    anns = frame.raw["anns"]
    return {
        "token": frame.token,
        "timestamp": frame.time_us,
        "roadblock_ids": list(frame.roadblock_ids),
        "traffic_lights": frame.raw["traffic_lights"],
        "annotations": {
            "boxes": anns["gt_boxes"],
            "names": anns["gt_names"],
            "velocity_3d": anns["gt_velocity_3d"],
            "instance_tokens": anns["instance_tokens"],
            "track_tokens": anns["track_tokens"],
        },
        "ego_status": {
            "ego_pose": frame.ego_pose,
            "ego_velocity": frame.velocity.astype(np.float32),
            "ego_acceleration": frame.acceleration.astype(np.float32),
            "driving_command": frame.command,
            "in_global_frame": True,
        },
        "lidar_path": None,
        "camera_dict": {},
    }
