"""Which scenes are branched, and which plans of a pool are driven there.

Shapes: N plans of a pool, K of them, T steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

ON_ROAD: Final = 0.75
"""Share of the plans of a scene that keep to the drivable area, where there are as many."""


def spread_scenes(tokens: Mapping[str, Sequence[str]], count: int) -> dict[str, list[str]]:
    """Choose `count` of the scenes of logs, as many of each log as can be, evenly over its time.

    Logs that have fewer give all they have; what does not divide evenly goes to the first logs.
    """
    if count < 1:
        raise ValueError(f"scenes: {count}; at least 1")
    quota = dict.fromkeys(tokens, 0)
    left = min(count, sum(map(len, tokens.values())))
    while left:
        open_logs = [name for name in tokens if quota[name] < len(tokens[name])]
        each = max(1, left // len(open_logs))
        for name in open_logs:
            more = min(each, len(tokens[name]) - quota[name], left)
            quota[name] += more
            left -= more
    chosen = {}
    for name, there in tokens.items():
        indices = ((np.arange(quota[name]) + 0.5) * len(there) / max(quota[name], 1)).astype(int)
        if len(indices):
            chosen[name] = [there[index] for index in indices]
    return chosen


def choose_plans(
    positions: NDArray[np.float64], driven: NDArray[np.float64], first: int, count: int, on_road: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """(K,) the planner's own choice `first`, then always the plan that is furthest from all taken and from `driven`.

    Three quarters are plans `on_road` (N,), the others off it, as far as there are such plans: alone, what is furthest
    mostly leaves the road, where the traffic does not see the ego and no planner would want to go.

    Positions (N, T, 2) and `driven` (T, 2) are rolled out [m]. How far two plans are apart is the root of their mean
    squared distance over the steps; of equally far ones the first counts.
    """
    if not 1 <= count <= len(positions):
        raise ValueError(f"plans: {count}; pools have {len(positions)}, choose 1 to {len(positions)}")
    taken = [first]
    free = np.ones(len(positions), np.bool_)
    nearest = np.minimum(_apart(positions, driven), _apart(positions, positions[first]))
    while len(taken) < count:
        free[taken] = False
        wanted = on_road if on_road[taken].sum() < round(ON_ROAD * count) else ~on_road
        among = free & wanted if (free & wanted).any() else free
        taken.append(int(np.argmax(np.where(among, nearest, -1.0))))
        nearest = np.minimum(nearest, _apart(positions, positions[taken[-1]]))
    return np.array(taken, np.int64)


def _apart(positions: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.sqrt(np.square(positions - other).sum(-1).mean(-1)))
