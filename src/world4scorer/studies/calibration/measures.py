"""How well the predictions of a score head agree with outcomes, with intervals over logs.

Bins hold the same number of plans each, as far as equal predictions allow, which share a bin. Their edges are those of
all plans, in every draw of logs.

Shapes: S frames, N plans, K bins, D draws.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from world4scorer.evaluation.scores.bootstrap import Interval, LogBootstrap
from world4scorer.studies.calibration.heads import PROGRESS, Head
from world4scorer.studies.shared.pair_statistics import auc_of_counts
from world4scorer.studies.shared.row_correlation import ranks

Floats = NDArray[np.float64]

BINS: Final = 15
AUC_LEVELS: Final = 4096
"""Predictions are compared at so many levels; those of a level count as equal."""
LEAST_VARIANCE: Final = 1e-12
"""Below it a quantity counts as constant."""


class Bin(NamedTuple):
    """A point of a reliability diagram."""

    plans: int
    prediction: float
    """Mean of the bin."""
    outcome: Interval
    """Mean of the bin."""


class HeadMeasures(NamedTuple):
    """What is measured of a head."""

    plans: int
    """How many have a label."""
    prediction: Interval
    """Mean."""
    outcome: Interval
    """Mean."""
    excess: Interval
    """Prediction minus outcome."""
    ece: Interval
    """Expected calibration error: mean distance of prediction and outcome over bins, weighted by plans."""
    brier: Interval
    """Mean squared difference."""
    log_loss: Interval
    """Mean binary cross-entropy [nat]; with soft labels (EP) its least value is above 0."""
    ranking: Interval
    """AUC over all plans; of EP the correlation over safe plans."""
    ranking_within: Interval
    """AUC over pairs of plans of the same frame; of EP the mean correlation over the safe plans of a frame."""
    bins: tuple[Bin, ...]


def measure(bootstrap: LogBootstrap, head: Head) -> HeadMeasures:
    """Measure a head over all plans of all frames."""
    valid, predictions = head.valid, head.predictions
    labels = np.where(valid, head.labels, 0.0)
    count = valid.sum(1)

    def mean(values: Floats) -> Interval:
        return bootstrap.ratio(np.where(valid, values, 0.0).sum(1), count)

    sums = bin_sums(bootstrap, head)
    ranking, within = _correlations(bootstrap, head) if head.name == PROGRESS else _aucs(bootstrap, head)
    return HeadMeasures(
        plans=int(count.sum()),
        prediction=mean(predictions),
        outcome=mean(labels),
        excess=mean(predictions - labels),
        ece=bootstrap.of_logs(lambda drawn: ece_of_draws(drawn, sums)),
        brier=mean((predictions - labels) ** 2),
        log_loss=bootstrap.ratio(cross_entropy(head), count),
        ranking=ranking,
        ranking_within=within,
        bins=reliability(bootstrap, sums),
    )


def cross_entropy(head: Head) -> Floats:
    """(S,) sum of the binary cross-entropy [nat] over the plans of a frame that have a label."""
    labels = np.where(head.valid, head.labels, 0.0)
    values = np.logaddexp(0.0, head.logits) - labels * head.logits
    return np.asarray(np.where(head.valid, values, 0.0).sum(1))


def bin_sums(bootstrap: LogBootstrap, head: Head, bins: int = BINS) -> Floats:
    """(logs, K, 3) number of plans, sum of predictions and sum of labels of each log and bin."""
    valid = head.valid
    index = _log_of_plans(bootstrap, valid) * bins + equal_count_bins(head.logits[valid], bins)
    columns = (np.ones(len(index)), head.predictions[valid], head.labels[valid])
    sums = [np.bincount(index, values, bootstrap.logs * bins) for values in columns]
    return np.stack(sums, axis=-1).reshape(bootstrap.logs, bins, len(columns)).astype(np.float64)


def equal_count_bins(values: NDArray[Any], bins: int) -> NDArray[np.int64]:
    """Bin of each value (M,), ascending; equal values share a bin."""
    if not len(values):
        return np.zeros(0, np.int64)
    last = np.maximum(np.arange(1, bins) * len(values) // bins - 1, 0)
    return np.searchsorted(np.sort(values)[last], values, "left")


def ece_of_draws(drawn: Floats, sums: Floats) -> Floats:
    """(D,) expected calibration error when logs count `drawn` (D, logs) times."""
    count, predictions, labels = np.moveaxis(np.tensordot(drawn, sums, 1), -1, 0)
    return _divided(np.abs(predictions - labels).sum(1), count.sum(1))


def reliability(bootstrap: LogBootstrap, sums: Floats) -> tuple[Bin, ...]:
    """Points of the reliability diagram, without empty bins."""
    known = sums[:, sums[..., 0].sum(0) > 0]

    def outcomes(drawn: Floats) -> Floats:
        count, _, labels = np.moveaxis(np.tensordot(drawn, known, 1), -1, 0)
        return _divided(labels, count)

    count, predictions, _ = known.sum(0).T
    found = bootstrap.each_of_logs(outcomes) if len(count) else ()
    return tuple(
        Bin(int(plans), float(total / plans), outcome)
        for plans, total, outcome in zip(count, predictions, found, strict=True)
    )


def _log_of_plans(bootstrap: LogBootstrap, asked: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Log of each plan of a selection (S, N)."""
    return np.broadcast_to(bootstrap.log[:, None], asked.shape)[asked]


def _aucs(bootstrap: LogBootstrap, head: Head) -> tuple[Interval, Interval]:
    valid = head.valid
    index = _log_of_plans(bootstrap, valid) * AUC_LEVELS + equal_count_bins(head.logits[valid], AUC_LEVELS)
    shape, passes = (bootstrap.logs, AUC_LEVELS), head.labels[valid] == 1
    higher, lower = (
        np.bincount(index[part], minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)
        for part in (passes, ~passes)
    )
    # Plans without a label rank above all others, so that they do not move them.
    place = ranks(np.where(valid, head.logits, np.inf))
    passing = valid & (head.labels == 1)
    first, second = passing.sum(1), (valid & ~passing).sum(1)
    wins = np.where(passing, place, 0.0).sum(1) - first * (first + 1) / 2
    return auc_of_counts(bootstrap, higher, lower), bootstrap.ratio(wins, first * second)


def _correlations(bootstrap: LogBootstrap, head: Head) -> tuple[Interval, Interval]:
    asked, predictions = head.safe & head.valid, head.predictions
    labels = np.where(asked, head.labels, 0.0)
    values = (np.ones_like(labels), predictions, labels, predictions**2, labels**2, predictions * labels)
    moments = np.stack([np.where(asked, value, 0.0).sum(1) for value in values], axis=1)
    by_log = bootstrap.sums(moments)
    return bootstrap.of_logs(lambda drawn: _pearson(drawn @ by_log)), bootstrap.mean(_pearson(moments))


def _pearson(moments: Floats) -> Floats:
    """(D,) correlation of x and y from count, sums of x, y, xx, yy, xy (D, 6); NaN where one is constant."""
    count, x, y, xx, yy, xy = moments.T
    mean_x, mean_y = _divided(x, count), _divided(y, count)
    spread_x, spread_y = _divided(xx, count) - mean_x**2, _divided(yy, count) - mean_y**2
    varied = (spread_x > LEAST_VARIANCE) & (spread_y > LEAST_VARIANCE)
    size = np.sqrt(np.where(varied, spread_x * spread_y, 1.0))
    return np.where(varied, (_divided(xy, count) - mean_x * mean_y) / size, np.nan)


def _divided(upper: Floats, lower: Floats) -> Floats:
    """NaN where there is nothing to divide by."""
    return np.asarray(np.divide(upper, lower, out=np.full(upper.shape, np.nan), where=lower > 0))
