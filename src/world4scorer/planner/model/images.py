"""Preprocessing of camera images: resize, optional crop of the sky, normalise.

Shapes: B scenes, C cameras, H x W pixels of a view.
"""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError
from torch import Tensor

from world4scorer.jobs.files import check_regular
from world4scorer.planner.model.config import ModelConfig

MEAN: Final = (0.485, 0.456, 0.406)
"""ImageNet mean of red, green, blue, 0 to 1."""
STD: Final = (0.229, 0.224, 0.225)
"""Standard deviations of the same."""


class Frames(NamedTuple):
    """Normalised images of two frames, half a second apart."""

    now: Tensor
    """(B, C, 3, H, W)"""
    before: Tensor
    """(B, C, 3, H, W)"""
    pose_before: Tensor
    """(B, 3) ego pose of the frame before in the present ego frame [m, rad]; NaN for scenes without one"""

    def to(self, dtype: torch.dtype) -> Frames:
        """The same with images in another precision."""
        return self._replace(now=self.now.to(dtype), before=self.before.to(dtype))

    def at(self, rows: slice) -> Frames:
        """Some of the scenes."""
        return Frames(*(part[rows] for part in self))


class ImageError(ValueError):
    """An image that cannot be used; the message names the file and what to do."""


def read_view(path: str | os.PathLike[str], config: ModelConfig) -> NDArray[np.uint8]:
    """The image of a file as a view (H, W, 3)."""
    try:
        check_regular(path)
        data = Path(path).read_bytes()
    except OSError as error:
        raise ImageError(f"{path}: {error.strerror}; the sensor blobs of this log are missing or incomplete") from error
    try:
        with Image.open(io.BytesIO(data)) as image:
            return fit_view(image, config)
    except (UnidentifiedImageError, OSError, SyntaxError) as error:
        raise ImageError(f"{path}: not a readable image ({error}); fetch or film it again") from error


def fit_view(image: Image.Image, config: ModelConfig) -> NDArray[np.uint8]:
    """An image of any size as a view (H, W, 3): bicubic, without regard to its proportions."""
    size = (config.image_width, config.image_height + config.crop_top)
    if image.mode != "RGB":
        image = image.convert("RGB")
    if image.size != size:
        image = image.resize(size, Image.Resampling.BICUBIC)
    return np.asarray(image)[config.crop_top :]


def fit_intrinsics(
    intrinsics: NDArray[np.float64], width: int, height: int, config: ModelConfig
) -> NDArray[np.float64]:
    """Pinhole matrices (..., 3, 3) in pixels of views, from those in pixels of images of that size."""
    fitted = np.array(intrinsics, np.float64)
    fitted[..., 0, :] *= config.image_width / width
    fitted[..., 1, :] *= (config.image_height + config.crop_top) / height
    fitted[..., 1, 2] -= config.crop_top
    return fitted


def check_images(image_BC3HW: Tensor, cameras: int, height: int, width: int) -> None:
    """Raise a ValueError for images that are not as many views of that size."""
    expected = (cameras, 3, height, width)
    if image_BC3HW.ndim != 5 or tuple(image_BC3HW.shape[1:]) != expected:
        given = tuple(image_BC3HW.shape)
        raise ValueError(f"image: shape {given}; (scenes, {', '.join(map(str, expected))}) is needed")


def normalise(views_HW3: Tensor) -> Tensor:
    """Views (..., H, W, 3) of bytes as the model's input (..., 3, H, W), float32."""
    scale = views_HW3.new_tensor(STD, dtype=torch.float32) * 255.0
    shift = views_HW3.new_tensor(MEAN, dtype=torch.float32) / scale * 255.0
    planes_3HW = views_HW3.movedim(-1, -3).contiguous().float()  # bytes are quicker to reorder than floats
    return torch.addcmul(-shift[:, None, None], planes_3HW, 1.0 / scale[:, None, None])
