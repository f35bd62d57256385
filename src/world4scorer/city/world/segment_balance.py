"""Choose segments whose decision frames have wanted shares of situations.

Greedy: again and again the segment with most to teach per rendered frame is taken, where a situation counts the more,
the further its share among the frames taken so far is below its target.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

TARGET_SHARES: Final[Mapping[str, float]] = {
    "left_turn": 0.26,
    "right_turn": 0.26,
    "slow": 0.30,
    "fast": 0.45,
    "start": 0.17,
    "crossing": 0.06,
    "yielding": 0.10,
    "lane_change": 0.04,
    "cut_in": 0.04,
    "following": 0.15,
    "stop": 0.12,
}
"""Wanted share of the decision frames of training logs by situation. Turns, starts and slow driving are where plans
fail; what is rare stays below its target in most towns."""
MAX_URGENCY, MIN_URGENCY = 4.0, 0.1
"""Limits of target over current share."""
PRIOR_FRAMES: Final = 40.0
"""Frames with exactly the wanted shares that are assumed at the beginning."""
FRAME_VALUE: Final = 0.25
"""Value of a decision frame in no situation; one of a situation at its target counts 1 more."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """n segments to choose from."""

    counts: NDArray[np.float64]
    """(n, situations of TARGET_SHARES) decision frames by situation."""
    decisions: NDArray[np.float64]
    """(n,) decision frames."""
    frames: NDArray[np.int64]
    """(n,) frames to render."""
    drive: NDArray[np.int64]
    """(n,) drive of each."""
    first: NDArray[np.int64]
    """(n,) first frame within the drive."""

    def overlapping(self, index: int) -> NDArray[np.bool_]:
        """(n,) segments that share frames with one of them, itself included."""
        begin, end = self.first[index], self.first[index] + self.frames[index]
        shared: NDArray[np.bool_] = (
            (self.drive == self.drive[index]) & (self.first < end) & (begin < self.first + self.frames)
        )
        return shared


def choose_balanced(candidates: Candidates, wanted: int) -> list[int]:
    """Segments in the order of choice, until they have `wanted` decision frames or none is left; no two overlap."""
    targets = np.array(list(TARGET_SHARES.values()))
    taken, total = PRIOR_FRAMES * targets, PRIOR_FRAMES
    free = candidates.decisions > 0
    chosen: list[int] = []
    found = 0.0
    while found < wanted and free.any():
        urgency = np.clip(targets * total / taken, MIN_URGENCY, MAX_URGENCY) ** 2
        value = (FRAME_VALUE * candidates.decisions + candidates.counts @ urgency) / candidates.frames
        best = int(np.where(free, value, -1.0).argmax())
        chosen.append(best)
        free &= ~candidates.overlapping(best)
        new = candidates.decisions[best]
        taken, total, found = taken + candidates.counts[best], total + new, found + new
    return chosen
