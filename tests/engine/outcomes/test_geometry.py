"""The geometry under the metrics, against Shapely and SciPy."""

from __future__ import annotations

import numba
import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import savgol_filter
from shapely.geometry import LineString, Point, Polygon

from world4scorer.engine.outcomes.area_grid import build_grid
from world4scorer.engine.outcomes.areas import covered
from world4scorer.engine.outcomes.ego import EgoBoxes
from world4scorer.engine.outcomes.progress import SEGMENTS_PER_BLOCK, arc_length, measure_line
from world4scorer.engine.outcomes.savgol import savgol, smooth
from world4scorer.engine.scene import Layer, PolygonMap
from world4scorer.engine.scene.boxes import boxes_meet, segment_meets_box
from world4scorer.engine.scene.packed import DRIVABLE, pack_map

seeds = st.integers(0, 2**32 - 1)


@numba.njit
def _boxes_meet(a, b):
    return boxes_meet(
        a[0], a[1], np.cos(a[2]), np.sin(a[2]), a[3], a[4], b[0], b[1], np.cos(b[2]), np.sin(b[2]), b[3], b[4]
    )


@numba.njit
def _segment_meets_box(s, half_length, half_width):
    return segment_meets_box(s[0], s[1], s[2], s[3], half_length, half_width)


@numba.njit
def _covered(grid, polygons, points):
    return np.array([covered(grid, polygons, DRIVABLE, p[0], p[1]) for p in points])


@numba.njit
def _arc_length(line, bounds, length, x, y):
    measure_line(line, bounds, length)
    return arc_length(line, bounds, length, x, y)


@numba.njit
def _smooth(operator, series, work, out):
    smooth(operator, series, work, out)


def corners(box):
    c, s = np.cos(box[2]), np.sin(box[2])
    signs = ((1, 1), (-1, 1), (-1, -1), (1, -1))
    return [(box[0] + a * box[3] * c - b * box[4] * s, box[1] + a * box[3] * s + b * box[4] * c) for a, b in signs]


@settings(max_examples=300, deadline=None)
@given(seeds)
def test_boxes_meet_as_shapely_says(seed):
    rng = np.random.default_rng(seed)
    a, b = (np.concatenate([rng.uniform(-4, 4, 2), rng.uniform(-4, 4, 1), rng.uniform(0.1, 3, 2)]) for _ in "ab")
    assert _boxes_meet(a, b) == Polygon(corners(a)).intersects(Polygon(corners(b)))


def test_touching_boxes_meet():
    assert _boxes_meet(np.array([0.0, 0, 0, 1, 1]), np.array([2.0, 0, 0, 1, 1]))
    assert not _boxes_meet(np.array([0.0, 0, 0, 1, 1]), np.array([2.0 + 1e-9, 0, 0, 1, 1]))


@settings(max_examples=300, deadline=None)
@given(seeds)
def test_segment_meets_box_as_shapely_says(seed):
    rng = np.random.default_rng(seed)
    segment, half = rng.uniform(-4, 4, 4), rng.uniform(0.1, 3, 2)
    expected = LineString([segment[:2], segment[2:]]).intersects(shapely.box(-half[0], -half[1], half[0], half[1]))
    assert _segment_meets_box(segment, *half) == expected


def star(rng, centre, radius):
    """A ring, concave as a rule, that does not cross itself."""
    angles = np.sort(rng.uniform(0, 2 * np.pi, rng.integers(5, 30)))
    return centre + (radius * rng.uniform(0.3, 1, len(angles)))[:, None] * np.stack([np.cos(angles), np.sin(angles)], 1)


def grid_around(points, polygons):
    x, y = points[:, :1].copy(), points[:, 1:].copy()
    still = np.zeros_like(x)
    return build_grid(polygons, EgoBoxes(x, y, x, y, still, still, still))


@settings(max_examples=60, deadline=None)
@given(seeds, st.sampled_from([2.0, 15.0, 400.0]))
def test_points_in_polygons_as_shapely_says(seed, size):
    rng = np.random.default_rng(seed)
    shapes = []
    for i in range(rng.integers(1, 8)):
        centre = rng.uniform(-size, size, 2) + 1e5
        ring = star(rng, centre, size * rng.uniform(0.2, 1))
        rings = [ring, centre + 0.1 * (ring - centre)] if rng.random() < 0.5 else [ring]
        if shapely.is_valid(Polygon(rings[0], rings[1:])):
            shapes.append((str(i), Layer.CARPARK_AREA, rings))
    polygon_map = PolygonMap.from_polygons(shapes)
    polygons = pack_map(polygon_map, np.zeros(len(shapes), bool))
    points = rng.uniform(-1.2 * size, 1.2 * size, (200, 2)) + 1e5
    expected = np.zeros(len(points), bool)
    for _, _, rings in shapes:
        expected |= shapely.contains_xy(Polygon(rings[0], rings[1:]), points)
    np.testing.assert_array_equal(_covered(grid_around(points, polygons), polygons, points), expected)


@settings(max_examples=60, deadline=None)
@given(seeds)
def test_rings_that_cross_themselves_follow_the_even_odd_rule(seed):
    rng = np.random.default_rng(seed)
    ring = rng.uniform(-10, 10, (rng.integers(4, 12), 2))
    polygons = pack_map(PolygonMap.from_polygons([("a", Layer.ROADBLOCK, [ring])]), np.zeros(1, bool))
    points = rng.uniform(-11, 11, (100, 2))
    following = np.roll(ring, -1, axis=0)
    crossings = np.zeros(len(points), int)
    for (x1, y1), (x2, y2) in zip(ring, following, strict=True):
        spans = (y1 > points[:, 1]) != (y2 > points[:, 1])
        crossings += spans & (points[:, 0] < x1 + (points[:, 1] - y1) / (y2 - y1) * (x2 - x1))
    np.testing.assert_array_equal(_covered(grid_around(points, polygons), polygons, points), crossings % 2 == 1)


def test_a_point_on_the_edge_or_a_corner_is_outside():
    square = PolygonMap.from_polygons([("a", Layer.ROADBLOCK, [[(0, 0), (4, 0), (4, 4), (0, 4)]])])
    polygons = pack_map(square, np.zeros(1, bool))
    points = np.array([(0, 0), (4, 4), (2, 0), (0, 2), (4, 1), (1, 4), (2, 2)], float)
    np.testing.assert_array_equal(_covered(grid_around(points, polygons), polygons, points), [False] * 6 + [True])


@settings(max_examples=200, deadline=None)
@given(seeds)
def test_arc_length_as_shapely_says(seed):
    rng = np.random.default_rng(seed)
    line = np.cumsum(rng.normal(1, 1, (rng.integers(2, 90), 2)), axis=0)
    line = np.repeat(line, rng.integers(1, 3, len(line)), axis=0)  # repeated points
    point = rng.uniform(-10, 60, 2)
    bounds, length = np.empty((len(line) // SEGMENTS_PER_BLOCK + 1, 4)), np.empty(len(line))
    assert _arc_length(line, bounds, length, *point) == pytest.approx(LineString(line).project(Point(point)), abs=1e-9)


@pytest.mark.parametrize("samples", [36, 41, 55, 56])
@pytest.mark.parametrize(
    ("window", "order", "derivative"),
    [(8, 2, 0), (15, 2, 1), (5, 2, 1), (5, 3, 2), (5, 2, 2), (41, 2, 0), (41, 2, 1), (99, 2, 1)],
)
def test_savgol_as_scipy_has_it(samples, window, order, derivative):
    series = np.random.default_rng(samples).normal(size=(samples, 3)).cumsum(axis=0)
    out = np.empty_like(series)
    _smooth(savgol(samples, window, order, derivative), series, np.empty((4, 3)), out)
    window = min(window, samples)
    expected = savgol_filter(series, window, order, deriv=derivative, delta=0.1, mode="interp", axis=0)
    np.testing.assert_allclose(out, np.round(expected, 8), atol=1.01e-8)


def test_even_window_has_the_published_weights():
    np.testing.assert_array_equal(savgol(41, 8, 2).weights[20] * 32, [-3, 3, 7, 9, 9, 7, 3, -3])
