"""Choose the weight of outcome scores by success on tuning seeds, which nothing else uses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from world4scorer.cube.errors import CubeError
from world4scorer.cube.evaluate import EvaluateConfig, EvaluationSetup, Player, evaluate
from world4scorer.jobs.executors import Workers
from world4scorer.jobs.files import read_json, write_json

TUNING_SEEDS: Final = (200, 201, 202, 203)
DEFAULT_WEIGHTS: Final = (0.1, 0.2, 0.3, 0.5, 1.0)


@dataclass(frozen=True)
class TunedWeight:
    """A chosen weight, and what the others reached."""

    weight: float
    successes: dict[float, int]
    """Windows solved, by weight; 0 is the latent cost alone."""
    windows: int


def tune(
    contest: EvaluationSetup,
    folder: Path,
    config: EvaluateConfig,
    weights: Sequence[float] = DEFAULT_WEIGHTS,
    scored: Player = Player.OURS,
    workers: Workers = None,
    progress: bool = True,
) -> TunedWeight:
    """Play the windows of `config` with each weight of a player's scores; of equally good ones the smallest wins.

    Weights must be positive.
    """
    if not weights or not all(0 < weight < math.inf for weight in weights):
        raise CubeError("weights to try must be positive numbers; 0 is always played for comparison")
    head, successes, windows = contest.head_identity(scored), {}, 0
    for weight in (0.0, *sorted(weights)):
        player = scored if weight else Player.ANCHOR
        used = contest.with_weight(scored, weight) if weight else contest
        place = folder / (f"{scored}_{weight:g}" if weight else str(Player.ANCHOR))
        results = evaluate(used, place, replace(config, players=(str(player),)), workers, progress)
        played = [one for seed in results[player].values() for one in seed]
        successes[weight], windows = sum(one.success for one in played), len(played)
    best = max((weight for weight in successes if weight), key=lambda weight: (successes[weight], -weight))
    counts = {f"{weight:g}": count for weight, count in successes.items()}
    write_json(choice_file(folder, scored), {"weight": best, "head": head, "windows": windows, "successes": counts})
    return TunedWeight(best, successes, windows)


def choice_file(folder: Path, scored: Player) -> Path:
    """Where the weight of a player's scores is kept."""
    return folder / f"{scored}.json"


def read_tuned(folder: Path, contest: EvaluationSetup, scored: Player = Player.OURS) -> TunedWeight:
    """The choice that was made in a folder; raises CubeError if none was made, or for another head."""
    path = choice_file(folder, scored)
    if not path.exists():
        raise CubeError(f"{path} is missing: run `w4s cube tune` first, or give a weight")
    found = read_json(path, CubeError)
    try:
        head = found["head"]
        successes = {float(weight): int(count) for weight, count in found["successes"].items()}
        tuned = TunedWeight(float(found["weight"]), successes, int(found["windows"]))
    except (KeyError, TypeError, ValueError) as error:
        raise CubeError(f"{path} is damaged ({error}): delete it, and run `w4s cube tune` again") from error
    if head != contest.head_identity(scored):
        raise CubeError(f"{path} was chosen for another outcome head: delete {folder}, and run `w4s cube tune` again")
    return tuned
