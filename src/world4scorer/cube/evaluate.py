"""Play the windows of many seeds with several planners; what is finished is kept, so that a broken run goes on.

OUT/about.json says what is played; OUT/PLAYER/SEED_FIRST.json what became of ten windows of a seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final

import torch

from world4scorer.cube.episodes import expert_episodes, read_config
from world4scorer.cube.errors import CubeError
from world4scorer.cube.keeping import ABOUT, digest_of, read_about, read_json, write_about, write_json
from world4scorer.cube.parts import make_missing
from world4scorer.cube.planners import (
    CubePlanner,
    ExpertReplay,
    RandomPlanner,
    SimulatorPlanner,
    WorldModelPlanner,
    ZeroPlanner,
)
from world4scorer.cube.play import Played, play
from world4scorer.cube.search import Search
from world4scorer.cube.simulator import this_process_simulator
from world4scorer.cube.train_head import WEIGHTS as HEAD_WEIGHTS
from world4scorer.cube.train_head import load_head, read_head_report
from world4scorer.cube.windows import draw_windows, evaluated_episodes
from world4scorer.cube.world_model import WEIGHTS as MODEL_WEIGHTS
from world4scorer.cube.world_model import held_out_of, load_world_model

WINDOWS_OF_A_FILE: Final = 10


class Player(StrEnum):
    """Who plays."""

    ANCHOR = "lewm"
    """The world model's search by latent cost."""
    OURS = "ours"
    """The same with outcome scores."""
    RANDOM = "random"
    """One random action sequence."""
    ZERO = "zero"
    """Nothing is done."""
    EXPERT = "expert"
    """The expert's own actions."""
    SIMULATOR = "simulator"
    """A search by the simulator's own outcomes."""


@dataclass(frozen=True)
class EvaluateConfig:
    """What is played."""

    seeds: tuple[int, ...] = (42, *range(10))
    """Whose windows."""
    windows: int = 50
    """Windows of a seed."""
    search: Search = field(default_factory=Search)
    """Budget of the world model's searches."""
    simulator_search: Search = field(default_factory=Search)
    """Budget of the search in the simulator, which costs hours at full size."""
    simulator_seeds: tuple[int, ...] = (42,)
    """Seeds that it plays."""
    players: tuple[str, ...] = tuple(Player)
    """Who plays."""

    def __post_init__(self) -> None:
        if not self.seeds or not self.players:
            raise CubeError("an evaluation needs a seed and a player")

    def seeds_of(self, player: Player) -> tuple[int, ...]:
        """Seeds that somebody plays."""
        if player is not Player.SIMULATOR:
            return self.seeds
        return tuple(seed for seed in self.seeds if seed in self.simulator_seeds)


@dataclass(frozen=True)
class Contest:
    """What plays: a world model, and an outcome head with the weight of its scores."""

    data: Path
    """Folder of episodes."""
    model: Path
    """Folder of the world model."""
    head: Path | None = None
    """Folder of the outcome head, if one plays."""
    weight: float = 0.0
    """Weight of its scores."""

    def identity(self) -> dict[str, str | float]:
        """What it is, wherever it lies."""
        head = "none" if self.head is None else digest_of(self.head / HEAD_WEIGHTS)
        return {
            "data": digest_of(self.data / ABOUT),
            "model": digest_of(self.model / MODEL_WEIGHTS),
            "head": head,
            "weight": self.weight,
        }


@dataclass(frozen=True)
class _Task:
    folder: Path
    contest: Contest
    config: EvaluateConfig
    player: Player
    seed: int
    first: int

    @property
    def path(self) -> Path:
        return self.folder / self.player / f"{self.seed}_{self.first:03d}.json"

    @property
    def size(self) -> int:
        return min(WINDOWS_OF_A_FILE, self.config.windows - self.first)


Results = dict[Player, dict[int, list[Played]]]
"""What became of the windows, by player and seed."""


def evaluate(
    contest: Contest, folder: Path, config: EvaluateConfig, workers: int | None = None, progress: bool = True
) -> Results:
    """Play what `folder` does not hold yet, and return everything.

    Raises:
        CubeError: Something is missing, `folder` holds another evaluation, or model or head learned from an episode
            that would be played.
    """
    _check_unseen(contest, config)
    write_about(folder, config, "played windows", **contest.identity())
    tasks = list(_tasks(folder, config, contest))
    make_missing(tasks, _play, folder, "Windows", "windows", workers, progress)
    return read_played(folder)


def read_played(folder: Path) -> Results:
    """All that was played in a folder.

    Raises:
        CubeError: Parts are missing.
    """
    config = read_about(folder, EvaluateConfig, "played windows")
    found: Results = {}
    for task in _tasks(folder, config, Contest(Path(), Path())):
        if not task.path.exists():
            raise CubeError(f"{task.path} is missing: run `w4s cube evaluate` with this folder again, it goes on")
        windows = [Played(**one) for one in read_json(task.path)["windows"]]
        found.setdefault(task.player, {}).setdefault(task.seed, []).extend(windows)
    return found


def _check_unseen(contest: Contest, config: EvaluateConfig) -> None:
    """Refuse to play windows of episodes that were learned from."""
    episodes = read_config(contest.data)
    played = evaluated_episodes(episodes.expert, episodes.steps, config.seeds, config.windows)
    learned = {
        "the outcome head": set[int]() if contest.head is None else set(read_head_report(contest.head)["episodes"])
    }
    if (held_out := held_out_of(contest.model)) is not None:
        learned["the world model"] = set(range(episodes.expert)) - held_out
    for who, known in learned.items():
        if common := sorted(played & known):
            raise CubeError(
                f"{who} learned from {len(common)} of the episodes that seeds {config.seeds} have windows in "
                f"(episode {common[0]}, for one): play seeds of the preset, or train again with these held out"
            )


def _tasks(folder: Path, config: EvaluateConfig, contest: Contest) -> Iterator[_Task]:
    for player in map(Player, config.players):
        for seed in config.seeds_of(player):
            for first in range(0, config.windows, WINDOWS_OF_A_FILE):
                yield _Task(folder, contest, config, player, seed, first)


def _play(task: _Task) -> int:
    torch.set_num_threads(1)
    windows = draw_windows(expert_episodes(task.contest.data), task.seed, task.config.windows)
    windows = windows[task.first : task.first + WINDOWS_OF_A_FILE]
    played = play(windows, _planner(task), this_process_simulator())
    write_json(task.path, {"seed": task.seed, "windows": [asdict(one) for one in played]})
    return task.size


def _planner(task: _Task) -> CubePlanner:
    if task.player is Player.ZERO:
        return ZeroPlanner()
    if task.player is Player.EXPERT:
        return ExpertReplay()
    model = load_world_model(task.contest.model)
    if task.player is Player.RANDOM:
        return RandomPlanner(model.scale)
    if task.player is Player.SIMULATOR:
        return SimulatorPlanner(model.scale, task.config.simulator_search)
    if task.player is Player.ANCHOR:
        return WorldModelPlanner(model, task.config.search)
    if task.contest.head is None:
        raise CubeError("to play with outcome scores, an outcome head is needed")
    return WorldModelPlanner(model, task.config.search, load_head(task.contest.head), task.contest.weight)
