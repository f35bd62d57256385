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
from world4scorer.cube.simulator.cube_env import ACTION, CubeSimulator, CubeState, Floats, this_process_simulator
from world4scorer.jobs.array_files import map_array, write_array
from world4scorer.jobs.executors import Workers, as_executor
from world4scorer.jobs.resumable import resumable

if TYPE_CHECKING:
    from ogbench.manipspace.oracles.markov.cube_markov import CubeMarkovOracle

EPISODES_PER_SHARD: Final = 25
"""Episodes per file."""
NOISE_BLOCK: Final = 5
"""Steps per block of noise; also the planner's action block."""


class EpisodeKind(StrEnum):
    """Kind of episode."""

    EXPERT = "expert"
    """The oracle, which moves the cube between random positions. Starts and goals come from these episodes."""
    NOISY = "noisy"
    """The oracle with noise and blocks of random actions, closer to the candidates of a search."""


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
    random_share: float = 0.4
    """Share of the noisy expert's blocks of five steps that are random actions instead."""
    pictures: int = 0
    """Side of rendered images [pixels], for image-based models; 0 for none."""

    def __post_init__(self) -> None:
        if self.expert < 1 or self.noisy < 1 or self.steps < 2:
            raise CubeError("at least one episode of each kind is needed, of two steps or more")
        if self.pictures < 0:
            raise CubeError("pictures have a side of pixels, or 0 for none")
        if self.noise < 0 or not 0 <= self.random_share <= 1:
            raise CubeError("the noise must not be negative, the share of random blocks within 0 and 1")

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


def make_episodes(folder: Path, config: EpisodeConfig, workers: Workers = None, progress: bool = True) -> int:
    """Make missing episodes in `folder`; returns the total number; raises CubeError if it holds others."""
    shards = list(_shards(folder, config))
    with resumable(folder, "making these episodes", CubeError, about(folder, config, "episodes")) as job:
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
    from ogbench.manipspace.oracles.markov.cube_markov import CubeMarkovOracle

    simulator = this_process_simulator()
    oracle = CubeMarkovOracle(env=simulator.environment, min_norm=0.4)
    seeds = range(FIRST_SEED[shard.kind] + shard.first, FIRST_SEED[shard.kind] + shard.first + shard.size)
    episodes = [_record(simulator, oracle, shard.kind, seed, shard.config) for seed in seeds]
    arrays = {name: np.stack([one[name] for one in episodes]) for name in RECORDED_FIELDS}
    if shard.config.pictures:
        pictures = _render_pictures(simulator, arrays, shard.config.pictures)
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
    noise = np.random.default_rng(seed)
    environment = simulator.environment
    observation, info = environment.reset(seed=seed)
    oracle.reset(observation, info)
    rows: dict[str, list[NDArray[Any]]] = {name: [] for name in RECORDED_FIELDS}
    random_block, spread = False, 1.0
    for step in range(config.steps):
        action = np.array(oracle.select_action(observation, info), dtype=np.float64)
        if kind is EpisodeKind.NOISY:
            if step % NOISE_BLOCK == 0:
                random_block, spread = noise.random() < config.random_share, noise.uniform(0.3, 1.0)
            disturbance = noise.normal(size=ACTION)
            action = spread * disturbance if random_block else action + config.noise * disturbance
            action = np.clip(action, -1, 1)
        moment = (simulator.data.qpos.copy(), simulator.data.qvel.copy(), observation.astype(np.float32), action)
        for name, value in zip(RECORDED_FIELDS, moment, strict=True):
            rows[name].append(value)
        observation, _, _, _, info = environment.step(action)
        if oracle.done:
            observation, info = environment.set_new_target(p_stack=0.0)
            oracle.reset(observation, info)
    return {name: np.stack(values) for name, values in rows.items()}
