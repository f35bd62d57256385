"""The reference that does not search: its size, what it learns, how it is played."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from world4scorer.cube.episodes import Episodes
from world4scorer.cube.errors import CubeError
from world4scorer.cube.model.inverse_dynamics import (
    WEIGHTS,
    InverseConfig,
    InverseDynamics,
    InversePlanner,
    load_inverse,
    train_inverse,
)
from world4scorer.cube.model.world_model import LewmWorldModel
from world4scorer.cube.play import play_windows
from world4scorer.cube.simulator.cube_env import CubeSimulator
from world4scorer.cube.study import Study
from world4scorer.cube.windows import BUDGET_STEPS, draw_windows


def test_its_size_with_latents_of_64() -> None:
    policy = InverseDynamics(64, InverseConfig().width)
    assert sum(one.numel() for one in policy.parameters()) == pytest.approx(1.5e6, rel=0.05)


def test_it_learns_more_than_the_mean_action(finished: Study, expert: Episodes, tmp_path: Path) -> None:
    config = InverseConfig(width=64, steps=300, batch=64)
    policy = train_inverse(finished.episodes, finished.model, tmp_path, config, frozenset(), progress=False)
    model = LewmWorldModel.load(finished.model)
    first = np.arange(0, 30, 5)
    now, goal = (model.encode(expert.observations[:, first + ahead].reshape(-1, 28)) for ahead in (0, 10))
    wanted = model.scale.to_model(expert.actions)[:, first[:, None] + np.arange(5)].reshape(len(now), 25)
    with torch.no_grad():
        found = policy(now, goal, torch.full((len(now),), 10.0)).numpy()
    assert ((found - wanted) ** 2).mean() < 0.8 * wanted.var()


def test_it_is_played_block_by_block(finished: Study, expert: Episodes, simulator: CubeSimulator) -> None:
    model = LewmWorldModel.load(finished.model)
    windows = [one for one in draw_windows(expert, 3, 12) if not one.solved_at_start][:2]
    calls = []

    class Counted(InversePlanner):
        def plan(self, simulator, moments):  # type: ignore[no-untyped-def]
            calls.append([moment.round for moment in moments])
            return super().plan(simulator, moments)

    played = play_windows(windows, Counted(model, load_inverse(finished.inverse)), simulator)
    most = max(one.steps for one in played)
    assert most <= BUDGET_STEPS and len(calls) == -(-most // 5)
    assert [numbers[0] for numbers in calls] == list(range(len(calls)))
    assert all(np.abs(one.actions).max() <= 1 for one in played)


def test_a_finished_policy_is_kept_and_a_damaged_one_refused(finished: Study, tmp_path: Path) -> None:
    config = replace(finished.preset.inverse, steps=2)
    folders = finished.episodes, finished.model, tmp_path
    train_inverse(*folders, config, finished.held_out, progress=False)
    before = (tmp_path / WEIGHTS).stat().st_mtime_ns
    train_inverse(*folders, config, finished.held_out, progress=False)
    assert (tmp_path / WEIGHTS).stat().st_mtime_ns == before
    with pytest.raises(CubeError, match="other settings"):
        train_inverse(*folders, replace(config, steps=3), finished.held_out, progress=False)
    (tmp_path / WEIGHTS).write_bytes(b"garbage")
    with pytest.raises(CubeError, match="does not hold inverse dynamics"):
        load_inverse(tmp_path)
    with pytest.raises(CubeError, match="holds no inverse dynamics"):
        load_inverse(tmp_path / "nowhere")
