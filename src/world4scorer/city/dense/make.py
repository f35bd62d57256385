"""Make views with dense labels of a city's simulations.

Training frames are rendered from poses beside the expert's, so that an encoder also knows what a planner sees after
its own errors, and some of them a second time in another weather. Frames of other splits are rendered as they are in
the logs: labels for measuring, of the very same images.

Example::

    make_dense_views(preset("large"), "city")
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.city.dense.labels import dense_labels
from world4scorer.city.dense.street_raster import StreetRaster
from world4scorer.city.render.cameras import CameraRig
from world4scorer.city.render.renderer import Renderer
from world4scorer.city.render.weather import Weather
from world4scorer.city.streets.errors import CityError
from world4scorer.city.streets.network import build_network
from world4scorer.city.streets.places import PLACES
from world4scorer.city.streets.street_map import StreetMap, read_streets
from world4scorer.city.world.camera_renderer import city_renderer, jpeg
from world4scorer.city.world.config import CityConfig, Simulation, plain_config
from world4scorer.city.world.log_plan import LogPlan, shifted_pose
from world4scorer.city.world.make import LEFTOVERS, LOCK, SimulationRunner
from world4scorer.datasets.dense.views_file import DenseFrame, ViewGeometry, write_dense_views
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.executors import Workers, as_executor
from world4scorer.jobs.files import read_json, write_json
from world4scorer.jobs.resumable import Settings, resumable

CROP_TOP: Final = 28 / 112
"""Share of the image height at the top that encoders of the city do not see: sky."""
TRAINING: Final = "city_train"
"""Split whose frames are perturbed."""


@dataclass(frozen=True)
class DenseConfig:
    """How training frames are varied."""

    perturbed: float = 0.6
    """Share of frames that are rendered from a shifted pose."""
    lateral: float = 1.6
    """Largest shift to the side [m]."""
    heading: float = 0.26
    """Largest change of heading [rad]."""
    twins: float = 0.25
    """Share of frames that are rendered in a second weather."""


def make_dense_views(
    config: CityConfig,
    root: str | os.PathLike[str],
    dense: DenseConfig | None = None,
    *,
    workers: Workers = None,
    show_progress: bool = False,
) -> Path:
    """Write one file per simulation below `root`/dense and return that folder; finished ones are kept."""
    layout, dense = DataFolder(Path(root)), dense or DenseConfig()
    networks = {PLACES[share.place].network.name: PLACES[share.place].network for share in config.shares}
    about = {"city": {**plain_config(config), "shares": None}, "dense": asdict(dense)}
    settings = Settings(layout.dense / "about.json", about)
    with (
        # Networks and trips are the city's; what a killed process left of them is removed with the city's other files.
        resumable(layout.root, "working on this city", CityError, lock=LOCK, leftovers=LEFTOVERS),
        resumable(layout.dense, "rendering dense views", CityError, settings, leftovers=("*/.*.tmp",)) as job,
    ):
        paths = {name: build_network(network, layout.city_network(name)) for name, network in networks.items()}
        work = DenseRenderer(layout.root, config, dense, paths)
        write_json(_list_file(layout.dense), {each.name: each.share.split for each in config.simulations})
        job.run_missing(
            as_executor(workers),
            work,
            # All places early: an unfinished folder is useful, too.
            sorted(config.simulations, key=lambda simulation: (simulation.number, simulation.decisions)),
            "rendering",
            "simulations",
            is_done=lambda simulation: work.path(simulation).is_file(),
            unit="frames",
            size=lambda simulation: simulation.decisions,
            show=show_progress,
        )
    return layout.dense


def missing_dense_views(root: str | os.PathLike[str]) -> list[str]:
    """Names of the simulations whose files an interrupted `make_dense_views` has not written."""
    layout = DataFolder(Path(root))
    path = _list_file(layout.dense)
    wanted = read_json(path, CityError) if path.is_file() else {}
    return [name for name, split in wanted.items() if not layout.dense_views(split, name).is_file()]


def _list_file(folder: Path) -> Path:
    """Splits of all simulations, by name."""
    return folder / "simulations.json"


@dataclass(frozen=True)
class DenseRenderer:
    """Simulates, and renders the frames of all logs into one file; runs in worker processes."""

    root: Path
    config: CityConfig
    dense: DenseConfig
    networks: Mapping[str, Path]

    def path(self, simulation: Simulation) -> Path:
        """File of a simulation."""
        return DataFolder(self.root).dense_views(simulation.share.split, simulation.name)

    def __call__(self, simulation: Simulation) -> int:
        """Render one simulation; returns the number of frames."""
        place = PLACES[simulation.share.place]
        network = self.networks[place.network.name]
        plans = SimulationRunner(self.root, self.config, self.networks)(simulation)
        renderer, raster = _renderer(network, self.config), _raster(network, place.area)
        varied = self.dense if simulation.share.split == TRAINING else DenseConfig(perturbed=0.0, twins=0.0)
        frames = 0
        with write_dense_views(self.path(simulation), view_geometry(self.config)) as append:
            for plan in plans:
                append([self._frame(renderer, raster, plan, number, varied) for number in range(len(plan.frames))])
                frames += len(plan.frames)
        return frames

    def _frame(
        self, renderer: Renderer, raster: StreetRaster, plan: LogPlan, number: int, varied: DenseConfig
    ) -> DenseFrame:
        frame = plan.frames[number]
        rng = np.random.default_rng([plan.weather_seed, number])
        shift = rng.random() < varied.perturbed
        pose = shifted_pose(frame, rng, varied.lateral, varied.heading) if shift else frame.ego_pose
        views = renderer.draw(
            pose, frame.actors, frame.signals, Weather.draw(plan.weather_seed), classes=True, depth=True
        )
        twins = None
        if rng.random() < varied.twins:
            other = Weather.draw(plan.weather_seed + 1)
            twins = [self._jpeg(image) for image in renderer.draw(pose, frame.actors, frame.signals, other).images]
        crop = round(CROP_TOP * self.config.height)
        labels = dense_labels(raster, pose, frame.actors, frame.speeds, frame.signals, views, crop)
        images = [self._jpeg(image) for image in views.images]
        return DenseFrame(plan.token(number), plan.name, pose, images, twins, labels)

    def _jpeg(self, image: NDArray[np.uint8]) -> bytes:
        return jpeg(image, self.config.quality)


def view_geometry(config: CityConfig) -> ViewGeometry:
    """Sizes and calibration of a city's cameras."""
    rig = CameraRig.default().select(config.cameras)
    crop = round(CROP_TOP * config.height)
    intrinsics = rig.intrinsics(config.height, config.width)
    intrinsics[:, 1, 2] -= crop
    return ViewGeometry(
        config.height, config.width, crop, intrinsics.tolist(), rig.rotation.tolist(), rig.translation.tolist()
    )


@lru_cache(None)
def _streets(network: Path) -> StreetMap:
    return read_streets(network)


@lru_cache(None)
def _raster(network: Path, area: tuple[float, float, float, float]) -> StreetRaster:
    return StreetRaster.build(_streets(network), area)


@lru_cache(None)
def _renderer(network: Path, config: CityConfig) -> Renderer:
    return city_renderer(_streets(network), config, config.cameras)
