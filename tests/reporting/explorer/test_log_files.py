"""Tables and scenes of a log hold what pools, store and engine say, within the stated units."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.recorded_drives import DRIVER, as_drives
from tests.support.stored_branches import CHOSEN, write_branches
from tests.support.stored_pools import LOGS, store_pools
from tests.support.typed_arrays import TypedArrays, poses, read_typed
from world4scorer import epdms
from world4scorer.drawing.ego_frame import EgoFrame
from world4scorer.engine.routes.route import Route, RouteCursor
from world4scorer.engine.scene.geometry import wrap
from world4scorer.engine.scene.indices import STEPS
from world4scorer.engine.selection.route import route_agreement
from world4scorer.evaluation.pools import ScoredPools
from world4scorer.jobs.run_folder import RunFolder
from world4scorer.reporting.explorer.catalogue import catalogue
from world4scorer.reporting.explorer.explored_run import ExploredRun
from world4scorer.reporting.explorer.log_scenes import CAUSES
from world4scorer.reporting.explorer.motion import encode_paths
from world4scorer.reporting.explorer.situations import SITUATIONS, outliers, project, situations
from world4scorer.reporting.explorer.typed_file import pack

FRAME, LOG = 3, 1
LENGTH, ANGLE, SCORE, UTILITY = 0.01, 0.001, 0.0001, 0.001


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> ExploredRun:
    return ExploredRun.open(store_pools(tmp_path_factory.mktemp("logs"), logits=True))


@pytest.fixture(scope="module")
def pools(run: ExploredRun) -> ScoredPools:
    return run.pools


@pytest.fixture(scope="module")
def scenes(run: ExploredRun) -> TypedArrays:
    return read_typed(run.scenes(LOG))


def close(found: np.ndarray, expected: np.ndarray, unit: float) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=0.5 * unit + 1e-9)


def test_logs_are_those_of_the_pools(run: ExploredRun) -> None:
    assert [(log.name, log.rows) for log in run.logs] == [
        (name, slice(5 * number, 5 * number + 5)) for number, name in enumerate(LOGS)
    ]


def test_a_table_holds_what_choosing_needs(run: ExploredRun, pools: ScoredPools) -> None:
    for log, entry in enumerate(run.logs):
        header, arrays = read_typed(run.table(log))
        rows = entry.rows
        assert header["format"] == "world4scorer-table-1" and header["log_name"] == entry.name
        assert header["tokens"] == list(pools.tokens[rows])
        for name in ("utility_v1", "utility_v2"):  # to the bit: choices among near ties must be the engine's
            assert arrays[name].dtype == getattr(pools, name).dtype
            np.testing.assert_array_equal(arrays[name], getattr(pools, name)[rows])
        close(arrays["v1"] * SCORE, pools.v1[rows], SCORE)
        close(arrays["v2"] * SCORE, pools.v2[rows, :, :-1], SCORE)
        close(arrays.get("v2_raw", arrays["v2"]) * SCORE, pools.v2_raw[rows, :, :-1], SCORE)
        np.testing.assert_array_equal(np.isnan(arrays["interval"]), ~pools.paired[rows])
        count = pools.plans.shape[1]
        bits = np.unpackbits(arrays["continues"], axis=1, bitorder="little", count=count * count)
        np.testing.assert_array_equal(bits.reshape(-1, count, count), pools.continues[rows])


def test_rollouts_causes_and_logits(run: ExploredRun, pools: ScoredPools, scenes: TypedArrays) -> None:
    index = run.logs[LOG].rows.start + FRAME
    scene = run.store[pools.tokens[index]]
    outcome, ego = epdms(scene, pools.plans[index]), EgoFrame.of(scene)
    steps = scenes.arrays["rollouts"][FRAME]
    rollouts = poses(np.zeros((len(steps), 3), np.int64), steps)
    close(rollouts[..., :2], ego.local(outcome.rollouts[:, :STEPS, :2]), LENGTH)
    close(wrap(rollouts[..., 2] - outcome.rollouts[:, :STEPS, 2] + ego.heading), np.zeros(()), ANGLE)
    close(scenes.arrays["logits"][FRAME] * UTILITY, pools.logits[index], UTILITY)
    found = {(CAUSES[metric], plan): (step, at) for metric, plan, step, at in scenes.rows("causes", FRAME).tolist()}
    for name in CAUSES:
        cause = outcome.causes[name]
        for plan, violated in enumerate(cause.violated):
            assert ((name, plan) in found) == violated
            if violated:
                assert found[name, plan] == (cause.step[plan], cause.index[plan] if cause.names else -1)
    assert len(found) > 3


def test_tracks(run: ExploredRun, pools: ScoredPools, scenes: TypedArrays) -> None:
    scene = run.store[pools.tokens[run.logs[LOG].rows.start + FRAME]]
    tracks = scene.tracks if scene.tracks_v2 is None else scene.tracks_v2
    arrays, origin = scenes.arrays, np.array(scenes.header["origin"])
    first, end = arrays["track_start_ends"][FRAME - 1], arrays["track_start_ends"][FRAME]
    assert [scenes.header["track_ids"][number] for number in arrays["track_id"][first:end]] == list(tracks.ids)
    np.testing.assert_array_equal(arrays["track_type"][first:end], tracks.type)
    steps = np.zeros((len(arrays["track_moving"]), STEPS - 1, 3), np.int16)
    steps[arrays["track_moving"] > 0] = arrays["track_steps"]
    found = poses(arrays["track_start"][first:end], steps[first:end])
    there = np.unpackbits(arrays["track_there"][first:end], axis=1, bitorder="little", count=STEPS) > 0
    valid = tracks.valid[:, :STEPS]
    np.testing.assert_array_equal(there, valid)
    close((found[..., :2] + origin)[valid], tracks.boxes[:, :STEPS, :2][valid], LENGTH)
    close(wrap(found[..., 2] - tracks.boxes[:, :STEPS, 2])[valid], np.zeros(()), ANGLE)


def test_map_route_and_lights(run: ExploredRun, pools: ScoredPools, scenes: TypedArrays) -> None:
    scene = run.store[pools.tokens[run.logs[LOG].rows.start + FRAME]]
    arrays, origin = scenes.arrays, np.array(scenes.header["origin"])
    ids = scenes.header["map_ids"]
    assert len(set(zip(ids, arrays["map_layer"].tolist(), strict=True))) == len(ids)
    rings = np.split(arrays["map_points"], arrays["map_ring_ends"][:-1])
    by_polygon: dict[int, list[np.ndarray]] = {}
    for ring, polygon in zip(rings, arrays["map_ring_polygon"].tolist(), strict=True):
        by_polygon.setdefault(polygon, []).append(ring * LENGTH + origin)
    checked = 0
    for polygon, (name, layer) in enumerate(zip(scene.map.ids, scene.map.layer, strict=True)):
        numbers = [n for n, known in enumerate(ids) if known == name and arrays["map_layer"][n] == layer]
        for number in numbers:
            for found, ring in zip(by_polygon[number], scene.map.rings(polygon), strict=True):
                close(found, ring, LENGTH)
                checked += 1
    assert checked > 5
    route = {ids[number] for number in scenes.rows("route", FRAME).tolist()}
    assert route and route <= set(scene.route_lane_ids)
    for (number, on_route, changes), polygon, status in zip(
        scenes.header["lights"][FRAME], scene.lights.polygon, scene.lights.status, strict=True
    ):
        assert number < 0 or ids[number] == scene.map.ids[polygon]
        assert on_route in (0, 1) and changes[0] == [0, int(status[0])]


def test_ego_human_and_reference(run: ExploredRun, pools: ScoredPools, scenes: TypedArrays) -> None:
    scene = run.store[pools.tokens[run.logs[LOG].rows.start + FRAME]]
    arrays, origin = scenes.arrays, np.array(scenes.header["origin"])
    np.testing.assert_allclose(arrays["ego_pose"][FRAME] + [*origin, 0], scene.ego_state[:3], rtol=0, atol=1e-6)
    np.testing.assert_allclose(arrays["human"][FRAME], scene.human_future, rtol=1e-6)
    reference = scene.reference if scene.reference_v2 is None else scene.reference_v2
    found = poses(arrays["reference_start"][[FRAME]], arrays["reference"][[FRAME]])[0]
    close(found[:, :2], EgoFrame.of(scene).local(reference[:STEPS, :2]), LENGTH)


def test_paths_are_exact_across_the_turn_of_angles() -> None:
    angles = np.linspace(3.0, 3.4, 41)
    path = np.stack([np.linspace(-400, 400, 41), np.linspace(0, 9, 41) ** 2, wrap(angles)], axis=1)[None]
    found = poses(*encode_paths(path))
    close(found[..., :2], path[..., :2], LENGTH)
    close(found[..., 2], angles[None], ANGLE)


def test_only_types_of_the_format_are_packed() -> None:
    with pytest.raises(TypeError, match="numbers: int64"):
        pack({}, {"numbers": np.arange(3)})


def test_situations() -> None:
    def driven(speeds: list[float], turn: float) -> np.ndarray:
        along = np.cumsum(speeds) * 0.5
        return np.stack([along, np.zeros(8), np.linspace(0, turn, 9)[1:]], axis=1)

    plans = {
        "standing": driven([0.0] * 8, 0.0),
        "straight": driven([10.0] * 8, 0.0),
        "curve": driven([10.0] * 8, 0.2),
        "left turn": driven([6.0] * 8, 1.0),
        "right turn": driven([6.0] * 8, -1.0),
        "starting": driven([0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 0.0),
        "stopping": driven([6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.0, 0.0], 0.0),
        "unknown": np.full((8, 3), np.nan),
    }
    found = situations(np.stack(list(plans.values())))
    assert [SITUATIONS[code] for code in found] == list(plans)


def test_outliers_stand_out_and_projections_keep_distances() -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(200, 12))
    features[17] += 30
    assert outliers(features).argmax() == 17
    assert outliers(features[:1]).tolist() == [0]
    plane = rng.normal(size=(30, 2)) * [3, 1]
    states = plane @ np.linalg.qr(rng.normal(size=(20, 20)))[0][:2]
    found = project(states)
    distances = [np.linalg.norm(points[:, None] - points, axis=-1) for points in (found, plane)]
    ratio = distances[0][0, 1:] / distances[1][0, 1:]
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-5)
    assert np.abs(found).max() == 1


def test_the_catalogue_names_frames_and_rules(run: ExploredRun, pools: ScoredPools) -> None:
    content = catalogue([run])
    (described,) = content["runs"]
    assert [log["name"] for log in described["logs"]] == list(LOGS)
    assert [token for log in described["logs"] for token in log["tokens"]] == list(pools.tokens)
    assert content["rules"]["log_floor"] == np.log(0.01)
    assert described["has_logits"] and described["cameras"] == []


def test_logs_that_are_drives(run: ExploredRun, pools: ScoredPools, tmp_path: Path) -> None:
    assert (
        "drive" not in read_typed(run.scenes(LOG)).header and "route_agreement" not in read_typed(run.table(LOG)).arrays
    )
    driven = as_drives(run, tmp_path)
    header = read_typed(driven.scenes(LOG)).header
    assert header["drive"]["driver"] == DRIVER and header["drive"]["status"] == "Completed"
    ((kind, time, *place),) = header["drive"]["infractions"]  # slowness is no event
    assert (kind, time) == ("collisions vehicle", 12.5)
    rows = run.logs[LOG].rows
    np.testing.assert_allclose(np.array(place) + header["origin"], pools.ego_pose[rows.start, :2] + 5, atol=0.01)
    points = np.array(header["drive"]["points"]) + header["origin"]
    cursor = RouteCursor(Route(points))
    agreements = read_typed(driven.table(LOG)).arrays["route_agreement"]
    for pose, plans, found in zip(pools.ego_pose[rows], pools.plans[rows], agreements, strict=True):
        cursor.advance(pose[:2])
        np.testing.assert_allclose(found, route_agreement(plans, cursor.ahead(pose)), atol=0.01)


def test_branches(run: ExploredRun, pools: ScoredPools, tmp_path: Path) -> None:
    source = RunFolder(tmp_path)
    made = write_branches(run, LOG, FRAME, source.branches("mini"))
    scenes = read_typed(replace(run, source=source).scenes(LOG))
    arrays, origin = scenes.arrays, np.array(scenes.header["origin"])
    assert scenes.rows("branch_plan", FRAME).tolist() == CHOSEN.tolist()
    assert len(arrays["branch_plan"]) == len(CHOSEN)
    ego = poses(arrays["branch_start"], arrays["branch_steps"])
    others = poses(arrays["branch_track_start"], arrays["branch_track_steps"])
    for at, branch in enumerate(made.branches[2:]):
        close(ego[at, :, :2] + origin, branch.ego[:STEPS, :2], LENGTH)
        bits = arrays["branch_track_there"][2 * at : 2 * at + 2]
        there = np.unpackbits(bits, axis=1, bitorder="little", count=STEPS) > 0
        np.testing.assert_array_equal(there, branch.there[:, :STEPS])
        found = others[2 * at : 2 * at + 2, :, :2] + origin
        close(found[there], branch.poses[:, :STEPS, :2][there], LENGTH)
        assert scenes.rows("branch_view", at).tobytes() == branch.view
    others_plans = replace(pools, plans=pools.plans + 1)
    strange = read_typed(replace(run, pools=others_plans, source=source).scenes(LOG))
    assert len(strange.arrays["branch_plan"]) == 0  # branches of another planner's plans


def test_a_scene_store_shows_the_humans_plans(run: ExploredRun, pools: ScoredPools) -> None:
    opened = ExploredRun.open(Path(run.store.folder))
    assert opened.pools.plans.shape == (len(pools), 1, 8, 3)
    np.testing.assert_allclose(opened.pools.plans[4, 0], run.store[opened.pools.tokens[4]].human_future)
    assert read_typed(opened.scenes(0)).header["plans"] == 1


def test_what_is_nothing_of_ours_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="neither a training run, nor pools, nor a scene store"):
        ExploredRun.open(tmp_path)
