from __future__ import annotations

import numpy as np
import pytest
import torch

from world4scorer.city.render.cameras import CameraRig
from world4scorer.planner.model.plan_sampling import Cameras, project
from world4scorer.planner.training.augmentation import (
    AugmentationConfig,
    jitter_light,
    mirror_batch,
    mirror_cameras,
    mirror_poses,
    mirror_status,
)
from world4scorer.planner.training.dataset import Batch

VIEWS = ("CAM_F0", "CAM_B0", "CAM_L0", "CAM_R0")
HEIGHT, WIDTH = 112, 196


def cameras(scenes: int) -> Cameras:
    rig = CameraRig.default(VIEWS)
    parts = (rig.intrinsics(HEIGHT, WIDTH), rig.rotation, rig.translation)
    return Cameras(*(torch.tensor(part).expand(scenes, *part.shape) for part in parts))


def some_batch(scenes: int = 3) -> Batch:
    torch.manual_seed(0)
    return Batch(
        tokens=tuple("abc"[:scenes]),
        views=torch.randint(0, 256, (scenes, 4, 6, 8, 3), dtype=torch.uint8),
        perception=None,
        ego_status=torch.randn(scenes, 11),
        cameras=cameras(scenes),
        trajectory=torch.randn(scenes, 8, 3),
        trajectory_warped=torch.randn(scenes, 8, 3),
        bank=torch.randn(scenes, 5, 8, 3),
        bank_labels=torch.rand(scenes, 5, 7),
        bank_valid=torch.tensor([True, False, True]),
        future=torch.randn(scenes, 4),
        future_valid=torch.tensor([True, True, True]),
    )


def test_what_a_mirrored_camera_sees_is_the_mirrored_image():
    points = torch.tensor(np.random.default_rng(3).uniform((-20, -20, 0), (20, 20, 3), (1, 200, 3)))
    pixels, ahead = project(points, cameras(1))
    other, other_ahead = project(points * torch.tensor([1.0, -1.0, 1.0]), mirror_cameras(cameras(1), WIDTH))
    for view, becomes in ((0, 0), (1, 1), (2, 3), (3, 2)):
        seen = ahead[0, view]
        assert torch.equal(seen, other_ahead[0, becomes])
        torch.testing.assert_close(other[0, becomes, seen, 0], WIDTH - pixels[0, view, seen, 0])
        torch.testing.assert_close(other[0, becomes, seen, 1], pixels[0, view, seen, 1])


def test_only_chosen_scenes_change_and_twice_is_not_at_all():
    batch, chosen = some_batch(), torch.tensor([True, False, True])
    once = mirror_batch(batch, chosen)
    for new, old in zip(once, batch, strict=True):
        if isinstance(new, torch.Tensor):
            assert torch.equal(new[1], old[1])
    assert torch.equal(once.views[0, 2], batch.views[0, 3].flip(1)) and torch.equal(
        once.views[2, 0], batch.views[2, 0].flip(1)
    )
    assert torch.equal(once.trajectory[0, :, 1], -batch.trajectory[0, :, 1])
    assert torch.equal(once.bank[2, ..., 2], -batch.bank[2, ..., 2]) and torch.equal(
        once.bank_labels, batch.bank_labels
    )
    assert once.future_valid.tolist() == [False, True, False]
    twice = mirror_batch(once, chosen)
    for name in ("views", "ego_status", "trajectory", "trajectory_warped", "bank"):
        assert torch.equal(getattr(twice, name), getattr(batch, name))
    for back, before in zip(twice.cameras, batch.cameras, strict=True):
        torch.testing.assert_close(back, before)
    assert mirror_batch(batch, torch.zeros(3, dtype=torch.bool)) is batch


def test_left_and_right_of_the_ego_status():
    status = torch.tensor([[0.0, 0.0, 0.0, 8.0, 0.3, 1.0, -0.5, 1.0, 0.0, 0.0, 0.0]])
    assert mirror_status(status).tolist() == [pytest.approx([0.0, 0.0, 0.0, 8.0, -0.3, 1.0, 0.5, 0.0, 0.0, 1.0, 0.0])]
    routed = torch.cat([status, torch.tensor([[18.0, 6.0]])], 1)
    assert mirror_status(routed)[:, 11:].tolist() == [[18.0, -6.0]]
    assert torch.equal(mirror_status(routed)[:, :11], mirror_status(status))


def test_plans_are_turned_back_for_judging():
    plans, chosen = torch.randn(2, 4, 8, 3), torch.tensor([True, False])
    turned = mirror_poses(plans, chosen)
    assert torch.equal(turned[1], plans[1]) and not torch.equal(turned[0], plans[0])
    assert torch.equal(mirror_poses(turned, chosen), plans)


def test_light_changes_colours_scene_by_scene():
    image = torch.randn(3, 4, 3, 5, 6)
    assert jitter_light(image, 0.0) is image
    torch.manual_seed(1)
    other = jitter_light(image, 0.2)
    slope = (other[0, 1, 2, 3, 4] - other[0, 0, 2, 0, 0]) / (image[0, 1, 2, 3, 4] - image[0, 0, 2, 0, 0])
    again = (other[0, 3, 2, 1, 1] - other[0, 2, 2, 0, 3]) / (image[0, 3, 2, 1, 1] - image[0, 2, 2, 0, 3])
    assert slope == pytest.approx(float(again), rel=1e-3) and abs(slope - 1) > 1e-3
    assert (other - image).abs().mean() < 0.5


def test_settings_that_cannot_be():
    with pytest.raises(ValueError, match="mirror"):
        AugmentationConfig(mirror=1.5)
    with pytest.raises(ValueError, match="light"):
        AugmentationConfig(light=-0.1)
