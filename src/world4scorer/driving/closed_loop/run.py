"""Drive routes with several drivers; every finished drive is kept, an interrupted run resumes.

OUT/about.json says what is driven; OUT/DRIVER/ROUTE.json is the record of a drive, in the leaderboard's layout.

>>> config = DriveConfig(Path("city"), "city_test", 40, planner=Path("runs/city/planner"))
>>> drives = drive_all(config, specs, Path("drives"))
>>> drives.records["inertial"][0].scores
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from world4scorer import __version__
from world4scorer.city.world.manifest import read_config, read_manifest
from world4scorer.city.world.simulation import CitySimulation
from world4scorer.driving.closed_loop.city_routes import CityRoute, find_routes
from world4scorer.driving.closed_loop.creep import CreepingDriver
from world4scorer.driving.closed_loop.drive import DriveResult, DrivingWorld, city_calibration, drive_route
from world4scorer.driving.closed_loop.driver_spec import CONSTANT_VELOCITY, EGO_STATUS, PDM_CLOSED, SUMO, DriverSpec
from world4scorer.driving.closed_loop.drivers import (
    ConstantVelocityDriver,
    Driver,
    EgoStatusDriver,
    PdmClosedDriver,
    PlannerDriver,
)
from world4scorer.driving.closed_loop.infraction_monitor import TerminationRules
from world4scorer.driving.closed_loop.planner_agent import PlannerAgent, v2_error_message
from world4scorer.evaluation.leaderboard.records import RouteRecord, write_results
from world4scorer.evaluation.leaderboard.smoothness import chunks_passed
from world4scorer.evaluation.pools.pool_files import PLACES, describe_planner
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.executors import Executor, choose_executor
from world4scorer.jobs.files import atomic_write, write_json
from world4scorer.jobs.model_folder import ModelFolder
from world4scorer.jobs.resumable import Settings, resumable
from world4scorer.jobs.run_folder import RunFolder

if TYPE_CHECKING:
    from world4scorer.planner.planner import Planner
    from world4scorer.planner.training.controls import EgoStatusPlanner

ABOUT: Final = "about.json"
RESULTS: Final = "results/results.json"
EGO_STATUS_FILE: Final = "ego_status.safetensors"
"""Pixels."""


class DriveError(ValueError):
    """Drives that cannot be made or read."""


@dataclass(frozen=True)
class DriveConfig:
    """Which routes are driven, with which planner and rules."""

    data: Path
    """Folder of the city."""
    split: str
    """Split of the city's simulations."""
    routes: int
    seed: int = 0
    """Seed of the choice of routes."""
    planner: Path | None = None
    """Planner folder or released checkpoint; required by drivers with a planner."""
    run: Path | None = None
    """Training run whose data train the ego-status MLP."""
    benchmark: str = "v1"
    """Benchmark whose utility ranks plans."""
    rules: TerminationRules = field(default_factory=TerminationRules)

    def describe(self) -> dict[str, Any]:
        """Everything that the drives depend on."""
        manifest = read_manifest(self.data)
        return {
            "city": manifest["config"],
            "split": self.split,
            "routes": self.routes,
            "seed": self.seed,
            **({"weights": None} if self.planner is None else describe_planner(self.planner)),
            "training": None if self.run is None else _digest_of_run(self.run),
            "benchmark": self.benchmark,
            "rules": asdict(self.rules),
        }


@dataclass(frozen=True, eq=False)
class FinishedDrives:
    """Finished drives."""

    folder: Path
    about: Mapping[str, Any]
    choices: tuple[DriverSpec, ...]
    routes: tuple[CityRoute, ...]
    records: Mapping[str, tuple[RouteRecord, ...]]
    """By driver, in the order of the routes."""


@dataclass(frozen=True)
class DriveTask:
    """A route and the drivers that have not driven it yet."""

    route: CityRoute
    choices: tuple[DriverSpec, ...]

    def __str__(self) -> str:
        return self.route.name


def drive_all(
    plan: DriveConfig, choices: Sequence[DriverSpec], out: Path, executor: Executor | None = None, show: bool = False
) -> FinishedDrives:
    """Drive every route with every driver; drives already in `out` are kept."""
    for choice in choices:
        _check(choice, plan)
    about = plan.describe()
    settings = Settings(out / ABOUT, {"world4scorer": __version__, **about}, ignored=("world4scorer", *PLACES))
    routes = find_routes(plan.data, plan.split, plan.routes, plan.seed)
    # In order of time, so that the traffic before a start is not simulated again.
    in_order = sorted(routes, key=lambda route: (route.simulation, route.start.past[-1].step))
    with resumable(out, "driving there", DriveError, settings) as job:
        missing = [
            DriveTask(route, tuple(choice for choice in choices if not record_path(out, choice, route).is_file()))
            for route in in_order
        ]
        if any(choice.name == EGO_STATUS for task in missing for choice in task.choices):
            _train_ego_status(plan, out / EGO_STATUS_FILE)
        job.run_missing(
            executor or choose_executor(),
            DriveWorker(plan, out),
            missing,
            "driving",
            "routes",
            is_done=lambda task: not task.choices,
            unit="drives",
            size=lambda task: len(task.choices),
            show=show,
        )
    paths = {choice.name: [record_path(out, choice, route) for route in routes] for choice in choices}
    records = {name: tuple(map(read_record, some)) for name, some in paths.items()}
    return FinishedDrives(out, about, tuple(choices), tuple(routes), records)


def record_path(out: Path, choice: DriverSpec, route: CityRoute) -> Path:
    """Path of a drive's record."""
    return out / choice.name / f"{route.name}.json"


def read_record(path: Path) -> RouteRecord:
    """The record of a finished drive."""
    try:
        return RouteRecord.from_json(json.loads(path.read_bytes()))
    except (OSError, ValueError) as error:
        raise DriveError(f"{path}: not the record of a drive ({error}); delete it to drive it again") from error


@dataclass(frozen=True)
class DriveWorker:
    """Drives tasks and writes their records; runs in worker processes, which cache planner and worlds."""

    plan: DriveConfig
    out: Path

    def __call__(self, task: DriveTask) -> None:
        """Drive one route with all missing drivers."""
        for choice in task.choices:
            record = with_comfort(self.drive(task.route, choice))
            write_json(record_path(self.out, choice, task.route), record.to_json())

    def drive(self, route: CityRoute, choice: DriverSpec, with_recording: bool = False) -> DriveResult:
        """One drive, optionally with a full recording."""
        world = self._world(route.place)
        return drive_route(
            self._city,
            world,
            route,
            self._driver(choice, world),
            name=choice.name,
            rules=self.plan.rules,
            with_recording=with_recording,
        )

    @cached_property
    def _city(self) -> CitySimulation:
        return CitySimulation(self.plan.data)

    @cached_property
    def _worlds(self) -> dict[str, DrivingWorld]:
        return {}

    def _world(self, place: str) -> DrivingWorld:
        if place not in self._worlds:
            self._worlds[place] = DrivingWorld(self.plan.data, place)
        return self._worlds[place]

    @cached_property
    def _planner(self) -> Planner:
        import torch

        from world4scorer.planner.conversion import read_planner

        torch.set_num_threads(1)  # one process per core
        assert self.plan.planner is not None
        return read_planner(self.plan.planner)

    @cached_property
    def _ego_status(self) -> EgoStatusPlanner:
        from safetensors.torch import load_file

        from world4scorer.planner.training.controls import EgoStatusPlanner

        planner = EgoStatusPlanner()
        planner.load_state_dict(load_file(self.out / EGO_STATUS_FILE))
        return planner.eval()

    def _driver(self, choice: DriverSpec, world: DrivingWorld) -> Driver | None:
        if choice.name == SUMO:
            return None
        driver: Driver
        if choice.options is not None:
            rig = city_calibration(read_config(read_manifest(self.plan.data)))
            driver = PlannerDriver(PlannerAgent(self._planner, choice.options, rig))
        elif choice.name == PDM_CLOSED:
            driver = PdmClosedDriver(DataFolder(self.plan.data).maps, world.location, world.index)
        elif choice.name == EGO_STATUS:
            driver = EgoStatusDriver(self._ego_status)
        else:
            assert choice.name == CONSTANT_VELOCITY
            driver = ConstantVelocityDriver()
        return CreepingDriver(driver) if choice.creeps else driver


def with_comfort(result: DriveResult) -> RouteRecord:
    """The record with counts of comfortable chunks: by the published formula, and by the corrected one."""
    if result.motion is None:
        return result.record
    smooth = {name: chunks_passed(result.motion, corrected) for name, corrected in COMFORT_FIELDS.items()}
    chunks = {name: [int(passed.sum()), len(passed)] for name, passed in smooth.items()}
    return replace(result.record, meta={**result.record.meta, **chunks})


COMFORT_FIELDS: Final = {"smooth_chunks": False, "smooth_chunks_corrected": True}
"""Fields of `meta`, [comfortable chunks, all chunks], by whether the formula is corrected."""


def comfort_share(record: RouteRecord, corrected: bool = False) -> float:
    """Share of a drive's chunks that are comfortable; NaN without chunks."""
    name = next(name for name, kind in COMFORT_FIELDS.items() if kind is corrected)
    passed, count = record.meta.get(name, (0, 0))
    return passed / count if count else float(np.nan)


def _digest_of_run(run: Path) -> str:
    """SHA-256 of a run's configuration and data."""
    files = RunFolder(run).config_file, RunFolder(run).data_file
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


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


def _train_ego_status(plan: DriveConfig, path: Path) -> None:
    if path.is_file():
        return
    from safetensors.torch import save

    from world4scorer.planner.training.controls import train_ego_status_planner
    from world4scorer.planner.training.run import subsample
    from world4scorer.planner.training.run_files import read_run
    from world4scorer.planner.training.split_samples import split_samples

    assert plan.run is not None
    config, data = read_run(plan.run)
    # Without the route point, even if the planner takes one.
    samples = split_samples(data.data, data.split, data.store)
    planner = train_ego_status_planner(subsample(samples, config), config)
    with atomic_write(path) as stream:
        stream.write(save(planner.state_dict()))


def write_driver_results(drives: FinishedDrives) -> None:
    """Write OUT/DRIVER/results/results.json, one file in the leaderboard's layout for each driver."""
    for choice in drives.choices:
        write_results(drives.folder / choice.name / RESULTS, drives.records[choice.name])
