"""Pictures of readouts: the gallery of executed plans, and three queries at junctions.

Shapes: K scenes, H x W pixels; images are (3, H, W), colours from 0 to 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from numpy.typing import NDArray
from torch import Tensor

from world4scorer.pools.scored import ScoredPools
from world4scorer.store import SceneStore
from world4scorer.studies.readout_scenes import QUERIES
from world4scorer.view import style
from world4scorer.view.charts import chart
from world4scorer.view.frame import EgoFrame
from world4scorer.view.strokes import draw_way, look
from world4scorer.view.surroundings import draw_map, draw_tracks
from world4scorer.view.ways import draw_ego

GALLERY: Final = ("now", "CondGrid", "diffusion", "full grid", "observed +2 s")
"""Columns; the full grid is the observed future's, decoded."""
SIDE_BY_SIDE: Final = 2
"""Scenes in a row of the gallery."""
IMAGE: Final = 1.3
"""Inches across an image of the gallery."""
QUERY_IMAGE: Final = 1.55
"""Inches across an image beside queries."""
STROKES: Final = {
    "left": style.Stroke("#cc79a7", 3.4, casing=0.8),
    "straight": style.Stroke(style.EGO, 3.4, casing=0.8),
    "right": style.Stroke("#e69f00", 3.4, casing=0.8),
}
BEHIND: Final = 6.0
AHEAD: Final = 40.0
"""m of street in the picture of the queries."""


def gallery(images: Mapping[str, Tensor], titles: Sequence[str]) -> Figure:
    """Scenes in the order given; `images` (K, 3, H, W) by column of `GALLERY`, a title for each scene."""
    count = len(titles)
    rows = -(-count // SIDE_BY_SIDE)
    columns = SIDE_BY_SIDE * len(GALLERY) + SIDE_BY_SIDE - 1
    shape = next(iter(images.values())).shape
    tall = IMAGE * shape[2] / shape[3]
    ratios = ([1.0] * len(GALLERY) + [0.08]) * SIDE_BY_SIDE
    figure, axes = chart(
        columns,
        rows,
        size=(IMAGE * (SIDE_BY_SIDE * len(GALLERY) + 0.3), (tall + 0.2) * rows + 0.4),
        squeeze=False,
        width_ratios=ratios[:columns],
    )
    _close(figure)
    for axis in axes.ravel():
        _bare(axis)
        axis.set_axis_off()
    for scene in range(count):
        row, group = divmod(scene, SIDE_BY_SIDE)
        first = group * (len(GALLERY) + 1)
        for place, name in enumerate(GALLERY):
            axis = axes[row, first + place]
            axis.imshow(as_bytes(images[name][scene]), interpolation="lanczos")
            if row == 0:
                _above(axis, 0.5, 1.3, name, ha="center", fontsize=8.5)
        _above(axes[row, first], 0.0, 1.03, titles[scene], fontsize=7, color=style.FAINT)
    return figure


def query_picture(
    pools: ScoredPools,
    store: SceneStore,
    places: NDArray[np.int64],
    plans: NDArray[np.int64],
    images: Mapping[str, Tensor],
) -> Figure:
    """A row for each scene (K,): its three plans (K, 3) from above, the current view, three readouts, what was seen."""
    names = ("now", *QUERIES, "observed")
    words = ("now", "left", "straight (selected)", "right", "observed, executed plan, +2 s")
    shape = images["now"].shape
    tall = QUERY_IMAGE * shape[2] / shape[3]
    figure, axes = chart(
        len(names) + 1,
        len(places),
        size=(QUERY_IMAGE * (len(names) + 0.8), tall * len(places) + 0.75),
        squeeze=False,
        width_ratios=[0.72] + [1.0] * len(names),
    )
    _close(figure)
    for row, place in enumerate(places):
        _queries(axes[row, 0], pools, store, int(place), plans[row])
        for column, name in enumerate(names, 1):
            axis = axes[row, column]
            _bare(axis)
            axis.imshow(as_bytes(images[name][row]), interpolation="lanczos")
            if name in STROKES:
                for side in axis.spines.values():
                    side.set(visible=True, color=STROKES[name].colour, linewidth=2.4)
            if row == 0:
                axis.set_title(words[column - 1], fontsize=9.5)
    axes[0, 0].set_title("queries", fontsize=9.5)
    handles = [Line2D([], [], **look(stroke), label=name) for name, stroke in STROKES.items()]
    handles.append(Line2D([], [], **look(style.DRIVEN), label="executed"))
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    return figure


def _queries(axes: Axes, pools: ScoredPools, store: SceneStore, place: int, plans: NDArray[np.int64]) -> None:
    scene = store[pools.tokens[place]]
    frame = EgoFrame.of(scene)
    draw_map(axes, scene, frame)
    draw_tracks(axes, scene.tracks, frame)
    for name, plan in zip(QUERIES, plans, strict=True):
        draw_way(axes, _way(pools.plans[place, plan]), STROKES[name], 7.0)
    draw_way(axes, _way(pools.human_plan[place]), style.DRIVEN, 8.0)
    draw_ego(axes, frame, scene.ego_state)
    half = (BEHIND + AHEAD) * 0.3
    axes.set(xlim=(-BEHIND, AHEAD), ylim=(-half, half), aspect="equal", facecolor=style.GROUND)
    _bare(axes)


def _way(plan: NDArray[np.floating]) -> NDArray[np.floating]:
    return np.concatenate([np.zeros((1, 2)), plan[:, :2]])


def _close(figure: Figure) -> None:
    """Little room between images."""
    engine = figure.get_layout_engine()
    assert isinstance(engine, ConstrainedLayoutEngine)
    engine.set(w_pad=0.012, h_pad=0.012, hspace=0.0, wspace=0.0)


def _above(axes: Axes, x: float, y: float, words: str, **look: Any) -> None:
    """Words above an image that may be wider than it."""
    axes.text(x, y, words, transform=axes.transAxes, va="bottom", **look).set_in_layout(False)


def _bare(axes: Axes) -> None:
    axes.set(xticks=[], yticks=[])
    axes.grid(visible=False)
    for side in axes.spines.values():
        side.set_visible(False)


def as_bytes(image_3HW: Tensor) -> NDArray[np.uint8]:
    """An image (H, W, 3)."""
    return np.asarray((image_3HW.clamp(0, 1) * 255).round().byte().movedim(0, -1).numpy())
