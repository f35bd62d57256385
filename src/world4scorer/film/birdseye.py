"""The bird's-eye view of a film: forward is up, the ego stays in its place and the street moves.

Drawn with Pillow, larger than shown and then reduced: some ten times as quick as a figure, in the same colours.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from world4scorer.film.boxes import corners_of, ego_corners, nose_of
from world4scorer.film.canvas import PEN_HEIGHT, SAMPLES, Canvas
from world4scorer.film.decisions import Decision, Decisions
from world4scorer.film.letters import letters
from world4scorer.film.motion import Moment, Motion
from world4scorer.film.street_picture import StreetPicture
from world4scorer.film.verdict import draw_marks, draw_words
from world4scorer.navsim.frames import LogFrame
from world4scorer.scene.indices import TrackType
from world4scorer.view import style

Floats = NDArray[np.float64]

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
    decisions: Decisions | None = None
    """What a planner decides along the log."""

    def decision(self, moment: Moment) -> Decision | None:
        """That of the frame that the cameras show."""
        return None if self.decisions is None else self.decisions.of(self.motion.log.frames[moment.frame].token)

    def draw(self, moment: Moment) -> Image.Image:
        """The picture of a moment, RGB."""
        width, height = self.size[0] * SAMPLES, self.size[1] * SAMPLES
        image = Image.new("RGB", (width, height), style.GROUND)
        middle = moment.ego_pose[:2] - self.streets.origin
        heading = float(moment.ego_pose[2])
        canvas = Canvas(ImageDraw.Draw(image), middle, heading, self.ego_at, self.scale, self.pen, self.reach)
        frame = self.motion.log.frames[moment.nearest]
        self._draw_streets(canvas, frame)
        self._draw_red_lights(canvas, frame)
        decision = self.decision(moment)
        self._draw_past(canvas, moment)
        if decision is not None:
            self._draw_plans(canvas, decision)
        self._draw_boxes(canvas, moment)
        if decision is not None:
            self._draw_choice(canvas, decision)
        self._draw_driven(canvas, moment)
        self._draw_ego(canvas, moment)
        if decision is not None:
            draw_marks(canvas, decision, self.streets.origin)
        self._draw_scale(canvas)
        small = image.reduce(SAMPLES)
        if decision is not None:
            draw_words(small, decision)
        return small

    @property
    def scale(self) -> float:
        """Samples per metre."""
        return self.size[1] * SAMPLES / self.length

    @property
    def pen(self) -> float:
        """Unit of line widths [samples]."""
        return self.size[1] * SAMPLES / PEN_HEIGHT

    @property
    def ego_at(self) -> tuple[float, float]:
        """Where the rear axle is [pixels of the picture]."""
        return self.size[0] / 2, self.size[1] * (1 - EGO_FROM_BELOW)

    @cached_property
    def reach(self) -> float:
        """See `reach_of`."""
        return reach_of(self.size, self.length)

    def _draw_streets(self, canvas: Canvas, frame: LogFrame) -> None:
        streets = self.streets
        for coat in streets.areas:
            canvas.fill(coat)
        canvas.fill(streets.lanes, streets.on_route(frame.roadblock_ids)[streets.lanes.owner])
        canvas.fill(streets.stripes)
        canvas.outline(streets.edges, 1.1)

    def _draw_red_lights(self, canvas: Canvas, frame: LogFrame) -> None:
        for connector in sorted({connector for connector, red in frame.traffic_lights if red}):
            line = self.streets.stop_lines.get(connector)
            if line is not None:
                canvas.way(line, style.STOP_LINE)

    def _draw_past(self, canvas: Canvas, moment: Moment) -> None:
        times, places = self.motion.way
        behind = (times < moment.time) & (times >= moment.time - PAST)
        way = np.concatenate([places[behind], moment.ego_pose[None, :2]])
        canvas.way(way - self.streets.origin, style.PAST)

    def _draw_driven(self, canvas: Canvas, moment: Moment) -> None:
        times, places = self.motion.way
        ahead = (times > moment.time) & (times <= moment.time + FUTURE)
        way = np.concatenate([moment.ego_pose[None, :2], places[ahead]])
        canvas.way(way - self.streets.origin, style.DRIVEN)
        coming = (self.motion.times > moment.time) & (self.motion.times <= moment.time + FUTURE)
        canvas.dots(self.motion.ego[coming, :2] - self.streets.origin, style.DRIVEN)

    def _draw_plans(self, canvas: Canvas, decision: Decision) -> None:
        ways = decision.outcome.rollouts[..., :2] - self.streets.origin
        for plan in decision.order:
            canvas.way(ways[plan], style.CANDIDATE, decision.colours[plan])

    def _draw_choice(self, canvas: Canvas, decision: Decision) -> None:
        rollouts = decision.outcome.rollouts
        if decision.framewise != decision.chosen:
            canvas.way(rollouts[decision.framewise, :, :2] - self.streets.origin, style.FRAMEWISE)
        chosen = rollouts[decision.chosen]
        for step in style.BOX_STEPS:
            canvas.polygon(ego_corners(chosen[step, :3], self.streets.origin), None, style.CHOICE.colour, 1.2)
        canvas.way(chosen[:, :2] - self.streets.origin, style.CHOICE)

    def _draw_boxes(self, canvas: Canvas, moment: Moment) -> None:
        places = moment.boxes[:, :2] - self.streets.origin
        near = np.abs(places - canvas.middle).max(axis=1, initial=0.0) < self.reach + 15.0
        for kind in DRAWING_ORDER:
            fill = style.TRACK_FILL[kind]
            for row in np.flatnonzero(near & (moment.type == kind)):
                length, width = moment.boxes[row, 3:]
                if kind is TrackType.PEDESTRIAN:
                    canvas.round(places[row], max(LEAST_WALKER, width / 2), fill)
                    continue
                corners = corners_of(places[row], moment.boxes[row, 2], length / 2, length / 2, width / 2)
                canvas.polygon(corners, fill, style.INK, 0.8)
                if kind is TrackType.VEHICLE:
                    canvas.polygon(nose_of(corners, 0.36, 0.2, 0.62), style.GROUND)

    def _draw_ego(self, canvas: Canvas, moment: Moment) -> None:
        corners = ego_corners(moment.ego_pose, self.streets.origin)
        canvas.polygon(corners, style.EGO, "#ffffff", 2.0)
        canvas.polygon(nose_of(corners, 0.5, 0.06, 0.64), "#ffffff")

    def _draw_scale(self, canvas: Canvas) -> None:
        width, height = self.size[0] * SAMPLES, self.size[1] * SAMPLES
        right, low = width - 14 * self.pen, height - 14 * self.pen
        left = right - 10 * self.scale
        canvas.brush.line([(left, low), (right, low)], fill=style.INK, width=round(2.4 * self.pen))
        font = letters(round(12 * self.pen))
        canvas.brush.text(((left + right) / 2, low - 4 * self.pen), "10 m", style.INK, font, anchor="mb")


def reach_of(size: tuple[int, int], length: float) -> float:
    """Nothing further from the ego than this [m] is in a picture of `size` pixels and `length` metres."""
    return float(np.hypot(size[0] / size[1] / 2, 1 - EGO_FROM_BELOW) * length)
