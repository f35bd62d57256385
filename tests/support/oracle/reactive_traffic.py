"""Reactive traffic, written down with Shapely: one vehicle, one step, one polygon at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry import LineString, Point, Polygon

Floats = NDArray[np.float64]
EGO = -2
FREE = -1


@dataclass(frozen=True)
class OracleLane:
    """A lane or connector; lanes come before connectors, both in the order of the map's tables."""

    polygon: Any
    is_connector: bool
    line: Floats
    limit: float | None


@dataclass(frozen=True)
class OracleVehicle:
    """A vehicle of the current frame."""

    pose: Floats
    length: float
    width: float
    velocity: Floats


@dataclass
class _Simulated:
    vehicle: int
    lane: int
    length: float
    width: float
    points: Floats
    headings: Floats
    along: Floats
    progress: float
    speed: float
    target: float

    def clamped(self, q: float) -> float:
        return float(np.clip(q, self.along[0], self.along[-1]))

    def pose(self, q: float) -> tuple[float, float, float]:
        q = self.clamped(q)
        x, y = (float(np.interp(q, self.along, self.points[:, i])) for i in range(2))
        heading = float(np.interp(q, self.along, np.unwrap(self.headings)))
        return x, y, (heading + np.pi) % (2 * np.pi) - np.pi

    @property
    def box(self) -> Polygon:
        return box(self.pose(self.progress), self.length, self.width)

    def line(self, start: float, end: float | None) -> list[Any]:
        after = np.flatnonzero(self.along > start)
        if not len(after):
            return list(self.points[-2:])
        if end is None:
            return [self.pose(start)[:2], *self.points[after[0] :]]
        before = np.flatnonzero(self.along < end)
        if not len(before):
            return list(self.points[:2])
        return [self.pose(start)[:2], *self.points[after[0] : before[-1] + 1], self.pose(end)[:2]]

    def band(self, start: float, end: float | None) -> Polygon:
        return LineString(self.line(start, end)).buffer(self.width / 2, cap_style="flat", quad_segs=16)


@dataclass
class OracleTraffic:
    """What happened: built vehicles, steps, and observations."""

    built: list[tuple[int, int, float, float, float, float]] = field(default_factory=list)
    """Vehicle, lane, initial progress, speed, target speed, end of the path."""
    steps: list[tuple[int, int, int, int, float, float, float, float, float]] = field(default_factory=list)
    """Step, vehicle, lead, hits, distance, lead's speed, rear length, progress, speed."""
    seen: list[list[tuple[int, Floats]]] = field(default_factory=list)
    """For steps 1..40: vehicle and its x, y, heading, vx, vy."""


def box(pose: Sequence[float] | Floats, length: float, width: float) -> Polygon:
    x, y, heading = pose
    c, s = np.cos(heading), np.sin(heading)
    corners = [(1, 1), (-1, 1), (-1, -1), (1, -1)]
    return Polygon(
        [(x + a * length / 2 * c - b * width / 2 * s, y + a * length / 2 * s + b * width / 2 * c) for a, b in corners]
    )


def _nearest_pose(line: Floats, x: float, y: float) -> tuple[float, float, float, float]:
    shape = LineString(line)
    s = shape.project(Point(x, y))
    at, on = shape.interpolate(s), shape.interpolate(s + 0.5)
    dx, dy = on.x - at.x, on.y - at.y
    if dx == 0 and dy == 0:
        back = shape.interpolate(s - 0.5)
        dx, dy = at.x - back.x, at.y - back.y
    return s, at.x, at.y, float(np.arctan2(dy, dx))


def _lane_of(vehicle: OracleVehicle, lanes: Sequence[OracleLane], intersections: Sequence[Any]) -> int | None:
    x, y, heading = vehicle.pose
    point = Point(x, y)
    found = [i for i, lane in enumerate(lanes) if not lane.is_connector and lane.polygon.contains(point)]
    if not found and any(area.contains(point) for area in intersections):
        found = [i for i, lane in enumerate(lanes) if lane.is_connector and lane.polygon.contains(point)]
    if not found:
        return None
    return min(found, key=lambda i: abs(_nearest_pose(lanes[i].line, x, y)[3] - heading))


def simulate(
    vehicles: Sequence[OracleVehicle],
    lanes: Sequence[OracleLane],
    intersections: Sequence[Any],
    ego_states: Floats,
    snap: float = 3.0,
    simplify: bool = True,
) -> OracleTraffic:
    """Drive the vehicles of the current frame while the ego goes through `ego_states` (41, 11)."""
    out = OracleTraffic()
    chosen = [_lane_of(vehicle, lanes, intersections) for vehicle in vehicles]
    active: dict[int, _Simulated] = {}
    shapes: dict[int, Any] = {}
    x, y, heading = ego_states[0, :3]
    occupied = [box((x + 1.461 * np.cos(heading), y + 1.461 * np.sin(heading), heading), 5.176, 2.297)]
    target = 10.0
    far = [False] * len(vehicles)
    for i, vehicle in enumerate(vehicles):
        lane = chosen[i]
        if lane is None:
            continue
        s, *pose = _nearest_pose(lanes[lane].line, vehicle.pose[0], vehicle.pose[1])
        far[i] = bool(np.hypot(pose[0] - vehicle.pose[0], pose[1] - vehicle.pose[1]) > snap)
        if far[i]:
            continue
        shape = box(pose, vehicle.length, vehicle.width)
        if any(shape.intersects(other) for other in occupied):
            continue
        occupied.append(shape)
        shapes[i] = shape
        target = lanes[lane].limit or target
        points = lanes[lane].line
        steps = np.diff(points, axis=0)
        headings = np.arctan2(steps[:, 1], steps[:, 0])
        lengths = np.hypot(*steps.T)
        kept = np.flatnonzero(lengths > 1e-8)
        along = np.concatenate([[0.0], np.cumsum(lengths)])[kept]
        speed = float(np.hypot(*vehicle.velocity))
        active[i] = _Simulated(
            i, lane, vehicle.length, vehicle.width, points[kept], headings[kept], along, s, speed, target
        )
        out.built.append((i, lane, s, speed, target, along[-1]))
    parked = [
        (np.hypot(*v.velocity) < 0.1 and not _on_road(v, lanes, intersections)) or far[i]
        for i, v in enumerate(vehicles)
    ]
    for k in range(1, len(ego_states)):
        ego = ego_states[k - 1]
        shapes.pop(EGO, None)
        shapes[EGO] = box(ego[:3], 5.176, 2.297)
        for i in list(active):
            x, y, _ = active[i].pose(active[i].progress)
            if np.hypot(x - ego[0], y - ego[1]) > 100.0:
                del active[i], shapes[i]
        for i, car in active.items():
            out.steps.append(_step(k, i, car, active, shapes, ego, simplify))
        out.seen.append(_observe(vehicles, active, parked))
    return out


def _on_road(vehicle: OracleVehicle, lanes: Sequence[OracleLane], intersections: Sequence[Any]) -> bool:
    point = Point(vehicle.pose[0], vehicle.pose[1])
    areas = [lane.polygon for lane in lanes if not lane.is_connector] + list(intersections)
    return any(area.contains(point) for area in areas)


def _step(
    k: int, i: int, car: _Simulated, active: dict[int, _Simulated], shapes: dict[int, Any], ego: Floats, simplify: bool
) -> tuple[int, int, int, int, float, float, float, float, float]:
    if simplify:
        for name in shapes:
            shapes[name] = shapes[name].simplify(1e-5)
    names = list(shapes)
    corridor = car.band(car.clamped(car.progress), None)
    tree = shapely.STRtree([shapes[name] for name in names], 10)
    hits = [names[h] for h in tree.query(corridor) if shapes[names[h]].intersects(corridor)]
    assert i in hits
    if len(hits) > 1:
        others = [name for name in hits if name != i]
        lead = others[shapely.STRtree([shapes[name] for name in others], 10).nearest(shapes[i])]
        distance, rear = shapes[i].distance(shapes[lead]), 0.0
        own = car.pose(car.progress)[2]
        if lead == EGO:
            lead_speed = float(np.hypot(ego[3], ego[4]) * np.cos(ego[2] - own))
        else:
            other = active[lead]
            lead_speed = float(other.speed * np.cos(other.pose(other.progress)[2] - own))
    else:
        lead, distance, lead_speed, rear = FREE, car.along[-1] - car.progress, 0.0, car.length / 2
    v = car.speed
    wanted = 1.0 + 1.5 * v + v * (v - lead_speed) / (2 * np.sqrt(2.0))
    gap = max(distance - rear, 1.0)
    acceleration = np.clip(1 - (v / car.target) ** 4 - (wanted / gap) ** 2, -2.0, 1.0)
    car.progress += 0.1 * v
    car.speed = max(v + 0.1 * float(acceleration), 0.0)
    start = car.clamped(car.progress - car.length / 2)
    end = car.clamped(car.progress + car.length / 2 + 1.5 * car.speed)
    shapes[i] = car.band(start, end).union(car.box)
    return k, i, lead, len(hits), distance, lead_speed, rear, car.progress, car.speed


def _observe(
    vehicles: Sequence[OracleVehicle], active: dict[int, _Simulated], parked: Sequence[bool]
) -> list[tuple[int, Floats]]:
    seen, boxes = [], []
    for i, car in active.items():
        x, y, heading = car.pose(car.progress)
        seen.append((i, np.array([x, y, heading, car.speed * np.cos(heading), car.speed * np.sin(heading)])))
        boxes.append(car.box)
    for i, vehicle in enumerate(vehicles):
        shape = box(vehicle.pose, vehicle.length, vehicle.width)
        if i not in active and parked[i] and not any(shape.intersects(other) for other in boxes):
            seen.append((i, np.concatenate([vehicle.pose, vehicle.velocity])))
            boxes.append(shape)
    return seen
