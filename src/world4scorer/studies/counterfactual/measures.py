"""What is measured of predicted futures, scene by scene, as ratios of sums that logs can be drawn from.

Shapes: S scenes, K plans of each, E features.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.studies.counterfactual.branched_scenes import BranchedScenes
from world4scorer.studies.shared.future_match import (
    cosines,
    directions,
    pairs_in_order,
    retrieval,
    unit,
    within_cosine,
    within_errors,
)
from world4scorer.studies.shared.variant_scores import Measure, Measures, mean

Floats = NDArray[np.float64]

FORMS: Final = ("raw", "mean off")
OWN: Final = "own future"
LOGGED: Final = "logged future"
NOW: Final = "view now"
OTHERS: Final = "others' futures"
AGAINST: Final = (OWN, LOGGED, NOW, OTHERS)
FIRST: Final = "own first"
RANK: Final = "mean rank"
RECIPROCAL: Final = "reciprocal rank"
PAIRWISE: Final = "pairs in order"
RETRIEVAL_MEASURES: Final = (FIRST, RECIPROCAL, RANK, PAIRWISE)
CENTRED: Final = "scene's mean off"
"""Retrieval with the mean of the scene's predictions, and that of its true futures, taken off."""
WITHIN_COSINE: Final = "cosine within scenes"
WITHIN_R2: Final = "R2 within scenes"
DISTANCES: Final = {"under 2 m": (0.0, 2.0), "2 to 6 m": (2.0, 6.0), "6 m and more": (6.0, np.inf)}
"""Between a plan and the logged one after two seconds."""
ON_ROAD: Final = "on the road"
"""Plans that keep to the drivable area."""
PAIRWISE_ON_ROAD: Final = f"{PAIRWISE}, {ON_ROAD}"
WITHIN_R2_ON_ROAD: Final = f"{WITHIN_R2}, {ON_ROAD}"
SPREADS: Final = ("alike", "middling", "different")
"""Thirds of the scenes by how much the true futures of their plans differ."""


def measures(scenes: BranchedScenes, predicted: Floats) -> Measures:
    """Everything that is measured of predictions (S, K, E)."""
    found: dict[str, Measure] = {}
    for form in FORMS:
        found |= _of_form(scenes, predicted, form)
    found |= _finds(cosines(directions(predicted), directions(scenes.true)), CENTRED)
    found[WITHIN_COSINE] = _mean(within_cosine(predicted, scenes.true))
    for name, there in ((WITHIN_R2, None), (WITHIN_R2_ON_ROAD, scenes.on_road)):
        errors, variation = within_errors(predicted, scenes.true, there)
        found[name] = Measure(variation - errors, variation)
    return found


def spread(scenes: BranchedScenes) -> Floats:
    """(S,) how much the true futures of a scene's plans differ: 1 - mean cosine of two of them."""
    alike = cosines(scenes.true, scenes.true)
    count = alike.shape[1]
    return np.asarray(1.0 - (alike.sum((1, 2)) - count) / (count * max(count - 1, 1)))


def _of_form(scenes: BranchedScenes, predicted: Floats, form: str) -> dict[str, Measure]:
    shift = scenes.mean if form == "mean off" else 0.0
    centred, true = unit(unit(predicted) - shift), unit(scenes.true - shift)
    similarity = cosines(centred, true)
    own = np.diagonal(similarity, axis1=1, axis2=2)
    logged, now = ((centred * unit(one - shift)[:, None]).sum(-1) for one in (scenes.logged, scenes.now))
    others = (similarity.sum(2) - own) / max(similarity.shape[2] - 1, 1)
    found = {f"{form}: {name}": _mean(value) for name, value in zip(AGAINST, (own, logged, now, others), strict=True)}
    for name, (low, high) in DISTANCES.items():
        there = (scenes.distance >= low) & (scenes.distance < high)
        found[f"{form}: own minus logged, {name}"] = _part(own - logged, there)
    found[f"{form}: own minus logged, {ON_ROAD}"] = _part(own - logged, scenes.on_road)
    found[f"{form}: {PAIRWISE_ON_ROAD}"] = Measure(*pairs_in_order(similarity, scenes.on_road))
    found |= _finds(similarity, form)
    thirds = np.argsort(np.argsort(spread(scenes), kind="stable"), kind="stable") * len(SPREADS) // len(scenes)
    pairwise = retrieval(similarity).pairwise
    for third, name in enumerate(SPREADS):
        found[f"{form}: {PAIRWISE}, {name}"] = _part(pairwise, np.repeat(thirds[:, None] == third, own.shape[1], 1))
    return found


def _finds(similarity: Floats, form: str) -> dict[str, Measure]:
    got = retrieval(similarity)
    values = (got.first, got.reciprocal, got.rank, got.pairwise)
    return {f"{form}: {name}": _mean(value) for name, value in zip(RETRIEVAL_MEASURES, values, strict=True)}


def _mean(values: Floats) -> Measure:
    """Of plans (S, K); every scene has as many."""
    return mean(values.mean(1))


def _part(values: Floats, there: NDArray[np.bool_]) -> Measure:
    """The mean over some plans (S, K)."""
    return Measure(np.where(there, values, 0.0).sum(1), there.sum(1).astype(np.float64))
