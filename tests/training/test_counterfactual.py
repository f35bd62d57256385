"""Branches of the tiny city, and the study of counterfactual futures through the command."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from run_folder import write_run
from world4scorer.branches.drive import Branching
from world4scorer.branches.make import MadeBranches, make_branches
from world4scorer.branches.outcomes import branch_outcomes
from world4scorer.branches.reactive import reactive_scene
from world4scorer.branches.records import FIRST_PLAN, LOGGED_PLAN, LOGGED_POSES, BranchError, read_log
from world4scorer.branches.ways import LOOK, STEPS_PER_FRAME
from world4scorer.cache.executors import SerialExecutor
from world4scorer.cli import main
from world4scorer.model.planner import Planner
from world4scorer.outcomes.results import V1_COLUMNS, V2_COLUMNS
from world4scorer.pools.open import open_pools
from world4scorer.pools.scored import ScoredPools
from world4scorer.rollout.plans import roll_out
from world4scorer.scene.indices import State
from world4scorer.store import SceneStore
from world4scorer.studies.counterfactual_models import without_outcomes
from world4scorer.training.run import CONFIG, PLANNER

SCENES, PLANS = 2, 2


@pytest.fixture(scope="module")
def run(training_set, tmp_path_factory) -> Path:
    """A run and the variants it is compared with; all have weights drawn by seed."""
    folder = write_run(tmp_path_factory.mktemp("counterfactual") / "run", training_set, training_set.data)
    own = training_set.config
    variants = {
        folder: own,
        folder / "variants" / "auxiliary-target" / f"none-{own.seed}": replace(own, auxiliary_target="none"),
        folder / "variants" / "counterfactual" / f"no-outcomes-{own.seed}": without_outcomes(own),
    }
    for seed, (place, config) in enumerate(variants.items()):
        place.mkdir(parents=True, exist_ok=True)
        (place / CONFIG).write_text(config.to_json())
        torch.manual_seed(seed)
        planner = Planner(config.model)
        with torch.no_grad():  # before training, all plans of a pool are the same
            for weights in planner.network.generator.parameters():
                weights += 0.3 * torch.randn_like(weights)
        planner.save_pretrained(place / PLANNER)
    return folder


@pytest.fixture(scope="module")
def pools(run) -> ScoredPools:
    return open_pools(run)


@pytest.fixture(scope="module")
def made(run, pools, training_set) -> MadeBranches:
    out = run / "branches" / "city_val"
    return make_branches(pools, training_set.data.data, out, SCENES, PLANS, SerialExecutor())


def test_branches_drive_the_rollouts_that_metrics_judge(made, pools, training_set):
    store = SceneStore(training_set.data.val_store)
    scenes = list(made.scenes())
    assert made.made == SCENES == len(scenes) and len({store.log_of(scene.token) for scene in scenes}) == 2
    for scene in scenes:
        assert len(scene.branches) == FIRST_PLAN + PLANS and len(set(scene.chosen)) == PLANS
        logged = store[scene.token]
        row = pools.tokens.index(scene.token)
        assert np.array_equal(scene.plans, pools.plans[row][scene.chosen])
        plans = np.concatenate([logged.human_future[None], scene.plans])
        states = roll_out(logged, plans)[..., [State.X, State.Y, State.HEADING]]
        for branch, expected in zip(scene.branches[LOGGED_PLAN:], states, strict=True):
            np.testing.assert_array_equal(branch.ego[: len(expected)], expected)
            assert branch.view[:2] == b"\xff\xd8"  # a JPEG


def test_everybody_starts_where_the_log_has_them(made, training_set):
    store = SceneStore(training_set.data.val_store)
    for scene in made.scenes():
        tracks = store[scene.token].tracks
        place = {token: row for row, token in enumerate(tracks.ids)}
        for branch in scene.branches:
            rows = [place[str(token)] for token in branch.tokens[branch.there[:, 0]]]
            np.testing.assert_allclose(branch.poses[branch.there[:, 0], 0, :2], tracks.boxes[rows, 0, :2], atol=1e-6)


def test_driving_what_was_driven_gives_the_labels_of_the_log(made, training_set):
    store = SceneStore(training_set.data.val_store)
    for scene in made.scenes():
        logged = store[scene.token]
        found = branch_outcomes(logged, scene, "navsim")
        np.testing.assert_allclose(found.control_v1, found.replayed_v1[0])
        np.testing.assert_allclose(found.control_v2, found.replayed_v2[0])
        # Not the traffic's business.
        for name in ("DAC", "C", "DDC"):
            column = V1_COLUMNS.index(name)
            assert np.array_equal(found.reactive_v1[:, column], found.replayed_v1[:, column])
        for name in ("DAC", "DDC", "LK", "HC"):
            column = V2_COLUMNS.index(name)
            assert np.array_equal(found.reactive_v2[:, column], found.replayed_v2[:, column])


def test_reactive_scenes_hold_the_branch(made, training_set):
    scene = next(made.scenes())
    logged = SceneStore(training_set.data.val_store)[scene.token]
    branch = scene.branches[LOGGED_POSES]
    reactive = reactive_scene(logged, branch)
    fine = reactive_scene(logged, branch, every_step=True)
    for token, row in zip(reactive.tracks.ids, range(len(reactive.tracks.ids)), strict=True):
        own = branch.tokens.tolist().index(token)
        both = reactive.tracks.valid[row] & branch.there[own]
        frames = np.flatnonzero(both)[np.flatnonzero(both) % STEPS_PER_FRAME == 0]
        np.testing.assert_allclose(reactive.tracks.boxes[row, frames, :2], branch.poses[own, frames, :2], atol=1e-9)
    assert np.array_equal(fine.tracks.boxes[..., :3], branch.poses) and reactive.map is logged.map
    assert LOOK == 20 and reactive.tracks.steps == fine.tracks.steps == 51


def test_what_is_finished_is_kept_and_what_is_damaged_is_made_again(made, run, pools, training_set, monkeypatch):
    data, out = training_set.data.data, made.folder
    first, second = sorted(out.glob("*.npz"))
    before, untouched = first.read_bytes(), second.stat().st_mtime_ns
    assert make_branches(pools, data, out, SCENES, PLANS, SerialExecutor()).made == 0
    first.write_bytes(before[:1000])
    with pytest.raises(BranchError, match="not a readable file of branches"):
        read_log(first)
    asked = []
    drive = Branching.__call__
    monkeypatch.setattr(Branching, "__call__", lambda self, task: asked.append(list(task.logs)) or drive(self, task))
    assert make_branches(pools, data, out, SCENES, PLANS, SerialExecutor()).made == 1
    assert asked == [[first.stem]] and second.stat().st_mtime_ns == untouched
    again, once = read_log(first)[0], next(scene for scene in made.scenes() if scene.token == read_log(first)[0].token)
    assert all(one.view == other.view for one, other in zip(again.branches, once.branches, strict=True))


def test_the_study(made, run, tmp_path):
    words = ["--scenes", str(SCENES), "--plans", str(PLANS), "--workers", "1", "--draws", "50", "--out", str(tmp_path)]
    assert main(["study", "counterfactual", str(run), *words]) == 0
    found = json.loads((tmp_path / "counterfactual.json").read_text())
    numbers = found["numbers"]
    assert numbers["scenes"] == SCENES and numbers["plans"] == PLANS
    assert numbers["rows"]["view now"]["R2 within scenes"]["value"] == pytest.approx(0.0, abs=1e-9)
    assert {"whole: own readout", "no future: reader", "untrained: reader of branches"} <= set(numbers["rows"])
    assert "no future: own readout" not in numbers["rows"]
    assert numbers["reactive"]["components"]["DAC v1.1"]["same"]["value"] == 1.0
    for name in ("counterfactual", "counterfactual_views", "counterfactual_reactive"):
        assert (tmp_path / f"{name}.png").stat().st_size > 5000
