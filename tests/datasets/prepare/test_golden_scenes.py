"""Every stored quantity of the official caches, both versions, against what we prepare."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.support.navsim_golden import DATA_SPLIT, LOCATION, NavsimGolden
from world4scorer.datasets.navsim.city_map import CityMap
from world4scorer.datasets.navsim.filters import read_split, windows
from world4scorer.datasets.navsim.logs import log_paths, read_log
from world4scorer.datasets.navsim.map_reader import read_city_map
from world4scorer.datasets.pdm_closed.generator import target_speeds
from world4scorer.datasets.pdm_closed.reference_progress import reference_progress
from world4scorer.datasets.prepare.scene_builder import BuiltScene, SceneBuilder
from world4scorer.engine.outcomes.history_comfort import history_rows
from world4scorer.engine.rollout.resample import sample_times
from world4scorer.engine.scene import Box, Layer, Light, Scene, Tracks
from world4scorer.jobs.data_folder import DataFolder

TOLERANCE = 1e-8
"""m, rad, m/s: coordinates of UTM size carry an error of 1e-9 m of their own."""

VERSIONS = ("v1", "v2")


@pytest.fixture(scope="module")
def world(golden: NavsimGolden) -> CityMap:
    return read_city_map(golden.dataset / "maps", LOCATION)


@pytest.fixture(scope="module")
def prepared(golden: NavsimGolden, world: CityMap) -> dict[str, BuiltScene]:
    split, preparer, out = read_split(golden.split_file), SceneBuilder(world), {}
    for path in log_paths(DataFolder(golden.dataset).logs(DATA_SPLIT)):
        for window in windows(read_log(path), split.filter):
            done = preparer.prepare(window)
            out[done.scene.token] = done
    return out


def tracks_of(scene: Scene, version: str) -> Tracks:
    return scene.tracks if version == "v1" or scene.tracks_v2 is None else scene.tracks_v2


def reference_of(scene: Scene, version: str) -> NDArray[np.float64]:
    return scene.reference if version == "v1" or scene.reference_v2 is None else scene.reference_v2


def pairs(golden: NavsimGolden, prepared: dict[str, BuiltScene], version: str) -> Any:
    """Each prepared moment with its expected values."""
    for token, done in prepared.items():
        yield done, golden.cache(version, token)


def near(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE)


def test_every_token_is_prepared(golden: NavsimGolden, prepared: dict[str, BuiltScene]) -> None:
    assert sorted(prepared) == sorted(golden.tokens)
    assert len(prepared) == 90


@pytest.mark.parametrize("version", VERSIONS)
def test_route(golden: NavsimGolden, prepared: dict[str, BuiltScene], world: CityMap, version: str) -> None:
    for done, want in pairs(golden, prepared, version):
        assert [world.blocks[block].id for block in done.route] == want["route_roadblock_ids_corrected"].tolist()
        assert list(done.scene.route_lane_ids) == want["route_lane_ids"].tolist()
        assert world.lanes[done.starting_lane].id == str(want["starting_lane_id"])


@pytest.mark.parametrize("version", VERSIONS)
def test_drivable_map(golden: NavsimGolden, prepared: dict[str, BuiltScene], version: str) -> None:
    for done, want in pairs(golden, prepared, version):
        count, polygons = len(want["drivable_ids"]), done.scene.map
        assert list(polygons.ids[:count]) == want["drivable_ids"].tolist()
        assert [Layer(code).name for code in polygons.layer[:count]] == want["drivable_layers"].tolist()
        assert (polygons.layer[count:] == Layer.SIGNAL_AREA).all()


@pytest.mark.parametrize("version", VERSIONS)
def test_ego_and_centerline(golden: NavsimGolden, prepared: dict[str, BuiltScene], version: str) -> None:
    checked = 0
    for done, want in pairs(golden, prepared, version):
        near(done.scene.ego_state, want["ego_state"])
        assert done.scene.time_us == int(want["ego_time_us"])
        if "centerline_xyh" in want:
            near(done.scene.centerline, want["centerline_xyh"])
            near(done.paths.progress[0], want["centerline_progress"])
            checked += 1
    assert checked >= 10


@pytest.mark.parametrize("version", VERSIONS)
def test_tracks(golden: NavsimGolden, prepared: dict[str, BuiltScene], version: str) -> None:
    checked = 0
    for done, want in pairs(golden, prepared, version):
        if "track_box" not in want:
            continue
        tracks = tracks_of(done.scene, version)
        steps = 51 if version == "v1" else 41
        step, track = np.nonzero(tracks.valid[:, :steps].T)
        assert step.tolist() == want["track_step"].tolist()
        assert [tracks.ids[i] for i in track] == want["track_tokens"][want["track_index"]].tolist()
        assert tracks.type[track].tolist() == want["track_type"][want["track_index"]].tolist()
        columns = [Box.X, Box.Y, Box.HEADING, Box.VELOCITY_X, Box.VELOCITY_Y, Box.LENGTH, Box.WIDTH]
        near(tracks.boxes[track, step][:, columns], want["track_box"][:, :7])
        checked += 1
    assert checked >= 10


def test_some_versions_have_tracks_and_plans_of_their_own(prepared: dict[str, BuiltScene]) -> None:
    scenes = [done.scene for done in prepared.values()]
    assert 0 < sum(scene.tracks_v2 is not None for scene in scenes) < len(scenes)
    assert 0 < sum(scene.reference_v2 is not None for scene in scenes) < len(scenes)


def test_red_lights(golden: NavsimGolden, prepared: dict[str, BuiltScene]) -> None:
    for done, want in pairs(golden, prepared, "v2"):
        lights, ids = done.scene.lights, done.scene.map.ids
        light, step = np.nonzero(lights.status == Light.RED)
        found = sorted((int(s), f"red_light_{ids[lights.polygon[k]]}") for k, s in zip(light, step, strict=True))
        expected = zip(want["red_light_step"].tolist(), want["red_light_token"].tolist(), strict=True)
        assert found == sorted((int(s), str(token)) for s, token in expected)


def test_human(golden: NavsimGolden, prepared: dict[str, BuiltScene]) -> None:
    for done, want in pairs(golden, prepared, "v2"):
        scene = done.scene
        assert scene.past_states is not None and scene.past_time_us is not None
        near(scene.past_states, want["past_human_states"])
        assert scene.past_time_us.tolist() == want["past_human_time_us"].tolist()
        near(scene.human_future, want["human_trajectory"])
        rows = history_rows(scene.past_states, scene.past_time_us)
        assert len(rows) == len(want["history_comfort_time_us"])
        if "history_comfort_states" in want:
            near(rows, want["history_comfort_states"])


@pytest.mark.parametrize("version", VERSIONS)
def test_forecast(golden: NavsimGolden, prepared: dict[str, BuiltScene], world: CityMap, version: str) -> None:
    ignored = 0
    for done, want in pairs(golden, prepared, version):
        seen = done.forecast
        names = np.array([*seen.ids, *(f"red_light_{world.lanes[lane].id}" for lane in seen.red_lanes)])
        relevant = np.concatenate([seen.relevant, seen.relevant_red])
        assert names.tolist() == want["planner_occupancy_tokens_t0"].tolist()
        assert sorted(names[~relevant]) == sorted(want["planner_collided_track_ids"].tolist())
        ignored += int((~relevant).sum())
    assert ignored == 21


@pytest.mark.parametrize("version", VERSIONS)
def test_proposals(golden: NavsimGolden, prepared: dict[str, BuiltScene], world: CityMap, version: str) -> None:
    checked = 0
    for done, want in pairs(golden, prepared, version):
        plan, best = done.plan, int(want["planner_best"])
        near(target_speeds(world.lanes[done.starting_lane].speed_limit), want["planner_target_velocities"])
        near(plan.scores_v1 if version == "v1" else plan.scores_v2, want["planner_proposal_scores"])
        assert (plan.best_v1 if version == "v1" else plan.best_v2) == best
        near(reference_of(done.scene, version), want["pdm_trajectory_states"][:, :3])
        if "planner_proposal_xyh" not in want:
            continue
        drive = np.stack([plan.proposals.along, plan.proposals.speed], axis=2)
        for found, name in (
            (drive, "planner_idm_progress_velocity"),
            (plan.proposals.leader, "planner_leading_agent"),
            (plan.proposals.poses, "planner_proposal_xyh"),
        ):
            near(found[:, :41], want[name][:, :41])
            near(found[best], want[name][best])
        checked += 1
    assert checked >= 10


@pytest.mark.parametrize("version", VERSIONS)
def test_proposal_outcomes(golden: NavsimGolden, prepared: dict[str, BuiltScene], version: str) -> None:
    for done, want in pairs(golden, prepared, version):
        found = done.plan.outcomes
        if version == "v1":
            product, weighted = (found.nc, found.dac), {1: found.ttc_v1, 2: found.comfort, 3: found.ddc_v1}
        else:
            product, weighted = (found.nc, found.dac, found.tlc, found.ddc_v2), {1: found.ttc_v2, 2: found.lk}
        np.testing.assert_array_equal(np.stack(product), want["planner_multi_metrics"])
        for row, values in weighted.items():
            np.testing.assert_array_equal(values, want["planner_weighted_metrics"][row])


def test_reference_at_10_hz(golden: NavsimGolden, prepared: dict[str, BuiltScene]) -> None:
    """The evaluator's samples lie up to 1 us before the planner's own; nothing else differs."""
    for done, want in pairs(golden, prepared, "v2"):
        if "pdm_states_10hz" not in want:
            continue
        late = np.arange(41) * 100_000 + done.scene.time_us - sample_times(done.scene.time_us)
        assert ((late >= 0) & (late <= 1)).all()
        np.testing.assert_allclose(reference_of(done.scene, "v2")[:41], want["pdm_states_10hz"][:, :3], atol=5e-5)


@pytest.mark.parametrize("version", VERSIONS)
def test_reference_progress(golden: NavsimGolden, prepared: dict[str, BuiltScene], version: str) -> None:
    for token, want in golden.progress(version).items():
        found = reference_progress(prepared[token].scene, version)  # type: ignore[arg-type]
        assert (found.nc, found.dac, found.nc_published) == (want["nc"], want["dac"], want["nc_no_area"])
        near(found.raw, want["progress_raw"])
        near(found.published, want["pdm_progress_published"])
        near(found.official, want["pdm_progress_official_v1_rule"])
