"""Collect training data of the outcome head: candidates of the world model's searches with simulated outcomes.

A group is the candidates of one iteration of one search, with what the model predicted for them and, as utility, minus
the least distance between cube and goal along the candidate, run in the simulator from the search's exact state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from world4scorer.cube.about import ABOUT, about, by_file, digest_of, read_about, read_arrays, write_arrays
from world4scorer.cube.episodes import expert_episodes
from world4scorer.cube.errors import CubeError
from world4scorer.cube.model.lewm import ACTION_BLOCK
from world4scorer.cube.model.outcome_head import HeadSees
from world4scorer.cube.model.planners import ImaginedCandidates, ReplanStep, WorldModelPlanner
from world4scorer.cube.model.search import Search
from world4scorer.cube.model.world_model import WEIGHTS, LewmWorldModel, WorldModel
from world4scorer.cube.play import one_thread, play_windows
from world4scorer.cube.simulator.cube_env import CubeSimulator, Floats, this_process_simulator
from world4scorer.cube.simulator.replay import Replay
from world4scorer.cube.windows import Window, check_seeds, draw_windows
from world4scorer.jobs.executors import Workers, as_executor
from world4scorer.jobs.resumable import resumable

WINDOWS_PER_FILE: Final = 5
MIN_SPREAD: Final = 1e-4
"""Groups whose utilities (in metres) spread less teach nothing."""
GROUP_FIELDS: Final = {
    "candidates": np.float32,
    "path": np.float32,
    "goal": np.float32,
    "cost": np.float32,
    "utility": np.float64,
    "episode": np.int64,
    "held": np.bool_,
    "iteration": np.int64,
}


@dataclass(frozen=True)
class CollectConfig:
    """Configuration of the collection."""

    seeds: tuple[int, ...] = tuple(range(100, 108))
    """Seeds of the windows."""
    windows: int = 50
    """Windows per seed."""
    labelled: int = 300
    """Candidates of a group that are run in the simulator, drawn at random when there are more."""
    every: int = 1
    """Every n-th search iteration is labelled, and always the last."""
    probe: int = 0
    """A group is given up when so many of its candidates leave the cube where it is, all alike; 0 labels every group.
    Such groups teach nothing, as a rule, and are dropped before training anyway."""
    unsolved_only: bool = False
    """Whether windows that are solved at the start are left out."""
    search: Search = field(default_factory=Search)
    """The searches' budget."""

    def __post_init__(self) -> None:
        check_seeds(self.seeds)
        if not 2 <= self.labelled <= self.search.candidates:
            raise CubeError(f"between 2 and {self.search.candidates} candidates of a group can be labelled")
        if not 0 <= self.probe <= self.labelled:
            raise CubeError(f"a group of {self.labelled} labelled candidates can be given up after 1 to all of them")
        if self.every < 1 or self.windows < 1:
            raise CubeError("at least one window of a seed is needed, and at least every iteration can be labelled")

    def labels(self, iteration: int) -> bool:
        """Whether an iteration is labelled."""
        return (self.search.iterations - 1 - iteration) % self.every == 0

    def parts(self) -> Iterator[tuple[int, int]]:
        """Seed and first window of each file."""
        return product(self.seeds, range(0, self.windows, WINDOWS_PER_FILE))


@dataclass(frozen=True)
class Groups:
    """Labelled groups; the first axis of every array is the group."""

    candidates: NDArray[np.float32]
    """Action sequences (groups, candidates, blocks, 25), in the model's unit."""
    path: NDArray[np.float32]
    """Latents predicted after each of their blocks (groups, candidates, blocks, latent)."""
    goal: NDArray[np.float32]
    """Latents of the goals (groups, latent)."""
    cost: NDArray[np.float32]
    """Latent costs (groups, candidates)."""
    utility: Floats
    """Minus the least distance from the goal, in metres (groups, candidates)."""
    episode: NDArray[np.int64]
    """Episodes that they come from."""
    held: NDArray[np.bool_]
    """Whether the cube was held at the start of the window."""
    iteration: NDArray[np.int64]
    """Iterations of the search."""

    def __len__(self) -> int:
        return len(self.episode)

    def only(self, chosen: NDArray[Any]) -> Groups:
        """Some of the groups, by mask or by index."""
        return Groups(**{name: getattr(self, name)[chosen] for name in GROUP_FIELDS})

    def features(self, sees: HeadSees) -> torch.Tensor:
        """Inputs of an outcome head (groups, candidates, …)."""
        parts = (torch.from_numpy(part) for part in (self.candidates, self.path, self.goal, self.cost))
        return ImaginedCandidates(0, *parts).features(sees)


@dataclass(frozen=True)
class _Task:
    folder: Path
    data: Path
    model: Path
    config: CollectConfig
    held_out: frozenset[int]
    seed: int
    first: int

    def __str__(self) -> str:
        return str(self.path)

    @property
    def path(self) -> Path:
        return _file(self.folder, self.seed, self.first)

    @property
    def size(self) -> int:
        return min(WINDOWS_PER_FILE, self.config.windows - self.first)


def collect(
    data: Path,
    model: Path,
    folder: Path,
    config: CollectConfig,
    held_out: frozenset[int],
    workers: Workers = None,
    progress: bool = True,
) -> Groups:
    """Collect the groups that `folder` does not hold yet, and return all of them.

    Searches of the world model in `model` are watched, on episodes in `data` that are not `held_out`.
    """
    made_from = {"data": digest_of(data / ABOUT), "model": digest_of(model / WEIGHTS), "held_out": sorted(held_out)}
    settings = about(folder, config, "candidate groups", **made_from)
    tasks = [_Task(folder, data, model, config, held_out, *part) for part in config.parts()]
    with resumable(folder, "collecting candidates there", CubeError, settings) as job:
        job.run_missing(as_executor(workers), _collect, tasks, "Candidates", "parts", **by_file("windows", progress))
    return read_groups(folder)


def read_groups(folder: Path) -> Groups:
    """All groups of a folder; raises CubeError if files are missing, or there is not one group."""
    config = read_about(folder, CollectConfig, "candidate groups", "run `w4s cube collect` first")
    again = "run `w4s cube collect` with this study again to resume"
    parts = [read_arrays(_file(folder, *part), GROUP_FIELDS, again) for part in config.parts()]
    groups = Groups(**{name: np.concatenate([part[name] for part in parts]) for name in GROUP_FIELDS})
    if not len(groups):
        raise CubeError(f"{folder} holds no group: its seeds have no window to learn from")
    return groups


def _file(folder: Path, seed: int, first: int) -> Path:
    return folder / f"groups_{seed}_{first:03d}.npz"


def _collect(task: _Task) -> None:
    """Play windows by latent cost and label the searched candidates."""
    simulator, config = this_process_simulator(), task.config
    drawn = draw_windows(expert_episodes(task.data), task.seed, config.windows)
    kept = collected_windows(drawn[task.first : task.first + WINDOWS_PER_FILE], config, task.held_out)
    labelling = _LabellingPlanner(simulator, LewmWorldModel.load(task.model), config)
    with one_thread():
        play_windows(kept, labelling, simulator)
    write_arrays(task.path, labelling.arrays())


def collected_windows(drawn: Sequence[Window], config: CollectConfig, held_out: frozenset[int]) -> list[Window]:
    """Those of the drawn windows that are collected from."""
    kept = [window for window in drawn if window.episode not in held_out]
    return [window for window in kept if not (config.unsolved_only and window.solved_at_start)]


def label_group(replay: Replay, moment: ReplanStep, actions: Floats, probe: int) -> Floats | None:
    """Utilities of candidates (n,) with actions (n, steps, 5); None if the group is given up after `probe` of them."""
    first = -replay.outcomes(moment.snapshot, actions[:probe], moment.window.goal)
    if probe and first.std() < MIN_SPREAD:
        return None
    return np.concatenate([first, -replay.outcomes(moment.snapshot, actions[probe:], moment.window.goal)])


def drawn_candidates(config: CollectConfig, moment: ReplanStep, iteration: int) -> NDArray[np.int64]:
    """Indices of the candidates of an iteration that are labelled."""
    window = moment.window
    seed = (window.seed, window.episode, window.step, moment.round, iteration)
    return np.random.default_rng(seed).permutation(config.search.candidates)[: config.labelled]


class _LabellingPlanner:
    """A planner that labels its candidates."""

    def __init__(self, simulator: CubeSimulator, model: WorldModel, config: CollectConfig) -> None:
        self._replay, self._config, self._model = Replay(simulator.environment), config, model
        self._groups: list[Groups] = []
        self._planner = WorldModelPlanner(model, config.search, watch=self._watch)
        self._moments: Sequence[ReplanStep] = ()

    def plan(self, simulator: CubeSimulator, moments: Sequence[ReplanStep]) -> Floats:
        """Plan by latent cost alone."""
        self._moments = moments
        return self._planner.plan(simulator, moments)

    def _watch(self, imagined: ImaginedCandidates) -> None:
        if not self._config.labels(imagined.iteration):
            return
        for index, moment in enumerate(self._moments):
            window = moment.window
            drawn = drawn_candidates(self._config, moment, imagined.iteration)
            candidates = imagined.candidates[index, drawn]
            actions = self._model.scale.to_simulator(candidates)
            utility = label_group(self._replay, moment, actions, self._config.probe)
            if utility is None:
                continue
            self._groups.append(
                Groups(
                    candidates=candidates.numpy()[None],
                    path=imagined.path[index, drawn].numpy()[None],
                    goal=imagined.goal[index].numpy()[None],
                    cost=imagined.cost[index, drawn].numpy()[None],
                    utility=utility[None],
                    episode=np.array([window.episode]),
                    held=np.array([window.held]),
                    iteration=np.array([imagined.iteration]),
                )
            )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All groups, ready to be written."""
        if not self._groups:
            search, count = self._config.search, self._config.labelled
            shapes = {
                "candidates": (0, count, search.blocks, ACTION_BLOCK),
                "path": (0, count, search.blocks, self._model.latent),
                "goal": (0, self._model.latent),
                "cost": (0, count),
                "utility": (0, count),
            }
            return {name: np.zeros(shapes.get(name, (0,)), dtype) for name, dtype in GROUP_FIELDS.items()}
        return {name: np.concatenate([getattr(one, name) for one in self._groups]) for name in GROUP_FIELDS}
