"""The metrics of both versions with Shapely, one rollout at a time."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import shapely
from shapely.geometry import LineString, Point, Polygon

from world4scorer.engine.scene import Layer, Light

HALF_LENGTH, HALF_WIDTH, TO_CENTRE = 2.588, 1.1485, 1.461
DRIVABLE = (Layer.ROADBLOCK, Layer.INTERSECTION, Layer.DRIVABLE_AREA, Layer.CARPARK_AREA)
LANES = (Layer.LANE, Layer.LANE_CONNECTOR)


def box_corners(x, y, heading, half_length, half_width):
    """Front left, rear left, rear right, front right."""
    forward = np.array([np.cos(heading), np.sin(heading)])
    left = np.array([-forward[1], forward[0]])
    return [
        np.array([x, y]) + a * half_length * forward + b * half_width * left
        for a, b in ((1, 1), (-1, 1), (-1, -1), (1, -1))
    ]


class World:
    """A scene in Shapely's terms, for one version."""

    def __init__(self, scene, version):
        self.version = version
        self.steps = 51 if version == 1 else 41
        layers = scene.map.layer
        shapes = [Polygon(rings[0], rings[1:]) for rings in (scene.map.rings(p) for p in range(len(layers)))]
        self.shapes = shapes
        self.drivable = [g for g, layer in zip(shapes, layers, strict=True) if layer in DRIVABLE]
        self.lanes = [g for g, layer in zip(shapes, layers, strict=True) if layer in LANES]
        self.intersections = [g for g, layer in zip(shapes, layers, strict=True) if layer == Layer.INTERSECTION]
        route = set(scene.route_lane_ids)
        self.route = [
            g for g, layer, name in zip(shapes, layers, scene.map.ids, strict=True) if layer in LANES and name in route
        ]
        self.line = LineString(scene.centerline[:, :2])
        self.scene = scene
        tracks = scene.tracks
        ego = Polygon(self.corners(scene.ego_state))
        self.boxes = {}
        self.stopped, self.static = {}, {}
        for i in range(len(tracks.ids)):
            seen = np.flatnonzero(tracks.valid[i, : self.steps])
            if len(seen) == 0:
                continue
            shapes_i = {
                int(t): Polygon(
                    box_corners(*tracks.boxes[i, t, :3], tracks.boxes[i, t, 3] / 2, tracks.boxes[i, t, 4] / 2)
                )
                for t in seen
            }
            if version == 2 and 0 in shapes_i and shapes_i[0].intersects(ego):
                continue
            self.boxes[i] = shapes_i
            self.static[i] = tracks.type[i] >= 3
            self.stopped[i] = self.static[i] or np.hypot(*tracks.boxes[i, seen[0], 5:7]) <= 0.05

    @staticmethod
    def corners(state):
        x, y, heading = state[:3]
        return box_corners(
            x + TO_CENTRE * np.cos(heading), y + TO_CENTRE * np.sin(heading), heading, HALF_LENGTH, HALF_WIDTH
        )

    def inside(self, shapes, point):
        place = Point(point)
        return any(shape.contains(place) for shape in shapes)

    def areas(self, state):
        """MULTIPLE_LANES, NON_DRIVABLE, ONCOMING."""
        corners = self.corners(state)
        points = [Point(c) for c in corners]
        held = [sum(lane.contains(point) for point in points) for lane in self.lanes]
        multiple = sum(h > 0 for h in held) > 1 and 4 not in held
        off_road = not all(self.inside(self.drivable, c) for c in corners)
        return multiple, off_road, not self.inside(self.route, centre(state))

    def angle(self, state, i, t):
        offset = self.scene.tracks.boxes[i, t, :2] - state[:2]
        cosine = np.dot([np.cos(state[2]), np.sin(state[2])], offset / np.linalg.norm(offset))
        with np.errstate(invalid="ignore"):
            return np.degrees(np.arccos(cosine))

    def tracks_meeting(self, shape, t):
        return [i for i, boxes in self.boxes.items() if t in boxes and boxes[t].intersects(shape)]


def centre(state):
    return state[:2] + TO_CENTRE * np.array([np.cos(state[2]), np.sin(state[2])])


def no_collision(world, states):
    score, forgiven = 1.0, set()
    for t, state in enumerate(states):
        corners = world.corners(state)
        for i in world.tracks_meeting(Polygon(corners), t):
            if i in forgiven:
                continue
            if np.hypot(state[3], state[4]) <= 0.05:
                fault = False
            elif world.stopped[i]:
                fault = True
            elif world.angle(state, i, t) > 150:
                fault = False
            elif LineString([corners[0], corners[3]]).intersects(world.boxes[i][t]):
                fault = True
            else:
                fault = any(world.areas(state)[:2])
            if fault:
                score = min(score, 0.5 if world.static[i] else 0.0)
            else:
                forgiven.add(i)
    return score


def time_to_collision(world, states):
    forgiven = set()
    for t, state in enumerate(states[: 41 if world.version == 1 else 32]):
        speed = np.hypot(state[3], state[4])
        if speed < 0.005:
            continue
        for ahead in (0, 3, 6, 9):
            shift = speed * 0.1 * ahead * np.array([np.cos(state[2]), np.sin(state[2])])
            for i in world.tracks_meeting(Polygon([c + shift for c in world.corners(state)]), t + ahead):
                if i in forgiven:
                    continue
                angle = world.angle(state, i, t + ahead)
                exposed = any(world.areas(state)[:2]) or world.inside(world.intersections, state[:2])
                if angle < 30 or (exposed and not angle > 150):
                    return 0.0
                forgiven.add(i)
    return 1.0


def drivable_area(world, states):
    return 0.0 if any(world.areas(state)[1] for state in states) else 1.0


def driving_direction(world, states):
    way = [0.0]
    for before, state in pairwise(states):
        step = np.linalg.norm(centre(state) - centre(before)) if world.areas(state)[2] else 0.0
        if world.version == 2 and world.inside(world.intersections, centre(state)):
            step = 0.0
        way.append(step)
    worst = max(sum(way[max(0, t - 10) : t + 1]) for t in range(41))
    return 1.0 if worst < 2 else 0.5 if worst < 6 else 0.0


def traffic_light(world, states):
    lights = world.scene.lights
    for t, state in enumerate(states):
        ego = Polygon(world.corners(state))
        for polygon, status, on_route in zip(lights.polygon, lights.status, lights.on_route, strict=True):
            if on_route and status[t] == Light.RED and ego.intersects(world.shapes[polygon]):
                return 0.0
    return 1.0


def lane_keeping(world, states):
    count = 0
    for state in states:
        if world.inside(world.intersections, centre(state)):
            continue
        count = count + 1 if world.line.distance(Point(centre(state))) > 0.5 else 0
        if count >= 20:
            return 0.0
    return 1.0


def progress(world, states):
    first, last = (world.line.project(Point(centre(state))) for state in (states[0], states[-1]))
    return max(last - first, 0.0)


def prepare_shapes(world):
    """Make repeated containment tests quicker."""
    for shape in world.shapes:
        shapely.prepare(shape)
    return world
