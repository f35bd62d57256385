from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from world4scorer.datasets.dense.labels import CELL, CELLS, X_RANGE, Y_RANGE
from world4scorer.engine.scene import vehicle
from world4scorer.planner.model.anchors import integrate
from world4scorer.planner.model.config import city
from world4scorer.planner.model.dense_encoder_config import MAP_CLASSES, DenseEncoderConfig
from world4scorer.planner.model.encoded import Ego, SceneFeatures
from world4scorer.planner.model.generator import CORRECTION
from world4scorer.planner.model.map_sampling import (
    BOX_POINTS,
    DECISIVE_CLASSES,
    WORST_LIMIT,
    WORST_SCALE,
    Maps,
    MapSampling,
    box_points,
    read_map,
    worst_so_far,
)
from world4scorer.planner.model.network import Network
from world4scorer.planner.model.vocabulary import SCREENED_POINTS, choose_different, nearest


def ramps() -> torch.Tensor:
    """A map (1, 2, X, Y) whose values are the places of its cells: forward and left [m]."""
    x = X_RANGE[0] + CELL * (torch.arange(CELLS[0]) + 0.5)
    y = Y_RANGE[0] + CELL * (torch.arange(CELLS[1]) + 0.5)
    return torch.stack(torch.meshgrid(x, y, indexing="ij"))[None]


def test_a_map_of_places_reads_as_the_points_themselves():
    points = torch.tensor([[[0.0, 0.0], [12.3, -7.7], [50.0, 20.0], [-10.0, 31.0]]])
    torch.testing.assert_close(read_map(ramps(), points), points, atol=1e-4, rtol=0)
    assert not read_map(ramps(), torch.tensor([[[70.0, 0.0], [0.0, -40.0]]])).any()


def test_box_points_are_the_corners_of_the_car():
    pose = torch.tensor([[3.0, 2.0, np.pi / 2]])
    points = box_points(pose)[0]
    front, half, centre = vehicle.FRONT_OVERHANG, vehicle.HALF_WIDTH, vehicle.REAR_AXLE_TO_CENTRE
    rear = 2 * centre - front
    wanted = [[3, 2 + centre], [3 - half, 2 + front], [3 + half, 2 + front], [3 - half, 2 + rear], [3 + half, 2 + rear]]
    torch.testing.assert_close(points, torch.tensor(wanted), atol=1e-5, rtol=0)
    assert len(BOX_POINTS) == 5


def maps(drivable_from: float = -16.0) -> Maps:
    """Everything is road to the left of a line, and nothing else is anywhere."""
    classes = torch.full((1, len(MAP_CLASSES), *CELLS), -20.0)
    y = ramps()[0, 1]
    classes[0, 0] = torch.where(y > drivable_from, 20.0, -20.0)
    sizes = DenseEncoderConfig()
    direction = torch.zeros(1, 2, CELLS[0] // 2, CELLS[1] // 2)
    direction[:, 0] = 1.0
    return Maps(classes, direction, torch.zeros(1, sizes.map_width, *sizes.map_cells), None)


def test_plans_read_the_road_they_lead_over_and_the_direction_of_lanes():
    sampling = MapSampling(city())
    speeds, straight = torch.tensor([8.0]), torch.zeros(1, 2, 8, 2)
    straight[0, 1, :, 1] = -0.3  # to the right, off the road
    plans = integrate(speeds, straight)
    read = sampling.read(plans, maps(-3.0))
    classes = read[0, :, : 16 * 5 * len(MAP_CLASSES)].reshape(2, 16, 5, len(MAP_CLASSES))
    assert (classes[0, ..., 0] > 0.99).all() and (classes[1, -1, :, 0] < 0.01).all()
    assert (classes[..., 1:] < 0.01).all()
    along = read[0, :, classes[0].numel() : classes[0].numel() + 16]
    torch.testing.assert_close(along[0], torch.ones(16), atol=1e-5, rtol=0)
    assert along[1, -1] < 0.5
    with pytest.raises(ValueError, match="without maps"):
        sampling.read(plans, None)


def test_the_screen_reads_nearest_cells():
    plans = integrate(torch.tensor([6.0]), torch.randn(1, 5, 8, 2) * torch.tensor([1.0, 0.2]))
    classes = torch.randn(1, len(MAP_CLASSES), *CELLS)
    points = box_points(plans, SCREENED_POINTS).flatten(1, 3)
    found = nearest(classes[:, list(DECISIVE_CLASSES)], points).view(5, 8 * len(SCREENED_POINTS), len(DECISIVE_CLASSES))
    for plan in range(5):
        places = box_points(plans[0, plan], SCREENED_POINTS).reshape(-1, 2).double().numpy()
        for index, (x, y) in enumerate(places):
            row, column = int((x - X_RANGE[0]) // CELL), int((y - Y_RANGE[0]) // CELL)
            for number, kind in enumerate(DECISIVE_CLASSES):
                assert found[plan, index, number] == classes[0, kind, row, column]


def test_the_worst_so_far_is_that_of_any_point_and_earlier_step():
    logits = torch.randn(2, 3, 6, 5, len(DECISIVE_CLASSES)) * 6
    found = worst_so_far(logits).view(2, 3, 6, len(DECISIVE_CLASSES))
    for step in range(6):
        met = logits[:, :, : step + 1].flatten(2, 3)
        wanted = torch.stack([-met[..., 0].amin(2), *(met[..., kind].amax(2) for kind in (1, 2, 3))], -1)
        torch.testing.assert_close(found[:, :, step], (wanted / WORST_SCALE).clamp(-WORST_LIMIT, WORST_LIMIT))


def test_worst_points_need_maps_to_read():
    with pytest.raises(ValueError, match="worst_points"):
        replace(city(), encoder="vit", vocabulary=0)


def test_chosen_plans_are_good_and_differ():
    torch.manual_seed(0)
    plans = integrate(torch.tensor([6.0, 2.0]), torch.randn(2, 60, 8, 2) * torch.tensor([1.0, 0.2]))
    plans = torch.cat([plans, plans], 1)  # every plan twice
    logits = 0.1 * torch.randn(2, 120)
    logits[:, 60:] = logits[:, :60] - 0.01
    chosen = choose_different(logits, plans, 20)
    for scene in range(2):
        indices = chosen[scene].tolist()
        assert indices[0] == int(logits[scene].argmax()) and len(set(indices)) == 20
        assert len({index % 60 for index in indices}) == 20  # no plan beside its copy
    assert torch.equal(choose_different(logits, plans, 120).sort(1).values, torch.arange(120).expand(2, -1))


def test_at_rest_standing_is_one_plan():
    controls = torch.zeros(1, 50, 8, 2)  # acceleration, yaw rate
    controls[:, :40, :, 1] = torch.linspace(-0.3, 0.3, 40)[:, None]  # turning on the spot leads nowhere, too
    controls[:, 40:, :, 0] = torch.linspace(0.5, 2.0, 10)[:, None]
    logits = torch.full((1, 50), 3.0)
    logits[:, 40:] = 0.0
    chosen = choose_different(logits, integrate(torch.zeros(1), controls), 11)
    assert sum(index < 40 for index in chosen[0].tolist()) == 1


def least_drivable(seen: Maps, plans: torch.Tensor) -> torch.Tensor:
    """The least probability (B, K) of the drivable area that plans meet."""
    points = box_points(plans, SCREENED_POINTS)
    met = nearest(seen.classes[:, :1], points.flatten(1, 3)).view(points.shape[:-1])
    return met.sigmoid().amin((-1, -2))


def test_a_planner_chooses_plans_on_the_road():
    torch.manual_seed(0)
    network = Network(city()).eval()
    network.generator.anchors.copy_(torch.randn(512, 8, 2) * torch.tensor([1.0, 0.25]))
    every = network.generator.manoeuvres(torch.tensor([7.0]))

    class KnowsTheRoad(torch.nn.Module):
        def forward(self, plans, maps, ego, route):
            return 10 * least_drivable(maps, plans)

    network.generator.screen = KnowsTheRoad()
    with torch.no_grad():
        ego = network.encode_ego(torch.tensor([[0, 0, 0, 7.0, 0, 0, 0, 0, 1, 0, 0]]).float())
        plans = network.generator(SceneFeatures(torch.zeros(1, 96, 128), maps(-3.0)), ego)
    assert least_drivable(maps(-3.0), every).mean() < 0.8 and least_drivable(maps(-3.0), plans).mean() > 0.95


def test_corrections_of_chosen_plans_are_small():
    torch.manual_seed(0)
    network = Network(city()).eval()
    generator = network.generator
    generator.anchors.copy_(torch.randn(512, 8, 2) * torch.tensor([0.3, 0.1]))
    scene = SceneFeatures(torch.zeros(1, 96, 128), maps()), Ego(torch.zeros(1, 128), torch.tensor([12.0]))
    with torch.no_grad():
        before = generator(*scene)
        generator.head.poses.bias.copy_(torch.tensor([1e3, -1e3]).repeat(8))
        after = generator(*scene)

    def controls(plans):
        speed = torch.diff(plans[..., :2], dim=-2).norm(dim=-1) / 0.5
        return torch.diff(speed, dim=-1) / 0.5, torch.diff(plans[..., 2], dim=-1) / 0.5

    for old, new, bound, sign in zip(controls(before), controls(after), CORRECTION, (1, -1), strict=True):
        assert torch.allclose(new - old, torch.full_like(old, sign * bound), atol=0.1 * bound)
