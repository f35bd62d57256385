"""Branches of made-up scenes: the ego goes straight on, two others beside it, the second only at first."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from PIL import Image

from world4scorer.reporting.explorer.explored_run import ExploredRun
from world4scorer.studies.branches.records import Branch, SceneBranches, write_log

CHOSEN = np.array([4, 1])
"""Plans that were driven."""
ROWS = 51


def make_branch(start: np.ndarray, speed: float) -> Branch:
    along = speed * 0.1 * np.arange(ROWS)
    ego = np.column_stack([start[0] + along, np.full(ROWS, start[1]), np.zeros(ROWS)])
    poses = np.stack([ego + np.array(shift) for shift in ([8.0, 0.0, 0.0], [0.0, 4.0, 0.0])])
    there = np.ones((2, ROWS), np.bool_)
    there[1, 10:] = False
    picture = io.BytesIO()
    Image.new("RGB", (32, 18), (int(speed) * 20, 90, 90)).save(picture, "JPEG")
    return Branch(
        ego=ego,
        tokens=np.array(["first", "second"]),
        types=np.array([0, 2], np.int8),
        sizes=np.array([[4.5, 1.9], [1.8, 0.6]]),
        poses=poses,
        speeds=np.full((2, ROWS), speed),
        there=there,
        red=np.zeros((0, 11), np.bool_),
        off_road=np.zeros(ROWS, np.bool_),
        gone=-1,
        jumped=0,
        view=picture.getvalue(),
    )


def write_branches(run: ExploredRun, log: int, frame: int, folder: Path) -> SceneBranches:
    """Write the branches of one frame."""
    index = run.logs[log].rows.start + frame
    branches = tuple(make_branch(run.pools.ego_pose[index], speed) for speed in (3.0, 4.0, 5.0, 6.0))
    scene = SceneBranches(run.pools.tokens[index], CHOSEN, run.pools.plans[index, CHOSEN], branches)
    write_log(folder / f"{run.logs[log].name}.npz", [scene])
    return scene
