"""Drive routes with several drivers; every finished drive is kept, an interrupted run resumes.

OUT/about.json says what is driven; OUT/DRIVER/ROUTE.json is the record of a drive, in the leaderboard's layout.

>>> config = DriveConfig(Path("city"), "city_test", 40, planner=Path("runs/city/planner"))
>>> drives = drive_all(config, specs, Path("drives"))
>>> drives.records["inertial"][0].scores
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from world4scorer import __version__
from world4scorer.driving.closed_loop.city_routes import CityRoute, find_routes
from world4scorer.driving.closed_loop.drive_config import DriveConfig, DriveError
from world4scorer.driving.closed_loop.drive_log import DriveLogWriter
from world4scorer.driving.closed_loop.driver_spec import EGO_STATUS, DriverSpec
from world4scorer.driving.closed_loop.planner_agent import v2_error_message
from world4scorer.driving.closed_loop.suites import find_suite, suite_routes
from world4scorer.driving.closed_loop.worker import (
    EGO_STATUS_FILE,
    DriveTask,
    DriveWorker,
    read_record,
    record_path,
    train_ego_status,
)
from world4scorer.evaluation.leaderboard.records import RouteRecord, write_results
from world4scorer.jobs.executors import Executor, choose_executor
from world4scorer.jobs.model_folder import ModelFolder
from world4scorer.jobs.resumable import Settings, resumable

ABOUT: Final = "about.json"
RESULTS: Final = "results/results.json"
FILM_HEIGHT: Final = 720
"""Pixels."""


@dataclass(frozen=True, eq=False)
class FinishedDrives:
    """Finished drives."""

    folder: Path
    about: Mapping[str, Any]
    choices: tuple[DriverSpec, ...]
    routes: tuple[CityRoute, ...]
    records: Mapping[str, tuple[RouteRecord, ...]]
    """By driver, in the order of the routes."""


def drive_all(
    plan: DriveConfig,
    choices: Sequence[DriverSpec],
    out: Path,
    executor: Executor | None = None,
    show: bool = False,
    logs: DriveLogWriter | None = None,
) -> FinishedDrives:
    """Drive every route with every driver; drives already in `out` are kept.

    With `logs`, drives are also written as logs of the city's dataset; those that have none yet are driven again.
    """
    for choice in choices:
        _check(choice, plan)
    executor = executor or choose_executor()
    routes = routes_of(plan, executor)
    about = plan.describe()
    settings = Settings(out / ABOUT, {"world4scorer": __version__, **about}, ignored=("world4scorer",))
    worker = DriveWorker(plan, out, logs)
    # In order of time, so that the traffic before a start is not simulated again.
    in_order = sorted(routes, key=lambda route: (route.simulation, route.start.past[-1].step))
    with resumable(out, "driving there", DriveError, settings) as job:
        missing = [
            DriveTask(route, tuple(choice for choice in choices if not worker.is_done(route, choice)))
            for route in in_order
        ]
        if any(choice.name == EGO_STATUS for task in missing for choice in task.choices):
            train_ego_status(plan, out / EGO_STATUS_FILE)
        job.run_missing(
            executor,
            worker,
            missing,
            "driving",
            "routes",
            is_done=lambda task: not task.choices,
            unit="drives",
            size=lambda task: len(task.choices),
            show=show,
        )
        if logs is not None:
            logs.write_split()
    paths = {choice.name: [record_path(out, choice, route) for route in routes] for choice in choices}
    records = {name: tuple(map(read_record, some)) for name, some in paths.items()}
    return FinishedDrives(out, about, tuple(choices), tuple(routes), records)


def routes_of(plan: DriveConfig, executor: Executor | None = None) -> list[CityRoute]:
    """The routes of a configuration: those of its suite, or of its split."""
    if plan.suite:
        return suite_routes(find_suite(plan.suite), plan.data, executor)
    return find_routes(plan.data, plan.split, plan.routes, plan.seed, plan.simulations)


def _check(choice: DriverSpec, plan: DriveConfig) -> None:
    if choice.options is not None:
        if plan.planner is None:
            raise DriveError(f"driver {choice.name!r}: needs a planner; give --checkpoint")
        if choice.options.benchmark == "v2" and not _has_direction_labels(plan.planner):
            raise DriveError(v2_error_message(plan.planner))
    if choice.name == EGO_STATUS and plan.run is None:
        raise DriveError(
            f"driver {choice.name!r}: is trained on the data of a training run; give the run's folder as --checkpoint, "
            "or leave this driver out"
        )


def _has_direction_labels(planner: Path) -> bool:
    """Whether a planner was trained for driving direction compliance; released checkpoints are."""
    from world4scorer.planner.model.config import ModelConfig
    from world4scorer.planner.training.run_files import has_direction_labels

    config = ModelFolder(planner).config_file
    return not config.is_file() or has_direction_labels(planner, ModelConfig.from_json(config.read_text(), str(config)))


def repeat_drives(plan: DriveConfig, drives: FinishedDrives, count: int) -> int:
    """Repeat drives of `count` routes, spread evenly, with every driver; returns how many gave the same result.

    Another result is an error: closed-loop scores are only comparable if drives can be repeated.
    """
    chosen = {int(index) for index in np.linspace(0, len(drives.routes) - 1, min(count, len(drives.routes)))}
    worker = DriveWorker(plan, drives.folder)
    for index in sorted(chosen):
        for choice in drives.choices:
            check_repeated(
                worker.drive(drives.routes[index], choice).record, drives.records[choice.name][index], choice
            )
    return len(chosen) * len(drives.choices)


def check_repeated(again: RouteRecord, before: RouteRecord, choice: DriverSpec) -> None:
    """Raise an error unless two drives of a route ended alike, with the same infractions."""
    if (again.status, again.scores, again.infractions) != (before.status, before.scores, before.infractions):
        raise DriveError(
            f"{before.route_id} with {choice.name}: ended in {again.status!r}, but before in {before.status!r}; "
            "were the drives made with another version?"
        )


def write_driver_results(drives: FinishedDrives) -> None:
    """Write OUT/DRIVER/results/results.json, one file in the leaderboard's layout for each driver."""
    for choice in drives.choices:
        write_results(drives.folder / choice.name / RESULTS, drives.records[choice.name])


def film_drives(
    plan: DriveConfig, drives: FinishedDrives, names: Sequence[str], ending: str = "mp4", height: int = FILM_HEIGHT
) -> Iterator[Path]:
    """Repeat drives with recording, which is deterministic, and film them: OUT/films/ROUTE_DRIVER.mp4.

    Args:
        plan: Configuration of the drives.
        drives: The finished drives.
        names: Names of routes; `all` for every route.
        ending: mp4, webp or gif.
        height: Height of the films [pixels].
    """
    from world4scorer.driving.closed_loop.film import film_drive

    known = {route.name: route for route in drives.routes}
    unknown = [name for name in names if name not in known and name != "all"]
    if unknown:
        raise DriveError(f"route {unknown[0]!r}: not among these drives; see the folders of {drives.folder}")
    chosen = list(known) if "all" in names else list(dict.fromkeys(names))
    driving = DriveWorker(plan, drives.folder)
    for name in chosen:
        for choice in drives.choices:
            result = driving.drive(known[name], choice, with_recording=True)
            check_repeated(result.record, read_record(record_path(drives.folder, choice, known[name])), choice)
            if result.recording is None:
                continue  # the simulation crashed
            path = drives.folder / "films" / f"{name}_{choice.name}.{ending}"
            film_drive(plan.world, result.recording, path, height=height)
            yield path
