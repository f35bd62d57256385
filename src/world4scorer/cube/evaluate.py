"""Evaluate players on the windows of several seeds; interrupted runs resume.

OUT/PLAYER/about.json describes a player; OUT/PLAYER/SEED_FIRST.json has the results of ten windows. Seeds and players
can be added later.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final

from world4scorer.cube.about import ABOUT, about, by_file, digest_of
from world4scorer.cube.episodes import expert_episodes, read_config
from world4scorer.cube.errors import CubeError
from world4scorer.cube.model.planners import (
    CubePlanner,
    ExpertReplay,
    RandomPlanner,
    SimulatorPlanner,
    WorldModelPlanner,
    ZeroPlanner,
)
from world4scorer.cube.model.search import Search
from world4scorer.cube.model.world_model import WEIGHTS as MODEL_WEIGHTS
from world4scorer.cube.model.world_model import LewmWorldModel, held_out_episodes
from world4scorer.cube.play import WindowResult, one_thread, play_windows
from world4scorer.cube.simulator.cube_env import this_process_simulator
from world4scorer.cube.train_head import WEIGHTS as HEAD_WEIGHTS
from world4scorer.cube.train_head import load_head, read_head_report
from world4scorer.cube.windows import check_seeds, draw_windows, evaluated_episodes
from world4scorer.jobs.executors import Workers, as_executor
from world4scorer.jobs.files import read_json, write_json
from world4scorer.jobs.resumable import Settings, resumable

WINDOWS_PER_FILE: Final = 10


class Player(StrEnum):
    """Evaluated planners."""

    ANCHOR = "lewm"
    """The world model's search by latent cost."""
    OURS = "ours"
    """The same with outcome scores."""
    RANDOM = "random"
    """One random action sequence."""
    ZERO = "zero"
    """Zero actions."""
    EXPERT = "expert"
    """The expert's own actions."""
    SIMULATOR = "simulator"
    """A search by the simulator's own outcomes."""


@dataclass(frozen=True)
class EvaluateConfig:
    """Configuration of the evaluation."""

    seeds: tuple[int, ...] = (42, *range(10))
    """Seeds of the windows."""
    windows: int = 50
    """Windows per seed."""
    search: Search = field(default_factory=Search)
    """Budget of the world model's searches."""
    simulator_search: Search = field(default_factory=Search)
    """Budget of the simulator search, which takes hours at full size."""
    simulator_seeds: tuple[int, ...] = (42,)
    """Seeds of the simulator search."""
    players: tuple[str, ...] = tuple(Player)
    """Evaluated planners."""

    def __post_init__(self) -> None:
        check_seeds(self.seeds)
        known = [str(player) for player in Player]
        if not self.players or set(self.players) - set(known) or len(set(self.players)) < len(self.players):
            given = ", ".join(self.players) or "missing"
            raise CubeError(f"players {given}: give different ones of {', '.join(known)}")
        if self.windows < 1:
            raise CubeError("at least one window of a seed must be played")

    def seeds_of(self, player: Player) -> tuple[int, ...]:
        """Seeds of a player."""
        if player is not Player.SIMULATOR:
            return self.seeds
        return tuple(seed for seed in self.seeds if seed in self.simulator_seeds)


@dataclass(frozen=True)
class EvaluationSetup:
    """World model, outcome head and score weight of an evaluation."""

    data: Path
    """Folder of episodes."""
    model: Path
    """Folder of the world model."""
    head: Path | None = None
    """Folder of the outcome head, if used."""
    weight: float = 0.0
    """Weight of its scores."""

    def __post_init__(self) -> None:
        if not 0 <= self.weight < math.inf:
            raise CubeError(f"a weight of outcome scores of {self.weight}: it must be a number, and not negative")

    def identity(self, player: Player) -> dict[str, str | float]:
        """Digests of what a player depends on."""
        found: dict[str, str | float] = {"data": digest_of(self.data / ABOUT)}
        if player not in (Player.ZERO, Player.EXPERT):
            found["model"] = digest_of(self.model / MODEL_WEIGHTS)
        if player is Player.OURS:
            found |= {"head": self.head_identity(), "weight": self.weight}
        return found

    def head_identity(self) -> str:
        """Digest of the outcome head; raises CubeError if there is none."""
        if self.head is None:
            raise CubeError("to play with outcome scores, an outcome head is needed: run `w4s cube head` first")
        return digest_of(self.head / HEAD_WEIGHTS)


@dataclass(frozen=True)
class _About:
    """Settings of a player."""

    windows: int
    search: Search


@dataclass(frozen=True)
class _Task:
    folder: Path
    contest: EvaluationSetup
    config: EvaluateConfig
    player: Player
    seed: int
    first: int

    def __str__(self) -> str:
        return str(self.path)

    @property
    def path(self) -> Path:
        return self.folder / self.player / f"{self.seed}_{self.first:03d}.json"

    @property
    def size(self) -> int:
        return min(WINDOWS_PER_FILE, self.config.windows - self.first)


Results = dict[Player, dict[int, list[WindowResult]]]
"""Window results by player and seed."""


def evaluate(
    contest: EvaluationSetup, folder: Path, config: EvaluateConfig, workers: Workers = None, progress: bool = True
) -> Results:
    """Evaluate missing windows in `folder` and return all results.

    Raises CubeError if a folder holds what another player played, or model or head learned from an episode to play.
    """
    players = [Player(name) for name in config.players]
    _check_held_out(contest, config, players)
    settings = [_settings(folder, contest, config, player) for player in players]
    tasks = list(_tasks(folder, config, contest))
    with resumable(folder, "playing windows there", CubeError, *settings, leftovers=("*/.*.tmp",)) as job:
        job.run_missing(as_executor(workers), _play, tasks, "Windows", "parts", **by_file("windows", progress))
    results: Results = {}
    for task in tasks:
        results.setdefault(task.player, {}).setdefault(task.seed, []).extend(_read(task.path))
    return results


def _settings(folder: Path, contest: EvaluationSetup, config: EvaluateConfig, player: Player) -> Settings:
    search = config.simulator_search if player is Player.SIMULATOR else config.search
    what = f"windows played by {player}"
    return about(folder / player, _About(config.windows, search), what, **contest.identity(player))


def _read(path: Path) -> list[WindowResult]:
    try:
        return [WindowResult(**one) for one in read_json(path, CubeError)["windows"]]
    except (KeyError, TypeError) as error:
        raise CubeError(f"{path} is damaged ({error}): delete it, and run the command again") from error


def _check_held_out(contest: EvaluationSetup, config: EvaluateConfig, players: Sequence[Player]) -> None:
    """Raise if windows overlap with training episodes, or if the head belongs to another model."""
    episodes = read_config(contest.data)
    played = evaluated_episodes(episodes.expert, episodes.steps, config.seeds, config.windows)
    learned: dict[str, set[int]] = {}
    if Player.OURS in players:
        contest.head_identity()
        assert contest.head is not None
        report = read_head_report(contest.head)
        if report["made_from"]["model"] != digest_of(contest.model / MODEL_WEIGHTS):
            raise CubeError(
                f"{contest.head} was trained on candidates of another world model than {contest.model}: "
                "collect candidates and train the head anew"
            )
        learned["the outcome head"] = set(report["episodes"])
    if {Player.OURS, Player.ANCHOR} & set(players) and (held_out := held_out_episodes(contest.model)) is not None:
        learned["the world model"] = set(range(episodes.expert)) - held_out
    for who, known in learned.items():
        if common := sorted(played & known):
            raise CubeError(
                f"{who} learned from {len(common)} of the episodes that seeds {', '.join(map(str, config.seeds))} have "
                f"windows in (episode {common[0]}, for one): play the preset's seeds, which are held out"
            )


def _tasks(folder: Path, config: EvaluateConfig, contest: EvaluationSetup) -> Iterator[_Task]:
    for player in map(Player, config.players):
        for seed in config.seeds_of(player):
            for first in range(0, config.windows, WINDOWS_PER_FILE):
                yield _Task(folder, contest, config, player, seed, first)


def _play(task: _Task) -> None:
    windows = draw_windows(expert_episodes(task.contest.data), task.seed, task.config.windows)
    windows = windows[task.first : task.first + WINDOWS_PER_FILE]
    with one_thread():
        played = play_windows(windows, _planner(task), this_process_simulator())
    write_json(task.path, {"seed": task.seed, "windows": [asdict(one) for one in played]})


def _planner(task: _Task) -> CubePlanner:
    if task.player is Player.ZERO:
        return ZeroPlanner()
    if task.player is Player.EXPERT:
        return ExpertReplay()
    model = LewmWorldModel.load(task.contest.model)
    if task.player is Player.RANDOM:
        return RandomPlanner(model.scale)
    if task.player is Player.SIMULATOR:
        return SimulatorPlanner(model.scale, task.config.simulator_search)
    if task.player is Player.ANCHOR:
        return WorldModelPlanner(model, task.config.search)
    assert task.contest.head is not None, "checked before any part is played"
    return WorldModelPlanner(model, task.config.search, load_head(task.contest.head), task.contest.weight)
