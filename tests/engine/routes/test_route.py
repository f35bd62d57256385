"""Routes: points a metre apart, a place that never goes back, the point twenty metres ahead."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray

from world4scorer.engine.routes import Route, RouteCursor

EAST = [[0.0, 0.0], [100.0, 0.0]]
CORNER = [[0.0, 0.0], [30.0, 0.0], [30.0, 30.0]]


def walked(line: NDArray[np.float64]) -> float:
    return float(np.linalg.norm(np.diff(line, axis=0), axis=1).sum())


def test_points_are_a_metre_apart() -> None:
    route = Route(EAST)
    assert len(route) == 101 and route.length == 100.0
    assert np.allclose(route.points, np.column_stack([np.arange(101.0), np.zeros(101)]))
    assert np.allclose(route.distance, np.arange(101.0))


def test_points_that_repeat_are_left_out() -> None:
    assert np.allclose(Route([[0, 0], [0, 0], [5, 0], [5, 0]]).points[-1], [5, 0])


@pytest.mark.parametrize(
    "points", [np.zeros((0, 2)), [[0, 0]], [[1, 1], [1, 1]], [[0, 0, 0], [1, 1, 1]], [[0, 0], [np.nan, 1]]]
)
def test_what_is_no_route_is_refused(points: ArrayLike) -> None:
    with pytest.raises(ValueError, match="route: "):
        Route(points)


def test_the_cursor_never_goes_back() -> None:
    cursor = RouteCursor(Route(EAST))
    assert cursor.advance([40.2, 1.0]) == 40
    assert cursor.advance([10.0, 0.0]) == 40
    assert cursor.advance([55.0, -3.0]) == 55


def test_the_cursor_looks_no_further_than_it_is_told() -> None:
    """Out and back on the other side of the street: the way back is nearer, and must not be taken for the way out."""
    there_and_back = [[0, 0], [50, 0], [50, 4], [0, 4]]
    cursor = RouteCursor(Route(there_and_back))
    assert cursor.advance([10.0, 3.0], reach=20.0) == 10
    free = RouteCursor(Route(there_and_back))
    assert free.advance([10.0, 3.0]) > 50


@pytest.mark.parametrize(
    ("pose", "expected"),
    [
        ((0.0, 0.0, 0.0), (20.0, 0.0)),
        ((0.0, 0.0, np.pi / 2), (0.0, -20.0)),
        ((10.0, 12.0, 0.0), (16.0, -12.0)),  # 12, 16, 20
        ((95.0, 0.0, 0.0), (5.0, 0.0)),  # the route ends sooner
    ],
)
def test_route_point(pose: tuple[float, float, float], expected: tuple[float, float]) -> None:
    cursor = RouteCursor(Route(EAST))
    cursor.advance(pose[:2])
    assert cursor.route_point(pose) == pytest.approx(expected, abs=1e-9)


def test_route_point_round_a_corner() -> None:
    """By beeline, not along the route: 20 m from (18, 0) is (30, 16)."""
    cursor = RouteCursor(Route(CORNER))
    cursor.advance([18.0, 0.0])
    assert cursor.route_point((18.0, 0.0, 0.0)) == pytest.approx((12.0, 16.0), abs=1e-9)


def test_an_ego_far_from_its_route_is_led_to_where_it_should_be() -> None:
    cursor = RouteCursor(Route(EAST))
    cursor.advance([10.0, 40.0])
    assert cursor.route_point((10.0, 40.0, 0.0)) == pytest.approx((0.0, -40.0))


def test_the_stretch_ahead() -> None:
    cursor = RouteCursor(Route(EAST))
    cursor.advance([50.0, 2.0])
    ahead = cursor.ahead((50.0, 2.0, 0.0))
    assert len(ahead) == 31 and ahead[0] == pytest.approx((0.0, -2.0)) and ahead[-1] == pytest.approx((30.0, -2.0))
    cursor.advance([100.0, 0.0])
    assert len(cursor.ahead((100.0, 0.0, 0.0))) == 1


@given(
    st.lists(st.tuples(st.floats(1.0, 30.0), st.floats(-1.0, 1.0)), min_size=2, max_size=12),
    st.floats(0.0, 1.0),
    st.floats(-5.0, 5.0),
)
def test_the_route_point_is_on_the_route_and_at_its_distance(
    steps: list[tuple[float, float]], share: float, aside: float
) -> None:
    heading = np.cumsum([turn for _, turn in steps])
    moves = np.array([[length * np.cos(h), length * np.sin(h)] for (length, _), h in zip(steps, heading, strict=True)])
    route = Route(np.concatenate([[[0.0, 0.0]], np.cumsum(moves, axis=0)]))
    assert walked(route.points) <= route.length + 1e-9
    cursor = RouteCursor(route)
    place = route.points[int(share * (len(route) - 1))]
    pose = np.array([place[0], place[1] + aside, 0.4])
    cursor.advance(pose[:2])
    point = cursor.route_point(pose)
    rotation = np.array([[np.cos(0.4), -np.sin(0.4)], [np.sin(0.4), np.cos(0.4)]])
    there = rotation @ point + pose[:2]
    at_the_end = np.allclose(there, route.points[-1], atol=1e-6)
    assert at_the_end or np.linalg.norm(point) == pytest.approx(20.0)
    ahead = route.points[cursor.index :]
    start, step = ahead[:-1], np.diff(ahead, axis=0)
    if len(step):
        along = np.clip(((there - start) * step).sum(1) / (step**2).sum(1), 0, 1)
        assert np.linalg.norm(start + along[:, None] * step - there, axis=1).min() < 1e-6


def test_the_polyline_of_a_straight_route_and_beyond_its_end() -> None:
    cursor = RouteCursor(Route([[0.0, 0.0], [0.0, 45.0]]))
    cursor.advance([0.0, 5.0])
    straight = cursor.polyline((0.0, 5.0, np.pi / 2))
    assert straight == pytest.approx(np.array([[1.0, 0.0]] * 4))  # 40 and 60 m lie beyond the end
    beside = cursor.polyline((2.0, 5.0, np.pi / 2))
    assert beside == pytest.approx(np.array([[1.0, 2.0 / distance] for distance in (10.0, 20.0, 40.0, 60.0)]))


def test_the_polyline_follows_a_corner() -> None:
    cursor = RouteCursor(Route([[0.0, 0.0], [20.0, 0.0], [20.0, 100.0]]))
    found = cursor.polyline((0.0, 0.0, 0.0)) * np.array([[10.0], [20.0], [40.0], [60.0]])
    assert found == pytest.approx(np.array([[10.0, 0.0], [20.0, 0.0], [20.0, 20.0], [20.0, 40.0]]))
