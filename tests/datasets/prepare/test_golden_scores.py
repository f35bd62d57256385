"""Scores of all stored trajectories: prepared scenes through our metrics against the official evaluation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.support.navsim_golden import DATA_SPLIT, LOCATION, NavsimGolden
from world4scorer.datasets.navsim.filters import read_split
from world4scorer.datasets.navsim.logs import log_paths, read_log
from world4scorer.datasets.navsim.map_reader import read_city_map
from world4scorer.datasets.prepare.scene_builder import build_scenes
from world4scorer.engine.outcomes import epdms, extended_comfort, pdms
from world4scorer.engine.scene import Scene, State
from world4scorer.jobs.data_folder import DataFolder

TOLERANCE = 1e-8


@pytest.fixture(scope="module")
def scenes(golden: NavsimGolden) -> dict[str, Scene]:
    city = read_city_map(golden.dataset / "maps", LOCATION)
    split = read_split(golden.split_file)
    logs = [read_log(path) for path in log_paths(DataFolder(golden.dataset).logs(DATA_SPLIT))]
    return {scene.token: scene for log in logs for scene in build_scenes(log, city, split.filter)}


@pytest.fixture(scope="module")
def agents(golden: NavsimGolden) -> list[str]:
    return ["constant_velocity", "human", *golden.trajectories["names"].tolist()]


@pytest.fixture(scope="module")
def plans(golden: NavsimGolden, scenes: dict[str, Scene]) -> dict[str, NDArray[np.float64]]:
    stored = golden.trajectories
    by_token = dict(zip(stored["tokens"].tolist(), stored["poses"], strict=True))
    out = {}
    for token, scene in scenes.items():
        velocity = scene.ego_state[[State.VELOCITY_X, State.VELOCITY_Y]].astype(np.float32)
        speed = float((velocity**2).sum()) ** 0.5  # float32 sum, float64 root, as the official agent computes it
        constant = np.zeros((8, 3), np.float32)
        constant[:, 0] = 0.5 * np.arange(1, 9) * speed
        assert scene.human_future is not None
        out[token] = np.concatenate([constant[None], scene.human_future[None], by_token[token]])
    return out


def test_v1(golden: NavsimGolden, scenes: dict[str, Scene], plans: dict[str, Any], agents: list[str]) -> None:
    found = {token: pdms(scene, plans[token]) for token, scene in scenes.items()}
    rows = golden.scores("v1")
    assert len(rows) == 900
    for row in rows:
        out, plan, want = found[row["token"]], agents.index(row["agent"]), row["v1"]
        assert out.nc[plan] == want["no_at_fault_collisions"]
        assert out.dac[plan] == want["drivable_area_compliance"]
        assert out.ttc[plan] == want["time_to_collision_within_bound"]
        assert out.comfort[plan] == want["comfort"]
        assert out.ddc[plan] == want["driving_direction_compliance"]
        assert abs(out.progress[plan] - row["progress_raw"]) < TOLERANCE
        assert abs(out.ep[plan] - want["ego_progress"]) < TOLERANCE
        assert abs(out.score[plan] - want["score"]) < TOLERANCE


@pytest.mark.parametrize("kind", ["unfiltered", "filtered"])
def test_v2(golden: NavsimGolden, scenes: dict[str, Scene], plans: Any, agents: list[str], kind: str) -> None:
    filtered = kind == "filtered"
    found = {token: epdms(scene, plans[token], human_filter=filtered) for token, scene in scenes.items()}
    rows, with_predecessor = golden.scores("v2"), 0
    assert len(rows) == 900
    for row in rows:
        token, plan, want = row["token"], agents.index(row["agent"]), row[kind]
        out, previous = found[token], row["previous_token"]
        assert out.nc[plan] == want["no_at_fault_collisions"]
        assert out.dac[plan] == want["drivable_area_compliance"]
        assert out.ddc[plan] == want["driving_direction_compliance"]
        assert out.tlc[plan] == want["traffic_light_compliance"]
        assert out.ttc[plan] == want["time_to_collision_within_bound"]
        assert out.lk[plan] == want["lane_keeping"]
        assert out.hc[plan] == want["history_comfort"]
        assert out.product[plan] == want["multiplicative_metrics_prod"]
        assert abs(out.ep[plan] - want["ego_progress"]) < TOLERANCE
        score = out.score[plan]
        if previous is not None:
            interval = (scenes[token].time_us - scenes[previous].time_us) * 1e-6
            comfort = extended_comfort(out.rollouts[plan : plan + 1], found[previous].rollouts[plan], interval)
            assert comfort[0] == want["two_frame_extended_comfort"]
            score = out.score_with(np.full(len(agents), comfort[0]))[plan]
            with_predecessor += 1
        else:
            assert want["two_frame_extended_comfort"] is None
        assert abs(score - want["epdms"]) < TOLERANCE
    assert with_predecessor > 800
