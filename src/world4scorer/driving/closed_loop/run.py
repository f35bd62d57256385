"""Drive routes with several drivers; every finished drive is kept, an interrupted run resumes.

OUT/about.json says what is driven; OUT/DRIVER/ROUTE.json is the record of a drive, in the leaderboard's layout.

>>> config = DriveConfig(Path("city"), "city_test", 40, planner=Path("runs/city/planner"))
>>> drives = drive_all(config, specs, Path("drives"))
>>> drives.records["inertial"][0].scores
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

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
from world4scorer.evaluation.pools.pool_files import PLACES
from world4scorer.jobs.executors import Executor, choose_executor
from world4scorer.jobs.model_folder import ModelFolder
from world4scorer.jobs.resumable import Settings, resumable

ABOUT: Final = "about.json"
RESULTS: Final = "results/results.json"


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
    settings = Settings(out / ABOUT, {"world4scorer": __version__, **about}, ignored=("world4scorer", *PLACES))
    worker = DriveWorker(plan, out, logs)
    # In order of time, so that the traffic before a start is not simulated again.
    in_order = sorted(routes, key=lambda route: (route.simulation, route.start.past[-1].step))
    with (
        resumable(out, "driving there", DriveError, settings, leftovers=("*/.*.tmp",)) as job,
        nullcontext() if logs is None else logs.recording(),
    ):
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
    return not config.is_file() or has_direction_labels(
        planner, ModelConfig.from_json(config.read_bytes(), str(config))
    )


def write_driver_results(drives: FinishedDrives) -> None:
    """Write OUT/DRIVER/results/results.json, one file in the leaderboard's layout for each driver."""
    for choice in drives.choices:
        write_results(drives.folder / choice.name / RESULTS, drives.records[choice.name])
