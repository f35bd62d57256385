"""The index of frame files: tokens by log in time order, with scores, choices and reasons."""

from __future__ import annotations

from typing import Any, Final

from world4scorer.engine.outcomes.results import V2_COLUMNS
from world4scorer.evaluation.pools.scored import ScoredPools
from world4scorer.reporting.explorer.choices import Selections
from world4scorer.reporting.explorer.rounding import SCORE, UNITS, quantise

FORMAT: Final = "world4scorer-frames-1"
INDEX: Final = "index.json"
REASONS: Final = tuple(name for name in V2_COLUMNS[:-2] if name != "EP")
"""Metrics listed as reasons; progress is not a fault."""


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
