"""Known points, known cameras, known features."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.support.model_golden import tiny_inputs, tiny_planner
from world4scorer.city.render.cameras import CameraRig
from world4scorer.planner.model import Cameras
from world4scorer.planner.model.plan_sampling import best_view, ground_points, project, sample
from world4scorer.planner.planner import Planner
from world4scorer.planner.training.predictions import predict, propose

HEIGHT, WIDTH = 28, 42
FOCAL = 40.0


def level_camera(yaw: float, x: float = 0.0, z: float = 1.5) -> tuple[torch.Tensor, torch.Tensor]:
    """Rotation and translation of a camera that looks along the horizon."""
    c, s = np.cos(yaw), np.sin(yaw)
    axes = np.array([(s, -c, 0.0), (0.0, 0.0, -1.0), (c, s, 0.0)]).T
    return torch.tensor(axes, dtype=torch.float32), torch.tensor([x, 0.0, z])


def cameras_of(*yaws: float, scenes: int = 1) -> Cameras:
    rotation, translation = zip(*(level_camera(yaw) for yaw in yaws), strict=True)
    intrinsics = torch.tensor([[FOCAL, 0, WIDTH / 2], [0, FOCAL, HEIGHT / 2], [0, 0, 1.0]])
    return Cameras(
        intrinsics.expand(scenes, len(yaws), 3, 3),
        torch.stack(rotation).expand(scenes, -1, 3, 3),
        torch.stack(translation).expand(scenes, -1, 3),
    )


def test_box_points_of_known_poses():
    plans = torch.tensor([[[[10.0, 2.0, 0.0], [0.0, 5.0, np.pi / 2]]]], dtype=torch.float32)
    points = ground_points(plans)[0, 0]
    straight = [[11.461, 2.0, 0.0], [14.049, 3.1485, 0.0], [14.049, 0.8515, 0.0]]
    left = [[0.0, 6.461, 0.0], [-1.1485, 9.049, 0.0], [1.1485, 9.049, 0.0]]
    torch.testing.assert_close(points, torch.tensor([straight, left]), rtol=0, atol=1e-4)


def test_known_projections():
    points = torch.tensor([[[10.0, 0.0, 0.0], [10.0, 2.0, 1.5], [-10.0, 0.0, 0.0], [0.0, 10.0, 0.0]]])
    pixels, ahead = project(points, cameras_of(0.0, np.pi))
    assert ahead[0].tolist() == [[True, True, False, False], [False, False, True, False]]
    # Ten metres ahead and a metre and a half below the camera: 6 pixels below the centre. To the left is less u.
    torch.testing.assert_close(pixels[0, 0, :2], torch.tensor([[21.0, 14.0 + 6.0], [21.0 - 8.0, 14.0]]))
    torch.testing.assert_close(pixels[0, 1, 2], torch.tensor([21.0, 20.0]))


def test_agrees_with_the_rig_of_the_renderer():
    rig = CameraRig.default(("CAM_F0", "CAM_B0", "CAM_L0", "CAM_R0"))
    matrices = rig.intrinsics(112, 196)
    points = np.random.default_rng(3).uniform((-20, -20, 0), (20, 20, 3), (50, 3))
    cameras = Cameras(*(torch.tensor(part)[None] for part in (matrices, rig.rotation, rig.translation)))
    pixels, ahead = project(torch.tensor(points)[None], cameras)
    for index in range(4):
        seen = np.linalg.inv(rig.rotation[index]) @ (points - rig.translation[index]).T
        image = matrices[index] @ seen
        np.testing.assert_array_equal(ahead[0, index].numpy(), seen[2] > 0.1)
        front = seen[2] > 0.1
        np.testing.assert_allclose(pixels[0, index].numpy()[front], (image[:2] / image[2]).T[front], rtol=1e-6)


def test_bilinear_reading():
    rows, columns = 2, 3
    maps = torch.arange(12.0).view(1, 2, rows, columns, 1)
    pixels = torch.tensor([[7.0, 7.0], [35.0, 21.0], [14.0, 7.0], [7.0, 14.0], [0.0, 0.0], [7.0, 7.0]])
    views = torch.tensor([[0, 0, 0, 0, 0, 1]])
    read = sample(maps, views, pixels[None] / 14)
    # Centres of the first and the last patch; half way between neighbours; the corner; the first of the other view.
    torch.testing.assert_close(read[0, :, 0], torch.tensor([0.0, 5.0, 0.5, 1.5, 0.0, 6.0]))


def test_reading_against_torch():
    """`grid_sample` knows the same interpolation; views are read one by one there."""
    maps = torch.randn(2, 3, 4, 5, 6)
    views, positions = torch.randint(0, 3, (2, 50)), torch.rand(2, 50, 2) * torch.tensor([5.0, 4.0])
    read = sample(maps, views, positions)
    for scene in range(2):
        for place in range(50):
            grid = (2 * positions[scene, place] / torch.tensor([5.0, 4.0]) - 1).view(1, 1, 1, 2)
            chosen = maps[scene, views[scene, place]].movedim(-1, 0)[None]
            wanted = torch.nn.functional.grid_sample(chosen, grid, padding_mode="border", align_corners=False)
            torch.testing.assert_close(read[scene, place], wanted[0, :, 0, 0])


def test_the_view_that_sees_a_point_most_in_its_middle_counts():
    pixels = torch.tensor([[[[21.0, 7.0], [41.0, 7.0], [-3.0, 7.0]], [[2.0, 7.0], [20.0, 7.0], [21.0, 29.0]]]])
    view, pixel, visible = best_view(pixels, torch.ones(1, 2, 3, dtype=torch.bool), HEIGHT, WIDTH)
    assert view[0, :2].tolist() == [0, 1]
    assert visible[0].tolist() == [True, True, False]
    assert pixel[0].tolist() == [[21.0, 7.0], [20.0, 7.0], [0.0, 0.0]]
    nothing_ahead = best_view(pixels, torch.zeros(1, 2, 3, dtype=torch.bool), HEIGHT, WIDTH)
    assert not nothing_ahead[2].any()


@pytest.fixture
def planner() -> Planner:
    return tiny_planner(plan_sampling=True, sampling_width=4)


def test_unseen_points_read_zero_and_seen_ones_the_features(planner):
    sampling = planner.network.plan_sampling
    readable = sampling.prepare(torch.full((1, 2, 24, 2, 3), 0.3), torch.zeros(1, 2, 3, HEIGHT, WIDTH))
    ahead, behind = torch.zeros(1, 1, 8, 3), torch.zeros(1, 1, 8, 3)
    ahead[..., 0], behind[..., 0] = 12.0, -30.0
    with torch.no_grad():
        flat = readable.patches[0, 0, 0, 0]
        seen = sampling.out(sampling.read(ahead, readable, cameras_of(0.0, 0.0)))
        unseen = sampling.out(sampling.read(behind, readable, cameras_of(0.0, 0.0)))
        # Every point reads the same features and the mark that it was seen, however many views see it.
        wanted = sampling.out(torch.cat([flat, torch.ones(1)]).repeat(8 * 3))
    torch.testing.assert_close(seen[0, 0], wanted)
    torch.testing.assert_close(unseen[0, 0], sampling.out.bias.detach())


def test_small_cells_read_the_image_itself():
    planner = tiny_planner(plan_sampling=True, sampling_width=4, sampling_fine=5)
    sampling = planner.network.plan_sampling
    image = torch.randn(1, 2, 3, HEIGHT, WIDTH)
    fine = sampling.prepare(torch.zeros(1, 2, 24, 2, 3), image).fine
    assert fine.shape == (1, 2, 4, 6, 5)
    block = image[0, 1, :, 7:14, 14:21]
    wanted = (sampling.fine.weight * block).sum((1, 2, 3)) + sampling.fine.bias
    torch.testing.assert_close(fine[0, 1, 1, 2], torch.nn.functional.gelu(wanted), rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="sampling_fine"):
        tiny_planner(plan_sampling=False, sampling_fine=5)
    with pytest.raises(ValueError, match="sampling_cell"):
        tiny_planner(plan_sampling=True, sampling_fine=5, sampling_cell=5)


def test_before_training_it_changes_nothing(planner):
    image, ego = tiny_inputs()
    plans = torch.randn(3, 4, 8, 3) + torch.tensor([8.0, 0.0, 0.0])
    cameras = cameras_of(0.0, np.pi, scenes=3)
    with_sampling = planner.score(image, ego, plans, cameras)
    for parameter in planner.network.plan_sampling.out.parameters():
        torch.nn.init.zeros_(parameter)
    started = planner.score(image, ego, plans, cameras)
    shared = {name: tensor for name, tensor in planner.network.state_dict().items() if "plan_sampling" not in name}
    plain = tiny_planner()
    plain.network.load_state_dict(shared)
    plain.network.encoder.spare_last_block = False  # as with sampling, which needs the patches: equal to the bit
    assert torch.equal(started.states, plain.score(image, ego, plans).states)
    assert not torch.allclose(with_sampling.states, started.states)


def test_gradients_reach_the_images_from_scores_and_not_from_the_future(planner):
    network = planner.network
    image, ego = tiny_inputs()
    executed = torch.tensor([10.0, 0.0, 0.0]).expand(3, 8, 3)
    image.requires_grad_()
    cameras = cameras_of(0.0, np.pi, scenes=3)
    predictions = predict(network, propose(network, image, ego, cameras), executed=executed)
    predictions.future.sum().backward(retain_graph=True)
    assert image.grad is None
    assert network.plan_sampling.out.weight.grad.any()
    predictions.logits.sum().backward()
    assert image.grad.any()


def test_cameras_are_needed(planner):
    with pytest.raises(ValueError, match="cameras: missing"):
        planner(*tiny_inputs())


def test_half_precision_and_files(planner, tmp_path):
    image, ego = tiny_inputs()
    cameras = cameras_of(0.0, np.pi, scenes=3)
    whole = planner(image, ego, cameras)
    planner.save_pretrained(tmp_path)
    again = Planner.from_pretrained(tmp_path)
    assert torch.equal(again(image, ego, cameras).states, whole.states)
    half = again.bfloat16()(image, ego, cameras)
    torch.testing.assert_close(half.plans, whole.plans, rtol=0.1, atol=0.3)
