"""Small made-up scenes: a straight road with a side road, some traffic, a light. Plain functions, seeded."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.scene import Layer, Light, Lights, PolygonMap, Scene, Tracks, TrackType

ORIGIN = np.array([587_000.25, 4_475_000.5])
LANE_WIDTH = 3.6


def rectangle(x0: float, y0: float, x1: float, y1: float) -> NDArray[np.float64]:
    return np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]]) + ORIGIN


def make_map(seed: int = 0) -> PolygonMap:
    rng = np.random.default_rng(seed)
    w = LANE_WIDTH
    polygons: list[Any] = [
        ("10", Layer.ROADBLOCK, [rectangle(-30, -w / 2, 60, 1.5 * w)]),
        ("11", Layer.LANE, [rectangle(-30, -w / 2, 60, w / 2)]),
        ("12", Layer.LANE, [rectangle(-30, w / 2, 60, 1.5 * w)]),
        ("20", Layer.INTERSECTION, [rectangle(60, -12, 84, 12)]),
        ("21", Layer.LANE_CONNECTOR, [rectangle(60, -w / 2, 84, w / 2)]),
        ("30", Layer.CARPARK_AREA, [rectangle(0, -25, 20, -8), rectangle(5, -20, 8, -15)[::-1]]),
        ("10", Layer.LANE, [rectangle(84, -w / 2, 140, w / 2)]),
    ]
    extra = rng.uniform(100, 120, (3, 2)) + ORIGIN
    polygons.append((f"extra{seed}", Layer.DRIVABLE_AREA, [extra]))
    return PolygonMap.from_polygons(polygons)


def make_tracks(seed: int, count: int = 5, steps: int = 51, changing_size: bool = False) -> Tracks:
    rng = np.random.default_rng(seed)
    boxes = np.zeros((count, steps, 7))
    start = ORIGIN + rng.uniform([5, -6], [60, 6], (count, 2))
    velocity = rng.normal(0, 3, (count, 2))
    time = np.arange(steps) * 0.1
    boxes[..., :2] = start[:, None] + velocity[:, None] * time[:, None]
    boxes[..., 2] = rng.uniform(-np.pi, np.pi, (count, 1))
    boxes[..., 3:5] = rng.uniform([3.5, 1.6], [5.5, 2.2], (count, 2))[:, None]
    boxes[..., 5:7] = velocity[:, None]
    if changing_size:
        boxes[..., 3] += rng.uniform(0, 0.1, (count, steps))
    valid = rng.random((count, steps)) < 0.9
    boxes[~valid] = np.nan
    types = rng.integers(0, len(TrackType), count)
    return Tracks(tuple(f"track{seed % 3}_{i}" for i in range(count)), types, boxes, valid)


def make_scene(
    seed: int = 0,
    *,
    log_name: str = "log",
    time_us: int = 0,
    polygons: PolygonMap | None = None,
    complete: bool = True,
    count: int = 5,
    changing_size: bool = False,
) -> Scene:
    """Return a scene; `complete` ones hold every optional field."""
    rng = np.random.default_rng(seed)
    speed = rng.uniform(3, 12)
    ego = np.zeros(11)
    ego[:3] = [*np.add(ORIGIN, (rng.uniform(-5, 15), rng.normal(0, 0.2))), rng.normal(0, 0.02)]
    ego[3] = speed
    time = np.arange(51) * 0.1
    reference = np.stack([ego[0] + 0.9 * speed * time, np.full(51, ORIGIN[1]), np.zeros(51)], axis=1)
    centerline = np.stack([np.arange(-20.0, 130.0, 2.0) + ORIGIN[0], np.full(75, ORIGIN[1]), np.zeros(75)], axis=1)
    tracks = make_tracks(seed, count, changing_size=changing_size)
    optional: dict[str, Any] = {}
    if complete:
        past = np.repeat(ego[None], 4, axis=0)
        past[:, 0] -= speed * np.array([1.5, 1.0, 0.5, 0.0])
        boxes, valid = tracks.boxes[:, :41].copy(), tracks.valid[:, :41].copy()
        if count:
            boxes[0, :, 0] += 0.01  # the first differs, the others are the same boxes
            valid[-1, 20:] = False
        status = np.full((2, 51), Light.GREEN)
        status[0, 10:] = Light.RED
        optional = {
            "lights": Lights(np.array([4, -1]), status, np.array([True, False])),
            "past_states": past,
            "past_time_us": time_us + np.array([-1_500_000, -1_000_000, -500_000, 0]),
            "human_future": np.stack([speed * np.arange(1, 9) * 0.5, rng.normal(0, 0.1, 8), np.zeros(8)], axis=1),
            "tracks_v2": Tracks(tracks.ids, tracks.type, boxes, valid),
            "reference_v2": np.add(reference[:41], (0.01, 0, 0)),
        }
    return Scene(
        token=f"{log_name}_{seed:04d}",
        log_name=log_name,
        time_us=time_us,
        ego_state=ego,
        centerline=centerline,
        map=make_map() if polygons is None else polygons,
        route_lane_ids=("11", "21", "10"),
        tracks=tracks,
        reference=reference,
        **optional,
    )


def make_log(name: str, count: int, *, seed: int = 0, spacing_us: int = 500_000) -> list[Scene]:
    """Return `count` scenes of one log, every 0.5 s, on one map."""
    polygons = make_map(seed)
    return [
        make_scene(seed * 1000 + i, log_name=name, time_us=1_000_000 + i * spacing_us, polygons=polygons)
        for i in range(count)
    ]


def make_plans(scene: Scene, count: int, seed: int = 0) -> NDArray[np.float64]:
    """Return (count, 8, 3) plans around driving on."""
    rng = np.random.default_rng(seed)
    time = np.arange(1, 9) * 0.5
    speed = scene.ego_state[3] * rng.uniform(0.3, 1.3, (count, 1))
    bend = rng.normal(0, 0.015, (count, 1))
    x = speed * time
    return np.stack([x, bend * x**2 / 2, bend * x], axis=2)
