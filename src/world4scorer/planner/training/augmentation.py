"""Augmentation: mirrored scenes and colour jitter.

The paper uses neither; short runs on a few hundred logs overfit without. Labels are those of the recorded scene, so
mirrored plans are mirrored back before labelling.

Shapes: B scenes, C views in the order front, back, left-front, right-front.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from world4scorer.planner.model.plan_sampling import Cameras
from world4scorer.planner.training.dataset import Batch

MIRRORED_VIEWS: Final = (0, 1, 3, 2)
"""View permutation: left and right swap."""
MIRRORED_STATUS: Final = (0, 1, 2, 3, 4, 5, 6, 9, 8, 7, 10)
"""Ego status permutation: commands left and right swap."""
STATUS_SIGNS: Final = (1.0, -1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, 1.0, 1.0, 1.0)
POSE_SIGNS: Final = (1.0, -1.0, -1.0)
"""Signs of x, y, heading."""


@dataclass(frozen=True)
class AugmentationConfig:
    """Augmentation in training; off by default, as in the paper."""

    mirror: float = 0.0
    """Share of mirrored scenes."""
    light: float = 0.0
    """Spread of brightness and tint: standard deviation of factors and shifts of normalised colours."""

    def __post_init__(self) -> None:
        if not 0 <= self.mirror <= 1:
            raise ValueError(f"mirror: {self.mirror}; from 0 to 1")
        if not 0 <= self.light < 1:
            raise ValueError(f"light: {self.light}; from 0 to below 1")


def mirror_batch(batch: Batch, chosen_B: Tensor) -> Batch:
    """The batch with chosen scenes mirrored; these have no future target."""
    if not chosen_B.any():
        return batch
    if batch.views is None:
        raise ValueError("mirror: cached features cannot be mirrored; set augmentation.mirror to 0")
    width = batch.views.shape[3]
    future_valid = None if batch.future_valid is None else batch.future_valid & ~chosen_B
    return batch._replace(
        views=_choose(chosen_B, batch.views[:, MIRRORED_VIEWS].flip(3), batch.views),
        ego_status=_choose(chosen_B, mirror_status(batch.ego_status), batch.ego_status),
        cameras=Cameras(
            *(
                _choose(chosen_B, new, old)
                for new, old in zip(mirror_cameras(batch.cameras, width), batch.cameras, strict=True)
            )
        ),
        trajectory=mirror_poses(batch.trajectory, chosen_B),
        trajectory_warped=mirror_poses(batch.trajectory_warped, chosen_B),
        bank=None if batch.bank is None else mirror_poses(batch.bank, chosen_B),
        imitation=None if batch.imitation is None else mirror_poses(batch.imitation, chosen_B),
        future_valid=future_valid,
    )


def mirror_poses(poses: Tensor, chosen_B: Tensor) -> Tensor:
    """Poses (B, ..., 3) with chosen scenes mirrored; its own inverse."""
    return _choose(chosen_B, poses * poses.new_tensor(POSE_SIGNS), poses)


def mirror_status(status_BE: Tensor) -> Tensor:
    """Mirrored ego status (B, 11), or with points of the route after it (B, 13 or 21)."""
    known = status_BE[:, MIRRORED_STATUS] * status_BE.new_tensor(STATUS_SIGNS)
    points = status_BE[:, len(MIRRORED_STATUS) :]
    return torch.cat([known, points * points.new_tensor(POSE_SIGNS[:2]).repeat(points.shape[1] // 2)], 1)


def mirror_cameras(cameras: Cameras, width: int) -> Cameras:
    """Calibration of mirrored images of a width [pixels]."""
    intrinsics = cameras.intrinsics[:, MIRRORED_VIEWS].clone()
    intrinsics[..., 0, 2] = width - intrinsics[..., 0, 2]
    world = intrinsics.new_tensor((1.0, -1.0, 1.0))  # left becomes right
    image = intrinsics.new_tensor((-1.0, 1.0, 1.0))  # and so it does in the image
    rotation = world[:, None] * cameras.rotation[:, MIRRORED_VIEWS] * image
    return Cameras(intrinsics, rotation, cameras.translation[:, MIRRORED_VIEWS] * world)


def jitter_light(image_BC3HW: Tensor, light: float) -> Tensor:
    """Colour jitter of normalised images, one per scene."""
    if light == 0:
        return image_BC3HW
    scenes = len(image_BC3HW)
    factor = 1 + light * torch.randn(scenes, 1, 3, 1, 1, device=image_BC3HW.device)
    shift = light * torch.randn(scenes, 1, 3, 1, 1, device=image_BC3HW.device)
    whole = light * torch.randn(scenes, 1, 1, 1, 1, device=image_BC3HW.device)
    return torch.addcmul(shift + whole, image_BC3HW, factor)


def _choose(chosen_B: Tensor, new: Tensor, old: Tensor) -> Tensor:
    return torch.where(chosen_B.view(-1, *[1] * (old.ndim - 1)), new, old)
