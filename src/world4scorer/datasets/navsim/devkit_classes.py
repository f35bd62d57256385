"""Stand-ins for the two devkit classes in submissions, and pickling for the devkits without them."""

from __future__ import annotations

import pickle
from typing import IO, Any, Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.datasets.navsim.pickles import Shim


class TrajectorySampling(Shim):
    """Stand-in for nuPlan's class."""

    num_poses: int
    time_horizon: float
    """s"""
    interval_length: float
    """s"""

    def __init__(self, num_poses: int, interval_length: float) -> None:
        self.num_poses = num_poses
        self.time_horizon = num_poses * interval_length
        self.interval_length = interval_length


class Trajectory(Shim):
    """Stand-in for NAVSIM's class."""

    poses: NDArray[Any]
    """(num_poses, 3) x, y [m], heading [rad] in the current ego frame, starting one interval ahead."""
    trajectory_sampling: TrajectorySampling

    def __init__(self, poses: NDArray[np.float32], trajectory_sampling: TrajectorySampling) -> None:
        self.poses = poses
        self.trajectory_sampling = trajectory_sampling


DEVKIT_NAMES: Final[dict[tuple[str, str], type]] = {
    ("navsim.common.dataclasses", "Trajectory"): Trajectory,
    ("nuplan.planning.simulation.trajectory.trajectory_sampling", "TrajectorySampling"): TrajectorySampling,
}
"""Module and name of the classes in the devkits."""

PICKLE_PROTOCOL: Final = 4
"""The newest protocol whose arrays both NumPy 1 and 2 read."""


def dump_for_devkit(content: Any, stream: IO[bytes]) -> None:
    """Pickle `content` so that a process with the devkits and NumPy 1 or 2 restores their own classes."""
    _Pickler(stream, PICKLE_PROTOCOL).dump(content)


class _Pickler(pickle._Pickler):
    """Writes the stand-ins under the devkits' names; the ordinary pickler would import the devkits."""

    _places: Final = {shim: place for place, shim in DEVKIT_NAMES.items()}

    def save_global(self, obj: Any, name: str | None = None) -> None:
        place = self._places.get(obj) if isinstance(obj, type) else None
        if place is None and getattr(obj, "__module__", None) == "numpy._core.multiarray":
            place = ("numpy.core.multiarray", obj.__name__)  # the name that NumPy 1 knows and NumPy 2 still answers to
        if place is None:
            super().save_global(obj, name)  # type: ignore[misc]
            return
        module, attribute = place
        self.write(pickle.GLOBAL + f"{module}\n{attribute}\n".encode())  # type: ignore[attr-defined]
        self.memoize(obj)  # type: ignore[attr-defined]
