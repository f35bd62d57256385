"""Evaluate players on the windows of several seeds; interrupted runs resume.

OUT/PLAYER/about.json describes a player; OUT/PLAYER/SEED_FIRST.json has the results of ten windows; OUT/protocols.json
is the manifest of the protocols, once the player that does nothing has played. Seeds and players can be added later.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Final

from world4scorer.cube.about import ABOUT, about, by_file, digest_of
from world4scorer.cube.episodes import expert_episodes, read_config
from world4scorer.cube.errors import CubeError
from world4scorer.cube.model.inverse_dynamics import WEIGHTS as INVERSE_WEIGHTS
from world4scorer.cube.model.inverse_dynamics import InversePlanner, load_inverse
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
from world4scorer.cube.protocols import annotate, freeze
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
    PATH = "ours-path"
    """The same with scores of the head that sees every block: an extension of the paper's."""
    ICEM = "icem"
    """The world model's search by latent cost, as iCEM."""
    INVERSE = "inverse"
    """A goal-conditioned inverse-dynamics policy on the world model's latents."""
    RANDOM = "random"
    """One random action sequence."""
    ZERO = "zero"
    """Zero actions."""
    EXPERT = "expert"
    """The expert's own actions."""
    SIMULATOR = "simulator"
    """A search by the simulator's own outcomes."""


SCORED: Final = (Player.OURS, Player.PATH)
"""Players with outcome scores."""
LEARNED: Final = {Player.ANCHOR, Player.ICEM, Player.INVERSE, *SCORED}
"""Players that use what the world model has learned."""


@dataclass(frozen=True)
class EvaluateConfig:
    """Configuration of the evaluation."""

    seeds: tuple[int, ...] = (42, *range(10))
    """Seeds of the windows."""
    windows: int = 50
    """Windows per seed."""
    search: Search = field(default_factory=Search)
    """Budget of the world model's searches."""
    icem: Search = field(default_factory=lambda: Search(colour=2.0, kept=9, momentum=0.1))
    """Budget of the same searches as iCEM."""
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

    def search_of(self, player: Player) -> Search:
        """Budget of a player's searches."""
        special = {Player.SIMULATOR: self.simulator_search, Player.ICEM: self.icem}
        return special.get(player, self.search)

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
    path_head: Path | None = None
    """Folder of the head that sees every block, if used."""
    path_weight: float = 0.0
    """Weight of its scores."""
    inverse: Path | None = None
    """Folder of the inverse dynamics, if used."""

    def __post_init__(self) -> None:
        for weight in (self.weight, self.path_weight):
            if not 0 <= weight < math.inf:
                raise CubeError(f"a weight of outcome scores of {weight}: it must be a number, and not negative")

    def scored_by(self, player: Player) -> tuple[Path, float]:
        """Folder and weight of the head of a player with outcome scores; raises CubeError if there is none."""
        head, weight = (self.path_head, self.path_weight) if player is Player.PATH else (self.head, self.weight)
        if head is None:
            raise CubeError("to play with outcome scores, an outcome head is needed: run `w4s cube head` first")
        return head, weight

    def with_weight(self, player: Player, weight: float) -> EvaluationSetup:
        """With another weight of a player's head."""
        return replace(self, path_weight=weight) if player is Player.PATH else replace(self, weight=weight)

    def identity(self, player: Player) -> dict[str, str | float]:
        """Digests of what a player depends on."""
        found: dict[str, str | float] = {"data": digest_of(self.data / ABOUT)}
        if player not in (Player.ZERO, Player.EXPERT):
            found["model"] = digest_of(self.model / MODEL_WEIGHTS)
        if player in SCORED:
            head, weight = self.scored_by(player)
            found |= {"head": digest_of(head / HEAD_WEIGHTS), "weight": weight}
        if player is Player.INVERSE:
            found["inverse"] = digest_of(self.inverse_folder() / INVERSE_WEIGHTS)
        return found

    def head_identity(self, player: Player = Player.OURS) -> str:
        """Digest of a player's outcome head; raises CubeError if there is none."""
        return digest_of(self.scored_by(player)[0] / HEAD_WEIGHTS)

    def inverse_folder(self) -> Path:
        """Folder of the inverse dynamics; raises CubeError if there are none."""
        if self.inverse is None:
            raise CubeError("to play the inverse dynamics, they are needed: run `w4s cube inverse` first")
        return self.inverse


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
        if Player.ZERO in results:
            freeze(folder, results[Player.ZERO])
    return {
        player: {seed: annotate(folder, seed, some) for seed, some in of_player.items()}
        for player, of_player in results.items()
    }


def _settings(folder: Path, contest: EvaluationSetup, config: EvaluateConfig, player: Player) -> Settings:
    settings = _About(config.windows, config.search_of(player))
    return about(folder / player, settings, f"windows played by {player}", **contest.identity(player))


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
    for player in SCORED:
        if player not in players:
            continue
        head = contest.scored_by(player)[0]
        report = read_head_report(head)
        if report["made_from"]["model"] != digest_of(contest.model / MODEL_WEIGHTS):
            raise CubeError(
                f"{head} was trained on candidates of another world model than {contest.model}: "
                "collect candidates and train the head anew"
            )
        learned[f"the outcome head in {head}"] = set(report["episodes"])
    if LEARNED & set(players) and (held_out := held_out_episodes(contest.model)) is not None:
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
    search = task.config.search_of(task.player)
    if task.player is Player.RANDOM:
        return RandomPlanner(model.scale)
    if task.player is Player.SIMULATOR:
        return SimulatorPlanner(model.scale, search)
    if task.player is Player.INVERSE:
        return InversePlanner(model, load_inverse(task.contest.inverse_folder()))
    if task.player not in SCORED:
        return WorldModelPlanner(model, search)
    head, weight = task.contest.scored_by(task.player)
    return WorldModelPlanner(model, search, load_head(head), weight)
