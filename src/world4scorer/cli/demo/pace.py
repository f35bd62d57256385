"""Estimate of the remaining time: expected times of the stages, scaled by the speed of this machine so far."""

from __future__ import annotations

from collections.abc import Iterable

from world4scorer.cli.demo.stages import Stage


class Pace:
    """This machine's time for a stage, relative to the expected one."""

    def __init__(self) -> None:
        self._expected = self._taken = 0.0

    def note(self, stage: Stage, seconds: float) -> None:
        """Record the time of a stage."""
        self._expected += stage.seconds
        self._taken += seconds

    def left(self, stages: Iterable[Stage]) -> float:
        """Estimated time of stages [s]."""
        ratio = self._taken / self._expected if self._expected else 1.0
        return ratio * sum(stage.seconds for stage in stages)


def in_words(seconds: float) -> str:
    """A duration in words, e.g. `3 min 20 s`; from ten minutes on in whole minutes."""
    whole = max(1, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 600:
        minutes, rest = divmod(round(whole / 10) * 10, 60)
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    return f"{round(whole / 60)} min"
