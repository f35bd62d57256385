"""Scenes check themselves: bad input gets an error that names the field, odd input a defined result."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import world4scorer as w4s
from tests.support.scene_factory import make_frame
from world4scorer.engine.scene import (
    Box,
    Layer,
    Light,
    Lights,
    PolygonMap,
    SceneError,
    Tracks,
    as_plans,
    published_cleanup,
)


@pytest.fixture(scope="module")
def frame():
    return make_frame(7)


def with_value(array, index, value):
    out = np.array(array)
    out[index] = value
    return out


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e200])
@pytest.mark.parametrize("name", ["ego_state", "centerline", "reference", "human_future", "past_states"])
def test_values_that_are_not_finite(frame, name, value):
    field = getattr(frame.scene, name)
    with pytest.raises(SceneError, match=f"scene 'made-7': {name}: value at"):
        replace(frame.scene, **{name: with_value(field, (0,) * field.ndim, value)})


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("ego_state", np.zeros(10), r"ego_state: expected shape \(11\), got \(10,\)"),
        ("ego_state", "fast", "ego_state: cannot be read as an array"),
        ("centerline", np.zeros((1, 3)), "centerline: 1 points; at least two"),
        ("centerline", np.zeros((5, 2)), r"centerline: expected shape \(C, 3\)"),
        ("reference", np.zeros((40, 3)), "reference: 40 poses of 0.1 s; at least 41"),
        ("human_future", np.zeros((7, 3)), r"human_future: expected shape \(8, 3\)"),
        ("past_states", None, "give both or neither"),
        ("past_time_us", np.zeros(4, int), "at least two rising time stamps"),
    ],
)
def test_wrong_fields(frame, name, value, says):
    with pytest.raises(SceneError, match=says):
        replace(frame.scene, **{name: value})


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e7])
@pytest.mark.parametrize("call", [w4s.label, w4s.pdms, w4s.epdms, w4s.roll_out])
def test_plans_out_of_range_are_named(frame, call, value):
    plans = frame.plans.copy()
    plans[3, 5, 1] = value
    with pytest.raises(SceneError, match="plans of made-7: plan 3, pose 5, y is"):
        call(frame.scene, plans)


@pytest.mark.parametrize("shape", [(8, 3), (4, 7, 3), (4, 8, 2), (4, 8, 3, 1)])
def test_plans_of_wrong_shape(frame, shape):
    with pytest.raises(SceneError, match=r"expected shape \(N, 8, 3\)"):
        w4s.label(frame.scene, np.zeros(shape))


def test_published_cleanup_makes_plans_usable():
    plans = np.zeros((1, 8, 3))
    plans[0, :3, 0] = np.nan, np.inf, -np.inf
    np.testing.assert_array_equal(as_plans(published_cleanup(plans))[0, :3, 0], [0, 100, -100])


def test_plans_at_the_limit_are_rolled_out(frame):
    plans = np.full((3, 8, 3), 1e6)
    plans[1] *= -1
    plans[2] = np.random.default_rng(0).uniform(-1e6, 1e6, (8, 3))
    outcome = w4s.label(frame.scene, plans)
    assert np.isfinite(outcome.table).all() and np.isfinite(outcome.rollouts).all()
    assert np.isfinite(w4s.epdms(frame.scene, plans).table).all()


def square(x, y, size=2.0):
    return [(x, y), (x + size, y), (x + size, y + size), (x, y + size)]


@pytest.mark.parametrize(
    ("polygons", "says"),
    [
        ([("a", Layer.LANE, [[(0, 0), (1, 1)]])], "ring 0 of polygon 'a' has 2 vertices"),
        ([("a", Layer.LANE, [[(0, 0), (np.nan, 1), (1, 1)]])], "map polygon 'a': value at"),
        ([("a", 3, [square(0, 0)])], "not a Layer code"),
        ([("a", Layer.LANE, [])], "ring_polygon"),
        ([("a", Layer.LANE, [square(0, 0)]), ("b", Layer.LANE, [])], "polygon 'b' has no ring"),
    ],
)
def test_bad_maps(polygons, says):
    with pytest.raises(SceneError, match=says):
        PolygonMap.from_polygons(polygons)


def test_bad_tracks(frame):
    tracks = frame.scene.tracks
    with pytest.raises(SceneError, match="names must be distinct"):
        replace(tracks, ids=("t0",) * len(tracks.ids))
    with pytest.raises(SceneError, match=r"tracks.type: entry 2 is 9"):
        replace(tracks, type=with_value(tracks.type, 2, 9))
    with pytest.raises(SceneError, match=r"40 steps of 0\.1 s; at least 41"):
        replace(tracks, boxes=tracks.boxes[:, :40], valid=tracks.valid[:, :40])
    track, step = np.argwhere(tracks.valid)[-1]
    with pytest.raises(SceneError, match=f"track 't{track}' is not finite or beyond 1e.08 at step {step}"):
        replace(tracks, boxes=with_value(tracks.boxes, (track, step, Box.X), np.nan))
    with pytest.raises(SceneError, match=f"track 't{track}' has a negative size at step {step}"):
        replace(tracks, boxes=with_value(tracks.boxes, (track, step, Box.WIDTH), -1.0))


def test_invalid_steps_may_hold_anything(frame):
    tracks = frame.scene.tracks
    valid = with_value(tracks.valid, (0, slice(10, 20)), False)
    clean, dirty = (
        replace(frame.scene, tracks=replace(tracks, valid=valid, boxes=with_value(tracks.boxes, (0, slice(10, 20)), v)))
        for v in (0.0, np.nan)
    )
    np.testing.assert_array_equal(w4s.label(clean, frame.plans).table, w4s.label(dirty, frame.plans).table)


def test_v1_needs_traffic_beyond_the_rollout(frame):
    tracks = frame.scene.tracks
    short = replace(frame.scene, tracks=replace(tracks, boxes=tracks.boxes[:, :41], valid=tracks.valid[:, :41]))
    with pytest.raises(SceneError, match="'made-7': tracks end after 41 steps"):
        w4s.label(short, frame.plans)
    np.testing.assert_array_equal(w4s.epdms(short, frame.plans).table, w4s.epdms(frame.scene, frame.plans).table)


def test_lights(frame):
    status = np.full((1, 41), int(Light.RED))
    with pytest.raises(SceneError, match="turns red without a polygon"):
        replace(frame.scene, lights=Lights([-1], status, [True]))
    with pytest.raises(SceneError, match="entries must lie in"):
        replace(frame.scene, lights=Lights([999], status, [True]))
    replace(frame.scene, lights=Lights([-1], status, [False]))
    with pytest.raises(SceneError, match="not a Light code"):
        Lights([0], status + 5, [True])


def test_numbers_at_the_limit_do_no_harm(frame):
    """Beyond 1e8 a number is refused; up to there results are defined, whatever they mean."""
    vertices = frame.scene.map.vertices
    with pytest.raises(SceneError, match=r"map.vertices: value at \(5, 0\) is 1e\+200"):
        replace(frame.scene.map, vertices=with_value(vertices, (5, 0), 1e200))
    tracks = frame.scene.tracks
    scene = replace(
        frame.scene,
        map=replace(frame.scene.map, vertices=with_value(vertices, (slice(0, 8), 0), [1e8, -1e8] * 4)),
        tracks=replace(tracks, boxes=with_value(tracks.boxes, (0, slice(5, 9)), 1e8)),
        centerline=with_value(frame.scene.centerline, (1, 0), -1e8),
        ego_state=with_value(frame.scene.ego_state, slice(3, None), 1e8),
    )
    for outcome in (w4s.label(scene, frame.plans), w4s.epdms(scene, frame.plans)):
        assert np.isin(outcome.nc, [0, 0.5, 1]).all() and outcome.table.shape[0] == len(frame.plans)


def test_empty_map(frame):
    scene = replace(frame.scene, map=PolygonMap.from_polygons([]), lights=Lights.none(), route_lane_ids=())
    outcome = w4s.label(scene, frame.plans)
    assert (outcome.dac == 0).all() and (outcome.score == 0).all()
    assert (w4s.epdms(scene, frame.plans, human_filter=False).dac == 0).all()


def test_no_agents(frame):
    outcome = w4s.label(replace(frame.scene, tracks=Tracks.none()), frame.plans)
    assert (outcome.nc == 1).all() and (outcome.ttc == 1).all()


def test_centreline_without_length(frame):
    scene = replace(frame.scene, centerline=np.repeat(frame.scene.centerline[:1], 3, 0))
    outcome = w4s.label(scene, frame.plans)
    assert (outcome.progress == 0).all()
    np.testing.assert_array_equal(outcome.ep, (outcome.nc * outcome.dac > 0).astype(float))
    assert (w4s.epdms(scene, frame.plans).ep == 1).all()


def test_polygons_without_area_hold_nothing(frame):
    x, y = frame.scene.ego_state[:2]
    line = [(x - 50, y - 50), (x, y), (x + 50, y + 50)]
    scene = replace(
        frame.scene,
        map=PolygonMap.from_polygons([("flat", Layer.ROADBLOCK, [line]), ("dot", Layer.LANE, [[(x, y)] * 3])]),
        lights=Lights.none(),
        route_lane_ids=("dot",),
    )
    assert (w4s.label(scene, frame.plans).dac == 0).all()


def test_track_seen_at_one_step_only(frame):
    tracks = frame.scene.tracks
    valid = np.zeros_like(tracks.valid)
    valid[np.arange(len(valid)), np.arange(len(valid)) * 3 % 51] = True
    outcome = w4s.label(replace(frame.scene, tracks=replace(tracks, valid=valid)), frame.plans)
    assert np.isfinite(outcome.table).all()


def test_no_past_and_no_human(frame):
    scene = replace(frame.scene, past_states=None, past_time_us=None, human_future=None)
    outcome = w4s.epdms(scene, frame.plans)
    assert (outcome.hc == 1).all() and outcome.human is None and not outcome.human_filter
    np.testing.assert_array_equal(outcome.table, outcome.raw)


def test_separate_v2_tracks_and_reference(frame):
    scene = replace(frame.scene, tracks_v2=Tracks.none(41), reference_v2=frame.scene.reference)
    assert (w4s.epdms(scene, frame.plans, human_filter=False).nc == 1).all()
    np.testing.assert_array_equal(w4s.label(scene, frame.plans).table, w4s.label(frame.scene, frame.plans).table)


def test_read_only_arrays_compile_nothing_new(frame):
    from world4scorer.engine.outcomes.judge import judge_boxes

    plans = frame.plans.copy()
    expected = w4s.label(frame.scene, plans).table
    kernels = len(judge_boxes.signatures)
    arrays = {name: getattr(frame.scene, name).copy() for name in ("ego_state", "centerline", "reference")}
    for array in (plans, *arrays.values()):
        array.flags.writeable = False
    np.testing.assert_array_equal(w4s.label(replace(frame.scene, **arrays), plans).table, expected)
    assert len(judge_boxes.signatures) == kernels


def test_unknown_version(frame):
    with pytest.raises(ValueError, match="unknown version 'v3'"):
        w4s.epdms(frame.scene, frame.plans, version="v3")
