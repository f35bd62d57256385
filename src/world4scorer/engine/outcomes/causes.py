"""Causes of metrics below 1: the step, and the track, corner, light or check.

Shapes: N plans.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.outcomes.judge import Judgement, Metric
from world4scorer.engine.scene.indices import DT


@dataclass(frozen=True, eq=False)
class Cause:
    """Cause of a metric below 1, by plan."""

    violated: NDArray[np.bool_]
    """(N,) which plans are below 1."""
    step: NDArray[np.int64]
    """(N,) step of 0.1 s at which it fell to its value; meaningless where not violated. History has negative steps."""
    index: NDArray[np.int64]
    """(N,) index into `names`; -1 where only the step is known."""
    names: tuple[str, ...]
    """Ids of tracks or lights, corners of the ego, or comfort checks, depending on the metric."""

    def __repr__(self) -> str:
        return f"Cause({int(self.violated.sum())} of {len(self.violated)} plans violate it)"

    def of(self, plan: int) -> str | None:
        """Describe the cause for one plan, e.g. `"1.3 s: 7f03"`; None where the metric is 1."""
        if not self.violated[plan]:
            return None
        when = f"{self.step[plan] * DT:.1f} s"
        return f"{when}: {self.names[self.index[plan]]}" if self.index[plan] >= 0 else when


class Causes(Mapping[str, Cause]):
    """Causes by metric, built on access."""

    def __init__(self, found: Judgement, plans: int, names: Mapping[str, tuple[Metric, tuple[str, ...]]]) -> None:
        """Read from the first `plans` rollouts; `names` gives for each metric its row and the names of its indices."""
        self._found, self._plans, self._names = found, plans, names

    def __getitem__(self, name: str) -> Cause:
        metric, names = self._names[name]
        rollouts = slice(0, self._plans)
        found = self._found
        return Cause(
            found.values[metric, rollouts] < 1.0, found.steps[metric, rollouts], found.causes[metric, rollouts], names
        )

    def __repr__(self) -> str:
        return f"Causes({', '.join(self)})"

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
