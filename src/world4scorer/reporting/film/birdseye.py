"""Bird's-eye view for films of logs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from world4scorer.drawing import style
from world4scorer.reporting.film.canvas import SUPERSAMPLING, Canvas
from world4scorer.reporting.film.decisions import Decision, Decisions
from world4scorer.reporting.film.motion import LogMotion, LogSnapshot
from world4scorer.reporting.film.street_view import PAST_SECONDS, StreetView
from world4scorer.reporting.film.verdict import draw_marks, draw_score_panel

Floats = NDArray[np.float64]

FUTURE_SECONDS: Final = 4.0
"""Future of the ego that is drawn: the horizon of plans [s]."""


@dataclass(frozen=True, eq=False)
class Birdseye(StreetView):
    """Draws a log from above."""

    motion: LogMotion
    decisions: Decisions | None = None
    """Decisions of a planner along the log."""

    def decision(self, moment: LogSnapshot) -> Decision | None:
        """Decision of the frame shown by the cameras."""
        return None if self.decisions is None else self.decisions.of(self.motion.log.frames[moment.frame].token)

    def draw(self, moment: LogSnapshot) -> Image.Image:
        """RGB image of a snapshot."""
        image, canvas = self.begin(moment.ego_pose)
        frame = self.motion.log.frames[moment.nearest]
        self.draw_streets(canvas, frame.roadblock_ids)
        self.draw_red_lights(canvas, frame.traffic_lights)
        decision = self.decision(moment)
        self._draw_past(canvas, moment)
        if decision is not None:
            self._draw_plans(canvas, decision)
        self.draw_others(canvas, moment.boxes, moment.type)
        if decision is not None:
            self.draw_choice(canvas, decision.outcome.rollouts, decision.chosen, decision.framewise)
        self._draw_driven(canvas, moment)
        self.draw_ego(canvas, moment.ego_pose)
        if decision is not None:
            draw_marks(canvas, decision, self.streets.origin)
        self.draw_scale(canvas)
        small = image.reduce(SUPERSAMPLING)
        if decision is not None:
            draw_score_panel(small, decision)
        return small

    def _draw_past(self, canvas: Canvas, moment: LogSnapshot) -> None:
        times, places = self.motion.path
        behind = (times < moment.time) & (times >= moment.time - PAST_SECONDS)
        polyline = np.concatenate([places[behind], moment.ego_pose[None, :2]])
        canvas.polyline(polyline - self.streets.origin, style.PAST)

    def _draw_driven(self, canvas: Canvas, moment: LogSnapshot) -> None:
        times, places = self.motion.path
        ahead = (times > moment.time) & (times <= moment.time + FUTURE_SECONDS)
        polyline = np.concatenate([moment.ego_pose[None, :2], places[ahead]])
        canvas.polyline(polyline - self.streets.origin, style.DRIVEN)
        coming = (self.motion.times > moment.time) & (self.motion.times <= moment.time + FUTURE_SECONDS)
        canvas.dots(self.motion.ego[coming, :2] - self.streets.origin, style.DRIVEN)

    def _draw_plans(self, canvas: Canvas, decision: Decision) -> None:
        ways = decision.outcome.rollouts[..., :2] - self.streets.origin
        for plan in decision.order:
            canvas.polyline(ways[plan], style.CANDIDATE, decision.colours[plan])
