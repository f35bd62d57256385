"""What becomes of branched plans in traffic that answers to them, beside what non-reactive replay says.

Progress is measured against the reference planner as it fares in the logged traffic: nobody drove it in the branch.
The human filter of v2.2 is off for the same reason.

Shapes: P = 1 + K plans of a scene, the logged one first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.outcomes.results import V1_COLUMNS, V2_COLUMNS, V1Outcome, V2Outcome
from world4scorer.engine.outcomes.v1 import label
from world4scorer.engine.outcomes.v2 import epdms
from world4scorer.engine.rollout.plans import LqrProfile
from world4scorer.engine.scene.scene import Scene
from world4scorer.studies.branches.reactive import reactive_scene
from world4scorer.studies.branches.records import LOGGED_PLAN, LOGGED_POSES, SceneBranches

Floats = NDArray[np.float64]


class BranchOutcomes(NamedTuple):
    """Of one scene."""

    replayed_v1: Floats
    """(P, 7) columns `V1_COLUMNS`, in the logged traffic"""
    reactive_v1: Floats
    """(P, 7) each plan in its own branch"""
    replayed_v2: Floats
    """(P, 10) columns `V2_COLUMNS`, before the human filter"""
    reactive_v2: Floats
    """(P, 10)"""
    every_step_v1: Floats
    """(P, 7) as `reactive_v1`, with traffic at every 0.1 s instead of straight lines between frames"""
    control_v1: Floats
    """(7,) the logged plan, while the ego passes through the very poses of the log"""
    control_v2: Floats
    """(10,)"""


def branch_outcomes(scene: Scene, branched: SceneBranches, lqr: LqrProfile) -> BranchOutcomes:
    """Judge all plans of a scene both ways."""
    assert scene.human_future is not None, "checked when it was branched"
    plans = np.concatenate([scene.human_future[None], branched.plans])
    first, second = label(scene, plans, lqr=lqr), epdms(scene, plans, human_filter=False, lqr=lqr)
    reactive_v1, reactive_v2 = np.empty((len(plans), len(V1_COLUMNS))), np.empty((len(plans), len(V2_COLUMNS)))
    fine = np.empty_like(reactive_v1)
    for index, branch in enumerate(branched.branches[LOGGED_PLAN:]):
        plan = plans[index : index + 1]
        answer = reactive_scene(scene, branch)
        reactive_v1[index] = _v1(answer, plan, lqr, first)
        reactive_v2[index] = _v2(answer, plan, lqr, second)
        fine[index] = _v1(reactive_scene(scene, branch, every_step=True), plan, lqr, first)
    control = reactive_scene(scene, branched.branches[LOGGED_POSES])
    return BranchOutcomes(
        first.table,
        reactive_v1,
        second.table,
        reactive_v2,
        fine,
        _v1(control, plans[:1], lqr, first),
        _v2(control, plans[:1], lqr, second),
    )


def _v1(scene: Scene, plan: Floats, lqr: LqrProfile, replayed: V1Outcome) -> Floats:
    found: Floats = label(scene, plan, lqr=lqr, reference_progress=replayed.reference_progress).table[0]
    return found


def _v2(scene: Scene, plan: Floats, lqr: LqrProfile, replayed: V2Outcome) -> Floats:
    reference = replayed.reference_progress
    found: Floats = epdms(scene, plan, human_filter=False, lqr=lqr, reference_progress=reference).table[0]
    return found
