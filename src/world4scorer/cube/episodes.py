"""Episodes of OGBench's expert, clean and noisy, stored in shards.

A shard is a file of consecutive episodes. Episode `i` of a kind depends only on seed `i` of that kind, so that shards
are reproducible in any order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.cube.about import about, by_file, read_about, read_arrays, write_arrays
from world4scorer.cube.errors import CubeError
from world4scorer.cube.simulator.cube_env import (
    ACTION,
    CubeSimulator,
    CubeState,
    Floats,
    is_held,
    this_process_simulator,
)
from world4scorer.jobs.array_files import map_array, write_array
from world4scorer.jobs.executors import Workers, as_executor
from world4scorer.jobs.resumable import resumable

if TYPE_CHECKING:
    from ogbench.manipspace.oracles.markov.cube_markov import CubeMarkovOracle

EPISODES_PER_SHARD: Final = 25
"""Episodes per file."""
NOISE_BLOCK: Final = 5
"""Steps per block of noise; also the planner's action block."""
MOST_BLOCKS: Final = 5
"""Blocks of the longest run of random actions; also those of a plan."""
RANDOM_MEAN: Final = 0.5
"""Standard deviation of a run's mean action."""
RANDOM_SPREAD: Final = (0.2, 1.0)
"""Least and largest standard deviation of the actions of a run about their mean."""


class EpisodeKind(StrEnum):
    """Kind of episode."""

    EXPERT = "expert"
    """The oracle, which moves the cube between random positions. Starts and goals come from these episodes."""
    NOISY = "noisy"
    """The oracle with noise and runs of random actions, which are like the candidates of a search."""


RESUME_HINT: Final = "run `w4s cube data` with this study again to resume"
RECORDED_FIELDS: Final = ("qpos", "qvel", "observations", "actions")
FIRST_SEED: Final = {EpisodeKind.EXPERT: 1_000_000, EpisodeKind.NOISY: 2_000_000}


@dataclass(frozen=True)
class EpisodeConfig:
    """Configuration of episodes."""

    expert: int = 2000
    """Episodes of the expert."""
    noisy: int = 3000
    """Episodes of the noisy expert."""
    steps: int = 200
    """Steps of an episode, of 0.05 s each."""
    noise: float = 0.1
    """Standard deviation of the noise on the noisy expert's actions."""
    random_share: float = 0.12
    """Share of the noisy expert's blocks of five steps at which a run of random actions begins."""
    held_share: float = 0.35
    """The same while the gripper has the cube, which searches start from and have to predict."""
    pictures: int = 0
    """Side of rendered images [pixels], for image-based models; 0 for none."""
    dataset: str = ""
    """Digest of the file that the expert's episodes come from; empty if they are recorded here."""

    def __post_init__(self) -> None:
        if self.expert < 1 or self.noisy < 1 or self.steps < 2:
            raise CubeError("at least one episode of each kind is needed, of two steps or more")
        if self.pictures < 0:
            raise CubeError("pictures have a side of pixels, or 0 for none")
        if self.noise < 0 or not 0 <= self.random_share <= 1 or not 0 <= self.held_share <= 1:
            raise CubeError("the noise must not be negative, the shares of random blocks within 0 and 1")

    def count(self, kind: EpisodeKind) -> int:
        """Episodes of a kind."""
        return self.expert if kind is EpisodeKind.EXPERT else self.noisy


@dataclass(frozen=True)
class Episodes:
    """Recorded episodes: arrays (episodes, steps, ...). Row `t` is the state before action `t`."""

    qpos: Floats
    """Joint positions (…, 21)."""
    qvel: Floats
    """Joint speeds (…, 20)."""
    observations: NDArray[np.float32]
    """OGBench's own state observation (…, 28)."""
    actions: Floats
    """Actions (…, 5)."""
    pictures: tuple[NDArray[np.uint8], ...] = ()
    """Images of each episode (steps, side, side, 3), memory-mapped, if rendered."""

    def __len__(self) -> int:
        return len(self.actions)

    @property
    def steps(self) -> int:
        """Steps of an episode."""
        return int(self.actions.shape[1])

    def only(self, chosen: Sequence[int]) -> Episodes:
        """Some of the episodes."""
        arrays = {name: getattr(self, name)[list(chosen)] for name in RECORDED_FIELDS}
        return Episodes(**arrays, pictures=tuple(self.pictures[index] for index in chosen) if self.pictures else ())

    def state(self, episode: int, step: int) -> CubeState:
        """State at a step."""
        return CubeState(self.qpos[episode, step], self.qvel[episode, step], self.observations[episode, step])


@dataclass(frozen=True)
class _Shard:
    """A file to be made."""

    folder: Path
    config: EpisodeConfig
    kind: EpisodeKind
    first: int
    size: int

    def __str__(self) -> str:
        return str(self.path)

    @property
    def path(self) -> Path:
        """Path of its arrays, written last."""
        return self.folder / f"{self.kind}_{self.first:06d}.npz"

    @property
    def pictures(self) -> Path:
        """Path of its images."""
        return self.path.with_suffix(".pictures.npy")


def make_episodes(
    folder: Path,
    config: EpisodeConfig,
    workers: Workers = None,
    progress: bool = True,
    official: Episodes | None = None,
) -> int:
    """Make missing episodes in `folder`; returns the total number; raises CubeError if it holds others.

    `official`: the expert's episodes, if they come from a dataset.
    """
    shards = list(_shards(folder, config))
    with resumable(folder, "making these episodes", CubeError, about(folder, config, "episodes")) as job:
        for shard in shards:
            if official is not None and shard.kind is EpisodeKind.EXPERT and not shard.path.exists():
                part = official.only(range(shard.first, shard.first + shard.size))
                _write_shard(shard, {name: getattr(part, name) for name in RECORDED_FIELDS})
        job.run_missing(as_executor(workers), _make_shard, shards, "Episodes", "parts", **by_file("episodes", progress))
    return sum(shard.size for shard in shards)


def read_config(folder: Path) -> EpisodeConfig:
    """Configuration of the episodes of a folder."""
    return read_about(folder, EpisodeConfig, "episodes", "run `w4s cube data` first")


def read_episodes(folder: Path, kind: EpisodeKind) -> Episodes:
    """All episodes of a kind; raises CubeError if some are missing."""
    config = read_config(folder)
    parts, pictures = [], []
    for shard in _shards(folder, config):
        if shard.kind is kind:
            parts.append(read_arrays(shard.path, RECORDED_FIELDS, RESUME_HINT))
            if config.pictures:
                pictures += list(map_array(shard.pictures, CubeError, RESUME_HINT))
    joined = {name: np.concatenate([part[name] for part in parts]) for name in RECORDED_FIELDS}
    return Episodes(**joined, pictures=tuple(pictures))


@cache
def expert_episodes(folder: Path) -> Episodes:
    """The expert's episodes, which a process reads once."""
    return read_episodes(folder, EpisodeKind.EXPERT)


def _shards(folder: Path, config: EpisodeConfig) -> Iterator[_Shard]:
    for kind in EpisodeKind:
        for first in range(0, config.count(kind), EPISODES_PER_SHARD):
            yield _Shard(folder, config, kind, first, min(EPISODES_PER_SHARD, config.count(kind) - first))


def _make_shard(shard: _Shard) -> None:
    if shard.config.dataset and shard.kind is EpisodeKind.EXPERT:
        raise CubeError(f"{shard.path} is missing: run `w4s cube data` with this study and its --dataset again")
    from ogbench.manipspace.oracles.markov.cube_markov import CubeMarkovOracle

    simulator = this_process_simulator()
    oracle = CubeMarkovOracle(env=simulator.environment, min_norm=0.4)
    seeds = range(FIRST_SEED[shard.kind] + shard.first, FIRST_SEED[shard.kind] + shard.first + shard.size)
    episodes = [_record(simulator, oracle, shard.kind, seed, shard.config) for seed in seeds]
    _write_shard(shard, {name: np.stack([one[name] for one in episodes]) for name in RECORDED_FIELDS})


def _write_shard(shard: _Shard, arrays: dict[str, NDArray[Any]]) -> None:
    if shard.config.pictures:
        pictures = _render_pictures(this_process_simulator(), arrays, shard.config.pictures)
        with write_array(shard.pictures, pictures.dtype, pictures.shape, durable=False) as append:
            append(pictures)
    write_arrays(shard.path, arrays)


def _render_pictures(simulator: CubeSimulator, arrays: dict[str, NDArray[Any]], side: int) -> NDArray[np.uint8]:
    """Images (episodes, steps, side, side, 3) of recorded states."""
    episodes = Episodes(arrays["qpos"], arrays["qvel"], arrays["observations"], arrays["actions"])
    pictures = np.empty((len(episodes), episodes.steps, side, side, 3), np.uint8)
    for index in np.ndindex(pictures.shape[:2]):
        simulator.start_at(episodes.state(*index))
        pictures[index] = simulator.picture(side)
    return pictures


def _record(
    simulator: CubeSimulator, oracle: CubeMarkovOracle, kind: EpisodeKind, seed: int, config: EpisodeConfig
) -> dict[str, NDArray[Any]]:
    """One episode. The oracle draws from NumPy's global generator, hence the global seed."""
    np.random.seed(seed)  # noqa: NPY002
    environment = simulator.environment
    observation, info = environment.reset(seed=seed)
    oracle.reset(observation, info)
    rows: dict[str, list[NDArray[Any]]] = {name: [] for name in RECORDED_FIELDS}
    disturb = _Disturbance(np.random.default_rng(seed), config) if kind is EpisodeKind.NOISY else None
    for step in range(config.steps):
        action = np.array(oracle.select_action(observation, info), dtype=np.float64)
        if disturb is not None:
            action = disturb(step, observation, action)
        moment = (simulator.data.qpos.copy(), simulator.data.qvel.copy(), observation.astype(np.float32), action)
        for name, value in zip(RECORDED_FIELDS, moment, strict=True):
            rows[name].append(value)
        observation, _, _, _, info = environment.step(action)
        if oracle.done:
            observation, info = environment.set_new_target(p_stack=0.0)
            oracle.reset(observation, info)
    return {name: np.stack(values) for name, values in rows.items()}


class _Disturbance:
    """Noise on the expert's actions, and runs of random ones in their place."""

    def __init__(self, generator: np.random.Generator, config: EpisodeConfig) -> None:
        self._generator, self._config = generator, config
        self._until = 0
        """Step at which the run ends."""
        self._mean, self._spread = np.zeros(ACTION), 0.0

    def __call__(self, step: int, observation: NDArray[Any], action: Floats) -> Floats:
        """The action of a step, in place of the expert's."""
        draw = self._generator
        if step % NOISE_BLOCK == 0 and step >= self._until:
            share = self._config.held_share if is_held(observation) else self._config.random_share
            if draw.random() < share:
                self._until = step + NOISE_BLOCK * int(draw.integers(1, MOST_BLOCKS + 1))
                self._mean, self._spread = RANDOM_MEAN * draw.normal(size=ACTION), draw.uniform(*RANDOM_SPREAD)
        noise = draw.normal(size=ACTION)
        disturbed = self._mean + self._spread * noise if step < self._until else action + self._config.noise * noise
        return np.clip(disturbed, -1, 1)
