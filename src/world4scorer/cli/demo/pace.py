"""How long the rest takes: each stage's usual time, corrected by how fast this machine has been so far."""

from __future__ import annotations

from collections.abc import Iterable

from world4scorer.cli.demo.stages import Stage


class Pace:
    """This machine's time for a stage, relative to the usual."""

    def __init__(self) -> None:
        self._usual = self._taken = 0.0

    def note(self, stage: Stage, seconds: float) -> None:
        """A stage took so long."""
        self._usual += stage.seconds
        self._taken += seconds

    def left(self, stages: Iterable[Stage]) -> float:
        """Seconds that stages will take."""
        ratio = self._taken / self._usual if self._usual else 1.0
        return ratio * sum(stage.seconds for stage in stages)


def in_words(seconds: float) -> str:
    """A time as people say it, e.g. `3 min 20 s`; from ten minutes on in whole minutes."""
    whole = max(1, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 600:
        minutes, rest = divmod(round(whole / 10) * 10, 60)
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    return f"{round(whole / 60)} min"
