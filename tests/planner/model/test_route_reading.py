"""Plans read along the route: distances as Shapely measures them, and plans that a network tells apart by them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from shapely import LineString, Point

from world4scorer.engine.routes.route import POLYLINE_DISTANCES, Route, RouteCursor
from world4scorer.engine.selection.corridor import corridor_utility
from world4scorer.planner.model.config import city
from world4scorer.planner.model.network import Network
from world4scorer.planner.model.route_reading import (
    ALONG_SCALE,
    AWAY_LIMIT,
    AWAY_SCALE,
    READ_NUMBERS,
    outside_corridor,
    read_route,
    route_points,
)

ROUTE = torch.tensor([[[0.0, 0.0], [10.0, 0.0], [18.0, 6.0], [18.0, 26.0], [18.0, 46.0]]])


def read(plans):
    return read_route(plans, ROUTE).unflatten(-1, (-1, READ_NUMBERS))


def test_the_route_is_what_the_ego_status_was_made_from():
    angle = np.linspace(0.0, np.pi / 2, 80)
    route = Route(np.column_stack([60 * np.sin(angle), 60 * (1 - np.cos(angle))]))
    polyline = RouteCursor(route).polyline([0.0, 0.0, 0.0])
    status = torch.cat([torch.zeros(13), torch.from_numpy(polyline).float().flatten()])[None]
    points = route_points(status)[0]
    assert not points[0].any()
    along = [np.interp(POLYLINE_DISTANCES, route.distance, route.points[:, axis]) for axis in (0, 1)]
    np.testing.assert_allclose(points[1:].numpy(), np.column_stack(along), atol=1e-4)


def test_distances_are_those_to_the_polyline():
    rng = np.random.default_rng(3)
    plans = torch.from_numpy(rng.uniform(-15.0, 40.0, (1, 20, 8, 3))).float()
    line = LineString(ROUTE[0].numpy())
    for plan, numbers in zip(plans[0], read(plans)[0], strict=True):
        places = [Point(*pose[:2].tolist()) for pose in plan]
        away = np.array([line.distance(place) for place in places])
        expected = np.minimum(away / AWAY_SCALE, AWAY_LIMIT)
        np.testing.assert_allclose(numbers[:, 0].abs(), expected, atol=1e-4)
        np.testing.assert_allclose(numbers[:, 1], np.maximum.accumulate(expected), atol=1e-4)
        np.testing.assert_allclose(numbers[:, 2] * ALONG_SCALE, [line.project(place) for place in places], atol=1e-3)


def test_sides_and_headings():
    plans = torch.tensor([[[[5.0, 1.0, 0.0], [5.0, -1.0, 0.5], [17.0, 20.0, np.pi / 2], [19.0, 20.0, np.pi]]]])
    numbers = read(plans)[0, 0]
    assert (numbers[:, 0].sign() == torch.tensor([1.0, -1.0, 1.0, -1.0])).all()
    torch.testing.assert_close(numbers[:, 3], torch.tensor([1.0, float(np.cos(0.5)), 1.0, 0.0]), atol=1e-6, rtol=0)
    torch.testing.assert_close(numbers[:, 4], torch.tensor([0.0, float(np.sin(0.5)), 0.0, 1.0]), atol=1e-6, rtol=0)


def test_plan_and_screen_are_read_along_the_route():
    torch.manual_seed(0)
    network = Network(replace(city(), ego_numbers=21, route_reading=True)).eval()
    torch.nn.init.normal_(network.plan_sampling.out.weight, std=0.1)
    straight, left = torch.zeros(1, 21), torch.zeros(1, 21)
    straight[0, 13::2] = 1.0
    left[0, 13:] = torch.tensor([1.0, 0.0, 0.9, 0.3, 0.45, 0.65, 0.3, 0.77])
    scene = network.encode(torch.rand(1, 4, 3, 84, 196))
    plans = torch.zeros(1, 2, 8, 3)
    plans[0, 0, :, 0] = torch.arange(1, 9) * 4.0
    egos = [network.encode_ego(status) for status in (straight, left)]
    same = [ego._replace(encoded=egos[0].encoded) for ego in egos]  # nothing but the reading differs
    states = [network.predict(plans, scene, ego) for ego in same]
    assert not torch.allclose(states[0], states[1], atol=1e-3)
    screen = network.generator.screen
    logits = [screen(plans, scene.readable, ego.encoded, ego.route) for ego in same]
    assert not torch.allclose(logits[0], logits[1], atol=1e-4)


def test_the_corridor_is_that_of_the_selection():
    plans = torch.from_numpy(np.random.default_rng(5).uniform(-30.0, 60.0, (1, 50, 8, 3))).float()
    found = outside_corridor(plans, ROUTE)[0]
    expected = -corridor_utility(np.zeros(50), plans[0].double().numpy(), ROUTE[0].double().numpy(), 1.0)
    assert expected.max() > 1
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_manoeuvres_that_stay_near_the_route_are_chosen():
    torch.manual_seed(0)
    network = Network(city()).eval()
    network.generator.anchors.normal_(0.0, 0.4)
    scene, ego = network.encode(torch.rand(1, 4, 3, 84, 196)), network.encode_ego(torch.eye(11)[3:4] * 8.0)
    left = torch.tensor([[[0.0, 0.0], [10.0, 2.0], [18.0, 8.0], [20.0, 40.0]]])
    everywhere, near = network.propose(scene, ego), network.propose(scene, ego._replace(corridor=left))
    assert outside_corridor(near, left).mean() < 0.5 * outside_corridor(everywhere, left).mean()


def test_the_route_must_be_known():
    with pytest.raises(ValueError, match="needs the points of the route, so ego_numbers of 21"):
        replace(city(), ego_numbers=13, route_reading=True)
    with pytest.raises(ValueError, match="needs plan_sampling"):
        replace(city(), ego_numbers=21, plan_sampling=False, route_reading=True)
