"""From query to image (the figure of C.2): what each stage makes of three queries of one scene, and of what was seen.

Scene, ego state and candidates are the same for all queries. A query's state z yields the feature g(z); the readout
network turns it and the current grid of patches into a future grid, which a frozen decoder draws. The last column
starts with the pooled feature of the observed future instead.

Shapes: D features of a state, E features of a view, P patches, V channels, H x W pixels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray
from torch import Tensor

from world4scorer.datasets.store import SceneStore
from world4scorer.drawing import style
from world4scorer.evaluation.pools.scored import ScoredPools
from world4scorer.planner.pretraining.patch_grid import PatchGrid
from world4scorer.studies.readouts.pictures import AHEAD, BEHIND, BESIDE, STROKES, Sheet, draw_queries
from world4scorer.studies.readouts.scenes import QUERIES

OBSERVED: Final = "observed +2 s"
COLUMNS: Final = (*QUERIES, OBSERVED)
WIDE: Final = 2.1
"""Inches across a column."""
STRIP: Final = 0.5
"""Inches up a row of features."""
STRIP_ROWS: Final = 4
"""Rows that features are shown in."""
GAP: Final = 0.34
"""Inches between rows, for their arrows."""
BESIDE_GAP: Final = 0.12
TOP: Final = 0.42
WORDS: Final = 1.5
"""Inches above the first row, and for the names of the rows."""
SPREAD: Final = 98.0
"""Percentile that colours reach up to."""


@dataclass(frozen=True, eq=False)
class QueryStages:
    """All stages of one scene; queries in the order of `QUERIES`, then what was observed."""

    states: Tensor
    """(3, D)"""
    features: Tensor
    """(4, E) of the length that networks expect"""
    now_grid: Tensor
    """(P, V)"""
    grids: Tensor
    """(4, P, V)"""
    now_image: Tensor
    """(3, H, W) as photographed"""
    images: Tensor
    """(4, 3, H, W) decoded"""


def pipeline_picture(
    stages: QueryStages,
    grid: PatchGrid,
    pools: ScoredPools,
    store: SceneStore,
    index: int,
    plans: NDArray[np.int64],
) -> Sheet:
    """Draw a scene, by its index in the pools, with the plans (3,) that were asked."""
    tall = WIDE * stages.images.shape[2] / stages.images.shape[3]
    first = WIDE + BESIDE_GAP
    heights = (STRIP, STRIP, tall, tall)
    tops = [TOP + sum(heights[:row]) + row * GAP for row in range(len(heights))]
    sheet = Sheet(WORDS + first + len(COLUMNS) * (WIDE + BESIDE_GAP), tops[-1] + tall + 0.1)
    above = min(WIDE * 2 * BESIDE / (BEHIND + AHEAD), tops[2] - TOP - GAP)
    sheet.words("scene, ego state, candidates", WORDS + WIDE / 2, TOP - 0.06, fontsize=9, ha="center")
    draw_queries(sheet.axes(WORDS, TOP, WIDE, above), pools, store, index, plans)
    colours = patch_colours(np.stack([stages.now_grid.numpy(), *stages.grids.numpy()]), grid)
    sheet.axes(WORDS, tops[2], WIDE, tall).imshow(colours[0], aspect="auto")
    sheet.image(stages.now_image, WORDS, tops[3], WIDE, tall)
    sheet.words("current view", WORDS + WIDE / 2, tops[3] - 0.05, fontsize=8, ha="center", color=style.FAINT)
    sheet.words("its patches", WORDS + WIDE / 2, tops[2] - 0.05, fontsize=8, ha="center", color=style.FAINT)
    for row, name in enumerate(stage_names(stages)):
        sheet.words(name, 0.1, tops[row] + heights[row] / 2 + 0.15, fontsize=8.5)
    for column, name in enumerate(COLUMNS):
        left = WORDS + first + column * (WIDE + BESIDE_GAP)
        shown = "straight (selected)" if name == "straight" else name
        sheet.words(shown, left + WIDE / 2, TOP - 0.06, fontsize=9, ha="center", weight="bold")
        if name != OBSERVED:
            _strip(sheet.axes(left, tops[0], WIDE, STRIP), stages.states, column)
        else:
            sheet.words("no state: the view is encoded", left + WIDE / 2, tops[0] + 0.35, fontsize=8, ha="center")
        _strip(sheet.axes(left, tops[1], WIDE, STRIP), stages.features, column)
        sheet.axes(left, tops[2], WIDE, tall).imshow(colours[1 + column], aspect="auto")
        axes = sheet.image(stages.images[column], left, tops[3], WIDE, tall)
        colour = STROKES[name].colour if name in STROKES else style.HUMAN
        for side in axes.spines.values():
            side.set(visible=True, color=colour, linewidth=2.4)
        for row in range(int(name == OBSERVED) + 1, len(heights)):
            sheet.arrow(left + WIDE / 2, tops[row] - GAP + 0.05, tops[row] - 0.05, colour)
    return sheet


def stage_names(stages: QueryStages) -> tuple[str, ...]:
    """Names of the rows, with the sizes of what they show."""
    patches, channels = stages.grids.shape[1:]
    return (
        f"state z\n{stages.states.shape[1]} numbers",
        f"feature g(z)\n{stages.features.shape[1]} numbers",
        f"readout network\n{patches} patches\nx {channels} channels\n(3 components\nas colours)",
        "frozen decoder\nimage",
    )


def patch_colours(grids_KPV: NDArray[np.floating], grid: PatchGrid) -> NDArray[np.float64]:
    """Images (K, rows, columns, 3): the three main components of all grids' patches as colours from 0 to 1."""
    flat = grids_KPV.reshape(-1, grids_KPV.shape[-1]).astype(np.float64)
    flat = flat - flat.mean(0)
    _, _, axes = np.linalg.svd(flat, full_matrices=False)
    along = flat @ axes[:3].T
    low, high = np.percentile(along, 100 - SPREAD, axis=0), np.percentile(along, SPREAD, axis=0)
    colours = np.clip((along - low) / np.maximum(high - low, 1e-9), 0, 1)
    return np.asarray(colours.reshape(len(grids_KPV), grid.rows, grid.columns, 3))


def _strip(axes: Axes, rows: Tensor, column: int) -> None:
    """Features of a column in a few rows, on the colours of all columns."""
    values = rows.float().numpy()
    most = float(np.percentile(np.abs(values), SPREAD)) or 1.0
    padded = np.full(-(-values.shape[1] // STRIP_ROWS) * STRIP_ROWS, np.nan)
    padded[: values.shape[1]] = values[column]
    axes.imshow(padded.reshape(STRIP_ROWS, -1), cmap="PuOr", vmin=-most, vmax=most, aspect="auto")
