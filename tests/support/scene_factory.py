"""Small made-up scenes for tests and benchmarks: a bent two-way road with junctions, traffic, lights, and plans."""

from __future__ import annotations

import numpy as np

from world4scorer.engine.scene import Box, Frame, Layer, Light, Lights, PolygonMap, Scene, State, Tracks, TrackType

LANE_WIDTH = 3.5


def road_point(s, offset, bend):
    """Point `s` metres along a road of constant curvature `bend` [1/m], `offset` metres to its left, and heading."""
    heading = bend * s
    if abs(bend) < 1e-12:
        x, y = s, np.zeros_like(s)
    else:
        x, y = np.sin(heading) / bend, (1 - np.cos(heading)) / bend
    return x - offset * np.sin(heading), y + offset * np.cos(heading), heading


def strip(start, end, right, left, bend, step=4.0):
    """Ring around a piece of the road."""
    s = np.linspace(start, end, max(2, int((end - start) / step) + 1))
    x1, y1, _ = road_point(s, right, bend)
    x2, y2, _ = road_point(s[::-1], left, bend)
    return np.concatenate([np.stack([x1, y1], 1), np.stack([x2, y2], 1)])


def make_map(bend, pieces, rng):
    """Pieces of 30 m: two lanes along, one against; every fourth piece is a junction."""
    polygons, route = [], []
    for piece in range(pieces):
        a, b = 30.0 * (piece - 2), 30.0 * (piece - 1)
        junction = piece % 4 == 3
        if junction:
            polygons.append((f"i{piece}", Layer.INTERSECTION, [strip(a, b, -1.5 * LANE_WIDTH, 2 * LANE_WIDTH, bend)]))
        else:
            polygons.append((f"b{piece}", Layer.ROADBLOCK, [strip(a, b, -1.5 * LANE_WIDTH, 0.5 * LANE_WIDTH, bend)]))
            polygons.append((f"c{piece}", Layer.ROADBLOCK, [strip(a, b, 0.5 * LANE_WIDTH, 1.5 * LANE_WIDTH, bend)]))
        layer = Layer.LANE_CONNECTOR if junction else Layer.LANE
        for lane, middle in enumerate((-LANE_WIDTH, 0.0, LANE_WIDTH)):
            ring = strip(a, b, middle - LANE_WIDTH / 2, middle + LANE_WIDTH / 2, bend)
            polygons.append((f"l{piece}_{lane}", layer, [ring]))
            if lane == 1 or (lane == 0 and rng.random() < 0.7):
                route.append(f"l{piece}_{lane}")
    hole = strip(70, 76, -9, -6.5, bend, 2.0)
    polygons.append(("park", Layer.CARPARK_AREA, [strip(60, 90, -12, -1.5 * LANE_WIDTH, bend), hole]))
    return PolygonMap.from_polygons(polygons), tuple(route)


def make_tracks(rng, count, bend, speed, steps=51):
    """Traffic on and beside the road: some moving, some standing, some seen for a while only."""
    boxes = np.zeros((count, steps, len(Box)))
    valid = np.ones((count, steps), bool)
    types = rng.choice(len(TrackType), count, p=[0.5, 0.15, 0.1, 0.1, 0.05, 0.05, 0.05]).astype(np.int8)
    t = np.arange(steps) * 0.1
    for i in range(count):
        moving = types[i] < 3 and rng.random() < 0.7
        v = rng.uniform(0, 1.5 * speed + 2) if moving else 0.0
        against = rng.random() < 0.3
        s = rng.uniform(-25, 25 + 5 * speed) + v * t * (-1 if against else 1)
        offset = rng.choice([-LANE_WIDTH, 0.0, LANE_WIDTH, -8.0]) + rng.normal(0, 0.7)
        x, y, heading = road_point(s, offset, bend)
        heading = heading + (np.pi if against else 0.0) + rng.normal(0, 0.2)
        length, width = (rng.uniform(3.5, 9), rng.uniform(1.6, 2.5)) if types[i] == 0 else rng.uniform(0.3, 1.5, 2)
        boxes[i, :, :5] = np.stack(np.broadcast_arrays(x, y, heading, length, width), -1)
        boxes[i, :, 5:] = np.stack([np.gradient(x, 0.1), np.gradient(y, 0.1)], -1) if moving else 0.0
        if rng.random() < 0.2:
            first, last = np.sort(rng.integers(0, steps, 2))
            valid[i] = (np.arange(steps) >= first) & (np.arange(steps) <= last)
    return Tracks(tuple(f"t{i}" for i in range(count)), types, boxes, valid)


def make_plans(rng, count, bend, speed):
    """Plans along the road at various speeds and offsets, in the ego frame, and a few wild ones."""
    t = np.arange(1, 9) * 0.5
    plans = np.empty((count, 8, 3))
    for n in range(count):
        kind = rng.random()
        v = speed * rng.uniform(0.3, 1.4) + rng.uniform(0, 1.0)
        s = v * t + 0.5 * rng.normal(0, 0.8) * t**2 * (t < 6)
        shift = rng.normal(0, 2.0) * (1 - np.cos(np.pi * np.minimum(t / 4, 1))) / 2
        x, y, heading = road_point(s, shift, bend * rng.uniform(0.5, 1.5))
        plans[n] = np.stack([x, y, heading + np.gradient(shift, 0.5) / max(v, 1.0)], -1)
        if kind < 0.05:
            plans[n] = 0.0
        elif kind < 0.12:
            plans[n] += rng.normal(0, 0.5, (8, 3)) * [1, 1, 0.3]
        elif kind < 0.16:
            plans[n, :, 0] *= -0.2
    return plans


def move_pose(pose, shift, turn):
    """Rotate poses (..., 3) by `turn` about the origin, then move them by `shift`."""
    c, s = np.cos(turn), np.sin(turn)
    out = np.array(pose, float)
    out[..., 0] = c * pose[..., 0] - s * pose[..., 1] + shift[0]
    out[..., 1] = s * pose[..., 0] + c * pose[..., 1] + shift[1]
    out[..., 2] = (pose[..., 2] + turn + np.pi) % (2 * np.pi) - np.pi
    return out


def moved(scene: Scene, shift, turn) -> Scene:
    """The same scene somewhere else in the world."""
    c, s = np.cos(turn), np.sin(turn)
    rotation = np.array([[c, s], [-s, c]])

    def states(rows):
        out = rows.copy()
        out[..., :3] = move_pose(rows[..., :3], shift, turn)
        return out

    def tracks(old):
        boxes = states(old.boxes)
        boxes[..., [Box.VELOCITY_X, Box.VELOCITY_Y]] = old.boxes[..., [Box.VELOCITY_X, Box.VELOCITY_Y]] @ rotation
        return Tracks(old.ids, old.type, boxes, old.valid)

    old = scene.map
    vertices = old.vertices @ rotation + shift
    return Scene(
        token=scene.token,
        log_name=scene.log_name,
        time_us=scene.time_us,
        ego_state=states(scene.ego_state),
        centerline=move_pose(scene.centerline, shift, turn),
        map=PolygonMap(old.ids, old.layer, vertices, old.ring_offsets, old.ring_polygon),
        route_lane_ids=scene.route_lane_ids,
        tracks=tracks(scene.tracks),
        reference=move_pose(scene.reference, shift, turn),
        lights=scene.lights,
        past_states=states(scene.past_states),
        past_time_us=scene.past_time_us,
        human_future=scene.human_future,
    )


def make_frame(seed: int, plans: int = 16, agents: int = 12, pieces: int = 8) -> Frame:
    """One made-up decision. The world is shifted and turned at random, so that nothing is aligned with the axes."""
    rng = np.random.default_rng(seed)
    bend = rng.choice([0.0, 1e-4, 0.005, -0.01, 0.02])
    speed = rng.choice([0.0, 2.0, 6.0, 12.0])
    polygons, route = make_map(bend, pieces, rng)
    time_us = 1_600_000_000_000_000 + int(rng.integers(0, 10**12))
    ego = np.zeros(len(State))
    ego[[State.VELOCITY_X, State.VELOCITY_Y]] = speed, rng.normal(0, 0.05)
    ego[[State.ACCELERATION_X, State.ACCELERATION_Y]] = rng.normal(0, 0.5), rng.normal(0, 0.2)
    s = np.arange(-30.0, 20 + 8 * speed, 2.0)
    x, y, heading = road_point(s, 0.0, bend)
    reference_s = 0.8 * speed * np.arange(51) * 0.1
    past = np.repeat(ego[None], 4, 0)
    past_t = np.array([-1.5, -1.0, -0.5, 0.0])
    px, py, ph = road_point(past_t * speed, 0.0, bend)
    past[:, :3] = np.stack([px, py, ph], -1)
    past_us = time_us + np.round(past_t * 1e6).astype(np.int64)
    past_us[0] -= rng.integers(0, 2) * 300
    connectors = [i for i, layer in enumerate(polygons.layer) if layer == Layer.LANE_CONNECTOR][:3]
    status = np.full((len(connectors), 51), int(Light.GREEN))
    status[:, rng.integers(0, 51) :] = int(Light.RED)
    names = [polygons.ids[i] for i in connectors]
    scene = Scene(
        token=f"made-{seed}",
        log_name="made",
        time_us=time_us,
        ego_state=ego,
        centerline=np.stack([x, y, heading], -1),
        map=polygons,
        route_lane_ids=route,
        tracks=make_tracks(rng, agents, bend, speed),
        reference=np.stack(road_point(reference_s, 0.0, bend), -1),
        lights=Lights(np.array(connectors), status, np.array([name in route for name in names], bool)),
        past_states=past,
        past_time_us=past_us,
        human_future=make_plans(rng, 1, bend, speed)[0],
    )
    scene = moved(scene, rng.uniform(-300, 300, 2), rng.uniform(-3, 3))
    return Frame(scene, make_plans(rng, plans, bend, speed), rng.normal(size=plans))
