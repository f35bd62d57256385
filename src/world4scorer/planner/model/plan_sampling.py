"""Extension of the action encoder: image features sampled along plans.

For every pose of a plan, three points on the ground (the centre of the car's box and its front corners) are projected
into the views, and features are read there by bilinear interpolation: of patches, and where the configuration asks for
it of small cells of the image itself. Of several views that see a point the one counts that sees it most in its
middle; what no view sees reads as zero. A linear layer, zero before training, adds the reading to the plan's query.

Shapes: B scenes, N plans, T poses, K = 3 points per pose, C cameras, V width of the ViT, F features read, D width,
h x w patches, U = N * T * K points of a scene.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from world4scorer.engine.scene import vehicle
from world4scorer.planner.model.config import ModelConfig

BOX_POINTS: Final = (
    (vehicle.REAR_AXLE_TO_CENTRE, 0.0),
    (vehicle.FRONT_OVERHANG, vehicle.HALF_WIDTH),
    (vehicle.FRONT_OVERHANG, -vehicle.HALF_WIDTH),
)
"""Forward and left of the rear axle [m]: centre, front left, front right."""

MIN_DEPTH: Final = 0.1
"""Smallest depth of visible points [m]."""


class Cameras(NamedTuple):
    """Camera calibration of a scene's views; metres, ego frame, ground at z = 0."""

    intrinsics: Tensor
    """(B, C, 3, 3) pinhole matrices in pixels of the images that the model is given"""
    rotation: Tensor
    """(B, C, 3, 3) camera axes (x right, y down, z forward) -> ego axes (x forward, y left, z up)"""
    translation: Tensor
    """(B, C, 3) position of the camera"""


class Readable(NamedTuple):
    """Features of the views of some scenes, for reading at any pixel."""

    patches: Tensor
    """(B, C, h, w, F) of patches"""
    fine: Tensor | None
    """(B, C, rows, columns, F) of small cells"""

    def detach(self) -> Readable:
        """A detached copy."""
        return Readable(self.patches.detach(), None if self.fine is None else self.fine.detach())


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
    ahead = seen_BCU3[..., 2] > MIN_DEPTH
    image_BCU3 = seen_BCU3 @ cameras.intrinsics.transpose(-1, -2)
    depth = torch.where(ahead, seen_BCU3[..., 2], 1.0)
    return image_BCU3[..., :2] / depth[..., None], ahead


def best_view(pixels_BCU2: Tensor, ahead_BCU: Tensor, height: int, width: int) -> tuple[Tensor, Tensor, Tensor]:
    """The view in which each point is farthest from the left and right edges.

    Returns the view (B, U), the pixel in it (B, U, 2), and whether any view sees the point (B, U).
    """
    column, row = pixels_BCU2.unbind(-1)
    seen = ahead_BCU & (column >= 0) & (column < width) & (row >= 0) & (row < height)
    off_centre = torch.where(seen, (2 * column / width - 1).abs(), torch.inf)
    least, view_BU = off_centre.min(1)
    pixel_BU2 = pixels_BCU2.gather(1, view_BU[:, None, :, None].expand(-1, 1, -1, 2))[:, 0]
    visible_BU = least.isfinite()
    return view_BU, torch.where(visible_BU[..., None], pixel_BU2, 0.0), visible_BU


def sample(maps_BChwF: Tensor, view_BU: Tensor, position_BU2: Tensor) -> Tensor:
    """Features (B, U, F) at positions of views by bilinear interpolation.

    Positions count columns and rows of the map: (0, 0) is the corner, (0.5, 0.5) the centre of the first cell. Beyond
    the centres of the outermost cells their features are held.
    """
    scenes, views, rows, columns, _ = maps_BChwF.shape
    last = position_BU2.new_tensor([columns - 1, rows - 1])
    centred = torch.minimum((position_BU2 - 0.5).clamp(min=0), last)
    low = centred.floor()
    high = torch.minimum(low + 1, last)
    (right, down), (left_column, top), (right_column, bottom) = (
        (centred - low).unbind(-1),
        low.long().unbind(-1),
        high.long().unbind(-1),
    )
    first = (torch.arange(scenes, device=view_BU.device)[:, None] * views + view_BU) * (rows * columns)
    cells = [first + r * columns + c for r in (top, bottom) for c in (left_column, right_column)]
    shares = [r * c for r in (1 - down, down) for c in (1 - right, right)]
    table = maps_BChwF.reshape(-1, maps_BChwF.shape[-1])
    weights = torch.stack(shares, -1).flatten(0, 1).to(table.dtype)
    read: Tensor = functional.embedding_bag(
        torch.stack(cells, -1).flatten(0, 1), table, per_sample_weights=weights, mode="sum"
    )
    return read.view(*view_BU.shape, -1)


class PlanSampling(nn.Module):
    """Plans and image features to an addition to the plans' queries."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.reduce = nn.Linear(config.vit_width, config.sampling_width)
        cell = config.sampling_cell
        self.fine = nn.Conv2d(3, config.sampling_fine, cell, cell) if config.sampling_fine else None
        features = config.sampling_width + config.sampling_fine + 1
        self.out = nn.Linear(config.poses * len(BOX_POINTS) * features, config.width)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def prepare(self, patches_BCVhw: Tensor, image_BC3HW: Tensor | None) -> Readable:
        """The maps to read from; the same for all plans of the scenes."""
        patches = functional.gelu(self.reduce(patches_BCVhw.movedim(2, -1)))
        if self.fine is None or image_BC3HW is None:
            return Readable(patches, None)
        fine = functional.gelu(self.fine(image_BC3HW.flatten(0, 1)))
        return Readable(patches, fine.unflatten(0, image_BC3HW.shape[:2]).movedim(2, -1))

    def read(self, plans_BNT3: Tensor, readable: object, cameras: Cameras | None) -> Tensor:
        """Image features along plans (B, N, input width of `out`), from what `prepare` returned."""
        scenes, plans = plans_BNT3.shape[:2]
        if cameras is None or not isinstance(readable, Readable):
            raise ValueError("cameras: missing; a model with plan sampling needs to know how the views were taken")
        if cameras.intrinsics.shape[:2] != readable.patches.shape[:2]:
            given, needed = tuple(cameras.intrinsics.shape[:2]), tuple(readable.patches.shape[:2])
            raise ValueError(f"cameras: {given} scenes and views; {needed} are needed")
        cameras = Cameras(*(part.float() for part in cameras))  # half precision is too coarse for pixels
        pixels, ahead = project(ground_points(plans_BNT3.float()).flatten(1, 3), cameras)
        view, pixel, visible = best_view(pixels, ahead, self.config.image_height, self.config.image_width)
        read = [sample(readable.patches, view, pixel / self.config.cell)]
        if readable.fine is not None:
            read.append(sample(readable.fine, view, pixel / self.config.sampling_cell))
        mask = visible[..., None].to(read[0].dtype)
        return torch.cat([*(part * mask for part in read), mask], -1).reshape(scenes, plans, -1)
