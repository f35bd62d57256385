"""Success of players by protocol and kind of start, and paired gains on the same windows.

Intervals: 95 %, by drawing seeds with replacement; a single seed has none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

import numpy as np

from world4scorer.cube.errors import CubeError
from world4scorer.cube.evaluate import Player, Results
from world4scorer.cube.play import WindowResult
from world4scorer.cube.protocols import Protocol
from world4scorer.evaluation.scores.bootstrap import Interval, LogBootstrap

BOOTSTRAP_DRAWS: Final = 10_000
LABELS: Final = {
    Player.ANCHOR: "LeWM",
    Player.OURS: "LeWM + outcome score",
    Player.PATH: "LeWM + per-step outcome score",
    Player.ICEM: "LeWM, iCEM",
    Player.INVERSE: "inverse dynamics",
    Player.RANDOM: "random actions",
    Player.ZERO: "no action",
    Player.EXPERT: "expert's actions",
    Player.SIMULATOR: "search in the simulator",
}
"""Labels of players in tables."""


class Starts(StrEnum):
    """Subsets of windows: the protocols, and the moderate one by whether the gripper has the cube at the start."""

    PUBLISHED = "published"
    MODERATE = "moderate"
    STRICT = "strict"
    HELD = "moderate, held"
    FREE = "moderate, not held"
    """It has to be grasped or pushed."""

    def has(self, played: WindowResult) -> bool:
        """Whether a window counts."""
        if self in (Starts.HELD, Starts.FREE):
            return Protocol.MODERATE.has(played) and played.held is (self is Starts.HELD)
        return Protocol(self.value).has(played)


class PairedResult(NamedTuple):
    """A window that two players played."""

    seed: int
    before: WindowResult
    after: WindowResult


@dataclass(frozen=True)
class SuccessCount:
    """Windows that a player solved."""

    solved: int
    windows: int
    share: Interval
    """Share of the windows; NaN without windows."""


@dataclass(frozen=True)
class SuccessGain:
    """Paired gain of one player over another."""

    before: int
    """Windows that the other solved."""
    after: int
    """Windows that the one solved."""
    windows: int
    rescued: int
    """Windows that only the one solved."""
    lost: int
    """Windows that only the other solved."""
    share: Interval
    """Difference of the shares of solved windows; NaN where there are no windows."""


def count_successes(results: Results, player: Player, starts: Starts = Starts.PUBLISHED) -> SuccessCount:
    """Count what a player solved."""
    played = [(seed, one) for seed, some in results[player].items() for one in some if starts.has(one)]
    return SuccessCount(
        solved=sum(one.success for _, one in played),
        windows=len(played),
        share=_mean([seed for seed, _ in played], [float(one.success) for _, one in played]),
    )


def measure_gain(results: Results, after: Player, before: Player, starts: Starts = Starts.PUBLISHED) -> SuccessGain:
    """Gain of `after` over `before` on windows that both played."""
    pairs = [pair for pair in paired_results(results, after, before) if starts.has(pair.before)]
    changes = [int(pair.after.success) - int(pair.before.success) for pair in pairs]
    return SuccessGain(
        before=sum(pair.before.success for pair in pairs),
        after=sum(pair.after.success for pair in pairs),
        windows=len(pairs),
        rescued=changes.count(1),
        lost=changes.count(-1),
        share=_mean([pair.seed for pair in pairs], [float(change) for change in changes]),
    )


def gains_by_seed(results: Results, after: Player, before: Player) -> dict[int, SuccessGain]:
    """Gain of `after` over `before` on each seed that both played."""
    return {
        seed: measure_gain({before: {seed: results[before][seed]}, after: {seed: results[after][seed]}}, after, before)
        for seed in results[before]
        if seed in results[after]
    }


def paired_results(results: Results, after: Player, before: Player) -> Iterator[PairedResult]:
    """Windows that both players played; raises CubeError if they differ on a seed."""
    for seed, some in results[before].items():
        if seed not in results[after]:
            continue
        others = results[after][seed]
        if [(one.episode, one.step) for one in some] != [(one.episode, one.step) for one in others]:
            raise CubeError(
                f"seed {seed}: {before} and {after} played different windows; evaluate both into one new folder"
            )
        for one, other in zip(some, others, strict=True):
            yield PairedResult(seed, one, other)


def median_miss(results: Results, player: Player) -> float:
    """Median distance from the goal at the end, in metres, of windows that were not solved; NaN if all were."""
    misses = [one.final_metres for some in results[player].values() for one in some if not one.success]
    return float(np.median(misses)) if misses else float("nan")


def _mean(seeds: list[int], values: list[float]) -> Interval:
    if not values:
        return Interval(np.nan, np.nan, np.nan)
    return LogBootstrap([str(seed) for seed in seeds], BOOTSTRAP_DRAWS).mean(values)
