"""Drawing in metres with the strokes of the style, and shapes of vehicles."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import ImageColor, ImageDraw

from world4scorer.drawing import style
from world4scorer.drawing.style import Stroke
from world4scorer.engine.scene.geometry import arc_length, box_corners
from world4scorer.engine.scene.vehicle import FRONT_OVERHANG, HALF_WIDTH, REAR_OVERHANG
from world4scorer.reporting.film.street_layers import PolygonLayer

Floats = NDArray[np.float64]

SUPERSAMPLING: Final = 3
"""Samples per pixel in each direction."""
PEN_HEIGHT: Final = 600
"""Reference image height for line widths in pixels."""
PER_POINT: Final = PEN_HEIGHT / style.FIGURE_POINTS
"""Pixels of the reference image per point of the style."""


def ego_corners(pose: Floats, origin: Floats) -> Floats:
    """(4, 2) of the ego at a global pose (3,), from an origin."""
    return box_corners(np.append(pose[:2] - origin, pose[2]), FRONT_OVERHANG, REAR_OVERHANG, HALF_WIDTH)


def heading_arrow(corners: Floats, begin: float, end: float, width: float) -> Floats:
    """(3, 2) arrow head between shares `begin` and `end` of the length from the front, `width` a share of the box's."""
    front, back = corners[[0, 3]].mean(axis=0), corners[[1, 2]].mean(axis=0)
    side = (corners[0] - corners[3]) * width / 2
    base, tip = front + (back - front) * begin, front + (back - front) * end
    return np.stack([tip, base + side, base - side])


class Canvas:
    """Draws points given in metres: forward is up, the ego stays in place."""

    def __init__(
        self,
        brush: ImageDraw.ImageDraw,
        middle: Floats,
        heading: float,
        ego_at: tuple[float, float],
        scale: float,
        pen: float,
        reach: float,
    ) -> None:
        """Look from `middle` (2,) [m] along a heading [rad].

        Args:
            ego_at: Position of `middle` in the image [pixels].
            scale: Samples per metre.
            pen: Unit of line widths [samples]: a pixel of an image `PEN_HEIGHT` pixels high.
            reach: Radius around `middle` that covers the image [m].
        """
        self.brush, self.middle, self.reach = brush, middle, reach
        self._scale, self._pen = scale, pen
        # Forward is up and left is left; rows of pictures count downwards.
        cosine, sine = np.cos(heading), np.sin(heading)
        self._turn = (scale * np.array([[sine, -cosine], [-cosine, -sine]])).astype(np.float32)
        self._ego_at = np.array(ego_at, np.float32) * SUPERSAMPLING

    def pixels(self, points: NDArray[np.floating]) -> NDArray[np.float32]:
        """(n, 2) samples of points (n, 2)."""
        return (points - self.middle).astype(np.float32) @ self._turn.T + self._ego_at

    def fill(self, coat: PolygonLayer, chosen: NDArray[np.bool_] | None = None) -> None:
        """Fill shapes near the ego, optionally only those `chosen`."""
        colour = ImageColor.getrgb(coat.colour)
        for index in coat.near(self.middle, self.reach):
            if chosen is None or chosen[index]:
                self.brush.polygon(_flat(self.pixels(coat.shapes[index])), fill=colour)

    def outline(self, coat: PolygonLayer, width: float) -> None:
        """Draw the edges of shapes near the ego."""
        colour = ImageColor.getrgb(coat.colour)
        for index in coat.near(self.middle, self.reach):
            self.brush.line(_flat(self.pixels(coat.shapes[index])), fill=colour, width=self.line_width(width))

    def polyline(self, points: Floats, stroke: Stroke, colour: str | None = None) -> None:
        """Draw a polyline (n, 2) with a stroke, optionally in another colour."""
        if len(points) < 2:
            return
        samples = self.pixels(points)
        width = stroke.width * PER_POINT
        if stroke.casing:
            self._line(samples, style.PAPER, width + 2 * stroke.casing * PER_POINT)
        pieces = (
            [samples]
            if stroke.dashes is None
            else dashed(samples, *(part * width * self._pen for part in stroke.dashes))
        )
        for piece in pieces:
            self._line(piece, colour or stroke.colour, width)

    def band(self, points: Floats, width: float, colour: str) -> None:
        """Draw a polyline (n, 2) of a width [m]."""
        self.brush.line(
            _flat(self.pixels(points)), fill=colour, width=max(1, round(width * self._scale)), joint="curve"
        )

    def dots(self, places: Floats, stroke: Stroke) -> None:
        """Draw dots at points (n, 2)."""
        for place in places:
            self._circle(place, stroke.dots * PER_POINT / 2 * self._pen, stroke.colour, style.PAPER)

    def polygon(self, corners: Floats, fill: str | None, edge: str | None = None, width: float = 1.0) -> None:
        """Fill corners (n, 2), or draw their outline, or both."""
        samples = _flat(self.pixels(corners))
        if fill is not None:
            self.brush.polygon(samples, fill=fill)
        if edge is not None:
            self.brush.line([*samples, *samples[:4]], fill=edge, width=self.line_width(width), joint="curve")

    def round(self, place: Floats, radius: float, fill: str) -> None:
        """Draw a disc of a radius [m]."""
        self._circle(place, radius * self._scale, fill, style.INK)

    def line_width(self, width: float) -> int:
        """Samples of a line width."""
        return max(1, round(width * self._pen))

    def _circle(self, place: Floats, radius: float, fill: str, edge: str) -> None:
        x, y = self.pixels(place[None])[0].tolist()
        self.brush.ellipse((x - radius, y - radius, x + radius, y + radius), fill, edge, self.line_width(0.8))

    def _line(self, samples: NDArray[np.float32], colour: str, width: float) -> None:
        self.brush.line(_flat(samples), fill=colour, width=self.line_width(width), joint="curve")


def dashed(line: NDArray[np.floating], drawn: float, left_out: float) -> list[NDArray[np.float32]]:
    """Cut a line (n, 2) into its dashes, each as (m, 2)."""
    along = arc_length(line)
    starts = np.arange(0.0, along[-1], max(drawn + left_out, 1e-6))
    return [_between(line, along, start, min(start + drawn, float(along[-1]))) for start in starts]


def _between(line: NDArray[np.floating], along: Floats, start: float, end: float) -> NDArray[np.float32]:
    inner = along[(along > start) & (along < end)]
    at = np.concatenate([[start], inner, [end]])
    return np.stack([np.interp(at, along, line[:, axis]) for axis in (0, 1)], axis=1).astype(np.float32)


def _flat(points: NDArray[np.float32]) -> list[float]:
    return points.ravel().tolist()
