"""Which scenes and queries readouts are made of: rules that never look at a readout.

Scenes: all that have a view two seconds later, in an order drawn by seed, one of each log first. The gallery shows the
first of them, numbers are over more of them.

Junctions: scenes whose pool holds a plan that turns left by more than `TURN` within four seconds and one that turns
right as much, both of which the simulator finds within the drivable area, and whose selected plan (highest v1 utility)
turns by less than `STRAIGHT` and leads at least `MOVING` away. Of several left (right) plans the one of the highest
utility is asked. They come in an order drawn likewise.

Shapes: S frames of pools, N plans.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.outcomes.results import V1_COLUMNS
from world4scorer.evaluation.pools.choices import framewise
from world4scorer.evaluation.pools.scored import ScoredPools
from world4scorer.studies.readout_networks.pairs import draw_tokens

TURN: Final = np.radians(30.0)
STRAIGHT: Final = np.radians(10.0)
MOVING: Final = 10.0
"""m within four seconds."""
QUERIES: Final = ("left", "straight", "right")
SEED: Final = 17


class Junctions(NamedTuple):
    """Scenes that can be asked about three ways."""

    indices: NDArray[np.int64]
    """(J,) in the pools"""
    plans: NDArray[np.int64]
    """(J, 3) left, straight (selected), right"""


def drawn_scenes(pools: ScoredPools, has_future: NDArray[np.bool_], count: int) -> NDArray[np.int64]:
    """Indices of at most so many scenes that have a future (S,), in the drawn order."""
    return _drawn(pools, np.flatnonzero(has_future), count)


def junctions(pools: ScoredPools, has_future: NDArray[np.bool_], count: int) -> Junctions:
    """At most so many junctions that have a future (S,), in the drawn order."""
    turn, selected = pools.plans[:, :, -1, 2], framewise(pools.utility_v1)
    inside = pools.v1[..., V1_COLUMNS.index("DAC")] == 1
    left, right = inside & (turn > TURN), inside & (turn < -TURN)
    away = np.linalg.norm(pools.at(pools.plans, selected)[:, -1, :2], axis=1)
    straight = (np.abs(pools.at(turn, selected)) < STRAIGHT) & (away > MOVING)
    indices = np.flatnonzero(has_future & straight & left.any(1) & right.any(1))
    indices = _drawn(pools, indices, count)
    best = [np.where(kind, pools.utility_v1, -np.inf).argmax(1)[indices] for kind in (left, right)]
    return Junctions(indices, np.stack([best[0], selected[indices], best[1]], 1))


def _drawn(pools: ScoredPools, indices: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    order = draw_tokens([pools.log_names[index] for index in indices], count, SEED)
    return np.asarray(indices[order], np.int64)
