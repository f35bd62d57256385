"""Route points of the city's scenes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from world4scorer.planner.model.network import Network
from world4scorer.planner.training.config import TrainConfig
from world4scorer.planner.training.dataset import PlanningDataset, collate
from world4scorer.planner.training.split_samples import split_samples

LEFT, RIGHT = 7, 9
"""Places of these commands in an ego status."""


@pytest.fixture(scope="module")
def routed(training_set):
    data = training_set.data
    return split_samples(data.data, data.split, data.store, 13)


def test_a_route_point_is_added_and_the_rest_stays(training_set, routed):
    data = training_set.data
    plain = split_samples(data.data, data.split, data.store)
    assert routed.ego_status.shape == (67, 13) and routed.tokens == plain.tokens
    np.testing.assert_array_equal(routed.ego_status[:, :11], plain.ego_status)


def test_the_point_lies_where_the_ego_goes(routed):
    points = routed.ego_status[:, 11:]
    away = np.linalg.norm(points, axis=1)
    assert away.max() < 20.01 and np.median(away) == pytest.approx(20.0, abs=0.01)
    # Of those that drive at least 20 m in the next five seconds, the point is a lane's width from their path at most.
    far = np.linalg.norm(routed.future[:, -1, :2], axis=1) > 20
    gap = np.linalg.norm(routed.future[far][:, :, :2] - points[far, None], axis=2).min(1)
    assert far.sum() > 10 and np.quantile(gap, 0.9) < 6.0


def test_the_point_lies_on_the_side_of_the_turn(routed):
    status = routed.ego_status
    for command, side in ((LEFT, 1), (RIGHT, -1)):
        turning = status[:, command] == 1
        if turning.any():
            assert (side * status[turning, 12] > 0).mean() > 0.8


def test_four_points_more(training_set, routed):
    data = training_set.data
    samples = split_samples(data.data, data.split, data.store, 21)
    assert samples.ego_status.shape == (67, 21)
    np.testing.assert_array_equal(samples.ego_status[:, :13], routed.ego_status)
    points = samples.ego_status[:, 13:].reshape(67, 4, 2)
    # The route is nearly straight for 10 m at least in most scenes, and no point is further than along the route.
    assert np.linalg.norm(points, axis=2).max() < 1.6 and np.median(points[:, 0, 0]) == pytest.approx(1.0, abs=0.1)
    with pytest.raises(ValueError, match=r"ego_numbers: 21 take four points of the route.*w4s prepare"):
        replace(routed, route_polylines=None).with_route_points(polylines=True)


def test_models_take_it(training_set, routed):
    model = replace(training_set.config.model, ego_numbers=13)
    dataset = PlanningDataset(routed, model, images=False)
    batch = collate([dataset[place, 0] for place in range(3)])
    assert Network(model).encode_ego(batch.ego_status).encoded.shape == (3, model.width)


def test_where_there_is_no_route(routed):
    with pytest.raises(ValueError, match=r"ego_numbers: 13 take a route point.*w4s prepare"):
        replace(routed, route_points=None).with_route_points()
    with pytest.raises(ValueError, match=r"model\.ego_numbers: 12; 11, or 13"):
        TrainConfig(model=replace(TrainConfig().model, ego_numbers=12))
