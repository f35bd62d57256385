"""The whole way, at its smallest: every stage, what it keeps, and that no evaluated episode leaks into training."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from world4scorer.cube.collect import read_groups
from world4scorer.cube.episodes import expert_episodes
from world4scorer.cube.errors import CubeError
from world4scorer.cube.evaluate import Contest, Player, evaluate, read_played
from world4scorer.cube.simulator import CubeSimulator
from world4scorer.cube.study import Study, make_groups
from world4scorer.cube.tune import read_tuned
from world4scorer.cube.windows import draw_windows, evaluated_episodes
from world4scorer.cube.world_model import held_out_of, load_world_model


def test_no_evaluated_episode_was_learned_from(finished: Study) -> None:
    preset = finished.preset
    played = evaluated_episodes(
        preset.episodes.expert, preset.episodes.steps, preset.evaluate.seeds, preset.evaluate.windows
    )
    assert played
    assert played <= (held_out_of(finished.model) or set())
    assert not played & set(read_groups(finished.groups).episode.tolist())
    report = json.loads((finished.head / "head.json").read_text())
    assert set(report["episodes"]) == set(read_groups(finished.groups).episode.tolist())


def test_seeds_that_were_learned_from_are_refused(finished: Study, tmp_path: Path) -> None:
    contest = Contest(finished.episodes, finished.model, finished.head, 0.3)
    config = replace(finished.preset.evaluate, seeds=finished.preset.collect.seeds, windows=20)
    with pytest.raises(CubeError, match="learned from"):
        evaluate(contest, tmp_path, config, workers=1, progress=False)


def test_every_player_played_every_window(finished: Study) -> None:
    results = read_played(finished.played)
    assert set(results) == set(Player)
    places = {
        player: [(seed, one.episode, one.step) for seed, played in seeds.items() for one in played]
        for player, seeds in results.items()
    }
    assert len(places[Player.ANCHOR]) == 2
    assert all(found == places[Player.ANCHOR] for found in places.values())
    assert all(one.success for one in results[Player.EXPERT][42])


def test_labels_are_what_the_simulator_says(finished: Study, simulator: CubeSimulator) -> None:
    """The first search's groups, run again by plain steps."""
    groups, config = read_groups(finished.groups), finished.preset.collect
    model = load_world_model(finished.model)
    expert = expert_episodes(finished.episodes)
    windows = [one for seed in config.seeds for one in draw_windows(expert, seed, config.windows)]
    window = next(one for one in windows if one.episode == groups.episode[0] and not one.solved_at_start)
    for candidate, utility in zip(groups.candidates[0][:3], groups.utility[0][:3], strict=True):
        simulator.start_at(window.start)
        path = simulator.run(model.scale.to_simulator(torch.from_numpy(candidate)))
        assert -min(np.linalg.norm(place - window.goal) for place in path) == utility


def test_a_lost_part_is_collected_again(finished: Study) -> None:
    before = read_groups(finished.groups)
    lost = sorted(finished.groups.glob("groups_*.npz"))[0]
    lost.unlink()
    with pytest.raises(CubeError, match="missing"):
        read_groups(finished.groups)
    after = make_groups(finished, finished.preset.collect, workers=1, progress=False)
    np.testing.assert_array_equal(after.utility, before.utility)
    np.testing.assert_array_equal(after.candidates, before.candidates)


def test_the_tuned_weight_is_kept(finished: Study) -> None:
    tuned = read_tuned(finished.tuning)
    assert tuned.weight == 0.3
    assert set(tuned.successes) == {0.0, 0.3}


def test_stages_are_timed(finished: Study) -> None:
    stages = ("episodes", "world model", "candidates", "outcome head", "weight", "evaluation")
    assert set(finished.stages.seconds) == set(stages)


def test_another_preset_in_the_same_folder_is_refused(begun: Study) -> None:
    with pytest.raises(CubeError, match="other settings"):
        Study.begin(begun.folder, "cpu")


def test_a_folder_without_a_study(tmp_path: Path) -> None:
    with pytest.raises(CubeError, match=r"about\.json is missing"):
        Study.open(tmp_path)
