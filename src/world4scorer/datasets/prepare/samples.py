"""Training samples of a split: planner inputs and driven trajectories, from a file in the scene store.

>>> samples = Samples.of_split(Path("city"), find_split("city_train", Path("city")), Path("scenes"))
>>> samples.ego_status[samples.index_of["ba1bd196cdf43379"]]

Shapes: S moments, C = 4 views, L = 10 logged poses.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from world4scorer.datasets.navsim.cameras import VIEWS
from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.datasets.navsim.filters import Split
from world4scorer.datasets.prepare.log_samples import (
    FILE,
    POLYLINE_NUMBERS,
    LogSamples,
    check_logs,
    is_made_with,
    read_table,
    stored_samples,
    write_samples,
)
from world4scorer.datasets.prepare.route_points import RouteSource
from world4scorer.datasets.prepare.source import NavsimSource
from world4scorer.engine.scene.indices import LOGGED_POSES, PLAN_POSES
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.executors import Executor, ProcessExecutor
from world4scorer.jobs.resumable import run_tasks
from world4scorer.jobs.sources import stamp


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
    route_points: NDArray[np.float32] | None = None
    """(S, 2) in ego axes [m]; NaN, or None for all, where they are not known."""
    route_polylines: NDArray[np.float32] | None = None
    """(S, 8) four points of the route, see `RouteCursor.polyline`; NaN, or None for all, where they are not known."""
    images_before: tuple[tuple[str, ...], ...] | None = None
    """(S, C) paths of the images 0.5 s before, none where the log has no such frame; None where they are not known."""
    pose_before: NDArray[np.float32] | None = None
    """(S, 3) ego pose of that frame in the current ego frame; NaN where there is none."""
    taught: NDArray[np.bool_] | None = None
    """(S,) whether plans are to be like a teacher's; None where all are."""
    teacher_plans: NDArray[np.float64] | None = None
    """(S, 8, 3) the teacher's plans; NaN, or None for all, where the teacher is who drove."""

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
    def joined(cls, parts: Sequence[Samples]) -> Samples:
        """Samples of several splits, one after the other; images by their whole paths."""
        named = [part._with_whole_paths() for part in parts]
        values: dict[str, Any] = {"sensors": parts[0].sensors}
        for field in fields(cls):
            each = [getattr(part, field.name) for part in named]
            if all(isinstance(one, tuple) for one in each):
                values[field.name] = tuple(item for one in each for item in one)
            elif all(isinstance(one, np.ndarray) for one in each):
                values[field.name] = np.concatenate(each)
        if any(part.taught is not None for part in parts):
            known = [np.ones(len(part), np.bool_) if part.taught is None else part.taught for part in parts]
            values["taught"] = np.concatenate(known)
        if any(part.teacher_plans is not None for part in parts):
            values["teacher_plans"] = np.concatenate([part._known_teacher_plans() for part in parts])
        return cls(**values)

    def _known_teacher_plans(self) -> NDArray[np.float64]:
        if self.teacher_plans is None:
            return np.full((len(self), PLAN_POSES, 3), np.nan)
        return self.teacher_plans

    def _with_whole_paths(self) -> Samples:
        folder = self.sensors.resolve()

        def whole(images: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
            return tuple(tuple(str(folder / path) for path in views) for views in images)

        before = None if self.images_before is None else whole(self.images_before)
        return replace(self, images=whole(self.images), images_before=before)

    @classmethod
    def of_split(
        cls,
        root: Path,
        split: Split,
        folder: Path,
        executor: Executor | None = None,
        routes: RouteSource | None = None,
        whole: bool = False,
    ) -> Samples:
        """The samples of a split, from the file in `folder` (that of the scene store); with `routes`, route points too.

        What `prepare` has not left there, as in stores of 0.1.0, is read from the logs and the file written; with
        `whole` also where the file lacks what samples did not hold when it was written.
        """
        source = NavsimSource(root, split, routes=routes)
        logs, options, store = source.log_names(), source.sample_options, Path(folder)
        again = f"`w4s prepare --data {root} --split {split.name} --store {store}`"
        check_logs(store, DataFolder(root).logs(split.data_split), logs, again)
        if not is_made_with(store, logs, options, whole):
            found = stored_samples(store, logs, options)
            missing = [name for name in logs if name not in found]
            executor = ProcessExecutor() if executor is None else executor
            work = _ReadLog(source)
            found |= run_tasks(executor, work, missing, root, "logs", DatasetError, stop_at_first=True)
            if not any(len(each.table) for each in found.values()):
                raise DatasetError(f"{root}: the split {split.name!r} has no moment with {PLAN_POSES} frames to come")
            write_samples(store, logs, found)
        return cls._open(store / FILE, DataFolder(root).sensors(split.data_split))

    def images_digest(self) -> str:
        """What tells the images from others under the same paths, by the first of every log: logs are made whole."""
        first = {log: views[0] for log, views in zip(reversed(self.log_names), reversed(self.images), strict=True)}
        paths = {log: self.sensors / path for log, path in sorted(first.items())}
        found = [(log, stamp(path)["xxh3"] if path.is_file() else "") for log, path in paths.items()]
        return hashlib.sha256(json.dumps(found).encode()).hexdigest()[:16]

    def with_route_points(self, polylines: bool = False) -> Samples:
        """The same samples with ego statuses of 13 numbers, or of 21 with polylines.

        A DatasetError where the store does not have them.
        """
        added = [self.route_points, *([self.route_polylines] if polylines else [])]
        known = [numbers for numbers in added if numbers is not None and not np.isnan(numbers).any()]
        if len(known) < len(added):
            what = "21 take four points of the route" if polylines else "13 take a route point"
            raise DatasetError(
                f"ego_numbers: {what}, which the samples of this store lack; run `w4s prepare` again to "
                "add them to those of a city (other datasets know no route)"
            )
        return replace(self, ego_status=np.concatenate([self.ego_status, *known], 1))

    def frames_before(self) -> tuple[Sequence[tuple[str, ...]], NDArray[np.float32]]:
        """Images and ego poses (S, 3) half a second before; a DatasetError where the store does not have them."""
        if self.images_before is None or self.pose_before is None:
            raise DatasetError(
                f"{self.sensors}: the samples of this scene store do not name the frames before, which a forecast "
                "needs; run `w4s prepare` again"
            )
        return self.images_before, self.pose_before

    def at_frames_before(self) -> Samples:
        """The same samples with the images half a second before; with their own where there is no such frame."""
        before, _ = self.frames_before()
        return replace(self, images=tuple(one or own for one, own in zip(before, self.images, strict=True)))

    @classmethod
    def _open(cls, path: Path, sensors: Path) -> Samples:
        table = read_table(path)

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
            route_points=numbers("route_point", 2) if "route_point" in table.column_names else None,
            route_polylines=(
                numbers("route_polyline", POLYLINE_NUMBERS) if "route_polyline" in table.column_names else None
            ),
            images_before=(
                tuple(map(tuple, table["images_before"].to_pylist())) if "images_before" in table.column_names else None
            ),
            pose_before=numbers("pose_before", 3) if "pose_before" in table.column_names else None,
        )


def add_route_points(root: Path, split: Split, store: Path, routes: RouteSource, executor: Executor) -> None:
    """Make the samples of a store again if they lack route points or frames before, as those of 0.1.0."""
    if (store / FILE).is_file():
        Samples.of_split(root, split, store, executor, routes, whole=True)


@dataclass(frozen=True)
class _ReadLog:
    source: NavsimSource

    def __call__(self, log_name: str) -> LogSamples:
        return self.source.samples(self.source.read(log_name))
