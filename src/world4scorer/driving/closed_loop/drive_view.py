"""Bird's-eye view for films of drives: route, signals, agents, plans and choice, infractions.

Shapes: R rows of a recording, 0.1 s apart; N plans; T states of a rollout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from world4scorer.city.streets.map_index import MapIndex
from world4scorer.city.world.traffic import TIME_STEP
from world4scorer.drawing import style
from world4scorer.driving.closed_loop.infraction_monitor import InfractionEvent
from world4scorer.driving.closed_loop.recording import DriveRecording
from world4scorer.engine.rollout.plans import roll_out
from world4scorer.engine.routes.route import Route, RouteCursor
from world4scorer.engine.scene.ego_snapshot import EgoSnapshot
from world4scorer.engine.scene.geometry import wrap
from world4scorer.engine.scene.indices import State
from world4scorer.evaluation.leaderboard.infractions import Infraction, share_outside
from world4scorer.evaluation.leaderboard.scores import PENALTIES
from world4scorer.reporting.film.canvas import SUPERSAMPLING, Canvas
from world4scorer.reporting.film.panel import draw_mark, draw_panel
from world4scorer.reporting.film.street_view import PAST_SECONDS, StreetView

Floats = NDArray[np.float64]

POSE: Final = [State.X, State.Y, State.HEADING]
ROUTE_WIDTH: Final = 2.6
"""Width of the route band [m]."""
END_LINE_LENGTH: Final = 4.0
"""Length of the line at the end of the route [m]."""
HIGHLIGHT_SECONDS: Final = 1.5
"""How long an infraction highlights the ego [s]."""
MAX_PANEL_LINES: Final = 8
TIME_TOLERANCE: Final = 1e-6
"""Rounding tolerance of times, which are sums of steps [s]."""
INFRACTION_TEXTS: Final = {
    Infraction.PEDESTRIAN_COLLISION: "hit a pedestrian",
    Infraction.VEHICLE_COLLISION: "hit a vehicle",
    Infraction.LAYOUT_COLLISION: "hit something by the road",
    Infraction.RED_LIGHT: "ran a red light",
    Infraction.STOP_SIGN: "ran a stop sign",
    Infraction.OUTSIDE_LANES: "outside its lanes",
    Infraction.EMERGENCY_VEHICLE: "held up an emergency vehicle",
    Infraction.SCENARIO_TIMEOUT: "took too long",
    Infraction.DEVIATION: "left the route",
    Infraction.BLOCKED: "blocked",
    Infraction.ROUTE_TIMEOUT: "out of time",
}
"""Panel texts; slowness is a measurement and not shown."""


@dataclass(frozen=True, eq=False)
class CandidateRollouts:
    """Rollouts of a decision's candidate plans, and the choice."""

    rollouts: Floats
    """(N, T, 11) ego states, global."""
    utility: Floats
    """(N,)"""
    chosen: int

    @property
    def framewise(self) -> int:
        """Index of the plan of highest utility."""
        return int(np.argmax(self.utility))

    @classmethod
    def of(cls, recording: DriveRecording, number: int) -> CandidateRollouts | None:
        """Roll out the plans of a decision; None for a driver without plans."""
        plans = recording.plans[number]
        if not len(plans):
            return None
        state = recording.states[recording.decided[number]]
        moment = EgoSnapshot(f"decision {number}", recording.route, 0, state)
        return cls(roll_out(moment, plans), recording.utility[number], int(recording.chosen[number]))


@dataclass(frozen=True, eq=False)
class DriveView(StreetView):
    """Draws a drive from above."""

    recording: DriveRecording
    index: MapIndex
    """Maps signals to lane connectors."""

    def draw(self, time: float, pool: CandidateRollouts | None) -> Image.Image:
        """RGB image at a time [s] since the start, with the plans of the last decision."""
        ego, boxes, types = self.interpolated(time)
        image, canvas = self.begin(ego)
        origin = self.streets.origin
        self.draw_streets(canvas)
        self._draw_route(canvas)
        self.draw_red_lights(canvas, self.index.lights(self.recording.signals[self.row(time)]))
        behind = self._ego_points[max(0, self.row(time - PAST_SECONDS)) : self.row(time) + 1]
        canvas.polyline(np.concatenate([behind, ego[None, :2]]) - origin, style.PAST)
        if pool is not None and len(pool.rollouts) > 1:
            colours = style.utility_colours(pool.utility)
            for plan in np.argsort(pool.utility, kind="stable").tolist():
                canvas.polyline(pool.rollouts[plan, :, :2] - origin, style.CANDIDATE, colours[plan])
        self.draw_others(canvas, boxes, types)
        if pool is not None:
            self.draw_choice(canvas, pool.rollouts, pool.chosen, pool.framewise)
        infractions_until = self.infractions_until(time)
        fresh = any(time - event.time < HIGHLIGHT_SECONDS for event in infractions_until)
        self.draw_ego(canvas, ego, style.FAULT if fresh else style.PAPER)
        self._draw_marks(canvas, infractions_until)
        self.draw_scale(canvas)
        small = image.reduce(SUPERSAMPLING)
        self._draw_panel(small, time, infractions_until)
        return small

    @property
    def duration(self) -> float:
        """Duration of the drive [s]."""
        return (len(self.recording.states) - 1) * TIME_STEP

    def row(self, time: float) -> int:
        """Index of the last recorded row at or before a time [s]."""
        return min(max(0, int(np.floor(time / TIME_STEP + TIME_TOLERANCE))), len(self.recording.states) - 1)

    def speed(self, time: float) -> float:
        """Speed of the ego [m/s]."""
        return float(self.recording.states[self.row(time), State.VELOCITY_X])

    def interpolated(self, time: float) -> tuple[Floats, Floats, NDArray[np.int8]]:
        """Ego pose (3,), agents' boxes (n, 5), global, and types (n,), interpolated between rows.

        An agent present in only one of the two rows keeps its pose of that row.
        """
        recording = self.recording
        first = self.row(time)
        second = min(first + 1, len(recording.states) - 1)
        share = float(np.clip(time / TIME_STEP - first, 0.0, 1.0))
        ego = _interpolate(recording.states[first, POSE], recording.states[second, POSE], share)
        is_, will = recording.there[:, first], recording.there[:, second]
        there = is_ if share < 0.5 else will
        here = np.where(is_[:, None], recording.poses[:, first], recording.poses[:, second])[there]
        next_ = np.where(will[:, None], recording.poses[:, second], recording.poses[:, first])[there]
        boxes = np.column_stack([_interpolate(here, next_, share), recording.sizes[there]])
        return ego, boxes, recording.types[there]

    def infractions_until(self, time: float) -> list[InfractionEvent]:
        """Infractions up to a time [s], without slowness."""
        return [one for one in self.infractions if one.time <= time + TIME_TOLERANCE]

    @cached_property
    def infractions(self) -> list[InfractionEvent]:
        """All infractions without slowness, in order of time."""
        shown = (one for one in self.recording.infractions if one.kind in INFRACTION_TEXTS)
        return sorted(shown, key=lambda one: one.time)

    @cached_property
    def completion(self) -> Floats:
        """(R,) route completion, 0 to 1."""
        route = Route(self.recording.points)
        cursor = RouteCursor(route)
        return np.array([route.distance[cursor.advance(place)] for place in self._ego_points]) / route.length

    @property
    def _ego_points(self) -> Floats:
        """(R, 2) ego positions, global [m]."""
        return np.asarray(self.recording.states[:, [State.X, State.Y]])

    def _draw_route(self, canvas: Canvas) -> None:
        points = self.recording.points - self.streets.origin
        canvas.band(points, ROUTE_WIDTH, style.ROUTE)
        ahead = points[-1] - points[-2]
        across = END_LINE_LENGTH / 2 * np.array([-ahead[1], ahead[0]]) / np.linalg.norm(ahead)
        canvas.polyline(np.stack([points[-1] - across, points[-1] + across]), style.REFUSED)

    def _draw_marks(self, canvas: Canvas, infractions_until: Sequence[InfractionEvent]) -> None:
        taken: list[Floats] = []
        for number, event in enumerate(infractions_until, 1):
            draw_mark(canvas, np.array(event.place) - self.streets.origin, number, taken)

    def _draw_panel(self, picture: Image.Image, time: float, infractions_until: Sequence[InfractionEvent]) -> None:
        """Route completion and infractions; at the end, the score."""
        lines = [(number, _describe(event)) for number, event in enumerate(infractions_until, 1)]
        if len(lines) > MAX_PANEL_LINES:
            lines = [*lines[: MAX_PANEL_LINES - 1], (0, f"and {len(lines) - MAX_PANEL_LINES + 1} more")]
        if time < self.duration - TIME_TOLERANCE:
            draw_panel(picture, f"{100 * self.completion[self.row(time)]:.0f} %", "of the route", lines)
        else:
            status = self.recording.status.removeprefix("Failed - ")
            draw_panel(picture, f"{self.recording.score:.1f}", f"points: {status}", lines)


def _describe(event: InfractionEvent) -> str:
    factor = PENALTIES.get(event.kind)
    if event.kind is Infraction.OUTSIDE_LANES:
        factor = 1 - share_outside(event.message)
    return INFRACTION_TEXTS[event.kind] + ("" if factor is None else f", \u00d7 {factor:.2f}")


def _interpolate(here: Floats, there: Floats, share: float) -> Floats:
    """Interpolate poses (..., 3) linearly; headings along the shorter arc."""
    heading = here[..., 2] + share * wrap(there[..., 2] - here[..., 2])
    return np.concatenate([here[..., :2] + share * (there[..., :2] - here[..., :2]), heading[..., None]], axis=-1)
