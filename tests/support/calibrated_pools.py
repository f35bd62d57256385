"""Scored pools whose outcomes are drawn with known probabilities, and logits off by a known temperature and bias."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.support.random_pools import random_pools
from world4scorer.engine.outcomes.results import V1_COLUMNS
from world4scorer.engine.selection.utility import OUTCOMES
from world4scorer.evaluation.pools.scored import ScoredPools


def calibrated_pools(
    seed: int = 0, logs: int = 6, frames: int = 20, plans: int = 64, temperature: float = 1.0, bias: float = 0.0
) -> ScoredPools:
    """An outcome is 1 with probability sigmoid(z), progress is sigmoid(z) itself.

    The logits are temperature (z - bias): divided by the temperature, plus the bias, they are calibrated.
    """
    pools = random_pools(seed, logs, frames, plans)
    rng = np.random.default_rng(seed)
    true = rng.normal(0.5, 1.5, (len(pools), plans, len(OUTCOMES)))
    probability = 1 / (1 + np.exp(-true))
    outcomes = (rng.random(true.shape) < probability).astype(np.float64)
    outcomes[..., OUTCOMES.index("EP")] = probability[..., OUTCOMES.index("EP")]
    v1 = np.empty((len(pools), plans, len(V1_COLUMNS)))
    for index, name in enumerate(OUTCOMES):
        v1[..., V1_COLUMNS.index(name)] = outcomes[..., index]
    nc, dac, _, ttc, ep, comfort = np.moveaxis(outcomes, -1, 0)
    v1[..., V1_COLUMNS.index("PDMS")] = nc * dac * (5 * ep + 5 * ttc + 2 * comfort) / 12
    return replace(pools, v1=v1, logits=temperature * (true - bias))
