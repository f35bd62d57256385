"""From a judgement to the columns of a version: progress relative to the reference, products and weighted sums.

Shapes: M metrics, L rollouts, N plans, the first of them.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from world4scorer.engine.kernels import kernel
from world4scorer.engine.outcomes.judge import COMFORT, DAC, DDC, LK, NC, PROGRESS, TLC, TTC
from world4scorer.engine.outcomes.progress import MIN_REFERENCE_PROGRESS
from world4scorer.engine.outcomes.results import V2_COLUMNS, V2_WEIGHTS

FILTERED: Final = len(V2_COLUMNS) - 2
"""Columns that the human filter applies to."""
EP_WEIGHT: Final = V2_WEIGHTS["EP"]
TTC_WEIGHT: Final = V2_WEIGHTS["TTC"]
LK_WEIGHT: Final = V2_WEIGHTS["LK"]
HC_WEIGHT: Final = V2_WEIGHTS["HC"]
WEIGHT_SUM: Final = EP_WEIGHT + TTC_WEIGHT + LK_WEIGHT + HC_WEIGHT


@kernel
def table_v1(values, plans, reference):
    """EP (N,) and PDMS (N,) of values (M, L), against the reference's progress times its NC * DAC [m]."""
    ep, score = np.empty(plans), np.empty(plans)
    for n in range(plans):
        product = values[NC, n] * values[DAC, n]
        raw = values[PROGRESS, n] * product
        best = max(raw, reference)
        if best > MIN_REFERENCE_PROGRESS:
            ep[n] = raw / best
        else:
            ep[n] = 1.0 if product > 0.0 else 0.0
        score[n] = product * (5 * values[TTC, n] + 5 * ep[n] + 2 * values[COMFORT, n]) / 12
    return ep, score


@kernel
def table_v2(values, plans, reference, human, fixed):
    """Tables (N, 10) before and after the human filter, of values (M, L), columns `V2_COLUMNS`.

    `reference` (1 or N,) is its progress times the product of its multipliers [m]; `human` (10,) its own row, or (0,)
    for no filter. `fixed` computes the product from the filtered values.
    """
    raw, filtered = np.empty((plans, len(V2_COLUMNS))), np.empty((plans, len(V2_COLUMNS)))
    for n in range(plans):
        product = values[NC, n] * values[DAC, n] * values[DDC, n] * values[TLC, n]
        progress = values[PROGRESS, n]
        own, best = progress * product, reference[min(n, reference.size - 1)]
        best = own if own > best else best  # NaN stays
        ep = min(max(progress / best, 0.0), 1.0) if best > MIN_REFERENCE_PROGRESS else 1.0
        ttc, lk, hc = values[TTC, n], values[LK, n], values[COMFORT, n]
        row = raw[n]
        row[0], row[1], row[2], row[3] = values[NC, n], values[DAC, n], values[DDC, n], values[TLC, n]
        row[4], row[5], row[6], row[7] = ep, ttc, lk, hc
        row[8] = product
        row[9] = product * (EP_WEIGHT * ep + TTC_WEIGHT * ttc + LK_WEIGHT * lk + HC_WEIGHT * hc) / WEIGHT_SUM
        kept = filtered[n]
        kept[:] = row
        if human.size:
            for column in range(FILTERED):
                if human[column] == 0.0:
                    kept[column] = 1.0
            if fixed:
                kept[8] = kept[0] * kept[1] * kept[2] * kept[3]
    return raw, filtered
