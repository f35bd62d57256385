"""The views of a run's training split, or of another, as a frozen encoder sees them, now and two seconds later.

Shapes: N frames of the split that have a future, E features.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from world4scorer.datasets.store import SceneStore
from world4scorer.jobs.data_folder import split_name
from world4scorer.planner.pretrained.image_encoder import CITY
from world4scorer.planner.training.run_files import read_run
from world4scorer.studies.shared.view_features import Part, own_encoder, view_features

Floats = NDArray[np.float64]
Form = Literal["raw", "centred"]

LEAST_FUTURES: Final = 2
"""Frames, so that each can be paired with another."""


@dataclass(frozen=True, eq=False)
class Views:
    """What the encoder sees in the frames that have a future."""

    current: Floats
    """(N, E)"""
    future: Floats
    """(N, E)"""
    log_names: tuple[str, ...]
    time_s: Floats
    """(N,)"""
    described: str

    def __len__(self) -> int:
        return len(self.current)

    def pair(self, form: Form) -> tuple[Floats, Floats]:
        """Both sets of features; centred, each less its own mean over all frames."""
        if form == "raw":
            return self.current, self.future
        return self.current - self.current.mean(0), self.future - self.future.mean(0)


def open_views(run: Path, encoder: str | None = None, split: str | None = None) -> Views:
    """Features of all frames of the training split, or of another, that have a future; made where they are missing."""
    config, data = read_run(run, split)
    part: Part = "train" if split is None else "val"
    name, folder = (data.split, data.store) if split is None else (data.val_split, data.val_store)
    own, pooling = own_encoder(config, data)
    if encoder is None and own is None and data.targets is not None and data.targets.is_file():
        raise ValueError(f"{data.targets}: made with an encoder that is not known here; name it with --encoder")
    seen_by = encoder or own or CITY
    now = view_features(run, data, seen_by, pooling, "current", part)
    later = view_features(run, data, seen_by, pooling, "future", part)
    store = SceneStore(folder)
    scenes = store.tokens
    (current, known), (future, there) = (one.raw().features(scenes) for one in (now, later))
    rows = np.flatnonzero((known & there).numpy())
    if len(rows) < LEAST_FUTURES:
        raise ValueError(f"{folder}: {len(rows)} of its scenes have a future view; at least {LEAST_FUTURES} are needed")
    tokens = [scenes[row] for row in rows]
    logs = tuple(store.log_of(token) for token in tokens)
    return Views(
        current.double().numpy()[rows],
        future.double().numpy()[rows],
        logs,
        np.array([store.time_us(token) for token in tokens]) / 1e6,
        f"{len(rows):,} of {len(scenes):,} frames of {split_name(name)} have a view two seconds later, in "
        f"{len(set(logs))} logs; encoder: {Path(seen_by).name}, {now.width} features (pooling: {pooling}).",
    )
