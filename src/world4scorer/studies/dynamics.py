"""How much a scene changes: what the frozen encoder sees in the front view now, against two seconds later."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.pools.open import is_pools, is_run_folder
from world4scorer.pools.scored import ScoredPools

if TYPE_CHECKING:
    from world4scorer.training.config import TrainConfig
    from world4scorer.training.future_targets import Frame, FutureTargets
    from world4scorer.training.run import TrainData

FEATURES: Final = "features"
"""Folder in a run for what the encoder sees in scenes."""


def scene_change(source: Path, pools: ScoredPools) -> NDArray[np.float64] | None:
    """(S,) 1 - cosine of the two views' features for the frames of pools; NaN where a frame has no such future.

    None where `source` is not a training run: then no images are known. Features are made once, with the encoder of
    the run's own future targets where it can be told (else that of the city), and kept in RUN/features.
    """
    if is_pools(source) or not is_run_folder(source):  # asked first, as what follows needs torch
        return None
    from world4scorer.training.run_files import read_run

    config, data = read_run(source)
    encoder, pooling = _encoder(config, data)
    now, later = (_features(source, data, encoder, pooling, frame) for frame in ("current", "future"))
    (a, known), (b, has_future) = now.features(pools.tokens), later.features(pools.tokens)
    first, second = a.double().numpy(), b.double().numpy()
    sizes = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    there = known.numpy() & has_future.numpy() & (sizes > 0)
    return np.where(there, 1.0 - (first * second).sum(1) / np.where(there, sizes, 1.0), np.nan)


def _encoder(config: TrainConfig, data: TrainData) -> tuple[str, Any]:
    """The encoder and the pooling of the run's targets."""
    from world4scorer.model.image_encoder import CITY
    from world4scorer.studies.target_encoder import target_encoder
    from world4scorer.training.future_targets import FutureTargets

    if data.targets is None or not data.targets.is_file():
        return CITY, "patches"
    return target_encoder(config, data.targets) or CITY, FutureTargets.open(data.targets).notes.pooling


def _features(run: Path, data: TrainData, encoder: str, pooling: Any, frame: Frame) -> FutureTargets:
    from world4scorer.model.image_encoder import load_encoder
    from world4scorer.training.future_targets import FutureTargets
    from world4scorer.training.make_targets import make_targets

    path = run / FEATURES / f"{data.val_split}-{frame}.arrow"
    if path.is_file():
        found = FutureTargets.open(path)
        if (found.notes.encoder, found.notes.pooling) == (load_encoder(encoder).digest(), pooling):
            return found
    root = data.val_data or data.data
    make_targets(
        root, data.val_split, encoder, path, frame=frame, pooling=pooling, store=data.val_store, show_progress=True
    )
    return FutureTargets.open(path)
