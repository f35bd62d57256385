"""Counterfactual branches of a log: unexecuted plans, driven in the city, the traffic that reacted, and the view."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.scene.indices import STEPS
from world4scorer.reporting.explorer.motion import encode_paths, hold
from world4scorer.reporting.explorer.rounding import LENGTH, quantise
from world4scorer.studies.branches.records import FIRST_PLAN, SUFFIX, Branch, kept_scenes


class LogBranches:
    """Collects branches frame by frame, in metres from the origin of the log."""

    def __init__(self, origin: NDArray[np.float64]) -> None:
        self._origin = np.append(origin, 0.0)
        self._plans: list[list[int]] = []
        self._branches: list[Branch] = []

    def add(self, branches: Mapping[int, Branch]) -> None:
        """Add the branches of a frame, by plan; there may be none."""
        self._plans.append(list(branches))
        self._branches += branches.values()

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Plans by frame; by branch the ego's path, other road users, and the front view two seconds on."""
        every = self._branches
        tracks = [self._tracks(branch) for branch in every]
        views = b"".join(branch.view for branch in every)
        ego = np.stack([branch.ego[:STEPS] for branch in every]) if every else np.zeros((0, STEPS, 3))
        paths = encode_paths(ego - self._origin)
        columns = {name: [track[name] for track in tracks] for name in ("start", "steps", "there", "type", "size")}
        return {
            "branch_plan": np.array([plan for plans in self._plans for plan in plans], np.int16),
            "branch_plan_ends": np.cumsum([len(plans) for plans in self._plans], dtype=np.uint32),
            "branch_start": paths.start,
            "branch_steps": paths.steps,
            "branch_view": np.frombuffer(views, np.uint8),
            "branch_view_ends": np.cumsum([len(branch.view) for branch in every], dtype=np.uint32),
            "branch_track_ends": np.cumsum([len(branch.tokens) for branch in every], dtype=np.uint32),
            **{f"branch_track_{name}": np.concatenate(parts) for name, parts in columns.items() if parts},
        }

    def _tracks(self, branch: Branch) -> dict[str, NDArray[Any]]:
        there = branch.there[:, :STEPS]
        paths = encode_paths(hold(branch.poses[:, :STEPS] - self._origin, there))
        return {
            "start": paths.start,
            "steps": paths.steps,
            "there": np.packbits(there, axis=1, bitorder="little"),
            "type": branch.types.astype(np.uint8),
            "size": quantise(branch.sizes, LENGTH).astype(np.uint16),
        }


def read_branches(folder: Path, log_name: str) -> dict[str, tuple[NDArray[np.float32], dict[int, Branch]]]:
    """By token the plans (K, 8, 3) that branches were made for, and the branches by plan; empty without a file."""
    scenes = kept_scenes(folder / f"{log_name}{SUFFIX}")
    return {
        token: (scene.plans, dict(zip(scene.chosen.tolist(), scene.branches[FIRST_PLAN:], strict=True)))
        for token, scene in scenes.items()
    }
