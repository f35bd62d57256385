"""Pools in words."""

from __future__ import annotations

from world4scorer.evaluation.pools.scored import ScoredPools


def describe(pools: ScoredPools) -> str:
    """The data set in a sentence."""
    about = pools.about
    whose = (
        f"plans of {about['plans_from']}, scored by {about['planner']}" if about.get("plans_from") else about["planner"]
    )
    count = pools.plans.shape[1]
    plans = "one plan" if count == 1 else f"{count} plans"
    split = f" of {about['split']}" if about.get("split") else ""
    return (
        f"{len(pools):,} frames of {pools.logs} logs{split} ({int(pools.paired.sum()):,} with a frame before to be "
        f"compared with), {plans} each; planner: {whose}; tracker: {about['lqr']}."
    )
