"""Layout of a figure: bird's-eye view, text panel beside it, cameras above."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from world4scorer.drawing import style

Rectangle = tuple[float, float, float, float]
"""Left, bottom, width, height, as fractions of the figure."""

PANEL_WIDTH: Final = 2.44
"""Width of the panel [inches]."""
CAMERA_GAP: Final = 0.06
"""Gap between cameras, and below them [inches]."""
CAMERA_WIDTH: Final = 8.6
"""Width of a figure with cameras [inches]: narrower, so that its text is larger when scaled down."""
VIEW_HEIGHT: Final = 4.7
"""Height of the view below cameras [inches]."""


@dataclass(frozen=True)
class FigureLayout:
    """A figure's size and its parts."""

    size: tuple[float, float]
    """Width, height [inches]."""
    view: Rectangle
    panel: Rectangle | None
    """None for thumbnails."""

    @classmethod
    def of(cls, width: float, height: float, above: float = 0.0) -> FigureLayout:
        """A view with the panel beside it, and `above` inches above both [inches]."""
        whole = height + above
        share = height / whole
        left = 1.0 - PANEL_WIDTH / width
        view = (0.0, 0.0, left - 0.012, share)
        return cls((width, whole), view, (left, 0.02 * share, 1.0 - left - 0.005, 0.96 * share))

    @property
    def view_aspect(self) -> float:
        """Width / height of the view."""
        return self.size[0] * self.view[2] / (self.size[1] * self.view[3])


STANDARD_LAYOUT: Final = FigureLayout.of(10.4, 5.2)
THUMBNAIL_LAYOUT: Final = FigureLayout((3.2, 2.4), (0.0, 0.0, 1.0, 1.0), None)


def with_cameras(cameras: Mapping[str, NDArray[Any]]) -> FigureLayout:
    """A layout with a row of images above it."""
    return FigureLayout.of(CAMERA_WIDTH, VIEW_HEIGHT, _row_height(cameras) + CAMERA_GAP)


def draw_cameras(figure: Figure, layout: FigureLayout, cameras: Mapping[str, NDArray[Any]]) -> None:
    """Draw images side by side at the top, each with its name."""
    width, height = layout.size
    each = _camera_width(cameras)
    tall = _row_height(cameras) / height
    for column, (name, image) in enumerate(cameras.items()):
        axes = figure.add_axes((column * (each + CAMERA_GAP) / width, 1.0 - tall, each / width, tall))
        axes.imshow(image, aspect="auto", interpolation="lanczos")
        axes.axis("off")
        label = {"facecolor": style.INK, "alpha": 0.6, "edgecolor": "none", "boxstyle": "square,pad=0.3"}
        axes.text(0.025, 0.045, name, transform=axes.transAxes, fontsize=7.5, color=style.PAPER, bbox=label)


def _camera_width(cameras: Mapping[str, NDArray[Any]]) -> float:
    return (CAMERA_WIDTH - CAMERA_GAP * (len(cameras) - 1)) / len(cameras)


def _row_height(cameras: Mapping[str, NDArray[Any]]) -> float:
    flattest = float(np.min([image.shape[0] / image.shape[1] for image in cameras.values()]))
    return _camera_width(cameras) * flattest
