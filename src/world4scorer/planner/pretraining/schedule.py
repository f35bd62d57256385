"""Learning-rate schedule: linear warm-up, then cosine decay."""

from __future__ import annotations

import math


def learning_rate(step: int, steps: int, warm_up: float) -> float:
    """Share of the peak at a step: a line up to the end of the warm-up, then half a cosine down to zero."""
    if step < warm_up:
        return (step + 1) / warm_up
    return 0.5 * (1 + math.cos(math.pi * min(1.0, (step - warm_up) / max(steps - warm_up, 1))))
