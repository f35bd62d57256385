"""Reactive traffic against a simulation with Shapely, on made-up roads with crowded traffic."""

from __future__ import annotations

import numba
import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from shapely.geometry import LineString, Polygon

from tests.support.oracle.reactive_traffic import EGO, FREE, OracleLane, OracleVehicle, simulate
from tests.support.scene_factory import LANE_WIDTH, make_map, road_point
from world4scorer.engine.reactive.drive import GONE, NOBODY
from world4scorer.engine.reactive.outlines import outline
from world4scorer.engine.reactive.overlapping_leads import first_nearest
from world4scorer.engine.reactive.simulate import simulate_traffic
from world4scorer.engine.scene import Lanes, Layer, Scene, SceneError, Tracks

seeds = st.integers(0, 2**32 - 1)


@numba.njit
def _outline(line, half_width, kept, ring):
    return outline(line, line.shape[1], half_width, kept, ring)


def ring_of(points, half_width):
    line = np.ascontiguousarray(np.asarray(points).T)
    ring = np.empty((2, 60 * len(points) + 64))
    size = _outline(line, half_width, np.empty_like(line), ring)
    return Polygon(ring[:, :size].T)


@settings(max_examples=150, deadline=None)
@given(seeds)
def test_outlines_are_those_of_geos(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 12))
    heading = np.cumsum(rng.normal(0, rng.choice([0.01, 0.05, 0.15]), count))
    # No corners nearer to each other than 5 % of the half width: of these, versions of GEOS keep different ones.
    steps = rng.choice([0.6, 2.0, 6.0], count)
    points = np.cumsum(np.stack([np.cos(heading), np.sin(heading)], 1) * steps[:, None], axis=0)
    half_width = rng.uniform(0.7, 1.4)
    expected = LineString(points).buffer(half_width, cap_style="flat", quad_segs=16)
    found = ring_of(points, half_width).buffer(0)
    assert found.symmetric_difference(expected).area < 1e-9


def test_straight_outline_is_a_rectangle():
    found = ring_of([(0, 0), (1, 0), (4, 0)], 0.5)
    assert found.equals(Polygon([(0, 0.5), (4, 0.5), (4, -0.5), (0, -0.5)]))


@settings(max_examples=200, deadline=None)
@given(seeds)
def test_overlapping_shapes_are_taken_in_the_order_of_the_tree(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 45))
    low = rng.uniform(-6, 6, (count, 2))
    bounds = np.concatenate([low, low + rng.uniform(0.5, 8, (count, 2))], axis=1)
    own = np.array([-1.0, -1.0, 1.0, 1.0])
    shapes = [shapely.box(*row) for row in bounds]
    distances = np.array([shape.distance(shapely.box(*own)) for shape in shapes])
    expected = shapely.STRtree(shapes, 10).nearest(shapely.box(*own))
    assert first_nearest(bounds, distances, own) == expected


def made_scene(seed, vertices=(20, 40)):
    """A bent road with junctions, lanes with and without limits, and vehicles on, beside and across them."""
    rng = np.random.default_rng(seed)
    bend = rng.choice([-0.02, 0.0, 0.012])
    polygons, _ = make_map(bend, 6, rng)
    names, lines, connectors, limits = [], [], [], []
    for polygon, name in enumerate(polygons.ids):
        if polygons.layer[polygon] not in (Layer.LANE, Layer.LANE_CONNECTOR):
            continue
        piece, lane = (int(part) for part in name[1:].split("_"))
        s = np.linspace(30.0 * (piece - 2), 30.0 * (piece - 1), int(rng.integers(*vertices)))
        x, y, _ = road_point(s if lane < 2 else s[::-1], (lane - 1) * LANE_WIDTH, bend)
        names.append(name)
        lines.append(np.stack([x, y], 1))
        connectors.append(polygons.layer[polygon] == Layer.LANE_CONNECTOR)
        limits.append(rng.choice([np.nan, 0.0, 8.0, 14.0]))
    order = np.argsort(connectors, kind="stable")
    lanes = Lanes(
        tuple(names[i] for i in order),
        np.array(connectors)[order],
        np.array(limits)[order],
        np.concatenate([lines[i] for i in order]),
        np.cumsum([0, *(len(lines[i]) for i in order)]),
    )
    count = 14
    s, offset = (
        rng.uniform(-50, 110, count),
        rng.choice([-1, 0, 1, 2.6], count) * LANE_WIDTH + rng.normal(0, 0.4, count),
    )
    x, y, heading = road_point(s, offset, bend)
    heading = heading + np.where(offset > 0.5 * LANE_WIDTH, np.pi, 0) + rng.normal(0, 0.1, count)
    speed = np.where(rng.random(count) < 0.3, 0.0, rng.uniform(0, 12, count))
    boxes = np.zeros((count, 41, 7))
    boxes[:, :, 0], boxes[:, :, 1], boxes[:, :, 2] = x[:, None], y[:, None], heading[:, None]
    boxes[:, :, 3], boxes[:, :, 4] = rng.uniform(3, 8, (count, 1)), rng.uniform(1.6, 2.6, (count, 1))
    boxes[:, :, 5], boxes[:, :, 6] = (speed * np.cos(heading))[:, None], (speed * np.sin(heading))[:, None]
    tracks = Tracks(tuple(f"t{i}" for i in range(count)), np.zeros(count), boxes, np.ones((count, 41), bool))
    ego = np.zeros((41, 11))
    along = rng.uniform(0, 9) * 0.1 * np.arange(41)
    ego[:, 0], ego[:, 1], ego[:, 2] = road_point(along, rng.normal(0, 1), bend)
    ego[:, 3] = along[1] / 0.1
    scene = Scene(
        token=f"made-{seed}", log_name="made", time_us=0, ego_state=ego[0], centerline=np.eye(3)[:2], map=polygons,
        route_lane_ids=(), tracks=tracks, reference=np.zeros((41, 3)), lanes=lanes,
    )  # fmt: skip
    return scene, ego


def oracle_of(scene, ego):
    shapes = {}
    for polygon, name in enumerate(scene.map.ids):
        shapes.setdefault((int(scene.map.layer[polygon]), name), Polygon(scene.map.rings(polygon)[0]))
    lanes = [
        OracleLane(
            shapes[Layer.LANE_CONNECTOR if scene.lanes.connector[i] else Layer.LANE, name],
            bool(scene.lanes.connector[i]),
            scene.lanes.line(i),
            None if np.isnan(scene.lanes.limit[i]) else scene.lanes.limit[i],
        )
        for i, name in enumerate(scene.lanes.ids)
    ]
    crossings = [shape for (layer, _), shape in shapes.items() if layer == Layer.INTERSECTION]
    now = scene.tracks.boxes[:, 0]
    return simulate([OracleVehicle(b[:3], b[3], b[4], b[5:]) for b in now], lanes, crossings, ego)


def test_a_vehicle_off_its_own_corridor_is_an_error():
    scene, ego = made_scene(0, vertices=(4, 5))  # paths end one vertex, here 10 m, before their lanes do
    with pytest.raises(AssertionError):
        oracle_of(scene, ego)
    with pytest.raises(SceneError, match=r"made-0.*lies off the corridor of its path"):
        simulate_traffic(scene, ego)


@pytest.mark.parametrize("seed", range(3))
def test_simulation(seed):
    scene, ego = made_scene(seed)
    expected = oracle_of(scene, ego)
    found = simulate_traffic(scene, ego)
    start, trace = found.start, found.trace
    assert start.track.tolist() == [built[0] for built in expected.built]
    assert start.lane.tolist() == [built[1] for built in expected.built]
    np.testing.assert_allclose(start.target, [built[4] for built in expected.built])
    place = {vehicle: v for v, vehicle in enumerate(start.track.tolist())} | {EGO: len(start.track), FREE: NOBODY}
    assert (trace.lead[1:] != GONE).sum() == len(expected.steps) > 100
    for k, vehicle, lead, hits, gap, _, _, progress, speed in expected.steps:
        v = place[vehicle]
        assert (trace.lead[k, v], trace.candidates[k, v]) == (place[lead], hits), (k, vehicle)
        assert trace.gap[k, v] == pytest.approx(gap, abs=1e-3)
        assert trace.progress[k, v] == pytest.approx(progress, abs=1e-4)
        assert trace.speed[k, v] == pytest.approx(speed, abs=1e-4)
    shown = [sorted(np.flatnonzero(found.tracks.valid[:, k]).tolist()) for k in range(1, 41)]
    assert shown == [sorted(vehicle for vehicle, _ in seen) for seen in expected.seen]
