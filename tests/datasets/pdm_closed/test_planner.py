"""Geometry and habits of the reference planner."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from shapely.affinity import rotate, translate

from world4scorer.datasets.navsim.city_map import CityMap
from world4scorer.datasets.navsim.filters import Split, windows
from world4scorer.datasets.navsim.logs import Log
from world4scorer.datasets.pdm_closed.contact import box_distance, outlines, polygon_distance, polygon_meets_box
from world4scorer.datasets.pdm_closed.generator import ProposalGenerator
from world4scorer.datasets.pdm_closed.idm import PROPOSAL_STEPS, empty_proposals, propose
from world4scorer.datasets.pdm_closed.paths import LateralPaths, pose_at
from world4scorer.datasets.prepare.scene_builder import BuiltScene, SceneBuilder
from world4scorer.engine.kernels import kernel

SHAPES = np.array(
    [
        shapely.box(0, 0, 8, 3),
        shapely.Polygon([(0, 0), (6, 0), (6, 6), (4, 6), (4, 2), (0, 2)]),
        shapely.box(-10, -10, 10, 10).difference(shapely.box(-6, -6, 6, 6)),
        shapely.LineString([(0, 0), (10, 0), (20, 8)]).buffer(1.1, cap_style="square"),
    ],
    object,
)
place = st.floats(-15, 25)
angle = st.floats(-3.2, 3.2)
half = st.floats(0.2, 3.0)


@kernel
def call_polygon(shapes, p, x, y, c, s, l, w):  # noqa: E741
    return polygon_meets_box(shapes, p, x, y, c, s, l, w), polygon_distance(shapes, p, x, y, c, s, l, w)


@kernel
def call_boxes(ax, ay, ac, as_, al, aw, bx, by, bc, bs, bl, bw):
    return box_distance(ax, ay, ac, as_, al, aw, bx, by, bc, bs, bl, bw)


@kernel
def call_pose(poses, progress, distance):
    out = np.empty(3)
    pose_at(poses, progress, distance, out)
    return out


def box(x: float, y: float, heading: float, half_length: float, half_width: float) -> shapely.Polygon:
    shape = rotate(shapely.box(-half_length, -half_width, half_length, half_width), heading, (0, 0), use_radians=True)
    return translate(shape, x, y)


@settings(deadline=None)
@given(st.integers(0, len(SHAPES) - 1), place, place, angle, half, half)
def test_polygon_and_box(shape: int, x: float, y: float, heading: float, length: float, width: float) -> None:
    want = SHAPES[shape].distance(box(x, y, heading, length, width))
    assume(want == 0 or want > 1e-9)
    meets, distance = call_polygon(outlines(SHAPES), shape, x, y, np.cos(heading), np.sin(heading), length, width)
    inner = SHAPES[shape].buffer(-1e-9).distance(box(x, y, heading, length, width))
    if (inner == 0) == (want == 0):  # else they only just touch
        assert meets == (want == 0)
    assert distance == pytest.approx(want, abs=1e-7)


@settings(deadline=None)
@given(st.tuples(place, place, angle, half, half), st.tuples(place, place, angle, half, half))
def test_two_boxes(first: tuple[float, ...], second: tuple[float, ...]) -> None:
    want = box(*first).distance(box(*second))
    a, b = ((x, y, np.cos(h), np.sin(h), length, width) for x, y, h, length, width in (first, second))
    assert call_boxes(*a, *b) == pytest.approx(want, abs=1e-7)


def line(count: int = 30) -> NDArray[np.float64]:
    """A bend of 90 degrees with a doubled vertex, as where lanes join."""
    turn = np.linspace(0, np.pi / 2, count)
    points = np.stack([50 * np.sin(turn), 50 - 50 * np.cos(turn)], axis=1)
    points = np.insert(points, 10, points[10], axis=0)
    steps = np.diff(points, axis=0)
    headings = np.arctan2(steps[:, 1], steps[:, 0])
    headings[10] = headings[11]
    return np.column_stack([points, np.append(headings, headings[-1])])


def test_paths_are_parallel() -> None:
    paths = LateralPaths.from_centerline(line())
    assert paths.progress[1, -1] > paths.progress[0, -1] > paths.progress[2, -1]  # the bend is to the left
    for index, offset in ((1, 1.0), (2, 1.0)):
        distance = shapely.distance(shapely.points(paths.poses[index, :, :2]), shapely.LineString(line()[:, :2]))
        np.testing.assert_allclose(distance[5:-5], offset, atol=0.05)


@settings(deadline=None)
@given(st.floats(-5, 90))
def test_pose_along_a_path(distance: float) -> None:
    paths = LateralPaths.from_centerline(line())
    pose = call_pose(paths.poses[0], paths.progress[0], distance)
    string = shapely.LineString(line()[:, :2])
    want = string.interpolate(min(max(distance, 1e-5), string.length))
    np.testing.assert_allclose(pose[:2], [want.x, want.y], atol=1e-9)
    assert paths.project(pose[0], pose[1])[0] == pytest.approx(min(max(distance, 1e-5), string.length), abs=1e-8)


def test_corridors_at_the_end_of_a_path() -> None:
    paths = LateralPaths.from_centerline(line())
    ends = paths.progress[:, -1]
    for start in (ends - 0.1, ends, ends + 10.0):
        corridors = paths.corridors(start, 20.0)
        assert shapely.is_valid(corridors).all()
    whole = paths.corridors(np.zeros(3), 1e3)
    assert shapely.area(whole).min() > 2.2 * ends.min()


@pytest.fixture(scope="module")
def prepared(logs: list[Log], city: CityMap, split: Split) -> list[BuiltScene]:
    builder = SceneBuilder(city)
    return [builder.prepare(window) for log in logs for window in windows(log, split.filter)]


def test_proposals_obey_the_driver_model(prepared: list[BuiltScene]) -> None:
    for done in prepared:
        proposals = done.plan.proposals
        acceleration = np.diff(proposals.speed[:, :41], axis=1) / 0.1
        assert acceleration.min() >= -3.0 - 1e-9 and acceleration.max() <= 1.5 + 1e-9
        np.testing.assert_allclose(np.diff(proposals.along[:, :41], axis=1), 0.1 * proposals.speed[:, :40], atol=1e-9)
        untouched = [j for j in range(15) if j not in (done.plan.best_v1, done.plan.best_v2)]
        assert not proposals.along[untouched, 41:].any()
        assert (
            proposals.along[done.plan.best_v1].shape == (PROPOSAL_STEPS,) and proposals.along[done.plan.best_v1, 50] > 0
        )


def test_order_of_tokens_does_not_matter(
    logs: list[Log], city: CityMap, split: Split, prepared: list[BuiltScene]
) -> None:
    """No state leaks from one moment to the next, as it does inside a worker of the official cache."""
    builder = SceneBuilder(city)
    every = [window for log in logs for window in windows(log, split.filter)]
    backwards = [builder.prepare(window) for window in reversed(every)]
    fresh = {done.scene.token: done.scene.reference for done in prepared}
    for done in backwards:
        np.testing.assert_array_equal(done.scene.reference, fresh[done.scene.token])
    window = next(windows(logs[3], split.filter))
    np.testing.assert_array_equal(SceneBuilder(city).prepare(window).scene.reference, fresh[window[3].token])


def test_ties_are_settled_by_the_official_index(city: CityMap, prepared: list[BuiltScene]) -> None:
    """The order is looked up where it matters; where it does not, it changes nothing."""
    ranked = 0
    for done in prepared[::10]:
        limit = city.lanes[done.starting_lane].speed_limit
        generator = ProposalGenerator.of(city, done.paths, limit, done.scene.ego_state, done.forecast)
        rank = generator._index_order()
        assert rank.shape == (3, 26, generator.obstacles.x.size)
        ranked += int(rank.max(initial=0) > 0)
        out = empty_proposals(3)
        generator._run_ranked(propose, rank, out, generator.start, generator.speed)
        np.testing.assert_array_equal(out.poses[:, :41], done.plan.proposals.poses[:, :41])
    assert ranked > 0
