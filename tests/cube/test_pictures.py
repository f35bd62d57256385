"""A study whose world model sees pictures: they are taken, kept, trained on and looked at again when planning."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from world4scorer.cube.episodes import EpisodeConfig, EpisodeKind, make_episodes, read_episodes
from world4scorer.cube.errors import CubeError
from world4scorer.cube.model.lewm import LewmConfig
from world4scorer.cube.model.planners import WorldModelPlanner
from world4scorer.cube.model.search import Search
from world4scorer.cube.model.train_world_model import train_world_model
from world4scorer.cube.play import play_windows
from world4scorer.cube.presets import SMOKE
from world4scorer.cube.simulator.cube_env import CubeSimulator
from world4scorer.cube.windows import draw_windows

SIZES = LewmConfig(
    image=28, patch=14, encoder_width=12, encoder_depth=1, encoder_heads=2, latent=8, depth=1, heads=2, head_width=4
)
CONFIG = replace(SMOKE.world_model, sizes=SIZES, steps=2, batch=4)


@pytest.fixture(scope="module")
def episodes(rendering: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pictures") / "episodes"
    make_episodes(folder, EpisodeConfig(expert=2, noisy=1, steps=40, pictures=28), workers=1, progress=False)
    return folder


def test_a_model_that_sees_pictures(episodes: Path, tmp_path: Path, simulator: CubeSimulator) -> None:
    expert = read_episodes(episodes, EpisodeKind.EXPERT)
    state = expert.state(1, 7)
    simulator.start_at(state)
    assert np.array_equal(simulator.picture(28), expert.pictures[1][7])

    model = train_world_model(episodes, tmp_path, CONFIG, frozenset({1}), progress=False)
    assert np.array_equal(model.look_at(simulator, state), expert.pictures[1][7])
    windows = draw_windows(expert, 0, 2)
    played = play_windows(windows, WorldModelPlanner(model, Search(candidates=4, elites=2, iterations=1)), simulator)
    assert all(one.steps for one in played)


def test_pictures_of_another_size_are_refused(episodes: Path, tmp_path: Path) -> None:
    with pytest.raises(CubeError, match="no pictures of 42 pixels"):
        train_world_model(
            episodes, tmp_path, replace(CONFIG, sizes=replace(SIZES, image=42)), frozenset(), progress=False
        )
