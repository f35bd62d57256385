"""Route progress, infractions and termination of a drive, checked every 0.1 s.

The rules are Bench2Drive's, completed where that benchmark relies on its simulator; docs/driving.md lists them.

Shapes: A agents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.city.world.traffic import TIME_STEP
from world4scorer.driving.closed_loop.city_routes import CityRoute
from world4scorer.driving.closed_loop.contacts import contacts
from world4scorer.driving.closed_loop.static_world import StaticWorld, ego_corners
from world4scorer.engine.routes.route import RouteCursor
from world4scorer.engine.scene.geometry import direction
from world4scorer.engine.scene.indices import State, TrackType
from world4scorer.engine.scene.vehicle import FRONT_OVERHANG, REAR_AXLE_TO_CENTRE
from world4scorer.evaluation.leaderboard.infractions import Infraction, outside_lanes, slower_than_others
from world4scorer.evaluation.leaderboard.records import COMPLETED, PERFECT, RouteRecord, Scores
from world4scorer.evaluation.leaderboard.scores import is_success, route_scores

SPEED_CHECKPOINTS: Final = 20
"""Number of checkpoints, evenly along the route, at which ego and traffic speeds are compared."""
SURROUNDING_RADIUS: Final = 50.0
"""Vehicles within this distance are the surrounding traffic [m]."""
ROUTE_SEARCH_DISTANCE: Final = 20.0
"""Distance ahead on the route within which the ego is located [m]: a route may approach itself."""
ROUTE_END_TOLERANCE: Final = 2.0
"""The route counts as completed this far before its end [m]."""

Floats = NDArray[np.float64]
XY: Final = [State.X, State.Y]
POSE: Final = [State.X, State.Y, State.HEADING]


@dataclass(frozen=True)
class TerminationRules:
    """Limits that end a drive."""

    deviation: float = 30.0
    """Distance from the route [m]."""
    blocked_speed: float = 0.1
    """m/s"""
    blocked_time: float = 60.0
    """s below that speed"""
    time_limit: float = 200.0
    """s, of the whole route"""
    off_road_time: float = 2.0
    """s so far off the road that the traffic ignores the ego"""
    scenario_time: float = 40.0
    """s from meeting a staged event to passing it; longer is an infraction that does not end the drive"""


@dataclass(frozen=True, eq=False)
class SurroundingAgents:
    """All other agents at one time."""

    tokens: Sequence[str]
    """Names, A of them."""
    types: NDArray[np.int8]
    """(A,) codes of `TrackType`."""
    sizes: Floats
    """(A, 2) length, width [m]."""
    poses: Floats
    """(A, 3) box centres, global."""
    speeds: Floats
    """(A,) m/s"""
    signals: Mapping[str, str]
    """State string of every signal."""


@dataclass(frozen=True)
class InfractionEvent:
    """One infraction with its time and place."""

    kind: Infraction
    time: float
    """s since the start."""
    place: tuple[float, float]
    """x, y of the ego [m], global."""
    message: str


@dataclass
class _SpeedLog:
    """Speeds since the last checkpoint."""

    ego: list[float] = field(default_factory=list)
    others: list[float] = field(default_factory=list)


class InfractionMonitor:
    """Monitors one drive."""

    def __init__(self, route: CityRoute, static_world: StaticWorld, rules: TerminationRules | None = None) -> None:
        self.route, self.rules = route, rules or TerminationRules()
        self.infractions: list[InfractionEvent] = []
        self.end: str | None = None
        """Status of the record once the drive is over."""
        self.distance_driven = 0.0
        """m"""
        self._outside = 0.0
        self._static = static_world
        self._cursor = RouteCursor(route.route)
        self._touched: set[str] = set()
        self._touches_layout = False
        self._steps = self._standing = self._off_road = 0
        self._pace = _SpeedLog()
        self._checkpoint = 1
        self._met: list[float | None] = [None] * len(route.event_distances)
        self._timed_out: set[int] = set()

    @property
    def time(self) -> float:
        """s since the start"""
        return _seconds(self._steps)

    @property
    def progress(self) -> float:
        """m along the route"""
        return float(self.route.route.distance[self._cursor.index])

    def step(self, before: Floats, now: Floats, others: SurroundingAgents, off_road: bool, met: Sequence[bool]) -> None:
        """Check one step of 0.1 s: ego states (11,) before and now, other agents, and which events have been met."""
        self._steps += 1
        moved = float(np.linalg.norm(now[XY] - before[XY]))
        self.distance_driven += moved
        self._cursor.advance(now[XY], reach=ROUTE_SEARCH_DISTANCE)
        self._collisions(now, others)
        self._red_lights(before, now, others.signals)
        if self._is_outside(now):
            self._outside += moved
        self._compare_speeds(now, others)
        self._scenarios(now, met)
        self._check_termination(now, off_road)

    def _collisions(self, now: Floats, others: SurroundingAgents) -> None:
        pose = now[POSE]
        moves = now[State.VELOCITY_X] >= self.rules.blocked_speed
        for row in np.flatnonzero(contacts(pose, others.poses, others.sizes)).tolist():
            token = others.tokens[row]
            if token in self._touched or not moves:
                continue  # the ego is not at fault while it stands
            self._touched.add(token)
            kind = TrackType(int(others.types[row]))
            ahead = (others.poses[row, :2] - _centre(pose)) @ direction(pose[2])
            side = "in front" if ahead > 0 else "behind"
            self._add(
                Infraction.PEDESTRIAN_COLLISION if kind is TrackType.PEDESTRIAN else Infraction.VEHICLE_COLLISION,
                now,
                f"Agent collided against a {kind.name.lower()} {side}, at {now[State.VELOCITY_X]:.1f} m/s, "
                f"the other at {others.speeds[row]:.1f} m/s",
            )
        touches = self._static.collides(ego_corners(pose) - self._static.offset)
        if touches and not self._touches_layout:
            self._add(Infraction.LAYOUT_COLLISION, now, "Agent collided against something that stands by the road")
        self._touches_layout = touches

    def _red_lights(self, before: Floats, now: Floats, signals: Mapping[str, str]) -> None:
        lines = self._static.stop_lines
        was, is_ = (_bumper(state[POSE]) - self._static.offset for state in (before, now))
        if any(lines.red(int(line), self.route.start.route, signals) for line in lines.crossed(was, is_)):
            self._add(Infraction.RED_LIGHT, now, f"Agent ran a red light at {now[State.VELOCITY_X]:.1f} m/s")

    def _is_outside(self, now: Floats) -> bool:
        return self._static.outside(_centre(now[POSE]) - self._static.offset, float(now[State.HEADING]))

    def _compare_speeds(self, now: Floats, others: SurroundingAgents) -> None:
        near = np.linalg.norm(others.poses[:, :2] - now[XY], axis=1) < SURROUNDING_RADIUS
        vehicles = near & (others.types == TrackType.VEHICLE)
        self._pace.ego.append(float(now[State.VELOCITY_X]))
        if vehicles.any():
            self._pace.others.append(float(others.speeds[vehicles].mean()))
        if self.progress < self._checkpoint * self.route.route.length / SPEED_CHECKPOINTS - ROUTE_END_TOLERANCE:
            return
        self._checkpoint += 1
        around = float(np.mean(self._pace.others)) if self._pace.others else 0.0
        if around > 0:
            share = 100 * float(np.mean(self._pace.ego)) / around
            self._add(Infraction.SLOW, now, slower_than_others(share))
        self._pace = _SpeedLog()

    def _scenarios(self, now: Floats, met: Sequence[bool]) -> None:
        for number, place in enumerate(self.route.event_distances):
            if met[number] and self._met[number] is None:
                self._met[number] = self.time
            since = self._met[number]
            late = since is not None and self.time - since > self.rules.scenario_time
            if late and self.progress < place and number not in self._timed_out:
                self._timed_out.add(number)
                event = self.route.start.events[number].kind
                self._add(Infraction.SCENARIO_TIMEOUT, now, f"Agent did not get past the {event.value} in time")

    def _check_termination(self, now: Floats, off_road: bool) -> None:
        rules = self.rules
        away = float(np.linalg.norm(self.route.route.points[self._cursor.index] - now[XY]))
        self._standing = self._standing + 1 if now[State.VELOCITY_X] < rules.blocked_speed else 0
        self._off_road = self._off_road + 1 if off_road else 0
        if self.progress >= self.route.route.length - ROUTE_END_TOLERANCE:
            self.end = COMPLETED
        elif away > rules.deviation or _seconds(self._off_road) > rules.off_road_time:
            why = f"{away:.0f} m from the route" if away > rules.deviation else "off the road"
            self._add(Infraction.DEVIATION, now, f"Agent deviated from the route: {why}")
            self.end = "Failed - Agent deviated from the route"
        elif _seconds(self._standing) > rules.blocked_time:
            self._add(Infraction.BLOCKED, now, f"Agent got blocked: stood for {rules.blocked_time:.0f} s")
            self.end = "Failed - Agent got blocked"
        elif self.time >= rules.time_limit:
            self._add(Infraction.ROUTE_TIMEOUT, now, f"Route timeout after {rules.time_limit:.0f} s")
            self.end = "Failed - Agent timed out"

    def _add(self, kind: Infraction, now: Floats, message: str) -> None:
        self.infractions.append(InfractionEvent(kind, self.time, (float(now[0]), float(now[1])), message))

    @property
    def scores(self) -> Scores:
        """Scores of the drive if it ended now."""
        return self._so_far()[1]

    def _so_far(self) -> tuple[dict[str, tuple[str, ...]], Scores]:
        """Messages by infraction, and scores."""
        infractions: dict[str, tuple[str, ...]] = dict.fromkeys(Infraction, ())
        for event in self.infractions:
            infractions[event.kind] += (event.message,)
        share = self._outside / max(self.distance_driven, 1e-9)
        if self._outside > 0:
            infractions[Infraction.OUTSIDE_LANES] = (outside_lanes(self._outside, share),)
        completion = 100.0 if self.end == COMPLETED else 100 * min(self.progress / self.route.route.length, 1.0)
        return infractions, route_scores(completion, infractions, share)

    def record(self, seconds: float) -> RouteRecord:
        """Record of the finished drive; `seconds` is the wall-clock time of the simulation."""
        assert self.end is not None, "the drive is not over"
        infractions, scores = self._so_far()
        record = RouteRecord(
            route_id=self.route.name,
            status=self.end,
            infractions=infractions,
            scores=scores,
            scenario_name=self.route.scenario,
            route_length=self.route.route.length,
            duration_game=self.time,
            duration_system=round(seconds, 2),
        )
        return replace(record, status=PERFECT) if is_success(record) else record


def _seconds(steps: int) -> float:
    return round(steps * TIME_STEP, 1)


def _centre(pose: Floats) -> Floats:
    return np.asarray(pose[:2] + REAR_AXLE_TO_CENTRE * direction(pose[2]))


def _bumper(pose: Floats) -> Floats:
    return np.asarray(pose[:2] + FRONT_OVERHANG * direction(pose[2]))
