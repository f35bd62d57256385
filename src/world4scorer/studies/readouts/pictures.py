"""Pictures of readouts: the gallery of executed plans, and three queries at junctions.

Shapes: K scenes, H x W pixels; images are (3, H, W), colours from 0 to 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch
from numpy.typing import NDArray
from torch import Tensor

from world4scorer.datasets.store import SceneStore
from world4scorer.drawing import style
from world4scorer.drawing.ego_frame import EgoFrame
from world4scorer.drawing.strokes import draw_line, plot_style
from world4scorer.drawing.surroundings import draw_map, draw_tracks
from world4scorer.drawing.trajectories import draw_ego
from world4scorer.evaluation.pools.scored import ScoredPools
from world4scorer.studies.readouts.scenes import QUERIES

GALLERY_COLUMNS: Final = ("now", "CondGrid", "diffusion", "full grid", "observed +2 s")
"""Columns; the full grid is the observed future's, decoded."""
SIDE_BY_SIDE: Final = 3
"""Scenes in a row of the gallery."""
IMAGE: Final = 1.18
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
BESIDE: Final = 14.0
"""m of street in the picture of the queries, behind, ahead and to either side."""
GAP: Final = 0.02
TITLE: Final = 0.18
HEADER: Final = 0.22
"""Inches between images, for a line of text above each, for the names of columns."""


def gallery(images: Mapping[str, Tensor], titles: Sequence[str]) -> Figure:
    """Scenes in the order given; `images` (K, 3, H, W) by column of `GALLERY_COLUMNS`, a title for each scene."""
    shape = images[GALLERY_COLUMNS[0]].shape
    wide, tall = IMAGE, IMAGE * shape[2] / shape[3]
    group, line = len(GALLERY_COLUMNS) * (wide + GAP) + 5 * GAP, tall + TITLE
    rows = -(-len(titles) // SIDE_BY_SIDE)
    sheet = Sheet(SIDE_BY_SIDE * group - 6 * GAP, rows * line + HEADER)
    for scene, title in enumerate(titles):
        row, index = divmod(scene, SIDE_BY_SIDE)
        left, top = index * group, HEADER + row * line + TITLE
        for column, name in enumerate(GALLERY_COLUMNS):
            x = left + column * (wide + GAP)
            sheet.image(images[name][scene], x, top, wide, tall)
            if row == 0:
                sheet.words(name, x + wide / 2, HEADER - 0.04, fontsize=8.5, ha="center")
        sheet.words(title, left, top - 0.03, fontsize=6.8, color=style.FAINT)
    return sheet.figure


def query_picture(
    pools: ScoredPools,
    store: SceneStore,
    indices: NDArray[np.int64],
    plans: NDArray[np.int64],
    images: Mapping[str, Tensor],
) -> Figure:
    """A row for each scene (K,): its three plans (K, 3) from above, the current view, three readouts, what was seen."""
    columns = {"now": "now", "left": "left", "straight": "straight (selected)", "right": "right",
               "observed": "observed +2 s"}  # fmt: skip
    shape = images["now"].shape
    wide, tall = QUERY_IMAGE, QUERY_IMAGE * shape[2] / shape[3]
    above = tall * (BEHIND + AHEAD) / (2 * BESIDE)
    gap = 2 * GAP
    sheet = Sheet(above + len(columns) * (wide + gap), len(indices) * (tall + gap) + HEADER + TITLE)
    sheet.words("queries", above / 2, HEADER - 0.06, fontsize=9, ha="center")
    for row, index in enumerate(indices):
        top = HEADER + row * (tall + gap)
        draw_queries(sheet.axes(0.0, top, above, tall), pools, store, int(index), plans[row])
        for column, (name, words) in enumerate(columns.items()):
            x = above + gap + column * (wide + gap)
            axes = sheet.image(images[name][row], x, top, wide, tall)
            if name in STROKES:
                for side in axes.spines.values():
                    side.set(visible=True, color=STROKES[name].colour, linewidth=2.4)
            if row == 0:
                sheet.words(words, x + wide / 2, HEADER - 0.06, fontsize=9, ha="center")
    handles = [Line2D([], [], **plot_style(stroke), label=name) for name, stroke in STROKES.items()]
    handles.append(Line2D([], [], **plot_style(style.DRIVEN), label="executed"))
    sheet.figure.legend(
        handles=handles, loc="lower center", ncols=4, frameon=False, fontsize=8, borderpad=0.0, borderaxespad=0.1
    )
    return sheet.figure


class Sheet:
    """A figure on which things are put by inches from the upper left corner; laying it out takes no time."""

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self.figure = Figure(figsize=(width, height), facecolor=style.PAPER)
        FigureCanvasAgg(self.figure)

    def axes(self, left: float, top: float, width: float, height: float) -> Axes:
        """Empty axes."""
        low = self.height - top - height
        axes = self.figure.add_axes((left / self.width, low / self.height, width / self.width, height / self.height))
        _bare(axes)
        return axes

    def image(self, image_3HW: Tensor, left: float, top: float, width: float, height: float) -> Axes:
        """Axes filled by an image."""
        axes = self.axes(left, top, width, height)
        axes.imshow(as_bytes(image_3HW), interpolation="lanczos", aspect="auto")
        return axes

    def words(self, text: str, left: float, low: float, **plot_style: Any) -> None:
        """Words whose lower edge lies at `low`."""
        self.figure.text(left / self.width, 1.0 - low / self.height, text, va="bottom", **plot_style)

    def arrow(self, left: float, top: float, low: float, colour: str) -> None:
        """An arrow down."""
        ends = [(left / self.width, 1.0 - y / self.height) for y in (top, low)]
        self.figure.add_artist(
            FancyArrowPatch(*ends, transform=self.figure.transFigure, arrowstyle="-|>", mutation_scale=11, color=colour)
        )


def draw_queries(axes: Axes, pools: ScoredPools, store: SceneStore, index: int, plans: NDArray[np.int64]) -> None:
    """A scene from above with the plans (3,) that are asked, and the executed one."""
    scene = store[pools.tokens[index]]
    frame = EgoFrame.of(scene)
    draw_map(axes, scene, frame)
    draw_tracks(axes, scene.tracks, frame)
    for name, plan in zip(QUERIES, plans, strict=True):
        draw_line(axes, _way(pools.plans[index, plan]), STROKES[name], 7.0)
    draw_line(axes, _way(pools.human_plan[index]), style.DRIVEN, 8.0)
    draw_ego(axes, frame, scene.ego_state)
    axes.set(xlim=(-BEHIND, AHEAD), ylim=(-BESIDE, BESIDE), aspect="equal", facecolor=style.GROUND)
    _bare(axes)


def _way(plan: NDArray[np.floating]) -> NDArray[np.floating]:
    return np.concatenate([np.zeros((1, 2)), plan[:, :2]])


def _bare(axes: Axes) -> None:
    axes.set(xticks=[], yticks=[])
    axes.grid(visible=False)
    for side in axes.spines.values():
        side.set_visible(False)


def as_bytes(image_3HW: Tensor) -> NDArray[np.uint8]:
    """An image (H, W, 3)."""
    return np.asarray((image_3HW.clamp(0, 1) * 255).round().byte().movedim(0, -1).numpy())
