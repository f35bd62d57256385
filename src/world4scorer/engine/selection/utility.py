"""Utility of a plan's six predicted outcomes, in NumPy; `model.utility` is the same for tensors.

J = sum of a_m log p_m over NC, DAC, DDC  +  log of the sum of b_m p_m over TTC, EP, C.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

Benchmark = Literal["v1", "v2"]

OUTCOMES: Final = ("NC", "DAC", "DDC", "TTC", "EP", "C")
"""In the order of the logits of a pool."""
MULTIPLIED: Final = OUTCOMES[:3]
ADDED: Final = OUTCOMES[3:]

UTILITY_WEIGHTS: Final[Mapping[Benchmark, Mapping[str, float]]] = {
    "v1": dict(zip(OUTCOMES, (1.0, 1.0, 0.0, 5.0, 5.0, 2.0), strict=True)),
    "v2": dict(zip(OUTCOMES, (10.0, 13.0, 6.0, 14.0, 15.0, 2.1), strict=True)),
}
"""By benchmark: NAVSIM v1 and v2."""
DRIVING_PROGRESS: Final = 15.0
"""Weight of progress for driving, three times that of v1. A plan that stands where others go still has 7/12 of v1's
score, so that a plan with half of the progress and a collision in ten cases is hardly better; chosen again and again,
it blocks the road."""


def utility_of_logits(logits: Any, benchmark: Benchmark = "v1") -> NDArray[np.float64]:
    """Utility (...,) of plans with logits (..., 6); finite where probabilities round to 0."""
    weights = UTILITY_WEIGHTS[benchmark]
    log_p = dict(zip(OUTCOMES, np.moveaxis(-np.logaddexp(0.0, -np.asarray(logits, np.float64)), -1, 0), strict=True))
    product = sum(weights[name] * log_p[name] for name in MULTIPLIED if weights[name])
    added = np.stack([log_p[name] + np.log(weights[name]) for name in ADDED])
    return np.asarray(product + np.logaddexp.reduce(added, axis=0))
