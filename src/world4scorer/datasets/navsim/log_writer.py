"""Write logs and images in the devkit's format.

Everything that the official loader touches is written; pickles hold builtins and numpy arrays only, for NumPy 1
and 2.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.datasets.navsim.annotations import Annotations
from world4scorer.datasets.navsim.cameras import CAMERAS, Camera
from world4scorer.datasets.navsim.devkit_classes import dump_for_devkit
from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.datasets.navsim.frames import COMMANDS, rotation_about_z
from world4scorer.engine.scene.indices import TrackType
from world4scorer.jobs.files import atomic_write

NO_ROTATION: Final = (1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class FrameRecord:
    """A frame to write; fields as in `LogFrame`."""

    token: str
    """16 hexadecimal digits."""
    time_us: int
    scene_name: str
    scene_token: str
    map_location: str
    ego_pose: NDArray[np.float64]
    """(3,) x, y [m], heading [rad] of the rear axle, global."""
    velocity: NDArray[np.float64]
    """(2,) m/s, ego frame."""
    acceleration: NDArray[np.float64]
    """(2,) m/s^2, ego frame."""
    command: int
    """Index into `COMMANDS`."""
    roadblock_ids: Sequence[str]
    traffic_lights: Sequence[tuple[str, bool]]
    """Lane connector and whether its light is red."""
    annotations: Annotations
    cameras: Sequence[Camera]
    yaw_rate: float = 0.0
    """rad/s"""
    vehicle_name: str = "veh-00"
    driver: str = ""
    """Who drove: name of a driver of the closed loop; empty for the expert of the dataset."""


def write_log(path: str | os.PathLike[str], log_token: str, records: Sequence[FrameRecord]) -> None:
    """Write the frames of a log, in time order, to `<log_name>.pkl`, atomically."""
    path = Path(path)
    if not records:
        raise DatasetError(f"{path}: a log needs at least one frame")
    times = np.array([record.time_us for record in records])
    if (np.diff(times) <= 0).any():
        raise DatasetError(f"{path}: frame {int(np.argmax(np.diff(times) <= 0)) + 1} is not after the one before it")
    frames = []
    for index, record in enumerate(records):
        frame = _raw_frame(record, path.stem, log_token, index)
        frame["sample_prev"] = records[index - 1].token if index else None
        frame["sample_next"] = records[index + 1].token if index + 1 < len(records) else None
        frames.append(frame)
    with atomic_write(path) as stream:
        dump_for_devkit(frames, stream)


def _raw_frame(record: FrameRecord, log_name: str, log_token: str, index: int) -> dict[str, Any]:
    position = np.array([record.ego_pose[0], record.ego_pose[1], 0.0])
    rotation = rotation_about_z(float(record.ego_pose[2]))
    velocity, acceleration = np.asarray(record.velocity, float), np.asarray(record.acceleration, float)
    motion = [*acceleration, 0.0, *velocity, 0.0, 0.0, 0.0, record.yaw_rate, 0.0, 0.0]
    to_global = _homogeneous(float(record.ego_pose[2]), position)
    driven = {"driver": record.driver} if record.driver else {}
    return {
        **driven,
        "token": record.token,
        "frame_idx": index,
        "timestamp": int(record.time_us),
        "log_name": log_name,
        "log_token": log_token,
        "scene_name": record.scene_name,
        "scene_token": record.scene_token,
        "map_location": record.map_location,
        "roadblock_ids": [str(block) for block in record.roadblock_ids],
        "vehicle_name": record.vehicle_name,
        "can_bus": np.array([*position, *rotation, *motion]),
        "lidar_path": f"{log_name}/MergedPointCloud/{record.token}.pcd",
        "lidar2ego_translation": np.zeros(3),
        "lidar2ego_rotation": list(NO_ROTATION),
        "ego2global_translation": position,
        "ego2global_rotation": rotation,
        "ego_dynamic_state": [float(value) for value in (*velocity, *acceleration)],
        "traffic_lights": [(int(connector), bool(red)) for connector, red in record.traffic_lights],
        "driving_command": np.eye(len(COMMANDS), dtype=np.int64)[record.command],
        "cams": {camera.name: raw_camera(camera) for camera in sorted(record.cameras, key=_camera_order)},
        "ego2global": to_global,
        "lidar2ego": np.eye(4),
        "lidar2global": to_global.copy(),
        "anns": raw_annotations(record.annotations),
    }


def _camera_order(camera: Camera) -> int:
    return CAMERAS.index(camera.name)


def raw_camera(camera: Camera) -> dict[str, Any]:
    """A camera as it is pickled."""
    return {
        "data_path": camera.path,
        "sensor2lidar_rotation": np.asarray(camera.rotation, np.float64),
        "sensor2lidar_translation": np.asarray(camera.translation, np.float64),
        "cam_intrinsic": np.asarray(camera.intrinsics, np.float64),
        "distortion": np.asarray(camera.distortion, np.float64),
    }


def raw_annotations(annotations: Annotations) -> dict[str, Any]:
    """The `anns` of a frame as they are pickled."""
    return {
        "gt_boxes": np.asarray(annotations.boxes, np.float64),
        "gt_names": np.array([TrackType(code).name.lower() for code in annotations.type], dtype="<U14"),
        "gt_velocity_3d": np.asarray(annotations.velocity, np.float64),
        "instance_tokens": list(annotations.instance_tokens),
        "track_tokens": list(annotations.track_tokens),
    }


def _homogeneous(heading: float, position: NDArray[np.float64]) -> NDArray[np.float64]:
    matrix = np.eye(4)
    cosine, sine = np.cos(heading), np.sin(heading)
    matrix[:2, :2] = [[cosine, -sine], [sine, cosine]]
    matrix[:3, 3] = position
    return matrix
