"""How much a scene changes: what the frozen encoder sees in the front view now, against two seconds later."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from world4scorer.evaluation.pools.pool_files import is_pools
from world4scorer.evaluation.pools.scored import ScoredPools
from world4scorer.jobs.run_folder import RunFolder


def scene_change(source: Path, pools: ScoredPools, split: str | None = None) -> NDArray[np.float64] | None:
    """(S,) 1 - cosine of the two views' features for the frames of pools; NaN where a frame has no such future.

    `split` is that of the pools, the run's validation split unless given. None where `source` is not a training run:
    then no images are known. Features are made once, with the encoder of the run's own future targets where it is known
    (else that of the city), and kept in RUN/features.
    """
    if is_pools(source) or not RunFolder(source).exists:  # asked first, as what follows needs torch
        return None
    from world4scorer.planner.pretrained.image_encoder import CITY
    from world4scorer.planner.training.run_files import read_run
    from world4scorer.studies.shared.view_features import own_encoder, view_features

    config, data = read_run(source, split)
    encoder, pooling = own_encoder(config, data)
    now = view_features(source, data, encoder or CITY, pooling, "current", "val")
    later = view_features(source, data, encoder or CITY, pooling, "future", "val")
    (a, known), (b, has_future) = now.features(pools.tokens), later.features(pools.tokens)
    first, second = a.double().numpy(), b.double().numpy()
    sizes = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    there = known.numpy() & has_future.numpy() & (sizes > 0)
    return np.where(there, 1.0 - (first * second).sum(1) / np.where(there, sizes, 1.0), np.nan)
