"""Branches of the tiny city, and the study of counterfactual futures through the command."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from tests.support.run_folder import write_run
from world4scorer.city.world.simulation import CitySimulation, SimulationLost
from world4scorer.cli.run import main
from world4scorer.datasets.navsim.logs import read_log as read_navsim_log
from world4scorer.datasets.navsim.splits import find_split
from world4scorer.datasets.prepare.tracks import STEPS_PER_FRAME
from world4scorer.datasets.store import SceneStore
from world4scorer.engine.outcomes.results import V1_COLUMNS, V2_COLUMNS
from world4scorer.engine.rollout.plans import roll_out
from world4scorer.engine.scene.indices import State
from world4scorer.evaluation.pools.open import open_pools
from world4scorer.evaluation.pools.scored import ScoredPools
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.executors import SerialExecutor
from world4scorer.jobs.run_folder import RunFolder
from world4scorer.planner.planner import Planner
from world4scorer.planner.pretrained.image_encoder import load_encoder
from world4scorer.planner.targets.future_targets import FutureTargets, read_file, write_file
from world4scorer.studies.branches.drive import Branching
from world4scorer.studies.branches.make import MadeBranches, ask, make_branches
from world4scorer.studies.branches.outcomes import branch_outcomes
from world4scorer.studies.branches.reactive import reactive_scene
from world4scorer.studies.branches.records import (
    FIRST_PLAN,
    LOGGED_PLAN,
    LOGGED_POSES,
    BranchError,
    SceneBranches,
    read_log,
    write_log,
)
from world4scorer.studies.counterfactual import study as study
from world4scorer.studies.counterfactual.branched_scenes import encode
from world4scorer.studies.counterfactual.models import without_outcomes
from world4scorer.studies.shared.future_match import unit

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
        RunFolder(place).config_file.write_text(config.to_json())
        torch.manual_seed(seed)
        planner = Planner(config.model)
        with torch.no_grad():  # before training, all plans of a pool are the same
            for weights in planner.network.generator.parameters():
                weights += 0.3 * torch.randn_like(weights)
        planner.save_pretrained(RunFolder(place).planner)
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


def test_driving_what_was_driven_shows_the_logged_view(made, training_set):
    """Byte by byte."""
    data = training_set.data
    scene, store = next(made.scenes()), SceneStore(data.val_store)
    split = find_split(data.val_split, data.data).data_split
    log = read_navsim_log(DataFolder(data.data).log(split, store.log_of(scene.token)))
    now = next(number for number, frame in enumerate(log.frames) if frame.token == scene.token)
    camera = log.frames[now + 4].cameras["CAM_F0"]
    assert scene.branches[LOGGED_POSES].view == (DataFolder(data.data).sensors(split) / camera.path).read_bytes()


def test_views_are_encoded_as_future_targets_are(training_set):
    data = training_set.data
    targets, store = FutureTargets.open(data.targets), SceneStore(data.store)
    token = next(token for token in store.tokens if targets.features([token])[1].all())
    split = find_split(data.split, data.data).data_split
    log = read_navsim_log(DataFolder(data.data).log(split, store.log_of(token)))
    now = next(number for number, frame in enumerate(log.frames) if frame.token == token)
    image = DataFolder(data.data).sensors(split) / log.frames[now + 4].cameras["CAM_F0"].path
    found = encode(load_encoder("city"), targets.notes.pooling, [image.read_bytes()])[0]
    np.testing.assert_allclose(found, unit(targets.features([token])[0][0].numpy()), atol=1e-3)


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
    assert reactive.tracks.steps == fine.tracks.steps == 51


def test_what_is_finished_is_kept_and_what_is_damaged_is_made_again(made, run, pools, training_set, monkeypatch):
    data, out = training_set.data.data, made.folder
    first, second = sorted(out.glob("*.npz"))
    before, untouched = first.read_bytes(), second.stat().st_mtime_ns
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


def test_kept_branches_stay_when_others_are_asked_for(made, pools, training_set, tmp_path, monkeypatch):
    """Each scene is driven once; where its plans have changed, again."""
    driven: list[str] = []
    kept = {scene.token: scene for scene in made.scenes()}

    def stand_in(self, city, place, log, frame, asked):
        driven.append(asked.token)
        return SceneBranches(asked.token, asked.chosen, asked.plans, next(iter(kept.values())).branches)

    monkeypatch.setattr(Branching, "_branch", stand_in)

    def ask_for(scenes: int, pools: ScoredPools = pools) -> list[str]:
        driven.clear()
        make_branches(pools, training_set.data.data, tmp_path, scenes, PLANS, SerialExecutor())
        return sorted(driven)

    few, many = ([one.token for some in _asked(pools, count).values() for one in some] for count in (2, 5))
    assert ask_for(2) == sorted(few)
    assert ask_for(5) == sorted(set(many) - set(few)) != []
    assert ask_for(2) == ask_for(5) == []
    row = pools.tokens.index(few[0])
    plans = pools.plans.copy()
    plans[row, ..., 0] += 0.5
    assert ask_for(2, replace(pools, plans=plans)) == [few[0]]
    chosen = {one.token: one.chosen for some in _asked(pools, 2).values() for one in some}
    for path in tmp_path.glob("*.npz"):
        scenes = read_log(path)
        write_log(path, [replace(one, chosen=one.chosen[::-1]) if one.token in chosen else one for one in scenes])
    assert ask_for(2) == sorted(few)


def test_a_scene_in_which_sumo_crashes_is_left_out_and_not_tried_again(
    made, pools, training_set, tmp_path, monkeypatch
):
    """The first scene that is driven loses the process of its branch, as by a crash."""
    tried: list[str] = []
    kept = next(made.scenes()).branches

    def crash(self, poses, *_):
        raise SimulationLost("gone")

    def stand_in(self, city, place, log, frame, asked):
        tried.append(asked.token)
        if tried[0] == asked.token:
            city.reset(log.name, frame, images=())
            self._drive(city, place, self.store[asked.token], SimpleNamespace(poses=0, velocities=0, accelerations=0))
        return SceneBranches(asked.token, asked.chosen, asked.plans, kept)

    monkeypatch.setattr(CitySimulation, "drive", crash)
    monkeypatch.setattr(Branching, "_branch", stand_in)

    def branch(pools: ScoredPools = pools) -> MadeBranches:
        return make_branches(pools, training_set.data.data, tmp_path, 5, PLANS, SerialExecutor())

    found = branch()
    assert found.lost == 1 and len(tried) == 5
    assert sorted(scene.token for scene in found.scenes()) == sorted(tried[1:])
    assert branch().lost == 1 and len(tried) == 5
    plans = pools.plans.copy()
    plans[pools.tokens.index(tried[0]), ..., 0] += 0.5
    monkeypatch.setattr(Branching, "_branch", lambda self, *rest: SceneBranches(*vars(rest[-1]).values(), kept))
    assert branch(replace(pools, plans=plans)).lost == 0  # other plans may do


def _asked(pools: ScoredPools, scenes: int):
    return ask(pools, SceneStore(pools.about["store"]), scenes, PLANS)


def test_lost_sight_is_of_the_plan_alone(made):
    branch = next(made.scenes()).branches[LOGGED_POSES]
    nowhere, fifth, fourth = np.zeros((3, 51), np.bool_)
    fourth[40], fifth[41] = True, True
    assert [replace(branch, off_road=row, gone=3).unseen for row in (nowhere, fourth, fifth)] == [False, True, False]
    assert [replace(branch, gone=row).ended for row in (-1, 0, 40, 41)] == [False, True, True, False]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--scenes 1", "scenes: 1; at least 2"),
        ("--plans 1", "plans: 1; pools have"),
        ("--plans 999", "plans: 999; pools have"),
        ("--plans 2 --workers 0", "workers: 0; at least one"),
    ],
)
def test_what_cannot_be_branched_is_refused_before_training(run, capsys, monkeypatch, words, said):
    monkeypatch.setattr(study, "train_models", no_training)
    assert main(["study", "counterfactual", str(run), *words.split()]) != 0
    error = capsys.readouterr().err
    assert said in error and "Traceback" not in error


def test_data_that_do_not_do_are_refused_before_training(run, training_set, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(study, "train_models", no_training)
    data = training_set.data
    tokens, features, valid, notes = read_file(data.targets)
    write_file(tmp_path / "centred.arrow", tokens, features, valid, replace(notes, centre=True))
    (tmp_path / "other").mkdir()
    cases = {
        "is no city": replace(data, val_data=tmp_path / "other"),
        "centred.arrow: made with --centre": replace(data, targets=tmp_path / "centred.arrow"),
        "has no future targets whose encoder is known": replace(data, targets=None),
    }
    for number, (said, changed) in enumerate(cases.items()):
        folder = write_run(tmp_path / f"run{number}", training_set, changed)
        shutil.copytree(RunFolder(run).planner, RunFolder(folder).planner)
        assert main(["study", "counterfactual", str(folder), "--plans", str(PLANS)]) == 1
        assert said in capsys.readouterr().err


def no_training(*_: object) -> None:
    raise AssertionError("trained")


def test_the_study(made, run, tmp_path):
    words = ["--scenes", str(SCENES), "--plans", str(PLANS), "--workers", "1", "--draws", "50", "--out", str(tmp_path)]
    assert main(["study", "counterfactual", str(run), *words]) == 0
    found = json.loads((tmp_path / "counterfactual.json").read_text())
    numbers = found["numbers"]
    assert numbers["scenes"] == SCENES and numbers["plans"] == PLANS
    assert numbers["rows"]["view now"]["R2 within scenes"]["value"] == pytest.approx(0.0, abs=1e-9)
    assert {"whole: own readout", "no future: reader", "untrained: reader of branches"} <= set(numbers["rows"])
    assert {"whole: reader of logs here", "view and plan: reader of logs here"} <= set(numbers["rows"])
    assert "whole: reader of branches minus whole: reader of logs here" in numbers["changes"]
    assert numbers["controls"]["logged poses"]["same_bytes"]["value"] == 1.0
    assert numbers["controls"]["logged poses"]["cosine"]["value"] == pytest.approx(1.0, abs=1e-5)
    assert "no future: own readout" not in numbers["rows"]
    assert numbers["reactive"]["components"]["DAC v1.1"]["same"]["value"] == 1.0
    for name in ("counterfactual", "counterfactual_views", "counterfactual_reactive"):
        assert (tmp_path / f"{name}.png").stat().st_size > 5000
