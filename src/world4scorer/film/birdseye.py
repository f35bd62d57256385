"""The bird's-eye view of a film: forward is up, the ego stays in its place and the street moves.

Drawn with Pillow, larger than shown and then reduced: some ten times as quick as a figure, in the same colours.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageColor, ImageDraw

from world4scorer.film.letters import letters
from world4scorer.film.motion import Moment, Motion
from world4scorer.film.street_picture import Coat, StreetPicture
from world4scorer.navsim.frames import LogFrame
from world4scorer.scene.indices import TrackType
from world4scorer.scene.vehicle import FRONT_OVERHANG, HALF_WIDTH, REAR_OVERHANG
from world4scorer.view import style

Floats = NDArray[np.float64]

SAMPLES: Final = 3
"""Across and down a pixel."""
EGO_FROM_BELOW: Final = 0.3
"""Height of the ego's rear axle, as a share of the picture."""
PAST: Final = 4.0
"""Of the ego's way behind it that is drawn [s]."""
FUTURE: Final = 4.0
"""Of the ego's way ahead: the time that plans cover [s]."""
LEAST_WALKER: Final = 0.45
"""Radius of somebody on foot, who would be lost in the picture at their real size [m]."""
DRAWING_ORDER: Final = (
    TrackType.GENERIC_OBJECT,
    TrackType.BARRIER,
    TrackType.CZONE_SIGN,
    TrackType.TRAFFIC_CONE,
    TrackType.VEHICLE,
    TrackType.BICYCLE,
    TrackType.PEDESTRIAN,
)
"""The small ones on top."""


@dataclass(frozen=True, eq=False)
class Birdseye:
    """Draws moments of a log from above."""

    streets: StreetPicture
    motion: Motion
    size: tuple[int, int]
    """Width, height [pixels]."""
    length: float
    """Of street from the lower edge to the upper [m]."""

    def draw(self, moment: Moment) -> Image.Image:
        """The picture of a moment, RGB."""
        width, height = self.size[0] * SAMPLES, self.size[1] * SAMPLES
        image = Image.new("RGB", (width, height), style.GROUND)
        canvas = _Canvas(ImageDraw.Draw(image), moment.ego_pose, self.streets.origin, self)
        frame = self.motion.log.frames[moment.nearest]
        self._draw_streets(canvas, frame)
        self._draw_red_lights(canvas, frame)
        self._draw_way(canvas, moment)
        self._draw_boxes(canvas, moment)
        self._draw_ego(canvas, moment)
        self._draw_scale(canvas)
        return image.reduce(SAMPLES)

    @property
    def scale(self) -> float:
        """Samples per metre."""
        return self.size[1] * SAMPLES / self.length

    @property
    def pen(self) -> float:
        """Unit of line widths [samples]: a pixel of a picture 600 pixels high."""
        return self.size[1] * SAMPLES / 600.0

    @property
    def ego_at(self) -> tuple[float, float]:
        """Where the rear axle is [pixels of the picture]."""
        return self.size[0] / 2, self.size[1] * (1 - EGO_FROM_BELOW)

    @cached_property
    def reach(self) -> float:
        """See `reach_of`."""
        return reach_of(self.size, self.length)

    def _draw_streets(self, canvas: _Canvas, frame: LogFrame) -> None:
        streets = self.streets
        for coat in streets.areas:
            canvas.fill(coat)
        canvas.fill(streets.lanes, streets.on_route(frame.roadblock_ids)[streets.lanes.owner])
        canvas.fill(streets.stripes)
        canvas.outline(streets.edges, 1.1)

    def _draw_red_lights(self, canvas: _Canvas, frame: LogFrame) -> None:
        for connector in sorted({connector for connector, red in frame.traffic_lights if red}):
            line = self.streets.stop_lines.get(connector)
            if line is not None:
                canvas.line(line, style.RED_LIGHT, 4.0)

    def _draw_way(self, canvas: _Canvas, moment: Moment) -> None:
        here = moment.ego_pose[None, :2]
        times, places = self.motion.way
        behind = (times < moment.time) & (times >= moment.time - PAST)
        ahead = (times > moment.time) & (times <= moment.time + FUTURE)
        canvas.line(np.concatenate([places[behind], here]) - self.streets.origin, style.CENTERLINE, 2.2)
        canvas.line(np.concatenate([here, places[ahead]]) - self.streets.origin, style.HUMAN, 2.2)
        coming = (self.motion.times > moment.time) & (self.motion.times <= moment.time + FUTURE)
        for place in self.motion.ego[coming, :2]:
            canvas.dot(place - self.streets.origin, 3.4, style.HUMAN)

    def _draw_boxes(self, canvas: _Canvas, moment: Moment) -> None:
        places = moment.boxes[:, :2] - self.streets.origin
        near = np.abs(places - canvas.middle).max(axis=1, initial=0.0) < self.reach + 15.0
        for kind in DRAWING_ORDER:
            fill = style.TRACK_FILL[kind]
            for row in np.flatnonzero(near & (moment.type == kind)):
                length, width = moment.boxes[row, 3:]
                if kind is TrackType.PEDESTRIAN:
                    canvas.round(places[row], max(LEAST_WALKER, width / 2), fill)
                    continue
                corners = _corners(places[row], moment.boxes[row, 2], length / 2, length / 2, width / 2)
                canvas.polygon(corners, fill, style.INK, 0.8)
                if kind is TrackType.VEHICLE:
                    canvas.polygon(_nose(corners, 0.36, 0.2, 0.62), style.GROUND)

    def _draw_ego(self, canvas: _Canvas, moment: Moment) -> None:
        place = moment.ego_pose[:2] - self.streets.origin
        corners = _corners(place, moment.ego_pose[2], FRONT_OVERHANG, REAR_OVERHANG, HALF_WIDTH)
        canvas.polygon(corners, style.EGO, "#ffffff", 2.0)
        canvas.polygon(_nose(corners, 0.5, 0.06, 0.64), "#ffffff")

    def _draw_scale(self, canvas: _Canvas) -> None:
        width, height = self.size[0] * SAMPLES, self.size[1] * SAMPLES
        right, low = width - 14 * self.pen, height - 14 * self.pen
        left = right - 10 * self.scale
        canvas.brush.line([(left, low), (right, low)], fill=style.INK, width=round(2.4 * self.pen))
        font = letters(round(12 * self.pen))
        canvas.brush.text(((left + right) / 2, low - 4 * self.pen), "10 m", style.INK, font, anchor="mb")


def reach_of(size: tuple[int, int], length: float) -> float:
    """Nothing further from the ego than this [m] is in a picture of `size` pixels and `length` metres."""
    return float(np.hypot(size[0] / size[1] / 2, 1 - EGO_FROM_BELOW) * length)


class _Canvas:
    """A brush that takes metres from the streets' origin."""

    def __init__(self, brush: ImageDraw.ImageDraw, ego_pose: Floats, origin: Floats, view: Birdseye) -> None:
        self.brush = brush
        self.middle = ego_pose[:2] - origin
        self._view = view
        # Forward is up and left is left; rows of pictures count downwards.
        cosine, sine = np.cos(ego_pose[2]), np.sin(ego_pose[2])
        self._turn = (view.scale * np.array([[sine, -cosine], [-cosine, -sine]])).astype(np.float32)
        self._ego_at = np.array(view.ego_at, np.float32) * SAMPLES

    def pixels(self, points: NDArray[np.floating]) -> NDArray[np.float32]:
        """(n, 2) samples of points (n, 2)."""
        return (points - self.middle).astype(np.float32) @ self._turn.T + self._ego_at

    def fill(self, coat: Coat, chosen: NDArray[np.bool_] | None = None) -> None:
        colour = _rgb(coat.colour)
        for index in coat.near(self.middle, self._view.reach):
            if chosen is None or chosen[index]:
                self.brush.polygon(_flat(self.pixels(coat.shapes[index])), fill=colour)

    def outline(self, coat: Coat, width: float) -> None:
        for index in coat.near(self.middle, self._view.reach):
            self.brush.line(_flat(self.pixels(coat.shapes[index])), fill=_rgb(coat.colour), width=self._wide(width))

    def line(self, points: Floats, colour: str, width: float) -> None:
        self.brush.line(_flat(self.pixels(points)), fill=colour, width=self._wide(width))

    def polygon(self, corners: Floats, fill: str, edge: str | None = None, width: float = 1.0) -> None:
        samples = _flat(self.pixels(corners))
        self.brush.polygon(samples, fill=fill)
        if edge is not None:
            self.brush.line([*samples, *samples[:4]], fill=edge, width=self._wide(width), joint="curve")

    def dot(self, place: Floats, radius: float, fill: str) -> None:
        """A mark whose size does not depend on the scale."""
        self._circle(place, radius * self._view.pen, fill, "#ffffff")

    def round(self, place: Floats, radius: float, fill: str) -> None:
        """A thing of this radius [m]."""
        self._circle(place, radius * self._view.scale, fill, style.INK)

    def _circle(self, place: Floats, radius: float, fill: str, edge: str) -> None:
        x, y = self.pixels(place[None])[0].tolist()
        self.brush.ellipse((x - radius, y - radius, x + radius, y + radius), fill, edge, self._wide(0.8))

    def _wide(self, width: float) -> int:
        return max(1, round(width * self._view.pen))


def _flat(points: NDArray[np.float32]) -> list[float]:
    return points.ravel().tolist()


def _rgb(colour: str) -> tuple[int, ...]:
    return ImageColor.getrgb(colour)


def _corners(place: Floats, heading: float, front: float, rear: float, side: float) -> Floats:
    """(4, 2) front left, rear left, rear right, front right."""
    ahead = np.array([np.cos(heading), np.sin(heading)])
    left = np.array([-ahead[1], ahead[0]])
    ends = np.array([[front, side], [-rear, side], [-rear, -side], [front, -side]])
    corners: Floats = place + ends @ np.stack([ahead, left])
    return corners


def _nose(corners: Floats, begin: float, end: float, width: float) -> Floats:
    """(3, 2) an arrow head between shares of the length from the front, of a share of the width."""
    front, back = corners[[0, 3]].mean(axis=0), corners[[1, 2]].mean(axis=0)
    side = (corners[0] - corners[3]) * width / 2
    base, tip = front + (back - front) * begin, front + (back - front) * end
    return np.stack([tip, base + side, base - side])
