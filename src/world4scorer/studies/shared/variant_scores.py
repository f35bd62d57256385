"""Scores of the pools of several variants on the same frames, by seed and over seeds, with paired differences.

Every measure is a ratio of two sums over frames, so that means, shares and the pairwise ordering are treated alike.

Shapes: S frames.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.selection.pool_metrics import ORDERING_MARGIN, pool_metrics
from world4scorer.evaluation.pools.choices import continued, framewise, inertial
from world4scorer.evaluation.pools.foreign import read_plans
from world4scorer.evaluation.pools.make import make_pools
from world4scorer.evaluation.pools.open import open_pools, pool_folder
from world4scorer.evaluation.pools.planner_source import PlannerSource
from world4scorer.evaluation.pools.scored import ScoredPools
from world4scorer.evaluation.scores.bootstrap import Interval, LogBootstrap, plain
from world4scorer.jobs.data_folder import split_name
from world4scorer.jobs.run_folder import RunFolder
from world4scorer.planner.training.run_files import read_run
from world4scorer.studies.shared.options import DEFAULT_TRAINING_OPTIONS, TrainingOptions

Floats = NDArray[np.float64]

PDMS: Final = "PDMS"
RANDOM: Final = "random pick"
BEST: Final = "best of the pool"
ORDERING: Final = "ordering"
WIDE_ORDERING: Final = f"ordering, gap > {ORDERING_MARGIN}"
EPDMS: Final = "EPDMS"
RERANKED: Final = "EPDMS, re-ranked"
EC: Final = "EC"
EC_RERANKED: Final = "EC, re-ranked"

SCENE_SEED: Final = 0
"""Of the draw of scenes, where not all are compared."""
INTERVAL_WIDTH: Final = 1.96
"""Half a 95 % interval, in standard errors."""
POWER_WIDTH: Final = 0.84
"""Standard errors that 80 % of normal deviates stay above, with the sign changed."""


class Measure(NamedTuple):
    """A ratio of two sums over frames."""

    upper: Floats
    """(S,)"""
    lower: Floats
    """(S,)"""


Measures = Mapping[str, Measure]


def mean(values: Any) -> Measure:
    """The mean over frames (S,) as a ratio; frames with NaN do not count."""
    known = np.asarray(values, np.float64)
    there = ~np.isnan(known)
    return Measure(np.where(there, known, 0.0), there.astype(np.float64))


def pool_measures(pools: ScoredPools, min_gap: float = 0.0) -> Measures:
    """What the plans chosen from pools are worth: PDMS v1.1 with v1 utility, EPDMS with v2 utility.

    Pairs of plans count for the ordering if their PDMS differ by more than `min_gap`.
    """
    first = pool_metrics(pools.utility_v1, pools.pdms, min_gap)
    wide = pool_metrics(pools.utility_v1, pools.pdms, ORDERING_MARGIN)
    off, on = framewise(pools.utility_v2), inertial(pools, pools.utility_v2)
    return {
        PDMS: mean(first.selected),
        RANDOM: mean(first.random),
        BEST: mean(first.oracle),
        ORDERING: Measure(first.ordered.astype(np.float64), first.pairs.astype(np.float64)),
        WIDE_ORDERING: Measure(wide.ordered.astype(np.float64), wide.pairs.astype(np.float64)),
        EPDMS: mean(pools.epdms(off)),
        RERANKED: mean(pools.epdms(on)),
        EC: mean(continued(pools, off)),
        EC_RERANKED: mean(continued(pools, on)),
    }


@dataclass(frozen=True)
class VariantScores:
    """Measures of each variant and seed, all on the same frames."""

    measures: Mapping[str, Sequence[Measures]]
    """By variant, in the order of the seeds."""
    seeds: tuple[int, ...]
    log_names: tuple[str, ...]
    """(S,)"""
    data: str
    """What was trained and looked at, in a sentence."""
    draws: int = 10_000

    @cached_property
    def bootstrap(self) -> LogBootstrap:
        """The draws of logs, the same for all."""
        return LogBootstrap(self.log_names, self.draws)

    def over_seeds(self, variant: str, name: str) -> Measure:
        """A measure of a variant, all seeds together."""
        found = [one[name] for one in self.measures[variant]]
        return Measure(*(np.mean([getattr(one, part) for one in found], axis=0) for part in Measure._fields))

    def value(self, variant: str, name: str) -> Interval:
        """Over all seeds; the interval is that of logs."""
        return self.bootstrap.ratio(*self.over_seeds(variant, name))

    def change(self, variant: str, name: str, against: str) -> Interval:
        """How much more than another variant, paired by frame."""
        return self.bootstrap.ratio_change(self.over_seeds(variant, name), self.over_seeds(against, name))

    def change_between(self, variant: str, name: str, other: str) -> Interval:
        """How much larger one measure of a variant is than another, paired by frame."""
        return self.bootstrap.ratio_change(self.over_seeds(variant, name), self.over_seeds(variant, other))

    def by_seed(self, variant: str, name: str) -> list[float]:
        """The measure of each training."""
        sums = ((one[name].upper.sum(), one[name].lower.sum()) for one in self.measures[variant])
        return [float(upper / lower) if lower else np.nan for upper, lower in sums]

    def change_by_seed(self, variant: str, name: str, against: str) -> list[float]:
        """The difference of the two trainings with each seed."""
        pairs = zip(self.by_seed(variant, name), self.by_seed(against, name), strict=True)
        return [after - before for after, before in pairs]

    def detectable(self, variant: str, name: str, against: str) -> float:
        """The smallest true difference that four of five repetitions would show as clear of 0.

        The variance of a difference is that of logs (the bootstrap's) and, with several seeds, that of trainings.
        """
        _, low, high = self.change(variant, name, against)
        by_seed = self.change_by_seed(variant, name, against)
        error_of_logs = (high - low) / (2 * INTERVAL_WIDTH)
        error_of_seeds = np.std(by_seed, ddof=1) / np.sqrt(len(by_seed)) if len(by_seed) > 1 else 0.0
        return float((INTERVAL_WIDTH + POWER_WIDTH) * np.hypot(error_of_logs, error_of_seeds))

    def numbers(self, names: Sequence[str], against: str) -> dict[str, Any]:
        """All of it as plain values."""
        found: dict[str, Any] = {"seeds": list(self.seeds), "against": against}
        for variant in self.measures:
            found[variant] = {
                name: {
                    **(plain(self.value(variant, name)) or {}),
                    "by_seed": [_known(value) for value in self.by_seed(variant, name)],
                    **({} if variant == against else self._change_numbers(variant, name, against)),
                }
                for name in names
            }
        return found

    def _change_numbers(self, variant: str, name: str, against: str) -> dict[str, Any]:
        return {
            "change": plain(self.change(variant, name, against)),
            "detectable": _known(self.detectable(variant, name, against)),
        }


def score_variants(
    runs: Mapping[str, Sequence[Path]],
    options: TrainingOptions = DEFAULT_TRAINING_OPTIONS,
    measures: Callable[[ScoredPools, float], Measures] = pool_measures,
    plans_of: str | None = None,
    scenes: int | None = None,
) -> VariantScores:
    """Score the last planner of every run on a split; missing pools are made.

    The last and not the best, as in the paper's controls: then all variants have been trained equally long.

    Args:
        runs: Folders of the runs by variant, in the order of the seeds.
        options: Split, gap of ordered pairs, bootstrap draws.
        measures: What is measured of pools.
        plans_of: Variant whose plans, of the same seed, all variants score; each its own unless given.
        scenes: Maximum number of scenes, drawn by seed; all unless given.
    """
    found: dict[str, list[Measures]] = {}
    first: ScoredPools | None = None
    for variant, folders in runs.items():
        for number, folder in enumerate(folders):
            control = None if plans_of in (None, variant) else runs[str(plans_of)][number]
            pools = pools_of_variant(folder, options.split, control)
            first = first or pools
            if pools.tokens != first.tokens:
                raise ValueError(f"{folder}: its pools are of other frames than those of the other variants")
            found.setdefault(variant, []).append(measures(pools, options.min_gap))
    assert first is not None, "no runs"
    folders = next(iter(runs.values()))
    seeds = tuple(read_run(folder)[0].seed for folder in folders)
    chosen = _drawn(len(first), scenes)
    kept = {name: [_at(one, chosen) for one in some] for name, some in found.items()}
    logs = tuple(first.log_names[index] for index in chosen)
    data = _describe(first, folders[0], seeds, options.split, len(chosen), len(set(logs)))
    return VariantScores(kept, seeds, logs, data, options.draws)


def pools_of_variant(run: Path, split: str | None, control: Path | None = None) -> ScoredPools:
    """Pools of a run's last planner: of its own plans, or of those of another run, which it then scores."""
    if control is None:
        return open_pools(run, split=split, weights="last")
    source = PlannerSource.find(run, split=split, weights="last")
    out = RunFolder(run).all_pools / f"{split_name(source.split)}-plans-of-{control.name}"
    plans = read_plans(pool_folder(control, split=split, weights="last"))
    made = make_pools(source, out, states="none", plans=plans, plans_from=control.name, show_progress=True)
    return ScoredPools.open(made.folder)


def _drawn(count: int, scenes: int | None) -> NDArray[np.int64]:
    """Indices of the scenes that are compared, in order."""
    if scenes is None or scenes >= count:
        return np.arange(count)
    return np.sort(np.random.default_rng(SCENE_SEED).permutation(count)[:scenes])


def _at(measures: Measures, indices: NDArray[np.int64]) -> Measures:
    return {name: Measure(one.upper[indices], one.lower[indices]) for name, one in measures.items()}


def _describe(pools: ScoredPools, run: Path, seeds: Sequence[int], split: str | None, frames: int, logs: int) -> str:
    config, data = read_run(run, split)
    scenes = f"{config.scenes:,} scenes" if config.scenes else "all scenes"
    few = "seed" if len(seeds) == 1 else "seeds"
    epochs = "1 epoch" if config.epochs == 1 else f"{config.epochs} epochs"
    return (
        f"Each variant trained on {scenes} of {data.split}, {epochs}, {config.batch} scenes a step, {few} "
        f"{', '.join(map(str, seeds))}; last epoch. {frames:,} frames of {logs} logs of {data.val_split}, "
        f"{pools.plans.shape[1]} plans each; tracker: {pools.about['lqr']}."
    )


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value
