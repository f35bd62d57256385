"""EPDMS in reactive traffic: plans do not influence each other, and messages say what is missing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.support.navhard_golden import NavhardGolden
from world4scorer.datasets.store import SceneStore
from world4scorer.engine.outcomes import epdms
from world4scorer.engine.reactive.simulate import simulate_traffic
from world4scorer.engine.scene import SceneError, TrackType


def test_each_plan_has_its_own_traffic(navhard: NavhardGolden, navhard_store: SceneStore) -> None:
    token = navhard.groups[0]["pairs"][0][0]
    scene = navhard_store[token]
    plans = np.stack([navhard.stored_plans[agent][token] for agent in ("noise", "far", "stationary")])
    together = epdms(scene, plans, traffic="reactive")
    assert together.traffic == "reactive" and together.reference_progress.shape == (3,)
    for index, plan in enumerate(plans):
        alone = epdms(scene, plan[None], traffic="reactive")
        np.testing.assert_array_equal(together.table[index], alone.table[0])
        for name in ("NC", "TTC"):
            assert together.causes[name].of(index) == alone.causes[name].of(0)
    again = epdms(scene, plans[::-1], traffic="reactive")
    np.testing.assert_array_equal(again.table[::-1], together.table)


def test_replay_does_not_look_at_lanes(navhard: NavhardGolden, navhard_store: SceneStore) -> None:
    token = navhard.groups[0]["now"]
    scene, plan = navhard_store[token], navhard.stored_plans["noise"][token][None]
    bare = replace(scene, lanes=None)
    np.testing.assert_array_equal(epdms(scene, plan).raw, epdms(bare, plan).raw)
    with pytest.raises(SceneError, match=f"{token}.*has no lanes.*w4s prepare"):
        epdms(bare, plan, traffic="reactive")
    with pytest.raises(ValueError, match="unknown mode"):
        epdms(scene, plan, traffic="reacting")  # type: ignore[arg-type]


def test_only_vehicles_react(navhard: NavhardGolden, navhard_store: SceneStore) -> None:
    scene = navhard_store[navhard.groups[0]["pairs"][0][0]]
    tracks = scene.tracks if scene.tracks_v2 is None else scene.tracks_v2
    found = simulate_traffic(scene, np.tile(scene.ego_state, (41, 1))).tracks
    others = tracks.type != TrackType.VEHICLE
    np.testing.assert_array_equal(found.valid[others, 1:], tracks.valid[others, 1:41])
    np.testing.assert_array_equal(found.boxes[others], tracks.boxes[others, :41])
    np.testing.assert_array_equal(found.valid[:, 0], tracks.annotated_now)
