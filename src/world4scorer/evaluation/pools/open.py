"""Scored pools of whatever there is: a training run, a folder of pools, a planner with its data, a submission."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from world4scorer.datasets.navsim.submissions import read_submission, tokens_with_plan
from world4scorer.datasets.navsim.synthetic import SYNTHETIC_TOKEN_LENGTH
from world4scorer.datasets.store import SceneStore
from world4scorer.engine.rollout.plans import LqrProfile
from world4scorer.evaluation.pools.foreign import single_plans
from world4scorer.evaluation.pools.outcome_files import judge_log
from world4scorer.evaluation.pools.pool_files import PoolError, PoolFolder, digest_of_planner, is_pools
from world4scorer.evaluation.pools.scored import ScoredPools
from world4scorer.jobs.model_folder import ModelFolder
from world4scorer.jobs.run_folder import RunFolder

WEIGHT_FILES: Final = (".ckpt", ".pt", ".pth", ".bin", ".safetensors")


def open_pools(
    source: Path,
    store: Path | None = None,
    lqr: LqrProfile = "navsim",
    data: Path | None = None,
    split: str | None = None,
) -> ScoredPools:
    """The scored pools of a folder of pools, or of the last planner of a training run.

    Those of a run are of its validation split, unless other data or another split is asked for.
    """
    return ScoredPools.open(pool_folder(source, store, data, split), store, lqr)


def pool_folder(source: Path, store: Path | None = None, data: Path | None = None, split: str | None = None) -> Path:
    """Where the pools lie; those of a training run are made first if they are missing or unfinished.

    Without torch those that are there are taken, if they are of the run's present planner.
    """
    if is_pools(source):
        return source
    _check_run(source)
    try:
        from world4scorer.evaluation.pools.make import States, make_pools
        from world4scorer.evaluation.pools.planner_source import PlannerSource
    except ModuleNotFoundError as missing:
        return _pools_without_torch(source, data, split, missing)
    found = PlannerSource.find(source, data, split, store)
    folder = RunFolder(source).pools(found.split)
    kept: States = PoolFolder(folder).about.get("states", "float32") if is_pools(folder) else "float32"
    return make_pools(found, folder, states=kept, show_progress=True).folder


def _check_run(source: Path) -> None:
    if not RunFolder(source).exists:
        raise PoolError(f"{source}: neither a training run nor a folder of pools (`w4s train`, `w4s pools` make them)")


def _pools_without_torch(run: Path, data: Path | None, split: str | None, missing: ModuleNotFoundError) -> Path:
    """Pools of a run where no planner can be asked, as a module is missing."""
    wanted = split or RunFolder(run).validation_split()
    folder = RunFolder(run).pools(wanted)
    if data is not None or not is_pools(folder):
        raise PoolError(f"{folder}: making pools needs {missing.name}: pip install 'world4scorer[train]'") from missing
    return kept_pools(run, wanted)


def kept_pools(source: Path, split: str | None = None) -> Path:
    """Where pools that are there already lie, of a run or at `source` itself; no planner is asked, so no torch needed.

    Those of a run are of its validation split, unless another is asked for or they are the only ones.
    """
    if is_pools(source):
        if split is not None:
            raise PoolError(f"--split {split}: {source} is a folder of pools, which has only one")
        return source
    _check_run(source)
    run, kept = RunFolder(source), pools_of_run(source)
    wanted = split if split is not None else run.validation_split() if len(kept) != 1 else kept[0].name
    folder = run.pools(wanted)
    if folder not in kept:
        there = f"; there are pools of {', '.join(path.name for path in kept)}" if kept else ""
        raise PoolError(f"{folder}: no pools there{there}; make them: w4s pools {source} --split {wanted}")
    if is_planner(run.planner) and PoolFolder(folder).about.get("weights") != digest_of_planner(run.planner):
        raise PoolError(f"{folder}: made by a former planner of this run; delete that folder and run `w4s pools` again")
    return folder


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
    source: Path, data: Path, split: str, store: Path | None, out: Path, lqr: LqrProfile = "navsim"
) -> ScoredPools:
    """Ask a planner for its pools on a split, keep them in `out`, and score them."""
    from world4scorer.evaluation.pools.make import make_pools
    from world4scorer.evaluation.pools.planner_source import PlannerSource

    found = PlannerSource.find(source, data, split, store)
    return ScoredPools.open(make_pools(found, out, show_progress=True).folder, None, lqr)


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
