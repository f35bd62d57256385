"""Training samples of one log as a table: what a planner is given, what was driven, and what targets are made of.

`prepare` writes the tables of all logs while it has the logs open, each beside the shard of its log, and joins them to
one file when the store is complete.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

try:
    from PIL import Image
except ImportError as error:
    from world4scorer.jobs.extras import missing

    raise missing(error, "preparing scenes", extra="maps") from error

from world4scorer.datasets.navsim.agent_input import future_poses
from world4scorer.datasets.navsim.cameras import FRONT, VIEWS
from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.datasets.navsim.filters import Split, windows
from world4scorer.datasets.navsim.frames import LogFrame
from world4scorer.datasets.navsim.logs import Log
from world4scorer.datasets.prepare.route_points import RouteInput, RouteSource, route_inputs
from world4scorer.engine.routes.route import POLYLINE_DISTANCES
from world4scorer.engine.scene.geometry import relative_poses
from world4scorer.engine.scene.indices import LOGGED_POSES, PLAN_POSES
from world4scorer.jobs.arrow_files import map_arrow, write_arrow
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.files import check_regular
from world4scorer.jobs.sources import Stamp, has_changed, stamp

FILE: Final = "samples"
"""Name in the folder of the scene store."""
PARTS: Final = ".samples"
"""Folder in that of the scene store, with a file for each log until they are joined."""
META: Final = b"world4scorer.samples"
META_SOURCES: Final = b"world4scorer.sources"
VERSION: Final = 1
ROUTES: Final = "routes"
"""Option of samples with route points: `POLYLINES`, or True of earlier files, which have no polylines."""
POLYLINES: Final = "polylines"
POLYLINE_NUMBERS: Final = 2 * len(POLYLINE_DISTANCES)
NO_ROUTE: Final = RouteInput(np.full(2, np.nan), np.full((len(POLYLINE_DISTANCES), 2), np.nan))
TARGET_FRAMES_AHEAD: Final = 4
"""Key frames between a scene and the frame of its future target: two seconds."""

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
    "target_image": pa.string(),  # not in files of 0.1.0; see `front_images`
    "route_point": pa.list_(pa.float32(), 2),  # not in files of 0.1.0; NaN where the dataset knows no route
    "route_polyline": pa.list_(pa.float32(), POLYLINE_NUMBERS),  # as the route point, and later than that
    "images_before": pa.list_(pa.string()),  # not in files of 0.1.0; empty where the log has no frame 0.5 s before
    "pose_before": pa.list_(pa.float32(), 3),  # likewise; NaN there
}
_SCHEMA: Final = pa.schema([pa.field(name, kind, nullable=name == "target_image") for name, kind in _COLUMNS.items()])


@dataclass(frozen=True, eq=False)
class LogSamples:
    """Stands in a source's stream for the training samples of a log."""

    table: pa.Table
    options: Mapping[str, Any]
    """What they depend on; samples of other options are never joined with these."""
    source: Stamp = field(default_factory=dict)
    """Stamp of the log; empty in files of 0.1.0."""

    def write(self, store: Path, log_name: str) -> None:
        """Keep them in the folder of a scene store until all logs are there."""
        _write(store / PARTS / f"{log_name}.arrow", [self.table], self.options, {log_name: self.source})


def log_samples(
    log: Log, root: Path, split: Split, routes: RouteSource | None, options: Mapping[str, Any]
) -> LogSamples:
    """The samples of a log; without `routes` they have no route points."""
    table = pa.Table.from_pylist(list(_rows(log, root, split, routes)), _SCHEMA)
    return LogSamples(table, options, stamp(log.path))


def _rows(log: Log, root: Path, split: Split, routes: RouteSource | None) -> Iterator[dict[str, Any]]:
    history, sensors = split.filter.num_history_frames, DataFolder(root).sensors(split.data_split)
    size: tuple[int, int] | None = None
    targets = front_images(log, TARGET_FRAMES_AHEAD)
    along = {} if routes is None else route_inputs(routes, log)
    before = dict(zip((frame.token for frame in log.frames), log.rows_after(-1).tolist(), strict=True))
    for window in windows(log, split.filter):
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
            "target_image": targets[now.token],
            "route_point": along.get(now.token, NO_ROUTE).point,
            "route_polyline": along.get(now.token, NO_ROUTE).polyline.ravel(),
            **frame_before(None if before[now.token] < 0 else log.frames[before[now.token]], now),
        }


def frame_before(before: LogFrame | None, now: LogFrame) -> dict[str, Any]:
    """Images of the frame before and its ego pose in the ego frame of now; none and NaN where it is not there."""
    if before is None or any(name not in before.cameras for name in VIEWS):
        return {"images_before": [], "pose_before": np.full(3, np.nan)}
    return {
        "images_before": [before.cameras[name].path for name in VIEWS],
        "pose_before": relative_poses(before.ego_pose[None], now.ego_pose)[0],
    }


def front_images(log: Log, frames_ahead: int) -> dict[str, str | None]:
    """Path of the front image so many key frames after each frame of a log, by token.

    None where the log has no frame at that time, and an empty path where that frame has no front camera.
    """
    ahead = log.rows_after(frames_ahead).tolist()
    cameras = [None if row < 0 else log.frames[row].cameras.get(VIEWS[FRONT]) for row in ahead]
    return {
        frame.token: None if row < 0 else "" if camera is None else camera.path
        for frame, row, camera in zip(log.frames, ahead, cameras, strict=True)
    }


def stored_front_images(store: Path, data_split: str, frames_ahead: int) -> Mapping[str, str | None]:
    """The same for all samples of a scene store; empty where the store does not have them."""
    path = store / FILE
    if not path.is_file() or frames_ahead not in (0, TARGET_FRAMES_AHEAD):
        return {}
    return _front_images(path, path.stat().st_mtime_ns, data_split, frames_ahead)


@lru_cache(2)
def _front_images(path: Path, changed_ns: int, data_split: str, frames_ahead: int) -> Mapping[str, str | None]:
    table = read_table(path)
    if "target_image" not in table.column_names or table_options(table).get("data_split") != data_split:
        return {}
    images = table["target_image"] if frames_ahead else pc.list_element(table["images"], FRONT)
    return dict(zip(table["token"].to_pylist(), images.to_pylist(), strict=True))


def _joined(arrays: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    return np.stack(arrays).ravel()


def _image_size(path: Path) -> tuple[int, int]:
    """Of the first image of a log; all have the same."""
    try:
        check_regular(path)
        with Image.open(path) as image:
            return image.size
    except OSError as error:
        raise DatasetError(f"{path}: no readable image ({error}); the sensor blobs of this log are missing") from error


def stored_samples(store: Path, logs: Sequence[str], options: Mapping[str, Any]) -> dict[str, LogSamples]:
    """Samples that a store holds, by log, where they were made with these options and have all columns."""
    found = {}
    joined = _readable(store / FILE)
    if joined is not None and joined.column_names == _SCHEMA.names:
        made_with = table_options(joined)
        known = set(made_with.pop("logs", ()))
        if _includes(made_with, options) and known.issuperset(joined["log_name"].unique().to_pylist()):
            for name in known.intersection(logs):
                rows = joined.filter(pc.equal(joined["log_name"], name))
                found[name] = LogSamples(rows, options, log_stamps(joined).get(name, {}))
    for name in logs:
        part = _readable(store / PARTS / f"{name}.arrow")
        if part is not None and _includes(table_options(part), options):
            found[name] = LogSamples(part, options, log_stamps(part).get(name, {}))
    return found


def write_samples(store: Path, logs: Sequence[str], found: Mapping[str, LogSamples]) -> None:
    """Write the samples of all logs to one file and remove the parts."""
    options = {**found[logs[0]].options, "logs": list(logs)}
    sources = {name: found[name].source for name in logs}
    _write(store / FILE, [found[name].table for name in sorted(logs)], options, sources)
    shutil.rmtree(store / PARTS, ignore_errors=True)


def join_samples(store: Path, logs: Sequence[str]) -> None:
    """Join the parts that `prepare` left, where those of all logs are there and hold samples."""
    part = next(filter(None, map(_readable, sorted((store / PARTS).glob("*.arrow")))), None)
    if part is None:
        return
    found = stored_samples(store, logs, table_options(part))
    if len(found) == len(logs) and any(len(each.table) for each in found.values()):
        write_samples(store, logs, found)


def is_made_with(store: Path, logs: Sequence[str], options: Mapping[str, Any], whole: bool = False) -> bool:
    """Whether the file of a store holds the samples of these logs, with `whole` all that samples can hold today.

    A damaged file does not.
    """
    table = _readable(store / FILE)
    if table is None or (whole and table.column_names != _SCHEMA.names):
        return False
    return _includes(table_options(table), {**options, "logs": list(logs)})


def _includes(made_with: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether samples are those asked for, maybe with route points that were not asked for."""
    return made_with in (wanted, {**wanted, ROUTES: POLYLINES}) or (
        ROUTES not in wanted and made_with == {**wanted, ROUTES: True}
    )


def table_options(table: pa.Table) -> dict[str, Any]:
    """What the samples of a table were made with."""
    options: dict[str, Any] = json.loads((table.schema.metadata or {}).get(META, b"{}"))
    return options


def log_stamps(table: pa.Table) -> dict[str, Stamp]:
    """Stamps of the logs that the samples of a table were made from."""
    stamps: dict[str, Stamp] = json.loads((table.schema.metadata or {}).get(META_SOURCES, b"{}"))
    return stamps


def check_logs(store: Path, folder: Path, logs: Sequence[str], command: str) -> None:
    """Raise a DatasetError for a log in `folder` that changed since the samples of a store were made from it."""
    table = _readable(store / FILE)
    known = {} if table is None else log_stamps(table)
    for name in logs:
        if has_changed(folder / f"{name}.pkl", known.get(name)):
            again = f"delete {store / f'{name}.arrow'} and run {command} again"
            raise DatasetError(f"{folder / f'{name}.pkl'}: changed since {store} was made from it; {again}")


def read_table(path: Path) -> pa.Table:
    """Map a file of samples."""
    with map_arrow(path, DatasetError, "file of samples", "delete it and run `w4s prepare` again") as reader:
        return reader.read_all()


def _readable(path: Path) -> pa.Table | None:
    try:
        return read_table(path) if path.is_file() else None
    except DatasetError:
        return None  # damaged: made again


def _write(path: Path, tables: Sequence[pa.Table], options: Mapping[str, Any], sources: Mapping[str, Stamp]) -> None:
    notes = {META: options, META_SOURCES: sources}
    schema = _SCHEMA.with_metadata({key: json.dumps(value, sort_keys=True).encode() for key, value in notes.items()})
    with write_arrow(path, schema) as writer:
        for table in tables:
            writer.write_table(table.cast(schema))
