"""Render the camera images of a log plan and write its log.

Logs are written atomically: images go to a hidden folder that is renamed at the end; the log file comes last.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np

from world4scorer.city.render.cameras import CameraRig
from world4scorer.city.render.weather import Weather
from world4scorer.city.scenery.actors import ActorKind
from world4scorer.city.streets.map_index import MapIndex
from world4scorer.city.streets.street_map import StreetMap, read_streets
from world4scorer.city.world.camera_renderer import CameraRenderer
from world4scorer.city.world.config import CityConfig
from world4scorer.city.world.log_plan import FrameState, LogPlan, digest
from world4scorer.city.world.manifest import is_rendered
from world4scorer.city.world.traffic import TIME_STEP
from world4scorer.datasets.navsim.annotations import Annotations
from world4scorer.datasets.navsim.cameras import Camera
from world4scorer.datasets.navsim.log_writer import FrameRecord, write_log
from world4scorer.engine.scene.geometry import Floats, direction, wrap
from world4scorer.engine.scene.indices import TrackType
from world4scorer.jobs.data_folder import DataFolder

LOG_EPOCH_US: Final = 1_630_000_000_000_000
"""Time of simulation step 0 in logs [us]."""
SIGNAL_RADIUS: Final = 110.0
"""Traffic lights within this distance of the ego are logged [m]."""
TRACK_TYPES: Final = {
    ActorKind.BICYCLE: TrackType.BICYCLE,
    ActorKind.PEDESTRIAN: TrackType.PEDESTRIAN,
    ActorKind.CONE: TrackType.TRAFFIC_CONE,
    ActorKind.BARRIER: TrackType.BARRIER,
}
"""Track types of actors; every other kind is a vehicle."""


@dataclass(frozen=True)
class RenderTask:
    """A log plan and the folder of logs it belongs to."""

    plan: LogPlan
    data_split: str

    def __str__(self) -> str:
        return self.plan.name


@dataclass(frozen=True)
class RenderBatch:
    """Logs of one network, near each other, that one process renders: it paints the ground of their area once."""

    tasks: tuple[RenderTask, ...]

    def __str__(self) -> str:
        more = len(self.tasks) - 1
        return f"{self.tasks[0]} and {more} more" if more else str(self.tasks[0])


@dataclass(frozen=True)
class LogRenderer:
    """Renders and writes logs below a dataset folder; runs in worker processes."""

    root: Path
    config: CityConfig
    networks: Mapping[str, Path]
    locations: Mapping[str, str]
    """Map names by network."""
    indices: Mapping[str, MapIndex]

    def __call__(self, batch: RenderBatch) -> int:
        """Render the logs of a batch; returns the number of frames."""
        return sum(self.render_log(task) for task in batch.tasks)

    def render_log(self, task: RenderTask) -> int:
        """Render one log; returns the number of frames."""
        plan = task.plan
        if is_rendered(self.root, task.data_split, plan.name, len(plan.own_frames), self.config):
            return len(plan.frames)
        self._write(task, lambda folder: self.draw(plan, folder), self.records(plan))
        return len(plan.frames)

    def draw(self, plan: LogPlan, folder: Path) -> None:
        """Render the images of all frames into a folder that stands for that of the log."""
        renderer = _camera_renderer(self.networks[plan.network], self.config)
        weather = Weather.draw(plan.weather_seed)
        self._make_camera_folders(folder)
        for number in plan.own_frames:
            for name, file in renderer.render(plan.frames[number], weather).items():
                (folder / image_path(plan, number, name).relative_to(plan.name)).write_bytes(file)

    def write_driven(self, task: RenderTask, driver: str, images: Sequence[Mapping[str, bytes]]) -> None:
        """Write a log whose images were rendered while it was driven, by camera for each frame."""
        plan = task.plan

        def draw(folder: Path) -> None:
            self._make_camera_folders(folder)
            for number, files in enumerate(images):
                for name, file in files.items():
                    (folder / image_path(plan, number, name).relative_to(plan.name)).write_bytes(file)

        self._write(task, draw, self.records(plan, driver))

    def _make_camera_folders(self, folder: Path) -> None:
        for camera in self.config.cameras:
            (folder / camera).mkdir(parents=True)

    def _write(self, task: RenderTask, draw: Callable[[Path], None], records: Sequence[FrameRecord]) -> None:
        """Write images to a hidden folder, rename it, and write the log."""
        layout, name = DataFolder(self.root), task.plan.name
        images = layout.sensors(task.data_split) / name
        draft = images.with_name(f".{name}.tmp")
        shutil.rmtree(draft, ignore_errors=True)
        draw(draft)
        shutil.rmtree(images, ignore_errors=True)
        draft.rename(images)
        write_log(layout.log(task.data_split, name), digest(name), records)

    def records(self, plan: LogPlan, driver: str = "") -> list[FrameRecord]:
        """The frames of the log."""
        streets, index = _streets(self.networks[plan.network]), self.indices[plan.network]
        route = index.route(plan.route)
        connectors = _connector_points(streets, index)
        scene = digest(plan.name, "scene")
        return [
            FrameRecord(
                token=plan.token(number),
                time_us=LOG_EPOCH_US + round(frame.step * TIME_STEP * 1e6),
                scene_name=f"scene-{scene[:8]}",
                scene_token=scene,
                map_location=self.locations[plan.network],
                ego_pose=frame.ego_pose + np.append(streets.offset, 0.0),
                velocity=np.array([frame.speed, 0.0]),
                acceleration=frame.acceleration,
                command=frame.command,
                roadblock_ids=route,
                traffic_lights=_lights_near(frame, index, connectors),
                annotations=annotations_of(frame, plan.name),
                cameras=cameras(plan, number, self.config),
                yaw_rate=frame.yaw_rate,
                vehicle_name="veh-w4s",
                driver=driver,
            )
            for number, frame in enumerate(plan.frames)
        ]


def image_path(plan: LogPlan, frame: int, camera: str) -> Path:
    """Path of an image below the sensor folder of the split."""
    log, number = plan.image_of(frame)
    return Path(log) / camera / f"{digest(log, number, camera)}.jpg"


def cameras(plan: LogPlan, frame: int, config: CityConfig) -> list[Camera]:
    """All eight cameras of the rig; only those of the configuration have images."""
    rig = CameraRig.default()
    intrinsics = rig.intrinsics(config.height, config.width)
    return [
        Camera(
            name=name,
            path=str(image_path(plan, frame, name)),
            rotation=rig.rotation[number],
            translation=rig.translation[number],
            intrinsics=intrinsics[number],
            distortion=np.zeros(5),
        )
        for number, name in enumerate(rig.names)
    ]


def annotations_of(frame: FrameState, log: str) -> Annotations:
    """Annotations of a frame's road users, in the ego frame."""
    actors = frame.actors
    x, y, heading = frame.ego_pose
    cosine, sine = np.cos(heading), np.sin(heading)
    # Not `to_ego_axes`: bytes of logs depend on the memory layout of this matrix where one road user is seen.
    to_ego = np.array([[cosine, sine], [-sine, cosine]])
    place = (actors.pose[:, :2] - [x, y]) @ to_ego.T
    turn = wrap(actors.pose[:, 2] - heading)
    boxes = np.column_stack([place, actors.size[:, 2] / 2, actors.size, turn])
    velocity = frame.speeds[:, None] * np.column_stack([direction(turn), np.zeros(len(turn))])
    return Annotations(
        boxes=boxes,
        type=np.array([TRACK_TYPES.get(ActorKind(kind), TrackType.VEHICLE) for kind in actors.kind], np.int8),
        velocity=velocity,
        instance_tokens=tuple(digest(log, frame.step, name) for name in frame.names),
        track_tokens=tuple(digest(log, name) for name in frame.names),
    )


def _lights_near(frame: FrameState, index: MapIndex, places: Mapping[str, Floats]) -> list[tuple[str, bool]]:
    return [
        (connector, red)
        for connector, red in index.lights(frame.signals)
        if np.abs(places[connector] - frame.ego_pose[:2]).max() < SIGNAL_RADIUS
    ]


def _connector_points(streets: StreetMap, index: MapIndex) -> dict[str, Floats]:
    return {
        str(index.connector[connection.from_lane, connection.to_lane]): connection.shape[0]
        for connection in streets.connections
        if (connection.from_lane, connection.to_lane) in index.connector
    }


@lru_cache(8)
def _streets(network: Path) -> StreetMap:
    return read_streets(network)


@lru_cache(2)  # painted ground takes memory, and processes go from network to network
def _camera_renderer(network: Path, config: CityConfig) -> CameraRenderer:
    return CameraRenderer(_streets(network), config)
