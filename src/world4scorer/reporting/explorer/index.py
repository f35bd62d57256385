"""The index of frame files: tokens by log in time order, with scores, reasons, and choices of each selection."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.outcomes.results import V2_COLUMNS
from world4scorer.evaluation.pools.choices import Chosen, continued, framewise, inertial
from world4scorer.evaluation.pools.scored import ScoredPools
from world4scorer.reporting.explorer.rounding import SCORE, UNITS, quantise

FORMAT: Final = "world4scorer-frames-1"
INDEX: Final = "index.json"
REASONS: Final = tuple(name for name in V2_COLUMNS[:-2] if name != "EP")
"""Metrics listed as reasons; progress is not a fault."""

Floats = NDArray[np.float64]


class Selections:
    """Framewise and re-ranked choices by v2 utility, and framewise ones by v1 utility."""

    def __init__(self, pools: ScoredPools) -> None:
        self._pools = pools
        self.by_v2: dict[str, Chosen] = {
            "framewise": framewise(pools.utility_v2),
            "reranked": inertial(pools, pools.utility_v2),
        }
        self.by_v1: Chosen = framewise(pools.utility_v1)

    @cached_property
    def epdms(self) -> dict[str, Floats]:
        """(S,) of each selection, extended comfort included where there is a frame before."""
        return {name: self._pools.epdms(chosen) for name, chosen in self.by_v2.items()}

    @cached_property
    def extended_comfort(self) -> dict[str, Floats]:
        """(S,) of each selection: 1, 0, or NaN where there is no frame before."""
        return {name: continued(self._pools, chosen) for name, chosen in self.by_v2.items()}

    def at(self, index: int) -> dict[str, int]:
        """Chosen plans in one frame, by selection."""
        return {**{name: int(chosen[index]) for name, chosen in self.by_v2.items()}, "v1": int(self.by_v1[index])}

    def epdms_at(self, index: int) -> dict[str, float]:
        """Scores of the choices in one frame."""
        return {name: float(scores[index]) for name, scores in self.epdms.items()}

    def continues_at(self, index: int) -> dict[str, NDArray[np.bool_]] | None:
        """(N,) which plans continue the choice of the frame before; None without such a frame."""
        before = int(self._pools.previous[index])
        if before < 0:
            return None
        return {name: self._pools.continues[index, :, chosen[before]] for name, chosen in self.by_v2.items()}


def index_record(pools: ScoredPools, selections: Selections, made_with: str) -> dict[str, Any]:
    """Content of the index file."""
    logs: dict[str, list[dict[str, Any]]] = {}
    for index, (token, log_name) in enumerate(zip(pools.tokens, pools.log_names, strict=True)):
        logs.setdefault(log_name, []).append(
            {
                "token": token,
                "time_us": int(pools.time_us[index]),
                "choices": selections.at(index),
                "epdms": {name: int(quantise(score, SCORE)) for name, score in selections.epdms_at(index).items()},
                "reasons": _reasons(pools, selections, index),
            }
        )
    about = pools.about
    return {
        "format": FORMAT,
        "units": UNITS,
        "made_with": made_with,
        "planner": about["planner"],
        "split": about.get("split"),
        "lqr": about["lqr"],
        "plans": pools.plans.shape[1],
        "frames": len(pools),
        "logs": [{"name": name, "frames": frames} for name, frames in logs.items()],
    }


def _reasons(pools: ScoredPools, selections: Selections, index: int) -> dict[str, list[str]]:
    """Metrics of the choice below 1 by selection, after the human filter; EC if it breaks with the last choice."""
    found = {}
    for name, chosen in selections.by_v2.items():
        row = pools.v2[index, chosen[index]]
        below = [metric for metric in REASONS if row[V2_COLUMNS.index(metric)] < 1]
        found[name] = [*below, *(["EC"] if selections.extended_comfort[name][index] == 0 else [])]
    return found
