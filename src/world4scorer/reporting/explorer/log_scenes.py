"""What is drawn of a log: map, traffic, plans and rollouts, causes of zeros, predicted scores, cameras.

Map and traffic are in metres from the origin of the log, so that what stands still is equal in all frames and
compresses well; plans and rollouts are in the ego frame of their frame.

Shapes: F frames of the log, N plans, K tracks of all frames, T = 41 steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.outcomes.causes import Cause
from world4scorer.engine.outcomes.v2 import epdms
from world4scorer.engine.rollout.plans import LqrProfile
from world4scorer.engine.scene.geometry import relative_poses
from world4scorer.engine.scene.indices import PLAN_POSES, STEPS, Box, State
from world4scorer.engine.scene.scene import Scene
from world4scorer.engine.scene.tracks import Tracks
from world4scorer.reporting.explorer.log_branches import LogBranches
from world4scorer.reporting.explorer.log_map import LogMap
from world4scorer.reporting.explorer.motion import encode_paths, hold
from world4scorer.reporting.explorer.rounding import LENGTH, UTILITY, quantise
from world4scorer.reporting.explorer.surroundings import MAP_REACH
from world4scorer.reporting.explorer.typed_file import pack
from world4scorer.studies.branches.records import Branch

FORMAT: Final = "world4scorer-scenes-1"
CAUSES: Final = ("NC", "DAC", "DDC", "TLC", "TTC", "LK", "HC")
"""Metrics that have causes; their order gives the codes in the file."""
MAX_LOGIT: Final = 32.0
"""Larger logits are cut off: probabilities differ from 0 and 1 by 1e-14."""

Floats = NDArray[np.float64]


class FramePlans(NamedTuple):
    """What a planner proposes in a frame, as far as it is known."""

    plans: NDArray[Any]
    """(N, 8, 3)"""
    logits: NDArray[Any] | None = None
    """(N, 6)"""
    projected: NDArray[np.float32] | None = None
    """(N, 2) the states in the plane of their largest spread, within -1..1."""
    cameras: NDArray[np.float32] | None = None
    """(C, 23) intrinsics and rotation row by row, translation, image width and height; NaN where not known."""


@dataclass
class LogScenes:
    """Collects the frames of a log in time order."""

    log_map: LogMap
    lqr: LqrProfile = "navsim"
    _columns: dict[str, list[NDArray[Any]]] = field(default_factory=dict)
    _counts: dict[str, list[int]] = field(default_factory=dict)
    _lights: list[Any] = field(default_factory=list)
    _track_ids: dict[str, int] = field(default_factory=dict)
    _branches: LogBranches | None = None

    def add(self, scene: Scene, planned: FramePlans) -> None:
        """Simulate the plans of a frame, and keep all that is drawn of it."""
        outcome = epdms(scene, planned.plans, lqr=self.lqr)
        pose = scene.ego_state[[State.X, State.Y, State.HEADING]]
        numbers = self.log_map.add(scene)
        self._add_ego(scene, pose)
        self._add_ragged("route", numbers[scene.on_route & (numbers >= 0)].astype(np.uint32))
        line = scene.centerline[:, :2]
        near = (np.abs(line - pose[:2]) <= MAP_REACH).all(axis=1)
        self._add_ragged("centerline", self._from_origin(line[near]))
        self._add_lights(scene, numbers)
        self._add_tracks(scene.tracks if scene.tracks_v2 is None else scene.tracks_v2, pose)
        self._add_ragged("causes", _causes(outcome.causes))
        self._add("plans", planned.plans[None].astype(np.float32))
        self._add("rollouts", encode_paths(relative_poses(outcome.rollouts[:, :STEPS, :3], pose)).steps[None])
        if planned.logits is not None:
            limited = np.clip(planned.logits, -MAX_LOGIT, MAX_LOGIT)
            self._add("logits", quantise(limited, UTILITY).astype(np.int16)[None])
        if planned.projected is not None:
            self._add("states", np.rint(planned.projected * 10_000).astype(np.int16)[None])
        if planned.cameras is not None:
            self._add("cameras", planned.cameras[None])

    def add_branches(self, branches: Mapping[int, Branch]) -> None:
        """Keep branches of the frame that was added last, by plan."""
        self._branches = self._branches or LogBranches(self.log_map.origin)
        self._branches.add(branches)

    def pack(self, header: Mapping[str, Any]) -> bytes:
        """The file; `header` names log and frames."""
        arrays: dict[str, NDArray[Any]] = self.log_map.arrays()
        arrays |= {name: np.concatenate(parts) for name, parts in self._columns.items()}
        arrays |= {f"{name}_ends": np.cumsum(counts, dtype=np.uint32) for name, counts in self._counts.items()}
        if self._branches is not None:
            arrays |= self._branches.arrays()
        about = {
            "format": FORMAT,
            **header,
            "origin": self.log_map.origin.tolist(),
            "map_ids": self.log_map.ids,
            "track_ids": list(self._track_ids),
            "lights": self._lights,
        }
        return pack(about, arrays)

    def _add(self, name: str, rows: NDArray[Any]) -> None:
        self._columns.setdefault(name, []).append(rows)

    def _add_ragged(self, name: str, rows: NDArray[Any]) -> None:
        self._add(name, rows)
        self._counts.setdefault(name, []).append(len(rows))

    def _from_origin(self, points: Floats) -> NDArray[np.int32]:
        return quantise(points - self.log_map.origin, LENGTH).astype(np.int32)

    def _add_ego(self, scene: Scene, pose: Floats) -> None:
        self._add("ego_pose", (pose - [*self.log_map.origin, 0.0])[None])
        motion = [State.VELOCITY_X, State.VELOCITY_Y, State.ACCELERATION_X, State.ACCELERATION_Y, State.STEERING_ANGLE]
        self._add("ego_motion", scene.ego_state[motion].astype(np.float32)[None])
        human = np.full((PLAN_POSES, 3), np.nan) if scene.human_future is None else scene.human_future
        self._add("human", human.astype(np.float32)[None])
        reference = scene.reference if scene.reference_v2 is None else scene.reference_v2
        driven = encode_paths(relative_poses(reference[None, :STEPS], pose))
        self._add("reference_start", driven.start)
        self._add("reference", driven.steps)

    def _add_lights(self, scene: Scene, numbers: NDArray[np.int64]) -> None:
        lights, found = scene.lights, []
        for polygon, status, on_route in zip(lights.polygon, lights.status[:, :STEPS], lights.on_route, strict=True):
            changes = np.concatenate([[0], np.flatnonzero(np.diff(status)) + 1])
            number = int(numbers[polygon]) if polygon >= 0 else -1
            found.append([number, int(on_route), [[int(step), int(status[step])] for step in changes]])
        self._lights.append(found)

    def _add_tracks(self, tracks: Tracks, pose: Floats) -> None:
        valid = tracks.valid[:, :STEPS]
        filled = hold(tracks.boxes[:, :STEPS], valid)
        filled[~valid.any(axis=1)] = [*pose, 0.0, 0.0, 0.0, 0.0]
        filled[..., :2] -= self.log_map.origin
        paths = encode_paths(filled[..., : Box.HEADING + 1])
        moving = np.asarray(paths.steps.any(axis=(1, 2)), np.uint8)
        self._add_ragged("track_start", paths.start)
        self._add("track_steps", paths.steps[moving > 0])
        self._add("track_moving", moving)
        self._add("track_there", np.packbits(valid, axis=1, bitorder="little"))
        self._add("track_type", tracks.type.astype(np.uint8))
        size = quantise(filled[:, 0, [Box.LENGTH, Box.WIDTH]], LENGTH)
        self._add("track_size", np.minimum(size, np.iinfo(np.uint16).max).astype(np.uint16))
        ids = self._track_ids
        self._add("track_id", np.array([ids.setdefault(name, len(ids)) for name in tracks.ids], np.uint32))


def _causes(causes: Mapping[str, Cause]) -> NDArray[np.int16]:
    """(M, 4) metric, plan, step, index of the track, light, corner or check (-1 for none)."""
    found: list[NDArray[np.int16]] = []
    for code, name in enumerate(CAUSES):
        cause = causes[name]
        plans = np.flatnonzero(cause.violated)
        behind: Sequence[int] | NDArray[Any] = cause.index[plans] if cause.names else np.full(len(plans), -1)
        found.append(np.stack([np.full(len(plans), code), plans, cause.step[plans], behind], axis=1).astype(np.int16))
    return np.concatenate(found)
