"""An extension of the action encoder: what do the cameras see where the plan leads?

For every pose of a plan, three points on the ground (the centre of the car's box and its front corners) are projected
into the views, and patch features are read there by bilinear interpolation; zero where a point is not seen, the mean
where several views see it. A linear layer, zero before training, adds the reading to the plan's query.

Shapes: B scenes, N plans, T poses, K = 3 points per pose, C cameras, V width of the ViT, F features read, D width,
h x w patches, U = N * T * K points of a scene.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from world4scorer.model.config import ModelConfig
from world4scorer.scene import vehicle

BOX_POINTS: Final = (
    (vehicle.REAR_AXLE_TO_CENTRE, 0.0),
    (vehicle.FRONT_OVERHANG, vehicle.HALF_WIDTH),
    (vehicle.FRONT_OVERHANG, -vehicle.HALF_WIDTH),
)
"""Forward and left of the rear axle [m]: centre, front left, front right."""

NEAREST: Final = 0.1
"""Points nearer to the camera plane than this are not seen [m]."""


class Cameras(NamedTuple):
    """How the views of a scene were taken; lengths in metres, in the ego frame with the ground at z = 0."""

    intrinsics: Tensor
    """(B, C, 3, 3) pinhole matrices in pixels of the images that the model is given"""
    rotation: Tensor
    """(B, C, 3, 3) camera axes (x right, y down, z forward) -> ego axes (x forward, y left, z up)"""
    translation: Tensor
    """(B, C, 3) position of the camera"""


def ground_points(plans_BNT3: Tensor) -> Tensor:
    """The box points of every pose in the ego frame (B, N, T, K, 3) [m]."""
    x, y, heading = plans_BNT3[..., None, :].unbind(-1)
    forward, left = plans_BNT3.new_tensor(BOX_POINTS).unbind(-1)
    point_x = x + forward * heading.cos() - left * heading.sin()
    point_y = y + forward * heading.sin() + left * heading.cos()
    return torch.stack([point_x, point_y, torch.zeros_like(point_x)], -1)


def project(points_BU3: Tensor, cameras: Cameras) -> tuple[Tensor, Tensor]:
    """Pixels (B, C, U, 2) of points, and which of them lie before the camera (B, C, U)."""
    seen_BCU3 = (points_BU3[:, None] - cameras.translation[:, :, None]) @ cameras.rotation
    ahead = seen_BCU3[..., 2] > NEAREST
    image_BCU3 = seen_BCU3 @ cameras.intrinsics.transpose(-1, -2)
    depth = torch.where(ahead, seen_BCU3[..., 2], 1.0)
    return image_BCU3[..., :2] / depth[..., None], ahead


def sample(patches_BCFhw: Tensor, pixels_BCU2: Tensor, height: int, width: int) -> tuple[Tensor, Tensor]:
    """Features (B, C, U, F) at pixels of images of that size, and which pixels lie in the image (B, C, U).

    Pixel (0, 0) covers [0, 1) x [0, 1). Beyond the centres of the outermost patches their features are held.
    """
    size = pixels_BCU2.new_tensor([width, height])
    inside = ((pixels_BCU2 >= 0) & (pixels_BCU2 < size)).all(-1)
    grid = torch.where(inside[..., None], 2 * pixels_BCU2 / size - 1, 0.0)
    views = patches_BCFhw.flatten(0, 1)
    read = functional.grid_sample(
        views.to(grid.dtype), grid.flatten(0, 1)[:, None], padding_mode="border", align_corners=False
    )
    return read[:, :, 0].transpose(1, 2).unflatten(0, patches_BCFhw.shape[:2]), inside


class PlanSampling(nn.Module):
    """Plans and patch features to an addition to the plans' queries."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.height, self.width = config.image_height, config.image_width
        self.reduce = nn.Conv2d(config.vit_width, config.sampling_width, 1)
        self.out = nn.Linear(config.poses * len(BOX_POINTS) * (config.sampling_width + 1), config.width)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, plans_BNT3: Tensor, patches_BCVhw: Tensor, cameras: Cameras) -> Tensor:
        """Additions to queries (B, N, D)."""
        scenes, plans = plans_BNT3.shape[:2]
        patches_BCFhw = self.reduce(patches_BCVhw.flatten(0, 1)).unflatten(0, patches_BCVhw.shape[:2])
        cameras = Cameras(*(part.float() for part in cameras))  # half precision is too coarse for pixels
        pixels, ahead = project(ground_points(plans_BNT3.float()).flatten(1, 3), cameras)
        read_BCUF, inside = sample(patches_BCFhw, pixels, self.height, self.width)
        visible_BCU1 = (ahead & inside)[..., None].to(read_BCUF.dtype)
        views_BU1 = visible_BCU1.sum(1)
        mean_BUF = (read_BCUF * visible_BCU1).sum(1) / views_BU1.clamp(min=1)
        features = torch.cat([mean_BUF, views_BU1.clamp(max=1)], -1).view(scenes, plans, -1)
        added: Tensor = self.out(features.to(self.out.weight.dtype))
        return added
