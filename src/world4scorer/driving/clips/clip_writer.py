"""Write a drive as a clip in Bench2Drive's layout, with CARLA's axes and names.

Writing is atomic: a hidden folder is renamed at the end. Annotations that training does not use (lanes of boxes,
weather, controls) are left out.

Shapes: F frames, A agents, C = 4 cameras.
"""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.driving.clips.annotation import EGO_CLASS
from world4scorer.driving.clips.axes import compass_from_heading, flip_y, yaw_from_heading
from world4scorer.driving.clips.clip import ANNOTATIONS, SUFFIX, image_name
from world4scorer.driving.clips.ego_car import HALF_LENGTH, HALF_WIDTH, HEIGHT, centre
from world4scorer.driving.clips.rig import CAMERA_SENSORS, ClipCameras, carla_matrix
from world4scorer.engine.scene.indices import TrackType

GRAVITY: Final = 9.81
"""Vertical reading of an accelerometer at rest [m/s^2]."""
USER_HEIGHT: Final = 1.6
"""Height written for all agents [m]."""
CLASSES: Final = {TrackType.VEHICLE: "vehicle", TrackType.BICYCLE: "vehicle", TrackType.PEDESTRIAN: "walker"}
"""CARLA's classes; all other types are traffic signs."""
TYPE_IDS: Final = {
    TrackType.VEHICLE: "vehicle.lincoln.mkz_2020",
    TrackType.BICYCLE: "vehicle.bh.crossbike",
    TrackType.PEDESTRIAN: "walker.pedestrian.0001",
}


@dataclass(frozen=True, eq=False)
class RecordedDrive:
    """Content of a clip, in our axes."""

    poses: NDArray[np.float64]
    """(F, 3) rear-axle poses."""
    speed: NDArray[np.float64]
    """(F,) m/s"""
    acceleration: NDArray[np.float64]
    """(F, 2) forward, left [m/s^2]."""
    yaw_rate: NDArray[np.float64]
    """(F,) rad/s"""
    commands: NDArray[np.int64]
    """(F,) codes of `RoadOption`."""
    near: NDArray[np.float64]
    """(F, 2) next command point [m]."""
    far: NDArray[np.float64]
    """(F, 2) command point after it [m]."""
    users: NDArray[np.float64]
    """(A, F, 3) box centres."""
    there: NDArray[np.bool_]
    """(A, F)"""
    sizes: NDArray[np.float64]
    """(A, 2) length, width [m]."""
    types: Sequence[TrackType]
    """Types, A of them."""
    cameras: ClipCameras
    images: Sequence[Sequence[bytes]]
    """F times C JPEG files."""


def write_clip(folder: Path, drive: RecordedDrive) -> None:
    """Write a drive as a clip; the folder's name has town, route and weather."""
    draft = folder.with_name(f".{folder.name}.tmp")
    shutil.rmtree(draft, ignore_errors=True)
    (draft / ANNOTATIONS).mkdir(parents=True)
    for camera in range(len(CAMERA_SENSORS)):
        (draft / image_name(camera, 0)).parent.mkdir(parents=True)
    sensors = _sensors(drive.cameras)
    for frame in range(len(drive.poses)):
        text = json.dumps(make_annotation(drive, frame, sensors))
        # Without a time stamp, so that files are reproducible.
        (draft / ANNOTATIONS / f"{frame:05d}{SUFFIX}").write_bytes(gzip.compress(text.encode(), mtime=0))
        for camera, file in enumerate(drive.images[frame]):
            (draft / image_name(camera, frame)).write_bytes(file)
    shutil.rmtree(folder, ignore_errors=True)
    draft.rename(folder)


def make_annotation(drive: RecordedDrive, frame: int, sensors: Mapping[str, Any]) -> dict[str, Any]:
    """Annotation of one frame in CARLA's format."""
    place = centre(drive.poses[frame])
    x, y = flip_y(place[:2])
    forward, left = drive.acceleration[frame]
    near, far = flip_y(drive.near[frame]), flip_y(drive.far[frame])
    command = int(drive.commands[frame])
    users = [_box(drive, int(user), frame) for user in np.flatnonzero(drive.there[:, frame])]
    return {
        "x": float(x),
        "y": float(y),
        "theta": float(compass_from_heading(place[2])),
        "speed": float(drive.speed[frame]),
        "acceleration": [float(forward), float(-left), GRAVITY],
        "angular_velocity": [0.0, 0.0, float(-drive.yaw_rate[frame])],
        "x_command_near": float(near[0]),
        "y_command_near": float(near[1]),
        "command_near": command,
        "x_command_far": float(far[0]),
        "y_command_far": float(far[1]),
        "next_command": command,
        "bounding_boxes": [_ego(place, float(drive.speed[frame])), *users],
        "sensors": dict(sensors),
    }


def _ego(place: NDArray[np.float64], speed: float) -> dict[str, Any]:
    name = {"class": EGO_CLASS, "id": "0", "type_id": TYPE_IDS[TrackType.VEHICLE], "speed": speed}
    return {**name, **_box_pose(place, (HALF_LENGTH, HALF_WIDTH, HEIGHT / 2))}


def _box(drive: RecordedDrive, user: int, frame: int) -> dict[str, Any]:
    kind = drive.types[user]
    length, width = drive.sizes[user]
    name = {"class": CLASSES.get(kind, "traffic_sign"), "id": str(user + 1)}
    name["type_id"] = TYPE_IDS.get(kind, "static.prop.trafficcone01")
    return {**name, **_box_pose(drive.users[user, frame], (length / 2, width / 2, USER_HEIGHT / 2))}


def _box_pose(pose: NDArray[np.float64], half: tuple[float, float, float]) -> dict[str, Any]:
    x, y = (float(value) for value in flip_y(pose[:2]))
    return {
        "location": [x, y, 0.0],
        "center": [x, y, half[2]],
        "rotation": [0.0, 0.0, float(yaw_from_heading(pose[2]))],
        "extent": [float(value) for value in half],
    }


def _sensors(cameras: ClipCameras) -> dict[str, Any]:
    width, height = (int(value) for value in cameras.image_size)
    return {
        name: {
            "intrinsic": cameras.intrinsics[camera].tolist(),
            "cam2ego": carla_matrix(cameras.rotation[camera], cameras.translation[camera]).tolist(),
            "image_size_x": width,
            "image_size_y": height,
        }
        for camera, name in enumerate(CAMERA_SENSORS)
    }
