"""Bench2Drive's four cameras: mounting, and calibration from annotations.

Shapes: C = 4 cameras in the planner's order: front, back, front left, front right.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.driving.clips.axes import flip_y
from world4scorer.driving.clips.ego_car import REAR_AXLE_TO_CENTRE
from world4scorer.driving.clips.errors import ClipError

CAMERA_FOLDERS: Final = ("rgb_front", "rgb_back", "rgb_front_left", "rgb_front_right")
"""Image folders in a clip."""
CAMERA_SENSORS: Final = ("CAM_FRONT", "CAM_BACK", "CAM_FRONT_LEFT", "CAM_FRONT_RIGHT")
"""Camera names in annotations."""
IMAGE_SIZE: Final = (1600, 900)
"""Width, height of Bench2Drive's images [pixels]."""


@dataclass(frozen=True)
class Mount:
    """Mounting of a camera, in CARLA's convention."""

    x: float
    """Forward of the car's centre [m]."""
    y: float
    """To the right [m]."""
    z: float
    """Up [m]."""
    yaw: float
    """Clockwise [deg]."""
    fov: float
    """Horizontal [deg]."""


MOUNTS: Final = (
    Mount(0.80, 0.0, 1.60, 0.0, 70.0),
    Mount(-2.00, 0.0, 1.60, 180.0, 110.0),
    Mount(0.27, -0.55, 1.60, -55.0, 70.0),
    Mount(0.27, 0.55, 1.60, 55.0, 70.0),
)

TO_CARLA_CAMERA: Final = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
"""Rotation from x right, y down, z forward to CARLA's camera axes: x forward, y right, z up."""


@dataclass(frozen=True, eq=False)
class ClipCameras:
    """Calibration of a clip's cameras."""

    intrinsics: NDArray[np.float64]
    """(C, 3, 3) in pixels of the images."""
    rotation: NDArray[np.float64]
    """(C, 3, 3) camera axes (x right, y down, z forward) -> ego axes."""
    translation: NDArray[np.float64]
    """(C, 3) from the rear axle on the ground, in ego axes [m]."""
    image_size: NDArray[np.int32]
    """(2,) width, height [pixels]."""


def mounted_cameras(mounts: tuple[Mount, ...] = MOUNTS, image_size: tuple[int, int] = IMAGE_SIZE) -> ClipCameras:
    """Cameras from their mounts, by default Bench2Drive's."""
    width, height = image_size
    found = [
        from_carla(intrinsic_matrix(mount.fov, width, height), mount_matrix(mount), image_size) for mount in mounts
    ]
    return join_cameras(found)


def from_carla(intrinsic: Any, camera_to_car: Any, image_size: tuple[int, int]) -> ClipCameras:
    """One camera from CARLA's intrinsic matrix (3, 3) and camera-to-car matrix (4, 4)."""
    matrix = np.asarray(camera_to_car, np.float64)
    forward_left_up = np.diag([1.0, -1.0, 1.0])
    rotation = forward_left_up @ matrix[:3, :3] @ TO_CARLA_CAMERA
    translation = flip_y(matrix[:3, 3]) + np.array([REAR_AXLE_TO_CENTRE, 0.0, 0.0])
    return ClipCameras(
        np.asarray(intrinsic, np.float64)[None], rotation[None], translation[None], np.array(image_size, np.int32)
    )


def join_cameras(cameras: list[ClipCameras]) -> ClipCameras:
    """Join cameras with images of the same size."""
    parts = zip(*((camera.intrinsics, camera.rotation, camera.translation) for camera in cameras), strict=True)
    intrinsics, rotation, translation = (np.concatenate(part) for part in parts)
    return ClipCameras(intrinsics, rotation, translation, cameras[0].image_size)


def read_cameras(sensors: Mapping[str, Any], where: str) -> ClipCameras:
    """Cameras of an annotation, by default Bench2Drive's; `where` names the file in errors."""
    if not any(name in sensors for name in CAMERA_SENSORS):
        return mounted_cameras()
    return join_cameras([_read_camera(sensors, name, where) for name in CAMERA_SENSORS])


def _read_camera(sensors: Mapping[str, Any], name: str, where: str) -> ClipCameras:
    try:
        raw = sensors[name]
        size = (int(raw["image_size_x"]), int(raw["image_size_y"]))
        intrinsic = np.array(raw["intrinsic"], np.float64).reshape(3, 3)
        matrix = np.array(raw["cam2ego"], np.float64).reshape(4, 4)
        np.array(size, np.int32)  # as files keep it
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ClipError(f"{where}: sensors.{name}: {_reason(error)}; fetch this clip again") from error
    if not (np.isfinite(intrinsic).all() and np.isfinite(matrix).all() and min(size) > 0):
        raise ClipError(f"{where}: sensors.{name}: not finite; fetch this clip again")
    return from_carla(intrinsic, matrix, size)


def _reason(error: Exception) -> str:
    return f"no field {error}" if isinstance(error, KeyError) else str(error)


def intrinsic_matrix(fov: float, width: int, height: int) -> NDArray[np.float64]:
    """(3, 3) intrinsics for a horizontal field of view [deg]."""
    focal = width / (2.0 * np.tan(np.radians(fov) / 2.0))
    return np.array([[focal, 0.0, width / 2.0], [0.0, focal, height / 2.0], [0.0, 0.0, 1.0]])


def mount_matrix(mount: Mount) -> NDArray[np.float64]:
    """(4, 4) camera-to-car transform in CARLA's axes."""
    sine, cosine = np.sin(np.radians(mount.yaw)), np.cos(np.radians(mount.yaw))
    matrix = np.eye(4)
    matrix[:2, :2] = [[cosine, -sine], [sine, cosine]]
    matrix[:3, 3] = (mount.x, mount.y, mount.z)
    return matrix


def carla_matrix(rotation: NDArray[np.float64], translation: NDArray[np.float64]) -> NDArray[np.float64]:
    """CARLA's camera-to-car matrix (4, 4) from our rotation (3, 3) and translation (3,); inverse of `from_carla`."""
    matrix = np.eye(4)
    matrix[:3, :3] = np.diag([1.0, -1.0, 1.0]) @ rotation @ TO_CARLA_CAMERA.T
    matrix[:3, 3] = flip_y(translation - np.array([REAR_AXLE_TO_CENTRE, 0.0, 0.0]))
    return matrix
