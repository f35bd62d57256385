"""What scaled logits change: the calibration of each head, and the plans that are chosen.

Shapes: S frames.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.selection.pool_metrics import pool_metrics
from world4scorer.engine.selection.utility import utility_of_logits
from world4scorer.evaluation.pools.choices import framewise, inertial
from world4scorer.evaluation.pools.scored import ScoredPools
from world4scorer.evaluation.scores.bootstrap import Interval, LogBootstrap
from world4scorer.studies.calibration.heads import Head
from world4scorer.studies.calibration.measures import Bin, bin_sums, cross_entropy, ece_of_draws, reliability
from world4scorer.studies.calibration.temperature import Scaling, cross_fit

Floats = NDArray[np.float64]

PDMS: Final = "PDMS"
ORDERING: Final = "ordering"
EPDMS: Final = "EPDMS"
RERANKED: Final = "EPDMS, re-ranked"
SCORES: Final = (PDMS, ORDERING, EPDMS, RERANKED)


class Change(NamedTuple):
    """A number before and after."""

    before: Interval
    after: Interval
    change: Interval
    """Paired by frame."""


@dataclass(frozen=True, eq=False)
class Scaled:
    """What one kind of scaling leads to."""

    scalings: Mapping[str, tuple[Scaling, ...]]
    """By head, for each half of the logs."""
    heads: Mapping[str, Mapping[str, Change]]
    """By head: `ece` and `log_loss`."""
    bins: Mapping[str, tuple[Bin, ...]]
    """By head: the reliability diagram with scaled logits."""
    selection: Mapping[str, Change]
    """By score."""
    changed: float
    """Share of v1 choices that are other ones."""


def scale(
    bootstrap: LogBootstrap,
    pools: ScoredPools,
    heads: Mapping[str, Head],
    half: NDArray[np.int64],
    with_bias: bool = False,
    min_gap: float = 0.0,
) -> Scaled:
    """Scale all heads by what is fitted on the other half (S,) of the logs."""
    fitted = cross_fit(heads, half, with_bias)
    (old, old_chosen), (new, new_chosen) = (_scores(pools, of, min_gap) for of in (heads, fitted.heads))
    return Scaled(
        scalings=fitted.scalings,
        heads={name: _head_changes(bootstrap, heads[name], head) for name, head in fitted.heads.items()},
        bins={name: reliability(bootstrap, bin_sums(bootstrap, head)) for name, head in fitted.heads.items()},
        selection={name: _ratio_change(bootstrap, old[name], new[name]) for name in SCORES},
        changed=float((old_chosen != new_chosen).mean()),
    )


def _head_changes(bootstrap: LogBootstrap, before: Head, after: Head) -> dict[str, Change]:
    old, new = bin_sums(bootstrap, before), bin_sums(bootstrap, after)
    count = before.valid.sum(1)
    return {
        "ece": Change(
            bootstrap.of_logs(lambda drawn: ece_of_draws(drawn, old)),
            bootstrap.of_logs(lambda drawn: ece_of_draws(drawn, new)),
            bootstrap.of_logs(lambda drawn: ece_of_draws(drawn, new) - ece_of_draws(drawn, old)),
        ),
        "log_loss": _ratio_change(bootstrap, (cross_entropy(before), count), (cross_entropy(after), count)),
    }


def _ratio_change(bootstrap: LogBootstrap, before: tuple[Any, Any], after: tuple[Any, Any]) -> Change:
    return Change(bootstrap.ratio(*before), bootstrap.ratio(*after), bootstrap.ratio_change(after, before))


def _scores(
    pools: ScoredPools, heads: Mapping[str, Head], min_gap: float
) -> tuple[dict[str, tuple[Floats, Floats]], NDArray[np.int64]]:
    """Scores as ratios of sums over frames (S,), and the v1 choices (S,)."""
    logits = np.stack([head.logits for head in heads.values()], axis=-1)
    first, second = utility_of_logits(logits, "v1"), utility_of_logits(logits, "v2")
    found, ones = pool_metrics(first, pools.pdms, min_gap), np.ones(len(pools))
    return {
        PDMS: (found.selected, ones),
        ORDERING: (found.ordered.astype(np.float64), found.pairs.astype(np.float64)),
        EPDMS: (pools.epdms(framewise(second)), ones),
        RERANKED: (pools.epdms(inertial(pools, second)), ones),
    }, framewise(first)
