"""Drives one route after the other with several drivers and writes their records; runs in worker processes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from world4scorer.city.world.manifest import read_config, read_manifest
from world4scorer.city.world.simulation import CitySimulation
from world4scorer.driving.closed_loop.city_routes import CityRoute
from world4scorer.driving.closed_loop.creep import CreepingDriver
from world4scorer.driving.closed_loop.drive import DriveResult, DrivingWorld, city_calibration, drive_route
from world4scorer.driving.closed_loop.drive_config import DriveConfig, DriveError
from world4scorer.driving.closed_loop.drive_log import DriveLogWriter
from world4scorer.driving.closed_loop.driver_spec import CONSTANT_VELOCITY, EGO_STATUS, PDM_CLOSED, SUMO, DriverSpec
from world4scorer.driving.closed_loop.drivers import (
    ConstantVelocityDriver,
    Driver,
    EgoStatusDriver,
    PdmClosedDriver,
    PlannerDriver,
)
from world4scorer.driving.closed_loop.measurements import with_measurements
from world4scorer.driving.closed_loop.planner_agent import PlannerAgent
from world4scorer.evaluation.leaderboard.records import RouteRecord
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.files import atomic_write, read_json, write_json

if TYPE_CHECKING:
    from world4scorer.planner.planner import Planner
    from world4scorer.planner.training.controls import EgoStatusPlanner

EGO_STATUS_FILE: Final = "ego_status.safetensors"


@dataclass(frozen=True)
class DriveTask:
    """A route and the drivers that have not driven it yet."""

    route: CityRoute
    choices: tuple[DriverSpec, ...]

    def __str__(self) -> str:
        return self.route.name


def record_path(out: Path, choice: DriverSpec, route: CityRoute) -> Path:
    """Path of a drive's record."""
    return out / choice.name / f"{route.name}.json"


def read_record(path: Path) -> RouteRecord:
    """The record of a finished drive."""
    try:
        return RouteRecord.from_json(read_json(path))
    except (OSError, ValueError) as error:
        raise DriveError(f"{path}: not the record of a drive ({error}); delete it to drive it again") from error


@dataclass(frozen=True)
class DriveWorker:
    """Drives tasks and writes their records; runs in worker processes, which cache planner and worlds."""

    plan: DriveConfig
    out: Path
    logs: DriveLogWriter | None = None
    """Writes drives as logs too."""

    def __call__(self, task: DriveTask) -> None:
        """Drive one route with all missing drivers."""
        for choice in task.choices:
            result = self.drive(task.route, choice, with_frames=self.logs is not None)
            record = with_measurements(result)
            if self.logs is not None and result.frames is not None:
                self.logs.write(task.route, choice.name, record.status, result.frames, result.infractions)
            write_json(record_path(self.out, choice, task.route), record.to_json())

    def is_done(self, route: CityRoute, choice: DriverSpec) -> bool:
        """Whether a drive is finished, and written as a log where that is asked for; one that crashed has no log."""
        path = record_path(self.out, choice, route)
        if not path.is_file() or self.logs is None or self.logs.is_written(route, choice.name):
            return path.is_file()
        return read_record(path).crashed

    def drive(
        self, route: CityRoute, choice: DriverSpec, with_recording: bool = False, with_frames: bool = False
    ) -> DriveResult:
        """One drive, optionally with a full recording or with frames for a log."""
        world = self._world(route.place)
        return drive_route(
            self._city,
            world,
            route,
            self._driver(choice, world),
            name=choice.name,
            rules=self.plan.rules,
            with_recording=with_recording,
            with_frames=with_frames,
            disturbance=self.plan.disturbance,
        )

    @cached_property
    def _city(self) -> CitySimulation:
        return CitySimulation(self.plan.world)

    @cached_property
    def _worlds(self) -> dict[str, DrivingWorld]:
        return {}

    def _world(self, place: str) -> DrivingWorld:
        if place not in self._worlds:
            self._worlds[place] = DrivingWorld(self.plan.world, place)
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
        from world4scorer.jobs.tensor_files import read_tensors
        from world4scorer.planner.training.controls import EgoStatusPlanner

        planner = EgoStatusPlanner()
        planner.load_state_dict(read_tensors(self.out / EGO_STATUS_FILE, "delete it and run `w4s drive` again"))
        return planner.eval()

    def _driver(self, choice: DriverSpec, world: DrivingWorld) -> Driver | None:
        if choice.name == SUMO:
            return None
        driver: Driver
        if choice.options is not None:
            rig = city_calibration(read_config(read_manifest(self.plan.world)))
            driver = PlannerDriver(PlannerAgent(self._planner, choice.options, rig))
        elif choice.name == PDM_CLOSED:
            driver = PdmClosedDriver(DataFolder(self.plan.world).maps, world.location, world.index)
        elif choice.name == EGO_STATUS:
            driver = EgoStatusDriver(self._ego_status)
        else:
            assert choice.name == CONSTANT_VELOCITY
            driver = ConstantVelocityDriver()
        return CreepingDriver(driver) if choice.creeps else driver


def train_ego_status(plan: DriveConfig, path: Path) -> None:
    """Train the ego-status MLP of a run, unless the file is there."""
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
