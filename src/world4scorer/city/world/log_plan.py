"""Log plans: everything a log needs, taken from a recording, before rendering and writing.

Simulation and rendering are separate, so that many processes can render the frames of one simulation.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.city.scenery.actors import Actors
from world4scorer.city.world.commands import RouteReader
from world4scorer.city.world.recording import Recording
from world4scorer.city.world.segments import FUTURE_FRAMES, PAST_FRAMES, LogSegment
from world4scorer.city.world.traffic import Agents, TrafficSnapshot, snapshot_actors
from world4scorer.engine.scene.geometry import relative_points, to_global_axes, wrap

ANNOTATION_RADIUS: float = 150.0
"""Road users beyond this distance are neither drawn nor annotated [m]."""
CLEARANCE: Final = (-3.0, 7.0, 4.0)
"""A pose is not shifted to where a road user's centre is nearer: behind, ahead, aside of the rear axle [m]."""
SHIFT, TURN, SPEED_CHANGE = 0.5, 0.26, 0.2
"""Largest shift to the side [m], change of heading [rad] and share of the speed of perturbed scenes."""
PERTURBED_SEED: Final = 23
"""Tells the random numbers of perturbed scenes from others of the same frames."""


@dataclass(frozen=True, eq=False)
class FrameState:
    """Ego and traffic of one frame, in coordinates of the street map."""

    step: int
    """Simulation step."""
    ego_pose: NDArray[np.float64]
    """(3,) x, y [m], heading [rad] of the rear axle."""
    speed: float
    acceleration: NDArray[np.float64]
    """(2,)"""
    yaw_rate: float
    command: int
    actors: Actors
    speeds: NDArray[np.float64]
    """(n,) speeds of the actors [m/s]."""
    names: tuple[str, ...]
    """n SUMO names of the actors."""
    signals: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class LogPlan:
    """A log to be rendered and written."""

    name: str
    simulation: str
    network: str
    vehicle: str
    """SUMO id of the ego."""
    seed: int
    """Seed of the city."""
    weather_seed: int
    route: tuple[str, ...]
    """Edges from the start of the log to the destination."""
    frames: tuple[FrameState, ...]
    decisions: NDArray[np.int64]
    """Frames that become scenes of the split."""
    situations: Mapping[str, int]
    """Number of decision frames by situation."""
    source: tuple[str, int] | None = None
    """Of a perturbed scene: the log it was taken from, and the frame of that log where it begins."""

    def __str__(self) -> str:
        return self.name

    def token(self, frame: int) -> str:
        """Token of a frame: 16 hexadecimal digits."""
        return digest(self.seed, self.name, frame)

    @property
    def own_frames(self) -> list[int]:
        """Frames with images of their own: all, or those that were perturbed."""
        return list(range(len(self.frames))) if self.source is None else self.decisions.tolist()

    def image_of(self, frame: int) -> tuple[str, int]:
        """Log and frame whose images a frame shows."""
        if self.source is None or frame in self.own_frames:
            return self.name, frame
        return self.source[0], self.source[1] + frame


def digest(*parts: object) -> str:
    """Hash of the parts: 16 hexadecimal digits."""
    return hashlib.sha256("/".join(map(str, parts)).encode()).hexdigest()[:16]


def plan_log(
    segment: LogSegment, recording: Recording, routes: RouteReader, simulation: str, network: str, seed: int
) -> LogPlan:
    """Plan the log of a segment of a recording."""
    drive = segment.expert.drive
    name = f"{simulation}_{drive.name}_{segment.steps[0]:05d}"
    lanes = [drive.lane[row] for row in segment.rows]
    begin = next(edge for lane in lanes if (edge := routes.edge_of(lane, drive.route)) is not None)
    frames = tuple(
        _frame(segment, int(row), recording.snapshot_at(int(step)), recording.agents, routes)
        for row, step in zip(segment.rows, segment.steps, strict=True)
    )
    decisions = segment.decisions()
    return LogPlan(
        name=name,
        simulation=simulation,
        network=network,
        vehicle=drive.name,
        seed=seed,
        weather_seed=zlib.crc32(f"{seed}/{name}".encode()),
        route=drive.route[drive.route.index(begin) :],
        frames=frames,
        decisions=decisions,
        situations={"frames": len(decisions), **segment.situations.counts(segment.first + decisions)},
    )


def perturbed_logs(plan: LogPlan, share: float) -> list[LogPlan]:
    """A share of a log's scenes once more, each as a short log whose decision frame is seen from a shifted pose.

    What was before and what comes is as it was: from the shifted pose the expert's way leads back to the lane. Where
    somebody stands in the way of the shift there is none.
    """
    found = []
    for decision in plan.decisions.tolist():
        rng = np.random.default_rng([plan.weather_seed, decision, PERTURBED_SEED])
        frame = plan.frames[decision]
        pose = shifted_pose(frame, rng, SHIFT, TURN)
        speed = frame.speed * (1 + rng.uniform(-SPEED_CHANGE, SPEED_CHANGE))
        if rng.random() >= share or pose is frame.ego_pose:
            continue
        first = decision - PAST_FRAMES
        frames = list(plan.frames[first : decision + FUTURE_FRAMES + 1])
        frames[PAST_FRAMES] = replace(frame, ego_pose=pose, speed=speed)
        found.append(
            replace(
                plan,
                name=f"{plan.name}_shifted{decision:02d}",
                frames=tuple(frames),
                decisions=np.array([PAST_FRAMES]),
                situations={"frames": 1},
                source=(plan.name, first),
            )
        )
    return found


def shifted_pose(frame: FrameState, rng: np.random.Generator, lateral: float, turn: float) -> NDArray[np.float64]:
    """A pose beside that of a frame, up to so many metres and radians, or the frame's own if somebody stands there."""
    side, angle = rng.uniform(-lateral, lateral), rng.uniform(-turn, turn)
    moved = to_global_axes(np.array([[0.0, side]]), frame.ego_pose)[0]
    pose = np.array([*moved, wrap(frame.ego_pose[2] + angle)])
    return frame.ego_pose if _is_near(frame.actors, pose) else pose


def _is_near(actors: Actors, pose: NDArray[np.float64]) -> bool:
    """Whether a road user is beside the ego."""
    near = relative_points(actors.pose[:, :2], pose)
    behind, ahead, aside = CLEARANCE
    return bool(((near[:, 0] > behind) & (near[:, 0] < ahead) & (np.abs(near[:, 1]) < aside)).any())


def _frame(segment: LogSegment, row: int, snapshot: TrafficSnapshot, agents: Agents, routes: RouteReader) -> FrameState:
    expert = segment.expert
    snapshot = snapshot.around(expert.pose[row, :2], ANNOTATION_RADIUS, expert.drive.agent)
    return FrameState(
        step=snapshot.step,
        ego_pose=expert.pose[row].copy(),
        speed=float(expert.speed[row]),
        acceleration=expert.acceleration[row].copy(),
        yaw_rate=float(expert.yaw_rate[row]),
        command=routes.command_at(expert.drive.route, expert.pose[row]),
        actors=snapshot_actors(snapshot, agents),
        speeds=snapshot.speed,
        names=tuple(agents.ids[index] for index in snapshot.agent),
        signals=snapshot.signals,
    )
