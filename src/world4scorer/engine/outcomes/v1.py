"""NAVSIM v1.1: training labels and PDMS."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from world4scorer.engine.outcomes.causes import Causes
from world4scorer.engine.outcomes.judge import TRAFFIC_STEPS_V1, Metric
from world4scorer.engine.outcomes.judged_scene import JudgedScene, judged_scene
from world4scorer.engine.outcomes.results import V1Outcome
from world4scorer.engine.outcomes.tables import table_v1
from world4scorer.engine.rollout.plans import NO_POSES, LqrProfile, profile_code
from world4scorer.engine.scene.checks import SceneError
from world4scorer.engine.scene.plan import shaped_plans
from world4scorer.engine.scene.scene import Scene

NC, DAC, DDC, TTC, COMFORT, PROGRESS = (
    int(row) for row in (Metric.NC, Metric.DAC, Metric.DDC, Metric.TTC, Metric.COMFORT, Metric.PROGRESS)
)


def label(
    scene: Scene, plans: ArrayLike, *, lqr: LqrProfile = "navsim", reference_progress: float | None = None
) -> V1Outcome:
    """Return the v1 training labels of plans (N, 8, 3): `.table` is (N, 7), NC, DAC, EP, TTC, C, DDC, PDMS.

    >>> outcome = label(scene, plans)    # x forward [m], y left [m], heading [rad], every 0.5 s
    >>> best = plans[outcome.score.argmax()]

    Each plan is scored independently against the reference. `reference_progress` [m] replaces the reference's progress
    times its NC * DAC, e.g. from a training cache.
    """
    return outcome_v1(judged_scene(scene), plans, lqr, reference_progress, "labels-v1")


def pdms(scene: Scene, plans: ArrayLike, *, lqr: LqrProfile = "navsim") -> V1Outcome:
    """Return the official v1.1 evaluation of plans (N, 8, 3), each against the reference: `.table` as for `label`."""
    return outcome_v1(judged_scene(scene), plans, lqr, None, "pdms-v1.1")


def outcome_v1(
    prepared: JudgedScene, plans: ArrayLike, lqr: LqrProfile, reference_progress: float | None, metric: str
) -> V1Outcome:
    """Return the outcome of plans (N, 8, 3) under the name `metric`."""
    scene = prepared.scene
    poses = shaped_plans(plans, scene.token)
    count = len(poses)
    tracks = scene.tracks
    if tracks.steps < TRAFFIC_STEPS_V1:
        raise SceneError(
            f"scene {scene.token!r}: tracks end after {tracks.steps} steps of 0.1 s; v1 metrics need "
            f"{TRAFFIC_STEPS_V1} (time to collision looks 0.9 s beyond the rollout)"
        )
    own = prepared.reference_progress_v1.get(lqr)
    judged = own is not None and count > 0
    _, found = prepared.judge(False, poses, NO_POSES if judged else scene.reference, profile_code(lqr))
    values = found.values
    if own is None:
        own = float(values[PROGRESS, count] * values[NC, count] * values[DAC, count])
        prepared.reference_progress_v1[lqr] = own
    if reference_progress is None:
        reference_progress = own
    elif not 0.0 <= reference_progress < np.inf:
        raise SceneError(
            f"scene {scene.token!r}: reference_progress is {reference_progress}; give metres, or None to compute it"
        )
    ep, score = table_v1(values, count, float(reference_progress))
    return V1Outcome(
        scene=scene,
        plans=poses,
        metric=metric,
        lqr=lqr,
        nc=values[NC, :count],
        dac=values[DAC, :count],
        ep=ep,
        ttc=values[TTC, :count],
        comfort=values[COMFORT, :count],
        ddc=values[DDC, :count],
        score=score,
        progress=values[PROGRESS, :count],
        reference_progress=reference_progress,
        comfort_checks=found.within[:count],
        causes=Causes(found, count, prepared.cause_names_v1),
    )
