"""Camera views of a split, decoded once and kept in memory as bytes.

Shapes: F frames, C cameras, H x W pixels of a view.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from world4scorer.datasets.navsim.cameras import VIEWS
from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.datasets.navsim.logs import Log, log_paths, read_log
from world4scorer.datasets.navsim.splits import find_split
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.progress import ProgressBar
from world4scorer.planner.model.config import ModelConfig
from world4scorer.planner.model.images import MEAN, STD, ImageError, read_view


@dataclass(frozen=True, eq=False)
class Views:
    """All frames of the logs of a split, not only those that are scenes."""

    bytes: NDArray[np.uint8]
    """(F, C, H, W, 3)"""
    before: NDArray[np.int64]
    """(F,) the frame half a second earlier in the same log; the frame itself where there is none."""
    starts: NDArray[np.int64]
    """(L + 1,) log l is frames `starts[l]:starts[l + 1]`."""

    @cached_property
    def light(self) -> NDArray[np.float32]:
        """(F, C, 2, 3) mean and spread of the colours of each view, normalised as the model's input.

        Of every fourth pixel each way: enough for the light, and sixteen times faster.
        """
        scale = np.array(STD, np.float32) * 255.0
        found = np.empty((*self.bytes.shape[:2], 2, 3), np.float32)
        for frame, views in enumerate(self.bytes):
            pixels = views[:, ::4, ::4].reshape(len(views), -1, 3)
            found[frame, :, 0] = (pixels.mean(1, dtype=np.float32) - 255.0 * np.array(MEAN, np.float32)) / scale
            found[frame, :, 1] = pixels.std(1, dtype=np.float32) / scale
        return found


def split_logs(data: Path, split: str) -> tuple[str, list[Path]]:
    """Folder of the logs (`data_split`) and the paths of those that a split uses, by name."""
    found = find_split(split, data)
    wanted = found.filter.log_names
    paths = log_paths(DataFolder(data).logs(found.data_split))
    paths = [path for path in paths if wanted is None or path.stem in set(wanted)]
    if not paths:
        raise DatasetError(f"{DataFolder(data).logs(found.data_split)}: holds no log of the split {split!r}")
    return found.data_split, paths


def read_views(data: Path, split: str, config: ModelConfig, show: bool = False) -> Views:
    """Decode the views of a split."""
    data_split, paths = split_logs(data, split)
    sensors = DataFolder(data).sensors(data_split)
    names = VIEWS[: config.cameras]
    views, before, starts = [], [], [0]
    with ProgressBar("reading views", "logs", len(paths), show) as progress:
        for path in paths:
            log = read_log(path)
            views.append(np.stack([_frame_views(log, row, names, sensors, config) for row in range(len(log.frames))]))
            earlier = log.rows_after(-1)
            before.append(starts[-1] + np.where(earlier < 0, np.arange(len(earlier)), earlier))
            starts.append(starts[-1] + len(earlier))
            progress.advance()
    return Views(np.concatenate(views), np.concatenate(before), np.array(starts))


def _frame_views(log: Log, row: int, names: tuple[str, ...], sensors: Path, config: ModelConfig) -> NDArray[np.uint8]:
    frame = log.frames[row]
    missing = [name for name in names if name not in frame.cameras]
    if missing:
        raise DatasetError(f"{frame.where}: no camera {missing[0]}")
    try:
        return np.stack([read_view(sensors / frame.cameras[name].path, config) for name in names])
    except ImageError as error:
        raise ImageError(f"{error} (token {frame.token!r})") from error
