"""Intersection over union of predicted maps, by class: over all cells that a camera sees, and over near ones.

Predictions are counted in bins of probability, so that one pass serves all thresholds: they are chosen on training
frames and used on validation frames.

Shapes: R regions, K classes of the map, G bins, B frames, X x Y cells of the map.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from world4scorer.datasets.dense.labels import cell_centres
from world4scorer.datasets.dense.views_file import DenseViews
from world4scorer.planner.model.dense_encoder_config import MAP_CLASSES
from world4scorer.planner.pretraining.dense_losses import map_targets

REGIONS: Final = ("all", "near")
NEAR_AHEAD: Final = 32.0
"""Largest distance ahead of near cells [m]; none lies behind the rear axle."""
NEAR_ASIDE: Final = 16.0
"""Largest distance to the side of near cells [m]."""
BINS: Final = 40
BATCH: Final = 16
"""Frames at a time."""

Counts = NDArray[np.int64]
"""(R, K, G, 2) cells by predicted probability and whether the class is there."""


def spread_frames(views: DenseViews, most: int) -> list[int]:
    """Indices of at most so many frames, evenly taken."""
    return [int(frame) for frame in np.unique(np.linspace(0, len(views) - 1, min(most, len(views))).astype(int))]


def count_cells(
    logits: Callable[[Sequence[int]], Tensor], views: DenseViews, frames: Sequence[int], visible_XY: Tensor
) -> Counts:
    """Count the cells of frames; `logits` returns those of some frames (B, K, X, Y)."""
    near = torch.from_numpy(near_cells())
    counts = np.zeros((len(REGIONS), len(MAP_CLASSES), BINS, 2), np.int64)
    for chosen in batches_of(frames):
        bits = torch.from_numpy(np.stack([views.labels(frame).bits for frame in chosen]))
        targets, hidden = map_targets(bits)
        bins = (logits(chosen).sigmoid() * BINS).long().clamp(max=BINS - 1)
        first = torch.arange(len(MAP_CLASSES))[:, None, None] * (2 * BINS)
        code = first + 2 * bins + targets.long()
        used = visible_XY & ~hidden
        for region, cells in enumerate((used & ~near, used & near)):
            kept = code.movedim(1, -1)[cells]
            found = torch.bincount(kept.flatten(), minlength=counts[region].size)
            counts[region] += found.view(counts[region].shape).numpy()
    counts[0] += counts[1]
    return counts


def near_cells() -> NDArray[np.bool_]:
    """(X, Y) which cells are near."""
    centres = cell_centres()
    x, y = centres[..., 0], centres[..., 1]
    return np.asarray((x > 0) & (x < NEAR_AHEAD) & (np.abs(y) < NEAR_ASIDE))


def iou_of(counts: Counts, thresholds: NDArray[np.int64]) -> NDArray[np.float64]:
    """(R, K) by region and class; thresholds (K,) are the first bins that count as predicted. NaN if never there."""
    found = np.arange(BINS)[None, :, None] >= thresholds[:, None, None]
    hits = (counts * found)[..., 1].sum(-1)
    union = counts[..., 1].sum(-1) + (counts * found)[..., 0].sum(-1)
    return np.asarray(np.divide(hits, union, out=np.full(hits.shape, np.nan), where=counts[..., 1].sum(-1) > 0))


def best_thresholds(counts: Counts) -> NDArray[np.int64]:
    """(K,) bins with the largest IoU over all cells."""
    each = [iou_of(counts, np.full(len(MAP_CLASSES), bin_))[0] for bin_ in range(1, BINS)]
    return np.asarray(1 + np.nan_to_num(np.array(each)).argmax(0))


def batches_of(frames: Sequence[int]) -> Iterator[Sequence[int]]:
    """A few frames at a time."""
    for start in range(0, len(frames), BATCH):
        yield frames[start : start + BATCH]
