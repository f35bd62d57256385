"""Which starts and goals a seed has, by the published rule; and that nothing learned from is ever played."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from world4scorer.cube.errors import CubeError
from world4scorer.cube.presets import PRESETS
from world4scorer.cube.study import Study
from world4scorer.cube.windows import draw_places, evaluated_episodes


def test_the_published_draw() -> None:
    """Rows with 25 steps left, 50 of them without replacement, the last valid row never, sorted."""
    steps, episodes = 200, 40
    rows = [(episode, step) for episode in range(episodes) for step in range(steps) if step + 25 < steps]
    chosen = np.sort(np.random.default_rng(42).choice(len(rows) - 1, 50, replace=False))
    assert draw_places(episodes, steps, 42) == [rows[index] for index in chosen]


@given(st.integers(1, 20), st.integers(30, 60), st.integers(0, 300))
def test_the_goal_is_always_inside_the_episode(episodes: int, steps: int, seed: int) -> None:
    count = min(5, episodes * (steps - 25) - 1)
    places = draw_places(episodes, steps, seed, count)
    assert len(set(places)) == count
    assert all(0 <= episode < episodes and 0 <= step < steps - 25 for episode, step in places)


def test_too_few_rows_are_refused() -> None:
    with pytest.raises(CubeError, match="more episodes"):
        draw_places(2, 30, 0, 50)
    with pytest.raises(CubeError, match="more episodes"):
        draw_places(2, 20, 0, 1)


@pytest.mark.parametrize("name", PRESETS)
def test_what_a_study_plays_is_held_out(name: str, tmp_path: Path) -> None:
    study = Study.begin(tmp_path, name)
    sizes = study.preset.episodes.expert, study.preset.episodes.steps
    for played in (study.preset.evaluate, study.preset.tuning):
        assert not set(played.seeds) & set(study.preset.collect.seeds)
        assert evaluated_episodes(*sizes, played.seeds, played.windows) <= study.held_out
    assert len(study.held_out) < study.preset.episodes.expert


def test_the_papers_seeds() -> None:
    paper = PRESETS["paper"]
    assert sorted(paper.evaluate.seeds) == [*range(10), 42]
    assert paper.tuning.seeds == (200, 201, 202, 203)
    assert paper.collect.seeds == tuple(range(100, 108))
    assert paper.weights == (0.1, 0.2, 0.3, 0.5, 1.0)
    budget = paper.evaluate.search
    assert (budget.candidates, budget.elites, budget.iterations, budget.blocks) == (300, 30, 10, 5)
