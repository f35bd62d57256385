"""Sizes of the city's foundation encoder, and the cameras that it was taught with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import torch

from world4scorer.datasets.dense.labels import CELLS
from world4scorer.planner.model.config import DENSE, ModelConfig
from world4scorer.planner.model.plan_sampling import Cameras

MAP_CLASSES: Final = ("drivable", "lane", "crosswalk", "vehicle", "person", "red", "boundary")
"""Channels of the map, in order."""
PIXEL_CLASSES: Final = 14
"""Semantic classes of pixels (`SurfaceClass` of the city)."""
SCALE: Final = 4
"""Cells of the map per cell of the feature map, along both axes."""
LIFT_SCALE: Final = 2
"""Places per cell of the feature map, along both axes, at which it reads the views."""
FINE_STRIDE: Final = 4
"""Pixels per cell of a view's fine features."""
SHARP_STRIDE: Final = 2
"""Pixels per cell of a view's sharp features: thirty metres ahead a pixel is four metres of road."""
FINE_PER_PATCH: Final = 4
"""Cells of the fine features per patch, along both axes."""
MAX_DEVIATION: Final = 1e-3
"""Largest difference of a calibration from the encoder's: of pixels / image width, of axes, and of positions [m]."""


@dataclass(frozen=True)
class DenseEncoderConfig:
    """Sizes of the encoder."""

    image_height: int = 84
    """Of each view, cropped [pixels]."""
    image_width: int = 196
    """Of each view [pixels]."""
    crop_top: int = 28
    """Rows cut off the top of the image as rendered [pixels]: sky."""
    focal_to_width: float = 1545.0 / 1920.0
    """Focal length / image width; the optical axis is in the middle of the image before cropping."""
    mounts: tuple[tuple[float, float, float, float], ...] = (
        (1.95, 0.0, 1.5, 0.0),
        (1.35, 0.0, 1.5, 180.0),
        (1.82, 0.25, 1.5, 55.0),
        (1.82, -0.25, 1.5, -55.0),
    )
    """Level cameras in the order front, back, left-front, right-front: x forward, y left, z up of the rear axle on the
    ground [m], yaw to the left [deg]."""
    fine: int = 48
    """Features at a quarter of the resolution."""
    middle: int = 64
    """Features at an eighth."""
    patch_width: int = 96
    """Features of a patch token."""
    lifted: int = 32
    """Fine features that are lifted onto the ground."""
    sharp: int = 16
    """Sharp features that are lifted onto the ground; 0 leaves them out."""
    map_width: int = 64
    """Features of a cell of the feature map."""
    map_inner: int = 96
    """Features of the map network at its coarsest level."""
    place: int = 16
    """Learned features of each cell's place."""
    forecast: int = 0
    """Features of the forecast network at its finest level; 0 for an encoder without a forecast."""

    @property
    def cameras(self) -> Cameras:
        """Calibration of the views of one scene."""
        mounts = torch.tensor(self.mounts)
        yaw, zero, one = mounts[:, 3].deg2rad(), torch.zeros(len(mounts)), torch.ones(len(mounts))
        right = torch.stack([yaw.sin(), -yaw.cos(), zero], -1)
        forward = torch.stack([yaw.cos(), yaw.sin(), zero], -1)
        rotation = torch.stack([right, torch.stack([zero, zero, -one], -1), forward], -1)
        focal, middle = self.focal_to_width * self.image_width, (self.image_height - self.crop_top) / 2
        pinhole = torch.tensor([[focal, 0, self.image_width / 2], [0, focal, middle], [0, 0, 1.0]])
        return Cameras(pinhole.expand(1, len(mounts), 3, 3), rotation[None], mounts[None, :, :3])

    def check_cameras(self, cameras: Cameras) -> None:
        """Raise a ValueError for other cameras than those that the encoder was taught with."""
        for ours, theirs, scale in zip(self.cameras, cameras, (self.image_width, 1, 1), strict=True):
            if (ours - theirs.detach().cpu()).abs().max() > MAX_DEVIATION * scale:
                raise ValueError(
                    "cameras: not those of the city, which the dense encoder was taught with; use a model with a ViT "
                    "(--preset city-vit or paper)"
                )

    @property
    def view_sizes(self) -> ModelConfig:
        """Sizes of views and patches, as functions that read images want them."""
        return ModelConfig(
            image_height=self.image_height,
            image_width=self.image_width,
            crop_top=self.crop_top,
            patch=FINE_STRIDE,
            cameras=len(self.mounts),
            vit_width=self.patch_width,
            registers=0,
            lora_rank=0,
            encoder=DENSE,
        )

    @property
    def patches(self) -> tuple[int, int]:
        """Rows and columns of patches in a view."""
        rows, columns = self.fine_grid
        return -(-rows // FINE_PER_PATCH), -(-columns // FINE_PER_PATCH)

    @property
    def fine_grid(self) -> tuple[int, int]:
        """Rows and columns of a view's finest features."""
        return self.image_height // FINE_STRIDE, self.image_width // FINE_STRIDE

    @property
    def map_cells(self) -> tuple[int, int]:
        """Rows and columns of the feature map."""
        return CELLS[0] // SCALE, CELLS[1] // SCALE
