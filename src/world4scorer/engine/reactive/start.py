"""Which vehicles of the current frame are simulated, and where they start.

In the order of the frame, a vehicle is simulated if it has a lane, lies at most 3 m from its nearest pose on the lane,
and its box, moved to this pose, meets neither the ego's nor that of a vehicle accepted before. Its target speed is the
lane's limit, or, where the map has none, that of the vehicle accepted before it.

The others are parked, or they vanish after step 0. Parked is who stands (below 0.1 m/s) on no lane and no intersection,
or has a lane but lies more than 3 m from it.

Shapes: V simulated vehicles, Q parked ones.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.kernels import kernel
from world4scorer.engine.reactive.idm import TARGET_SPEED
from world4scorer.engine.reactive.lane_choice import choose_lanes
from world4scorer.engine.reactive.outlines import ARC_STEP
from world4scorer.engine.reactive.paths import Paths, cut_path, join_paths
from world4scorer.engine.rollout.angles import sine_cosine
from world4scorer.engine.scene.boxes import boxes_meet
from world4scorer.engine.scene.checks import SceneError
from world4scorer.engine.scene.geometry import Floats
from world4scorer.engine.scene.indices import Box, State, TrackType
from world4scorer.engine.scene.scene import Scene
from world4scorer.engine.scene.vehicle import HALF_LENGTH, HALF_WIDTH, REAR_AXLE_TO_CENTRE

SNAP_DISTANCE: Final = 3.0
"""Distance from the lane up to which a vehicle is moved onto it [m]."""
PARKED_SPEED: Final = 0.1
"""Speed below which a vehicle off the road is parked [m/s]."""
CORNER_POINTS: Final = 8
"""Maximum points of an outline at a vertex, besides those of arcs."""


class TrafficStart(NamedTuple):
    """The traffic at step 0. Positions are relative to `origin`."""

    track: NDArray[np.int64]
    """(V,) index among the scene's tracks."""
    lane: NDArray[np.int64]
    """(V,) index into `Scene.lanes`."""
    pose: Floats
    """(V, 3) x, y [m], heading [rad] of the vehicle on its lane."""
    length: Floats
    """(V,) m"""
    width: Floats
    """(V,) m"""
    progress: Floats
    """(V,) distance along the baseline [m]; may lie beyond the end of the path."""
    speed: Floats
    """(V,) m/s"""
    target: Floats
    """(V,) target speed [m/s]."""
    paths: Paths
    """Where each vehicle drives."""
    parked: NDArray[np.int64]
    """(Q,) tracks of parked vehicles."""
    origin: Floats
    """(2,) global x, y of the origin [m]; near it, gaps lose no digits."""
    outline_points: int
    """Maximum number of points of an outline along any of the paths."""


def start_traffic(scene: Scene, snap_distance: float = SNAP_DISTANCE) -> TrafficStart:
    """Find the vehicles that are simulated; a SceneError where the scene lacks its lanes."""
    if scene.lanes is None:
        raise SceneError(
            f"scene {scene.token!r}: has no lanes, which reactive traffic needs; its store was written before schema "
            "2: run `w4s prepare` again with the same options, which adds them in place"
        )
    tracks = scene.tracks if scene.tracks_v2 is None else scene.tracks_v2
    vehicles = np.flatnonzero((tracks.type == TrackType.VEHICLE) & tracks.annotated_now)
    now = tracks.boxes[vehicles, 0]
    poses = now[:, [Box.X, Box.Y, Box.HEADING]]
    choice = choose_lanes(scene, scene.lanes, poses)
    away = np.hypot(*(choice.pose[:, :2] - poses[:, :2]).T) > snap_distance
    snapped = (choice.lane >= 0) & ~away
    sizes = now[:, [Box.LENGTH, Box.WIDTH]]
    accepted = np.flatnonzero(_accept(choice.pose, sizes, snapped, scene.ego_state))
    speed = np.hypot(now[:, Box.VELOCITY_X], now[:, Box.VELOCITY_Y])
    parked = ((speed < PARKED_SPEED) & ~choice.on_road) | ((choice.lane >= 0) & away)
    parked[accepted] = False
    lanes = choice.lane[accepted]
    origin = scene.ego_state[[State.X, State.Y]]
    return TrafficStart(
        track=vehicles[accepted],
        lane=lanes,
        pose=choice.pose[accepted] - np.append(origin, 0.0),
        length=sizes[accepted, 0],
        width=sizes[accepted, 1],
        progress=choice.along[accepted],
        speed=speed[accepted],
        target=_target_speeds(scene.lanes.limit[lanes]),
        paths=(paths := _paths(scene, lanes, origin)),
        parked=vehicles[parked],
        origin=origin,
        outline_points=_outline_points(paths),
    )


def _target_speeds(limits: Floats) -> Floats:
    """(V,) target speeds of vehicles on lanes with these limits; NaN or 0 for none."""
    targets = np.empty(len(limits))
    target = TARGET_SPEED
    for v, limit in enumerate(limits):
        target = limit if limit > 0 else target
        targets[v] = target
    return targets


def _paths(scene: Scene, lanes: NDArray[np.int64], origin: Floats) -> Paths:
    assert scene.lanes is not None
    try:
        parts = [cut_path(scene.lanes.line(lane) - origin, scene.lanes.ids[lane]) for lane in lanes]
    except SceneError as error:
        raise SceneError(f"scene {scene.token!r}: {error}") from error
    return join_paths(parts)


def _outline_points(paths: Paths) -> int:
    vertices = int(np.diff(paths.first).max(initial=0))
    turning = np.abs(np.diff(paths.heading)).sum()
    return CORNER_POINTS * (vertices + 2) + 2 * int(turning / ARC_STEP)


@kernel
def _accept(poses, sizes, snapped, ego_state):
    """Which of the snapped vehicles (n,) at poses (n, 3) with sizes (n, 2) start free of the ego and of each other."""
    accepted = np.zeros(snapped.size, np.bool_)
    ego_sine, ego_cosine = sine_cosine(ego_state[2])
    ego_x = ego_state[0] + REAR_AXLE_TO_CENTRE * ego_cosine
    ego_y = ego_state[1] + REAR_AXLE_TO_CENTRE * ego_sine
    for v in range(snapped.size):
        if not snapped[v]:
            continue
        x, y, half_length, half_width = poses[v, 0], poses[v, 1], 0.5 * sizes[v, 0], 0.5 * sizes[v, 1]
        s, c = sine_cosine(poses[v, 2])
        free = not boxes_meet(
            x, y, c, s, half_length, half_width, ego_x, ego_y, ego_cosine, ego_sine, HALF_LENGTH, HALF_WIDTH
        )
        for w in range(v):
            if accepted[w] and free:
                ws, wc = sine_cosine(poses[w, 2])
                free = not boxes_meet(
                    x, y, c, s, half_length, half_width,
                    poses[w, 0], poses[w, 1], wc, ws, 0.5 * sizes[w, 0], 0.5 * sizes[w, 1],
                )  # fmt: skip
        accepted[v] = free
    return accepted
