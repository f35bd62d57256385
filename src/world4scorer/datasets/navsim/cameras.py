"""Camera images and their calibration."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.jobs.files import check_regular

CAMERAS: Final = ("CAM_F0", "CAM_L0", "CAM_L1", "CAM_L2", "CAM_R0", "CAM_R1", "CAM_R2", "CAM_B0")
"""Names in logs, in the order of the devkit."""
CAMERA_LABELS: Final = {
    "CAM_F0": "front",
    "CAM_L0": "front left",
    "CAM_R0": "front right",
    "CAM_B0": "rear",
    "CAM_L1": "left",
    "CAM_R1": "right",
    "CAM_L2": "rear left",
    "CAM_R2": "rear right",
}
"""Readable camera names."""
VIEWS: Final = ("CAM_F0", "CAM_B0", "CAM_L0", "CAM_R0")
"""Cameras of the planner, in its order: front, back, left-front, right-front."""
FRONT: Final = 0
"""Index of the front camera in `VIEWS`."""


@dataclass(frozen=True, eq=False)
class Camera:
    """One camera of a frame. The image is read by `load`."""

    name: str
    """One of `CAMERAS`."""
    path: str
    """Path of the JPEG, relative to the sensor folder of the split."""
    rotation: NDArray[np.float64]
    """(3, 3) from camera axes (x right, y down, z forward) to ego axes."""
    translation: NDArray[np.float64]
    """(3,) position in ego axes [m]."""
    intrinsics: NDArray[np.float64]
    """(3, 3) pinhole matrix in pixels of the full image."""
    distortion: NDArray[np.float64]
    """(5,) k1, k2, p1, p2, k3; images are stored distorted."""

    @classmethod
    def from_raw(cls, name: str, raw: Mapping[str, Any], where: str) -> Camera:
        """Read an entry of a frame's `cams`; `where` names file and frame in errors."""

        def array(key: str, *shape: int) -> NDArray[np.float64]:
            try:
                return np.array(raw[key], np.float64).reshape(shape)
            except KeyError:
                raise DatasetError(f"{where}: camera {name} has no field {key!r}") from None
            except (TypeError, ValueError) as error:
                raise DatasetError(f"{where}: camera {name}, field {key!r}: {error}") from error

        if not isinstance(raw.get("data_path"), (str, os.PathLike)):
            raise DatasetError(f"{where}: camera {name} has no field 'data_path'")
        path = PurePath(raw["data_path"])
        if path.is_absolute() or ".." in path.parts or "\0" in str(path):
            raise DatasetError(f"{where}: camera {name}, data_path {str(path)!r} leaves the sensor folder")
        return cls(
            name=name,
            path=str(raw["data_path"]),
            rotation=array("sensor2lidar_rotation", 3, 3),
            translation=array("sensor2lidar_translation", 3),
            intrinsics=array("cam_intrinsic", 3, 3),
            distortion=array("distortion", 5),
        )

    def load(self, sensor_root: str | os.PathLike[str]) -> NDArray[np.uint8]:
        """The image (H, W, 3), RGB, below the sensor folder of the split."""
        from PIL import Image, UnidentifiedImageError

        path = Path(sensor_root) / self.path
        try:
            check_regular(path)
            with Image.open(path) as image:
                return np.array(image.convert("RGB"))
        except FileNotFoundError:
            raise DatasetError(
                f"{path}: no such image; the sensor blobs of this log are missing or incomplete"
            ) from None
        except (UnidentifiedImageError, OSError) as error:
            raise DatasetError(f"{path}: not a readable image ({error}); fetch it again") from error

    def project(self, points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Pixels (n, 2) of points (n, 3) in the ego frame [m], and which of them lie in front of the camera (n,).

        Distortion is left out, as in the pictures of the devkit.
        """
        seen = (points - self.translation) @ self.rotation  # R^-1 (p - t), row by row
        image = seen @ self.intrinsics.T
        ahead = image[:, 2] > 1e-3
        depth = np.where(ahead, image[:, 2], 1.0)
        return image[:, :2] / depth[:, None], ahead
