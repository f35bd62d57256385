"""One frame of a planner's pools as a JSON record; docs/frames.md describes the fields.

Shapes: N plans.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from world4scorer.drawing.ego_frame import EgoFrame
from world4scorer.engine.outcomes.causes import Cause
from world4scorer.engine.outcomes.comfort import CHECKS
from world4scorer.engine.outcomes.ego import CORNERS
from world4scorer.engine.outcomes.results import V1_COLUMNS, V2_COLUMNS, epdms_of_table
from world4scorer.engine.outcomes.v1 import pdms
from world4scorer.engine.outcomes.v2 import epdms
from world4scorer.engine.rollout.plans import LqrProfile
from world4scorer.engine.scene.geometry import relative_poses
from world4scorer.engine.scene.indices import STEPS, State
from world4scorer.engine.scene.scene import Scene
from world4scorer.engine.scene.vehicle import FRONT_OVERHANG, HALF_WIDTH, REAR_OVERHANG
from world4scorer.engine.selection.utility import OUTCOMES
from world4scorer.reporting.explorer.rounding import ANGLE, LENGTH, SCORE, UNITS, UTILITY, flat_poses, quantise
from world4scorer.reporting.explorer.surroundings import (
    describe_changed_tracks,
    describe_lights,
    describe_tracks,
    near_centerline,
    near_map,
)

FORMAT: Final = "world4scorer-frame-1"
V2_REPORTED: Final = (*V2_COLUMNS[:-1], "EPDMS")
"""The last column is EPDMS without extended comfort."""


class PlannerScores(NamedTuple):
    """Logits, utilities and choices of a pool in one frame."""

    plans: NDArray[Any]
    """(N, 8, 3)"""
    logits: NDArray[Any] | None
    """(N, 6) in the order of `selection.utility.OUTCOMES`"""
    utility_v1: NDArray[Any]
    """(N,)"""
    utility_v2: NDArray[Any]
    """(N,)"""
    choices: Mapping[str, int]
    """Plan by name of the selection."""
    epdms: Mapping[str, float]
    """EPDMS of the choices by v2 utility, with extended comfort if there is a frame before."""
    continues: Mapping[str, NDArray[np.bool_]] | None
    """(N,) which plans continue the choice of the frame before, by selection; None without such a frame."""


def frame_record(
    scene: Scene, scores: PlannerScores, cameras: Mapping[str, str] | None, lqr: LqrProfile = "navsim"
) -> dict[str, Any]:
    """Record of a frame; `cameras` are image paths within the dataset."""
    frame = EgoFrame.of(scene)
    first, second = pdms(scene, scores.plans, lqr=lqr), epdms(scene, scores.plans, lqr=lqr)
    reference, reference_v2 = (
        None if poses is None else flat_poses(relative_poses(poses[:STEPS], frame.pose)).tolist()
        for poses in (scene.reference, scene.reference_v2)
    )
    tracks = describe_tracks(scene.tracks, frame)
    return {
        "format": FORMAT,
        "units": UNITS,
        "token": scene.token,
        "log_name": scene.log_name,
        "time_us": scene.time_us,
        "ego": _ego(scene),
        "cameras": None if cameras is None else dict(cameras),
        "map": near_map(scene, frame),
        "centerline": near_centerline(scene, frame),
        "lights": describe_lights(scene),
        "tracks": tracks,
        "tracks_v2": None if scene.tracks_v2 is None else describe_changed_tracks(scene.tracks_v2, tracks, frame),
        "human": None if scene.human_future is None else flat_poses(scene.human_future).tolist(),
        "reference": reference,
        "reference_v2": reference_v2,
        "plans": flat_poses(scores.plans).tolist(),
        "rollouts": flat_poses(relative_poses(second.rollouts[:, :STEPS, :3], frame.pose)).tolist(),
        "logits": None if scores.logits is None else _columns(OUTCOMES, scores.logits, UTILITY),
        "utility_v1": quantise(scores.utility_v1, UTILITY).tolist(),
        "utility_v2": quantise(scores.utility_v2, UTILITY).tolist(),
        "choices": dict(scores.choices),
        "epdms": {name: int(quantise(value, SCORE)) for name, value in scores.epdms.items()},
        "continues": None
        if scores.continues is None
        else {name: flags.astype(int).tolist() for name, flags in scores.continues.items()},
        "outcomes": {
            "v1": _columns(V1_COLUMNS, first.table, SCORE),
            "v2": _columns(V2_REPORTED, _scored(second.table), SCORE),
            "v2_raw": None if (second.raw == second.table).all() else _columns(V2_REPORTED, _scored(second.raw), SCORE),
        },
        "causes": {"v1": _causes(first.causes), "v2": _causes(second.causes)},
        "corners": CORNERS,
        "checks": CHECKS,
    }


def _ego(scene: Scene) -> dict[str, Any]:
    state = scene.ego_state
    return {
        "pose": [round(float(state[i]), digits) for i, digits in ((State.X, 2), (State.Y, 2), (State.HEADING, 6))],
        "velocity": quantise(state[[State.VELOCITY_X, State.VELOCITY_Y]], LENGTH).tolist(),
        "acceleration": quantise(state[[State.ACCELERATION_X, State.ACCELERATION_Y]], LENGTH).tolist(),
        "steering": int(quantise(state[State.STEERING_ANGLE], ANGLE)),
        "box": quantise(np.array([FRONT_OVERHANG, REAR_OVERHANG, HALF_WIDTH]), LENGTH).tolist(),
    }


def _scored(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """The table (N, 10) with the score in its last column."""
    return np.concatenate([table[:, :-1], epdms_of_table(table)[:, None]], axis=1)


def _columns(names: tuple[str, ...], table: NDArray[Any], unit: float) -> dict[str, list[int]]:
    rounded = quantise(table, unit).T.tolist()
    return dict(zip(names, rounded, strict=True))


def _causes(causes: Mapping[str, Cause]) -> dict[str, list[list[int]]]:
    """By metric: plan, step and cause index of each plan below 1."""
    found = {}
    for name, cause in causes.items():
        plans = np.flatnonzero(cause.violated)
        behind = cause.index[plans] if cause.names else np.full(len(plans), -1)
        found[name] = np.stack([plans, cause.step[plans], behind], axis=1).astype(int).tolist()
    return found
