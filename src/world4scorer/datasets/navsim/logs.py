"""Logs: the frames of one drive in time order.

Example::

    log = read_log("navsim_logs/mini/2021.05.12.22.00.38_veh-35_01008_01518.pkl")
    print(len(log.frames), log.gaps)
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.datasets.navsim.frames import LogFrame
from world4scorer.datasets.navsim.pickles import load_restricted

FRAME_US: Final = 500_000
"""Time between key frames [us], up to some hundred microseconds of jitter."""

MAX_JITTER_US: Final = 50_000
"""Maximum deviation of a key frame from its nominal time [us]."""


@dataclass(frozen=True, eq=False)
class Log:
    """A validated log pickle."""

    name: str
    """The file's stem."""
    path: Path
    frames: tuple[LogFrame, ...]

    @property
    def times_us(self) -> NDArray[np.int64]:
        """(F,) time stamps [us]."""
        return np.array([frame.time_us for frame in self.frames], np.int64)

    def rows_after(self, frames: int) -> NDArray[np.int64]:
        """(F,) row `frames` key frames later (earlier if negative), by time stamp; -1 if there is none."""
        times = self.times_us
        wanted = times + frames * FRAME_US
        row = np.clip(np.searchsorted(times, wanted - MAX_JITTER_US), 0, len(times) - 1)
        return np.where(np.abs(times[row] - wanted) <= MAX_JITTER_US, row, -1)

    @property
    def gaps(self) -> tuple[int, ...]:
        """Frames before which one or more key frames are missing; windows may span a gap, as in the devkit."""
        return tuple(int(i) + 1 for i in np.flatnonzero(np.diff(self.times_us) > 1.5 * FRAME_US))


def log_paths(folder: Path) -> list[Path]:
    """All log pickles of a folder of logs, by name."""
    if not folder.is_dir():
        raise DatasetError(
            f"{folder}: no such folder; unpack the logs of {folder.name!r} there or choose another dataset folder"
        )
    return sorted(folder.glob("*.pkl"))


def read_log(path: str | os.PathLike[str]) -> Log:
    """Read and check a log pickle.

    Raises FileNotFoundError, UnsafePickle, or a DatasetError that names file, frame and field.
    """
    path = Path(path)
    raw = load_restricted(path)
    if not isinstance(raw, list):
        raise DatasetError(f"{path}: expected a list of frames, found {type(raw).__name__}; this is no NAVSIM log")
    if not raw:
        raise DatasetError(f"{path}: the log holds no frames")
    frames = tuple(LogFrame.from_raw(frame, f"{path}: frame {index}") for index, frame in enumerate(raw))
    log = Log(path.stem, path, frames)
    steps = np.diff(log.times_us)
    if (steps <= 0).any():
        late = frames[int(np.argmax(steps <= 0)) + 1]
        raise DatasetError(
            f"{late.where}: its time stamp {late.time_us} is not after that of the frame before; sort the log"
        )
    return log
