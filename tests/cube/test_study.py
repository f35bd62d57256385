"""The whole way, at its smallest: every stage, what it keeps, and that no evaluated episode leaks into training."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from world4scorer.cube.collect import label_group, read_groups
from world4scorer.cube.episodes import expert_episodes
from world4scorer.cube.errors import CubeError
from world4scorer.cube.evaluate import EvaluateConfig, Player, evaluate
from world4scorer.cube.model.planners import ReplanStep
from world4scorer.cube.model.world_model import LewmWorldModel, held_out_episodes
from world4scorer.cube.simulator.cube_env import CubeSimulator
from world4scorer.cube.simulator.replay import Replay
from world4scorer.cube.study import StageLog, Study, make_groups, make_head, play_all
from world4scorer.cube.windows import draw_windows, evaluated_episodes


def test_no_evaluated_episode_was_learned_from(finished: Study) -> None:
    preset = finished.preset
    played = evaluated_episodes(
        preset.episodes.expert, preset.episodes.steps, preset.evaluate.seeds, preset.evaluate.windows
    )
    assert played
    assert played <= (held_out_episodes(finished.model) or set())
    assert not played & set(read_groups(finished.groups).episode.tolist())
    report = json.loads((finished.head / "head.json").read_text())
    assert set(report["episodes"]) == set(read_groups(finished.groups).episode.tolist())


def test_seeds_that_were_learned_from_are_refused(finished: Study, tmp_path: Path) -> None:
    config = replace(finished.preset.evaluate, seeds=finished.preset.collect.seeds, windows=20)
    with pytest.raises(CubeError, match="learned from"):
        evaluate(finished.contest(0.3), tmp_path, config, workers=1, progress=False)


def test_every_player_played_every_window(finished: Study) -> None:
    results = play_all(finished, 0.3, 0.3, finished.preset.evaluate, workers=1, progress=False)
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
    model = LewmWorldModel.load(finished.model)
    expert = expert_episodes(finished.episodes)
    windows = [one for seed in config.seeds for one in draw_windows(expert, seed, config.windows)]
    window = next(one for one in windows if one.episode == groups.episode[0] and not one.solved_at_start)
    for candidate, utility in zip(groups.candidates[0][:3], groups.utility[0][:3], strict=True):
        simulator.start_at(window.start)
        distances = []
        for action in model.scale.to_simulator(torch.from_numpy(candidate)):
            simulator.step(action)
            distances.append(np.linalg.norm(simulator.cube - window.goal))
        assert -min(distances) == utility


def test_groups_are_given_up_when_the_first_candidates_move_nothing(
    finished: Study, simulator: CubeSimulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = draw_windows(expert_episodes(finished.episodes), 0, 4)[0]
    simulator.start_at(window.start)
    moment = ReplanStep(window, 0, simulator.snapshot())
    replay, actions = Replay(simulator.environment), np.zeros((6, 2, 5))
    ran: list[int] = []
    distances = {"still": np.full(6, 0.2), "moving": np.array([0.2, 0.2, 0.21, 0.2, 0.1, 0.3])}
    for kind, probe, expected in (("still", 3, 3), ("still", 0, 6), ("moving", 3, 6), ("moving", 2, 2)):
        ran.clear()

        def outcomes(data: Any, candidates: Any, goal: Any, known: Any = distances[kind]) -> Any:
            first = sum(ran)
            ran.append(len(candidates))
            return known[first : first + len(candidates)]

        monkeypatch.setattr(replay, "outcomes", outcomes)
        labels = label_group(replay, moment, actions, probe)
        assert sum(ran) == expected
        if expected == 6:
            np.testing.assert_array_equal(labels, -distances[kind])
        else:
            assert labels is None


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
    tuned = finished.tuned()
    assert tuned.weight == 0.3
    assert set(tuned.successes) == {0.0, 0.3}


def test_stages_are_timed(finished: Study) -> None:
    stages = ("episodes", "world model", "candidates", "outcome heads", "inverse dynamics", "weights", "evaluation")
    assert set(finished.stages.seconds) == set(stages)


def test_stages_that_run_together_are_all_kept_and_no_file_is_left(tmp_path: Path) -> None:
    left = tmp_path / ".stages.json.0a1b2c3d.tmp"  # of a process that was killed
    left.touch()
    first, second = StageLog(tmp_path / "stages.json"), StageLog(tmp_path / "stages.json")
    with first.timed("episodes"), second.timed("weights"):
        pass
    assert set(StageLog(tmp_path / "stages.json").seconds) == {"episodes", "weights"} and not left.exists()


def test_another_preset_in_the_same_folder_is_refused(begun: Study) -> None:
    with pytest.raises(CubeError, match="study of the preset smoke"):
        Study.begin(begun.folder, "cpu")
    with pytest.raises(CubeError, match="give the same options"):
        Study.begin(begun.folder, "smoke", expert=9)
    assert Study.begin(begun.folder, "smoke") == begun


def test_a_refused_study_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(CubeError, match="make more of them"):
        Study.begin(tmp_path, "cpu", expert=2)
    assert not list(tmp_path.iterdir())


def test_seeds_and_players_can_be_added(finished: Study, tmp_path: Path) -> None:
    config = replace(finished.preset.evaluate, players=("zero",))
    evaluate(finished.contest(), tmp_path, config, workers=1, progress=False)
    grown = replace(config, seeds=(42, 7), players=("zero", "expert"))
    results = evaluate(finished.contest(), tmp_path, grown, workers=1, progress=False)
    assert {player: list(seeds) for player, seeds in results.items()} == {Player.ZERO: [42, 7], Player.EXPERT: [42, 7]}


def test_another_weight_is_not_mixed_in(finished: Study) -> None:
    with pytest.raises(CubeError, match=r"played.ours.*other settings"):
        play_all(finished, 0.5, 0.3, finished.preset.evaluate, workers=1, progress=False)


def test_a_new_head_needs_a_new_weight(finished: Study, tmp_path: Path) -> None:
    copied = replace(finished, folder=tmp_path / "study")
    shutil.copytree(finished.folder, copied.folder)
    shutil.rmtree(copied.head)
    make_head(copied, replace(copied.preset.head, seed=1), progress=False)
    with pytest.raises(CubeError, match="chosen for another outcome head"):
        copied.tuned()


def test_a_finished_head_is_kept(finished: Study) -> None:
    weights = finished.head / "head.safetensors"
    before = weights.stat().st_mtime_ns
    make_head(finished, finished.preset.head, progress=False)
    assert weights.stat().st_mtime_ns == before
    with pytest.raises(CubeError, match="other settings"):
        make_head(finished, replace(finished.preset.head, seed=1), progress=False)


def test_a_head_of_another_model_is_refused(finished: Study, tmp_path: Path) -> None:
    copied = replace(finished, folder=tmp_path / "study")
    shutil.copytree(finished.folder, copied.folder)
    with (copied.model / "lewm.safetensors").open("ab") as stream:
        stream.write(b" ")
    with pytest.raises(CubeError, match="another world model"):
        play_all(copied, 0.3, 0.3, copied.preset.evaluate, workers=1, progress=False)


@pytest.mark.parametrize("wrong", [{"seeds": ()}, {"seeds": (1, 1)}, {"seeds": (-1,)}, {"players": ("nobody",)}])
def test_evaluations_that_make_no_sense(wrong: dict[str, tuple[int, ...]]) -> None:
    with pytest.raises(CubeError, match="give different"):
        EvaluateConfig(**wrong)  # type: ignore[arg-type]


def test_a_folder_without_a_study(tmp_path: Path) -> None:
    with pytest.raises(CubeError, match=r"about\.json is missing"):
        Study.open(tmp_path)
