"""Training samples of a split: planner inputs and driven trajectories, read from the logs once and stored in a file.

>>> samples = Samples.of_split(Path("city"), find_split("city_train", Path("city")), Path("scenes"))
>>> samples.ego_status[samples.index_of["ba1bd196cdf43379"]]

Shapes: S moments, C = 4 views, L = 10 logged poses.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from PIL import Image

from world4scorer.datasets.navsim.agent_input import future_poses
from world4scorer.datasets.navsim.cameras import VIEWS
from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.datasets.navsim.filters import Split, Window, windows
from world4scorer.datasets.navsim.logs import read_log
from world4scorer.datasets.prepare.source import NavsimSource
from world4scorer.engine.scene.indices import LOGGED_POSES, PLAN_POSES
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.executors import Executor, ProcessExecutor
from world4scorer.jobs.files import atomic_write
from world4scorer.jobs.resumable import run_tasks

FILE: Final = "samples"
"""File name in the folder of the scene store."""
META: Final = b"world4scorer.samples"
VERSION: Final = 1

_COLUMNS: Final = {
    "token": pa.string(),
    "log_name": pa.string(),
    "ego_status": pa.list_(pa.float32(), 11),
    "future": pa.list_(pa.float64()),
    "images": pa.list_(pa.string(), len(VIEWS)),
    "intrinsics": pa.list_(pa.float64(), len(VIEWS) * 9),
    "rotation": pa.list_(pa.float64(), len(VIEWS) * 9),
    "translation": pa.list_(pa.float64(), len(VIEWS) * 3),
    "image_size": pa.list_(pa.int32(), 2),
}
_SCHEMA: Final = pa.schema([pa.field(name, kind, nullable=False) for name, kind in _COLUMNS.items()])


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples of a split in the order of their logs. Arrays are read-only."""

    tokens: tuple[str, ...]
    log_names: tuple[str, ...]
    sensors: Path
    """Folder that image paths are relative to."""
    images: tuple[tuple[str, ...], ...]
    """(S, C) paths."""
    ego_status: NDArray[np.float32]
    """(S, 11) pose (zeros), velocity, acceleration, command."""
    future: NDArray[np.float64]
    """(S, L, 3) logged poses in the current ego frame; the last one is repeated where the log ends."""
    future_poses: NDArray[np.int64]
    """(S,) number of logged poses: 8 to 10."""
    intrinsics: NDArray[np.float64]
    """(S, C, 3, 3) in pixels of images as stored."""
    rotation: NDArray[np.float64]
    """(S, C, 3, 3) camera axes -> ego axes."""
    translation: NDArray[np.float64]
    """(S, C, 3) camera position in the ego frame [m]."""
    image_size: NDArray[np.int32]
    """(S, 2) width, height of images as stored."""

    def __len__(self) -> int:
        return len(self.tokens)

    @cached_property
    def index_of(self) -> dict[str, int]:
        """Index of each token."""
        return {token: index for index, token in enumerate(self.tokens)}

    def at(self, indices: Sequence[int]) -> Samples:
        """The samples at these indices."""
        chosen = np.asarray(indices, np.int64)
        taken: dict[str, Any] = {"sensors": self.sensors}
        for field in fields(self):
            values = getattr(self, field.name)
            if isinstance(values, tuple):
                taken[field.name] = tuple(values[index] for index in chosen)
            elif isinstance(values, np.ndarray):
                taken[field.name] = values[chosen]
        return Samples(**taken)

    @classmethod
    def of_split(cls, root: Path, split: Split, folder: Path, executor: Executor | None = None) -> Samples:
        """The samples of a split, from the file in `folder` (that of the scene store) if it exists."""
        source = NavsimSource(root, split)
        options = json.dumps({"version": VERSION, "logs": source.log_names(), **source.options()}, sort_keys=True)
        path = Path(folder) / FILE
        if not _made_with(path, options):
            table = _read_logs(source, ProcessExecutor() if executor is None else executor)
            table = table.replace_schema_metadata({META: options.encode()})
            with atomic_write(path) as stream, pa.ipc.new_file(stream, table.schema) as writer:
                writer.write_table(table)
        return cls._open(path, DataFolder(root).sensors(split.data_split))

    @classmethod
    def _open(cls, path: Path, sensors: Path) -> Samples:
        table = _table(path)

        def numbers(name: str, *shape: int) -> NDArray[Any]:
            return np.asarray(table[name].combine_chunks().flatten()).reshape(len(table), *shape)

        futures = [np.reshape(poses, (-1, 3)) for poses in table["future"].to_pylist()]
        counts = np.array([len(poses) for poses in futures])
        padded = [np.concatenate([poses, np.repeat(poses[-1:], LOGGED_POSES - len(poses), 0)]) for poses in futures]
        views = len(VIEWS)
        return cls(
            tokens=tuple(table["token"].to_pylist()),
            log_names=tuple(table["log_name"].to_pylist()),
            sensors=sensors,
            images=tuple(map(tuple, table["images"].to_pylist())),
            ego_status=numbers("ego_status", 11),
            future=np.stack(padded),
            future_poses=counts,
            intrinsics=numbers("intrinsics", views, 3, 3),
            rotation=numbers("rotation", views, 3, 3),
            translation=numbers("translation", views, 3),
            image_size=numbers("image_size", 2),
        )


@dataclass(frozen=True)
class _ReadLog:
    source: NavsimSource

    def __call__(self, log_name: str) -> list[dict[str, Any]]:
        split = self.source.split
        log = read_log(DataFolder(self.source.root).log(split.data_split, log_name))
        sensors = DataFolder(self.source.root).sensors(split.data_split)
        return list(_rows(windows(log, split.filter), split.filter.num_history_frames, sensors))


def _read_logs(source: NavsimSource, executor: Executor) -> pa.Table:
    tasks = run_tasks(
        executor, _ReadLog(source), source.log_names(), source.root, "logs", DatasetError, stop_at_first=True
    )
    found = dict(tasks)
    rows = [row for name in sorted(found) for row in found[name]]
    if not rows:
        raise DatasetError(
            f"{source.root}: the split {source.split.name!r} has no moment with {PLAN_POSES} frames to come"
        )
    return pa.Table.from_pylist(rows, _SCHEMA)


def _rows(found: Iterator[Window], history: int, sensors: Path) -> Iterator[dict[str, Any]]:
    size: tuple[int, int] | None = None
    for window in found:
        now = window[history - 1]
        ahead = min(LOGGED_POSES, len(window) - history)
        if ahead < PLAN_POSES:
            continue
        missing = [name for name in VIEWS if name not in now.cameras]
        if missing:
            raise DatasetError(f"{now.where}: no camera {missing[0]}")
        cameras = [now.cameras[name] for name in VIEWS]
        size = size or _image_size(sensors / cameras[0].path)
        status = np.concatenate([np.zeros(3), now.velocity, now.acceleration, now.command])
        driven = future_poses(window, ahead, history).ravel()
        if not (np.isfinite(status).all() and np.isfinite(driven).all()):
            raise DatasetError(f"{now.where}: velocity, acceleration or poses are not finite; leave this log out")
        yield {
            "token": now.token,
            "log_name": now.log_name,
            "ego_status": status,
            "future": driven,
            "images": [camera.path for camera in cameras],
            "intrinsics": _joined([camera.intrinsics for camera in cameras]),
            "rotation": _joined([camera.rotation for camera in cameras]),
            "translation": _joined([camera.translation for camera in cameras]),
            "image_size": size,
        }


def _joined(arrays: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    return np.stack(arrays).ravel()


def _image_size(path: Path) -> tuple[int, int]:
    """Size of the first image of a log; all have the same."""
    try:
        with Image.open(path) as image:
            return image.size
    except OSError as error:
        raise DatasetError(f"{path}: no readable image ({error}); the sensor blobs of this log are missing") from error


def _made_with(path: Path, options: str) -> bool:
    if not path.is_file():
        return False
    try:
        return bool((_table(path).schema.metadata or {}).get(META) == options.encode())
    except DatasetError:
        return False  # damaged: made again


def _table(path: Path) -> pa.Table:
    try:
        with pa.memory_map(str(path)) as stream:
            return pa.ipc.open_file(stream).read_all()
    except (pa.ArrowInvalid, OSError) as error:
        raise DatasetError(f"{path}: not a readable file of samples ({error}); delete it to make it anew") from error
