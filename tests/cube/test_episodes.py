"""Episodes come from their seeds to the bit, whoever makes them, and whatever was interrupted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from world4scorer.cube import episodes as module
from world4scorer.cube.episodes import (
    RECORDED_FIELDS,
    EpisodeConfig,
    EpisodeKind,
    Episodes,
    make_episodes,
    read_episodes,
)
from world4scorer.cube.errors import CubeError
from world4scorer.cube.simulator.cube_env import CubeSimulator, cube_of
from world4scorer.cube.study import Study

SMALL = EpisodeConfig(expert=3, noisy=2, steps=12)


def same(first: Episodes, second: Episodes) -> bool:
    return all(np.array_equal(getattr(first, name), getattr(second, name)) for name in RECORDED_FIELDS)


def test_an_interrupted_recording_goes_on_to_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EPISODES_PER_SHARD", 1)
    make_episodes(tmp_path / "whole", SMALL, workers=1, progress=False)
    make_episodes(tmp_path / "broken", SMALL, workers=1, progress=False)
    lost = tmp_path / "broken" / "expert_000001.npz"
    lost.unlink()
    with pytest.raises(CubeError, match=r"expert_000001\.npz is missing"):
        read_episodes(tmp_path / "broken", EpisodeKind.EXPERT)
    kept = (tmp_path / "broken" / "expert_000000.npz").stat().st_mtime_ns
    assert make_episodes(tmp_path / "broken", SMALL, workers=1, progress=False) == 5
    assert (tmp_path / "broken" / "expert_000000.npz").stat().st_mtime_ns == kept
    for kind in EpisodeKind:
        assert same(*(read_episodes(tmp_path / name, kind) for name in ("whole", "broken")))


def test_an_episode_depends_on_nothing_but_its_seed(begun: Study, expert: Episodes, simulator: CubeSimulator) -> None:
    """The last episode, recorded alone in a simulator that has done other things."""
    from ogbench.manipspace.oracles.markov.cube_markov import CubeMarkovOracle

    oracle = CubeMarkovOracle(env=simulator.environment, min_norm=0.4)
    last = len(expert) - 1
    seed = module.FIRST_SEED[EpisodeKind.EXPERT] + last
    alone = module._record(simulator, oracle, EpisodeKind.EXPERT, seed, begun.preset.episodes)
    assert all(np.array_equal(alone[name], getattr(expert, name)[last]) for name in RECORDED_FIELDS)


def test_recorded_actions_lead_to_the_recorded_moments(expert: Episodes, simulator: CubeSimulator) -> None:
    """From the first moment on; positions alone do not restore the solver's warm start, hence the tolerance."""
    simulator.start_at(expert.state(0, 0))
    for step in range(10):
        simulator.step(expert.actions[0, step])
        np.testing.assert_allclose(simulator.cube, cube_of(expert.qpos[0, step + 1]), atol=2e-3)


def test_the_noisy_expert_is_noisy(begun: Study, expert: Episodes) -> None:
    noisy = read_episodes(begun.episodes, EpisodeKind.NOISY)
    assert np.abs(noisy.actions).max() <= 1
    assert not np.array_equal(noisy.actions[0], expert.actions[0])


def test_random_actions_come_in_runs_that_begin_more_often_while_the_cube_is_held() -> None:
    held, free = np.zeros(28, np.float32), np.zeros(28, np.float32)
    held[18], free[18] = 1.0, 0.0
    begun = {}
    for name, observation in (("held", held), ("free", free)):
        disturb = module._Disturbance(np.random.default_rng(0), EpisodeConfig(noise=0.0))
        expert = np.full(5, 0.25)
        random = np.array([not np.array_equal(disturb(step, observation, expert), expert) for step in range(6000)])
        blocks = random.reshape(-1, 5)
        assert np.array_equal(blocks.any(1), blocks.all(1))  # runs are whole blocks
        begun[name] = blocks[:, 0].mean()
    # A run begins with share p at a block without one, and lasts 3 blocks on average: 3 p / (1 - p + 3 p) are random.
    assert begun["held"] == pytest.approx(3 * 0.35 / (1 + 2 * 0.35), abs=0.06)
    assert begun["free"] == pytest.approx(3 * 0.12 / (1 + 2 * 0.12), abs=0.06)


def test_other_settings_are_refused(begun: Study) -> None:
    with pytest.raises(CubeError, match="other settings"):
        make_episodes(begun.episodes, SMALL, workers=1, progress=False)


def test_a_damaged_shard_is_named(tmp_path: Path) -> None:
    make_episodes(tmp_path, SMALL, workers=1, progress=False)
    (tmp_path / "noisy_000000.npz").write_bytes(b"")
    with pytest.raises(CubeError, match=r"noisy_000000\.npz is damaged.*delete it"):
        read_episodes(tmp_path, EpisodeKind.NOISY)


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(CubeError, match="holds no episodes"):
        read_episodes(tmp_path, EpisodeKind.EXPERT)


@pytest.mark.parametrize(
    "wrong",
    [
        {"expert": 0},
        {"noisy": 0},
        {"steps": 1},
        {"noise": -1.0},
        {"random_share": 1.5},
        {"held_share": -0.1},
        {"pictures": -1},
    ],
)
def test_settings_that_make_no_sense(wrong: dict[str, float]) -> None:
    with pytest.raises(CubeError):
        EpisodeConfig(**wrong)  # type: ignore[arg-type]
