"""What studies look at: the pools of a training run, made if they are missing, or a folder of pools."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from world4scorer.pools.pool_files import INFO, PoolError
from world4scorer.pools.scored import ScoredPools
from world4scorer.rollout.plans import LqrProfile

POOLS: Final = "pools"
STUDIES: Final = "studies"


def open_pools(source: Path, store: Path | None = None, lqr: LqrProfile = "navsim") -> ScoredPools:
    """The scored pools of a training run (of its last planner, on its validation split) or of a folder of pools."""
    return ScoredPools.open(pool_folder(source), store, lqr)


def pool_folder(source: Path) -> Path:
    """Where the pools lie; those of a training run are made first if they are missing or unfinished."""
    if (source / INFO).is_file():
        return source
    from world4scorer.pools.make import make_pools
    from world4scorer.pools.planner_source import PlannerSource, is_run

    if not is_run(source):
        raise PoolError(
            f"{source}: neither a training run nor a folder of pools (`w4s train` and `w4s pools` make them)"
        )
    found = PlannerSource.find(source)
    return make_pools(found, source / POOLS / found.split, show_progress=True).folder


def describe(pools: ScoredPools) -> str:
    """The data set in a sentence."""
    about = pools.about
    whose = (
        f"plans of {about['plans_from']}, scored by {about['planner']}" if about.get("plans_from") else about["planner"]
    )
    split = f" of {about['split']}" if about.get("split") else ""
    return (
        f"{len(pools):,} frames of {pools.logs} logs{split} ({int(pools.paired.sum()):,} with a frame before to be "
        f"compared with), {pools.plans.shape[1]} plans each; planner: {whose}; tracker: {about['lqr']}."
    )
