"""A drive as a log of the city's dataset: NAVSIM's layout, with the images that were rendered while driving.

    DATA/navsim_logs/SPLIT/LOG.pkl       frames, 0.5 s apart; each says who drove
    DATA/sensor_blobs/SPLIT/LOG/         images
    DATA/city/drives/SPLIT/LOG.json      driver, route, weather, tokens
    DATA/config/train_test_split/        the split, written when all drives are done

So `w4s prepare`, banks, targets, training and pictures take drives as they take logs: the trajectory and the view two
seconds on are what was really driven and seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.city.streets.map_export import export_map
from world4scorer.city.streets.places import PLACES
from world4scorer.city.streets.street_map import read_streets
from world4scorer.city.world.log_plan import FrameState, LogPlan
from world4scorer.city.world.log_renderer import LogRenderer, RenderTask
from world4scorer.city.world.make import write_city_split
from world4scorer.city.world.manifest import DriveEntry, read_config, read_drives, read_manifest, write_drive
from world4scorer.city.world.recording import STEPS_PER_FRAME
from world4scorer.city.world.segments import FUTURE_FRAMES, PAST_FRAMES
from world4scorer.city.world.traffic import TIME_STEP
from world4scorer.driving.closed_loop.city_routes import CityRoute
from world4scorer.driving.closed_loop.drive_config import DriveError
from world4scorer.driving.closed_loop.infraction_monitor import InfractionEvent
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.resumable import LEFTOVERS, resumable, sweep

STANDING_SPEED: Final = 0.1
"""Speed below which the ego stands [m/s]."""
MAX_LATERAL_DISTANCE: Final = 8.0
"""Frames further from the route are no scenes [m]: nothing that the ego can do there is on its route."""


@dataclass(frozen=True)
class Thinning:
    """Which frames of a drive become scenes."""

    stride: int = 2
    """Frames from one scene to the next: 2 for one scene a second."""
    wait: float = 10.0
    """Standing for longer than this is thinned further [s]: a drive that ends blocked stands for a minute."""
    wait_stride: int = 10
    """Frames from one scene to the next in such a wait."""

    def __post_init__(self) -> None:
        if self.stride < 1 or self.wait_stride < 1 or self.wait < 0:
            raise ValueError(
                f"thinning {self.stride}, {self.wait} s, {self.wait_stride}: at least 1 frame, 0 s, 1 frame"
            )

    def scenes(self, speeds: NDArray[np.float64]) -> NDArray[np.int64]:
        """Frames (0 is the first) that become scenes, from the speed (F,) at each [m/s].

        They have enough past and future. Shares of driving, waiting and starting are those of the drive, but for long
        waits; the frame in which a wait ends is always among them.
        """
        standing = speeds < STANDING_SPEED
        chosen, since, last = [], 0, -np.inf
        for frame, stands in enumerate(standing.tolist()):
            starts = since > 0 and not stands
            since = since + 1 if stands else 0
            waits = since * STEPS_PER_FRAME * TIME_STEP > self.wait
            if starts or frame - last >= (self.wait_stride if waits else self.stride):
                if PAST_FRAMES <= frame < len(speeds) - FUTURE_FRAMES:
                    chosen.append(frame)
                last = frame
        return np.array(chosen, np.int64)


@dataclass(frozen=True, eq=False)
class DrivenFrames:
    """Frames of a drive, 0.5 s apart."""

    states: tuple[FrameState, ...]
    """In coordinates of the street map."""
    images: tuple[Mapping[str, bytes], ...]
    """JPEG files by camera."""


@dataclass(frozen=True)
class DriveLogWriter:
    """Writes drives as logs of one split of a city's dataset; runs in worker processes."""

    root: Path
    split: str
    thinning: Thinning = Thinning()

    def __post_init__(self) -> None:
        if not self.split.isidentifier():
            raise DriveError(f"record {self.split!r}: a plain name of letters, digits and underscores is needed")
        own = DataFolder(self.root).city_drives(self.split).is_dir()
        taken = (DataFolder(self.root).splits / f"{self.split}.yaml", DataFolder(self.root).logs(self.split))
        if not own and any(path.exists() for path in taken):
            raise DriveError(f"record {self.split!r}: {self.root} has a split of that name; choose another")

    def log_name(self, route: CityRoute, driver: str) -> str:
        """Name of a drive's log."""
        return f"{self.split}_{route.name}_{re.sub(r'[^A-Za-z0-9.-]+', '-', driver)}"

    def is_written(self, route: CityRoute, driver: str) -> bool:
        """Whether a drive is written."""
        return DataFolder(self.root).city_drive(self.split, self.log_name(route, driver)).is_file()

    def write(
        self,
        route: CityRoute,
        driver: str,
        status: str,
        frames: DrivenFrames,
        infractions: Sequence[InfractionEvent] = (),
    ) -> None:
        """Write a drive; its entry comes last."""
        name, (renderer, offset) = self.log_name(route, driver), _log_renderer(self.root, route.place)
        plan = LogPlan(
            name=name,
            simulation=route.simulation,
            network=PLACES[route.place].network.name,
            vehicle=route.start.vehicle,
            seed=renderer.config.seed,
            weather_seed=route.start.weather_seed,
            route=route.start.route,
            frames=frames.states,
            decisions=self._decisions(route, frames, offset),
            situations={},
        )
        renderer.write_driven(RenderTask(plan, self.split), driver, frames.images)
        entry = DriveEntry(
            name=name,
            driver=driver,
            route_name=route.name,
            simulation=route.simulation,
            place=route.place,
            frames=len(plan.frames),
            weather_seed=plan.weather_seed,
            route=list(plan.route),
            points=route.points.tolist(),
            tokens=[plan.token(int(frame)) for frame in plan.decisions],
            status=status,
            infractions=[[event.kind.value, event.time, *event.place] for event in infractions],
        )
        write_drive(self.root, self.split, entry)

    def _decisions(self, route: CityRoute, frames: DrivenFrames, offset: NDArray[np.float64]) -> NDArray[np.int64]:
        """Frames that become scenes; `offset` (2,) leads from the street map to global coordinates."""
        chosen = self.thinning.scenes(np.array([state.speed for state in frames.states]))
        places = np.array([state.ego_pose[:2] for state in frames.states])[chosen] + offset
        away = np.linalg.norm(places[:, None] - route.points, axis=2).min(1)
        return np.asarray(chosen[away <= MAX_LATERAL_DISTANCE])

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Keep other processes from writing this split, and remove what a killed one left of it."""
        layout = DataFolder(self.root)
        with resumable(layout.city_drives(self.split), "recording drives of this split", DriveError):
            sweep(layout.logs(self.split), LEFTOVERS)
            sweep(layout.sensors(self.split), LEFTOVERS)
            sweep(layout.splits, [f"{below}.{self.split}.yaml.*.tmp" for below in ("", "*/")])
            yield

    def write_split(self) -> None:
        """Write the split of all drives so far, in the order of their names."""
        write_city_split(self.root, self.split, self.split, read_drives(self.root, self.split))


@lru_cache(8)
def _log_renderer(root: Path, place: str) -> tuple[LogRenderer, NDArray[np.float64]]:
    """Writer of the logs of a place, and the offset (2,) of its street map."""
    config, network = read_config(read_manifest(root)), PLACES[place].network
    path = DataFolder(root).city_network(network.name)
    location = network.devkit_location if config.devkit_maps else network.location
    streets = read_streets(path)
    index = export_map(streets)[1]
    renderer = LogRenderer(root, config, {network.name: path}, {network.name: location}, {network.name: index})
    return renderer, np.asarray(streets.offset)
