"""Metric caches as the devkits write them, from the golden arrays of the official caches, without the devkits."""

from __future__ import annotations

import lzma
from pathlib import Path
from typing import Any

import numpy as np
import shapely

from tests.support.devkit_pickles import ACTOR, MAPS, Devkit
from tests.support.navsim_golden import NavsimGolden
from world4scorer.engine.scene.vehicle import REAR_AXLE_TO_CENTRE

PLANNER = "navsim.planning.simulation.planner.pdm_planner"
TRAJECTORIES = "nuplan.planning.simulation.trajectory"
LAYERS = {"LANE": 0, "INTERSECTION": 1, "LANE_CONNECTOR": 11, "CARPARK_AREA": 15, "ROADBLOCK": 17}
LOG = "log"


def write_caches(golden: NavsimGolden, version: str, tokens: list[str], folder: Path) -> Path:
    """Write caches of `v1` or `v2` in the official layout."""
    kit = Devkit()
    try:
        for token in tokens:
            path = folder / LOG / "unknown" / token / "metric_cache.pkl"
            path.parent.mkdir(parents=True)
            content = _cache(kit, golden, version, token)
            path.write_bytes(lzma.compress(kit.dumps(content), preset=0))
    finally:
        kit.forget()
    return folder


def _cache(kit: Devkit, golden: NavsimGolden, version: str, token: str) -> Any:
    arrays = golden.cache(version, token)
    now = int(arrays["ego_time_us"])
    polygons = _polygons(golden)
    fields = {
        "file_path": Path("/elsewhere") / token / "metric_cache.pkl",
        "ego_state": _ego(kit, arrays["ego_state"], now),
        "trajectory": _trajectory(kit, arrays["pdm_trajectory_states"], now + 100_000 * np.arange(51)),
        "observation": _observation(kit, arrays, polygons),
        "centerline": kit.define(f"{PLANNER}.utils.pdm_path", "PDMPath", arguments=("path",))(
            path=[_pose(kit, *row) for row in arrays["centerline_xyh"]]
        ),
        "route_lane_ids": [str(name) for name in arrays["route_lane_ids"]],
        "drivable_area_map": _drivable(kit, arrays, polygons),
    }
    if version == "v2":
        sampling = kit.define(f"{TRAJECTORIES}.trajectory_sampling", "TrajectorySampling")
        plan = kit.define("navsim.common.dataclasses", "Trajectory")
        scene_type = kit.define("navsim.common.enums", "SceneFrameType", enum=True)
        fields |= {
            "log_name": LOG,
            "scene_type": scene_type(0),
            "timepoint": kit.define(f"{ACTOR}.state_representation", "TimePoint")(time_us=now),
            "human_trajectory": plan(
                poses=arrays["human_trajectory"], trajectory_sampling=sampling(num_poses=8, interval_length=0.5)
            ),
            "past_human_trajectory": _trajectory(kit, arrays["past_human_states"], arrays["past_human_time_us"]),
            "map_parameters": kit.define("navsim.planning.metric_caching.metric_cache", "MapParameters")(
                map_name="town"
            ),
        }
    return kit.define("navsim.planning.metric_caching.metric_cache", "MetricCache")(**fields)


def _pose(kit: Devkit, x: float, y: float, heading: float) -> Any:
    return kit.define(f"{ACTOR}.state_representation", "StateSE2")(x=float(x), y=float(y), heading=float(heading))


def _ego(kit: Devkit, row: Any, time_us: int) -> Any:
    vector = kit.define(f"{ACTOR}.state_representation", "StateVector2D")
    x, y, heading, vx, vy, ax, ay, steering, rate, spin, spin_change = (float(value) for value in row)
    centre = _pose(kit, x + REAR_AXLE_TO_CENTRE * np.cos(heading), y + REAR_AXLE_TO_CENTRE * np.sin(heading), heading)
    return kit.define(f"{ACTOR}.ego_state", "EgoState")(
        _car_footprint=kit.define(f"{ACTOR}.car_footprint", "CarFootprint")(_center=centre),
        _dynamic_car_state=kit.define(f"{ACTOR}.dynamic_car_state", "DynamicCarState")(
            _rear_axle_velocity_2d=vector(_x=vx, _y=vy),
            _rear_axle_acceleration_2d=vector(_x=ax, _y=ay),
            _angular_velocity=spin,
            _angular_acceleration=spin_change,
            _tire_steering_rate=rate,
        ),
        _tire_steering_angle=steering,
        _time_point=kit.define(f"{ACTOR}.state_representation", "TimePoint")(time_us=int(time_us)),
    )


def _trajectory(kit: Devkit, states: Any, times: Any) -> Any:
    made = kit.define(f"{TRAJECTORIES}.interpolated_trajectory", "InterpolatedTrajectory", arguments=("states",))
    return made(states=[_ego(kit, row, time) for row, time in zip(states, times, strict=True)])


def _polygons(golden: NavsimGolden) -> dict[tuple[str, str], Any]:
    objects = golden.map_objects
    offsets, points = objects["exterior_offset"], objects["exterior_xy"]
    return {
        (str(name), str(layer)): shapely.Polygon(points[offsets[row] : offsets[row + 1]])
        for row, (name, layer) in enumerate(zip(objects["ids"], objects["layers"], strict=True))
    }


def _drivable(kit: Devkit, arrays: Any, polygons: dict[tuple[str, str], Any]) -> Any:
    layer = kit.define(MAPS, "SemanticMapLayer", enum=True)
    made = kit.define(
        f"{PLANNER}.observation.pdm_occupancy_map",
        "PDMDrivableMap",
        arguments=("tokens", "types", "geometries", "nodes"),
    )
    keys = [
        (str(name), str(kind)) for name, kind in zip(arrays["drivable_ids"], arrays["drivable_layers"], strict=True)
    ]
    return made(
        tokens=[name for name, _ in keys],
        types=[layer(LAYERS[kind]) for _, kind in keys],
        geometries=_objects([polygons[key] for key in keys]),
        nodes=10,
    )


def _observation(kit: Devkit, arrays: Any, polygons: dict[tuple[str, str], Any]) -> Any:
    occupancy = kit.define(
        f"{PLANNER}.observation.pdm_occupancy_map", "PDMOccupancyMap", arguments=("tokens", "geometries", "nodes")
    )
    names = [str(name) for name in arrays["track_tokens"]]
    maps, unique = [], {}
    steps = 51 if arrays["track_step"].max() > 40 else 41
    for step in range(steps):
        rows = np.flatnonzero(arrays["track_step"] == step)
        tokens, outlines = [], []
        for row in rows:
            track = arrays["track_index"][row]
            tokens.append(names[track])
            outlines.append(_outline(arrays["track_box"][row]))
            if names[track] not in unique:
                unique[names[track]] = _agent(
                    kit, names[track], int(arrays["track_type"][track]), arrays["track_box"][row]
                )
        red = [
            str(name)
            for name, at in zip(arrays["red_light_token"], arrays["red_light_step"], strict=True)
            if at == step
        ]
        tokens += red
        outlines += [polygons[name.removeprefix("red_light_"), "LANE_CONNECTOR"] for name in red]
        maps.append(occupancy(tokens=tokens, geometries=_objects(outlines), nodes=10))
    made = kit.define(f"{PLANNER}.observation.pdm_observation", "PDMObservation")
    return made(_occupancy_maps=maps, _unique_objects=unique, _collided_track_ids=[], _initialized=True)


def _outline(box: Any) -> Any:
    x, y, heading, _, _, length, width, _ = box
    along = np.array([np.cos(heading), np.sin(heading)])
    across = np.array([-along[1], along[0]])
    sides = ((0.5, 0.5), (-0.5, 0.5), (-0.5, -0.5), (0.5, -0.5))
    return shapely.Polygon([np.array([x, y]) + a * length * along + b * width * across for a, b in sides])


def _agent(kit: Devkit, token: str, kind: int, box: Any) -> Any:
    names = ("x", "y", "heading", "vx", "vy", "length", "width", "height")
    row = dict(zip(names, map(float, box), strict=True))
    return kit.tracked(kind, {**row, "token": token, "track_token": token})


def _objects(values: list[Any]) -> Any:
    found = np.empty(len(values), object)
    found[:] = values
    return found
