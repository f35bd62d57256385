"""Samples of a split whose scenes are prepared."""

from __future__ import annotations

import logging
from pathlib import Path

from world4scorer.datasets.navsim.splits import find_split
from world4scorer.datasets.prepare.samples import Samples
from world4scorer.datasets.store import SceneStore
from world4scorer.planner.model.config import EGO_CHOICES, EGO_NUMBERS

logger = logging.getLogger(__name__)


def split_samples(data: Path, split: str, store: Path, ego_numbers: int = EGO_NUMBERS) -> Samples:
    """Samples of a split that are in the store, with an ego status of `ego_numbers` values."""
    found = find_split(split, data)
    samples = samples_in_store(Samples.of_split(data, found, store), store)
    return samples if ego_numbers == EGO_NUMBERS else samples.with_route_points(ego_numbers == EGO_CHOICES[-1])


def samples_in_store(samples: Samples, store: Path) -> Samples:
    """The samples whose scenes the store holds."""
    known = SceneStore(store)
    indices = [index for index, token in enumerate(samples.tokens) if token in known]
    if not indices:
        raise ValueError(f"{store}: holds no scene of this split; prepare it with `w4s prepare --store {store}`")
    if len(indices) == len(samples):
        return samples
    left_out = len(samples) - len(indices)
    logger.warning("%s: %d of %d scenes are not prepared and left out", store, left_out, len(samples))
    return samples.at(indices)
