"""Scored pools of whatever there is: a training run, a folder of pools, a planner with its data, a submission."""

from __future__ import annotations

import logging
from pathlib import Path

from world4scorer.datasets.navsim.pools import NO_POOLS
from world4scorer.datasets.navsim.submissions import read_submission, tokens_with_plan
from world4scorer.datasets.navsim.synthetic import SYNTHETIC_TOKEN_LENGTH
from world4scorer.datasets.store import SceneStore
from world4scorer.engine.rollout.plans import LqrProfile
from world4scorer.evaluation.pools.foreign import single_plans
from world4scorer.evaluation.pools.outcome_files import judge_log
from world4scorer.evaluation.pools.pool_files import PoolError, PoolFolder, digest_of_planner, is_pools
from world4scorer.evaluation.pools.scored import ScoredPools
from world4scorer.jobs.executors import Executor
from world4scorer.jobs.model_folder import WEIGHT_FILES, ModelFolder
from world4scorer.jobs.run_folder import RunFolder, Weights

logger = logging.getLogger(__name__)


def open_pools(
    source: Path,
    store: Path | None = None,
    lqr: LqrProfile = "navsim",
    data: Path | None = None,
    split: str | None = None,
    weights: Weights = "best",
    executor: Executor | None = None,
) -> ScoredPools:
    """The scored pools of a folder of pools, or of a planner of a training run.

    Those of a run are of its best planner and its validation split, unless others are asked for.
    """
    return ScoredPools.open(pool_folder(source, store, data, split, weights, executor), store, lqr, executor)


def pool_folder(
    source: Path,
    store: Path | None = None,
    data: Path | None = None,
    split: str | None = None,
    weights: Weights = "best",
    executor: Executor | None = None,
) -> Path:
    """Where the pools lie; those of a training run are made first if they are missing or unfinished.

    Without torch those that are there are taken, if they are of the run's present planner.
    """
    if is_pools(source):
        if split is not None or data is not None:
            raise PoolError(f"{source}: a folder of pools has its frames already; leave out --data and --split")
        return source
    _check_run(source)
    try:
        from world4scorer.evaluation.pools.make import States, make_pools
        from world4scorer.evaluation.pools.planner_source import PlannerSource
    except ModuleNotFoundError as missing:
        return _pools_without_torch(source, data, split, weights, missing)
    found = PlannerSource.find(source, data, split, store, weights)
    folder = pools_of_weights(source, found.split, weights)
    kept: States = PoolFolder(folder).about.get("states", "float32") if is_pools(folder) else "float32"
    return make_pools(found, folder, states=kept, executor=executor, show_progress=True).folder


def _check_run(source: Path) -> None:
    if RunFolder(source).exists:
        return
    if not source.exists():
        raise PoolError(f"{source}: no such folder; give a training run or a folder of pools")
    if is_planner(source):
        known = f"{source}: a planner, which has no pools of its own"
        raise PoolError(f"{known}; make some: w4s pools {source} --data DATA --split SPLIT --out POOLS")
    if is_submission(source):
        raise PoolError(f"{source}: {NO_POOLS}: w4s evaluate {source} --store STORE --out OUT")
    raise PoolError(f"{source}: neither a training run nor a folder of pools (`w4s train`, `w4s pools` make them)")


def pools_of_weights(source: Path, split: str, weights: Weights) -> Path:
    """Where the pools of a run's best or last planner lie; where both are the same, so are their pools."""
    run = RunFolder(source)
    if weights == "last" or not is_planner(run.best_planner):
        return run.pools(split)
    same = is_planner(run.planner) and digest_of_planner(run.planner) == digest_of_planner(run.best_planner)
    return run.pools(split, "last" if same else "best")


def _pools_without_torch(
    run: Path, data: Path | None, split: str | None, weights: Weights, missing: ModuleNotFoundError
) -> Path:
    """Pools of a run where no planner can be asked, as a module is missing."""
    wanted = split or RunFolder(run).validation_split()
    folder = pools_of_weights(run, wanted, weights)
    if data is not None or not is_pools(folder):
        raise PoolError(f"{folder}: making pools needs {missing.name}: pip install 'world4scorer[train]'") from missing
    _check_weights(folder, run)
    return folder


def kept_pools(source: Path, split: str | None = None, weights: Weights = "best") -> Path:
    """Where pools that are there already lie, of a run or at `source` itself; no planner is asked, so no torch needed.

    Those of a run are of its validation split, unless another is asked for or they are the only ones. Where only the
    last planner has pools, they are taken.
    """
    if is_pools(source):
        if split is not None:
            raise PoolError(f"--split {split}: {source} is a folder of pools, which has only one")
        return source
    _check_run(source)
    run, kept = RunFolder(source), pools_of_run(source)
    if split is None and len(kept) == 1:
        folder = kept[0]
    else:
        wanted = run.validation_split() if split is None else split
        folder = pools_of_weights(source, wanted, weights)
        if folder not in kept and (other := run.pools(wanted)) in kept:
            logger.info("%s: no pools there; those of the last planner are used", folder)
            folder = other
        if folder not in kept:
            there = f"; there are pools of {', '.join(path.name for path in kept)}" if kept else ""
            raise PoolError(f"{folder}: no pools there{there}; make them: w4s pools {source} --split {wanted}")
    _check_weights(folder, source)
    return folder


def _check_weights(folder: Path, source: Path) -> None:
    """Raise a PoolError for pools of a planner that this run had before."""
    known = planners_of_run(source)
    if known and PoolFolder(folder).about.get("weights") not in known:
        raise PoolError(f"{folder}: made by a former planner of this run; delete that folder and run `w4s pools` again")


def planners_of_run(source: Path) -> dict[str, Weights]:
    """Digests of the planners of a run, and which they are; where both are the same, the best."""
    run = RunFolder(source)
    which: tuple[tuple[Path, Weights], ...] = ((run.planner, "last"), (run.best_planner, "best"))
    return {digest_of_planner(folder): name for folder, name in which if is_planner(folder)}


def pools_of_run(run: Path) -> list[Path]:
    """Folders of the pools that a run has, by name of the split."""
    return sorted(folder for folder in RunFolder(run).all_pools.glob("*") if is_pools(folder))


def is_submission(source: Path) -> bool:
    """Whether this is a pickle: plans, one per token."""
    return source.is_file() and source.suffix in (".pkl", ".pickle")


def is_planner(source: Path) -> bool:
    """Whether this is the folder of a planner, or a file of weights."""
    if source.is_file():
        return source.suffix in WEIGHT_FILES
    return ModelFolder(source).exists


def pools_of_planner(
    source: Path,
    data: Path,
    split: str,
    store: Path | None,
    out: Path,
    lqr: LqrProfile = "navsim",
    executor: Executor | None = None,
) -> ScoredPools:
    """Ask a planner for its pools on a split, keep them in `out`, and score them."""
    from world4scorer.evaluation.pools.make import make_pools
    from world4scorer.evaluation.pools.planner_source import PlannerSource

    found = PlannerSource.find(source, data, split, store)
    made = make_pools(found, out, executor=executor, show_progress=True)
    return ScoredPools.open(made.folder, None, lqr, executor)


def pools_of_submission(
    source: Path, store: Path, lqr: LqrProfile = "navsim", allow_missing: bool = False
) -> ScoredPools:
    """One plan per frame of a store, as pools without a choice; nothing is kept."""
    scenes = SceneStore(store)
    submitted = read_submission(source).plans
    wanted = [token for token in scenes if len(token) != SYNTHETIC_TOKEN_LENGTH]
    tokens = tokens_with_plan(wanted, submitted, allow_missing)
    about = {"planner": source.name, "store": str(store), "lqr": lqr}
    logs = single_plans(submitted, scenes, tokens)
    return ScoredPools.join(about, [(log, judge_log(log, scenes, lqr)) for log in logs])
