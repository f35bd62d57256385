"""Commands along the nodes of a route: announced before a turn, kept until it is passed."""

from __future__ import annotations

import numpy as np
import pytest

from world4scorer.engine.routes.commands import CommandTracker, RoadOption, one_hot, sparse_nodes

FOLLOW, LEFT, RIGHT, STRAIGHT = RoadOption.LANE_FOLLOW, RoadOption.LEFT, RoadOption.RIGHT, RoadOption.STRAIGHT


def test_one_hot() -> None:
    assert one_hot(LEFT).tolist() == [1, 0, 0, 0]
    assert one_hot(RIGHT).tolist() == [0, 0, 1, 0]
    for option in (STRAIGHT, FOLLOW, RoadOption.VOID, RoadOption.CHANGE_LANE_LEFT):
        assert one_hot(option).tolist() == [0, 1, 0, 0]


def test_a_turn_is_announced_from_35_m_on_and_kept_until_it_is_passed() -> None:
    keeper = CommandTracker([[0, 0], [50, 0], [60, 10]], [FOLLOW, LEFT, FOLLOW])
    assert keeper.command((0, 0, 0)) is FOLLOW
    assert keeper.command((14, 0, 0)) is FOLLOW  # 36 m
    assert keeper.command((16, 0, 0)) is LEFT  # 34 m
    assert keeper.command((46, 0, 0)) is LEFT  # 4 m
    assert keeper.command((52.5, 5, 0)) is FOLLOW  # 2.5 m behind


def test_a_node_is_dropped_when_it_is_reached() -> None:
    keeper = CommandTracker([[50, 0], [80, 0]], [LEFT, RIGHT])
    assert keeper.command((46.9, 0, 0)) is LEFT
    assert keeper.command((47.1, 0, 0)) is RIGHT  # 2.9 m to the first, 33 m to the second
    assert keeper.command((40, 0, 0)) is FOLLOW  # a dropped node does not come back; the next is 40 m away


def test_behind_is_seen_from_the_ego() -> None:
    """An ego that drives the other way has the node behind it."""
    assert CommandTracker([[10, 0]], [LEFT]).command((0, 0, np.pi)) is FOLLOW
    assert CommandTracker([[10, 0]], [LEFT]).command((0, 0, 0)) is LEFT


def test_the_way_goes_along_the_nodes() -> None:
    """Beeline to the turn is 30 m, along the nodes 40 m."""
    nodes = [[0.0, 20.0], [20.0, 20.0], [30.0, 0.0]]
    assert CommandTracker(nodes, [FOLLOW, FOLLOW, LEFT]).command((0, 0, 0)) is FOLLOW


def test_the_first_option_of_a_junction_counts() -> None:
    assert CommandTracker([[10, 0], [20, 0]], [STRAIGHT, LEFT]).command((0, 0, 0)) is STRAIGHT


def test_every_node_needs_an_option() -> None:
    with pytest.raises(ValueError, match="2 nodes with 1 options"):
        CommandTracker([[0, 0], [1, 0]], [LEFT])


def test_sparse_nodes_keep_changes_and_fifty_metres() -> None:
    points = np.column_stack([np.arange(121.0), np.zeros(121)])
    options = [FOLLOW] * 70 + [LEFT] * 10 + [FOLLOW] * 41
    nodes, kept = sparse_nodes(points, options)
    assert nodes[:, 0].tolist() == [0, 50, 70, 80, 120]
    assert kept == [FOLLOW, FOLLOW, LEFT, FOLLOW, FOLLOW]
