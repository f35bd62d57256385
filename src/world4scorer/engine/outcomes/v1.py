"""NAVSIM v1.1: training labels and PDMS."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from world4scorer.engine.outcomes.causes import Causes
from world4scorer.engine.outcomes.comfort import CHECKS, comfort_filters_v1
from world4scorer.engine.outcomes.ego import CORNERS
from world4scorer.engine.outcomes.judge import TRAFFIC_STEPS_V1, Metric, judge_v1
from world4scorer.engine.outcomes.progress import normalise_v1
from world4scorer.engine.outcomes.results import V1Outcome
from world4scorer.engine.rollout.plans import LqrProfile, check_residuals, profile_code
from world4scorer.engine.scene.checks import SceneError
from world4scorer.engine.scene.plan import as_plans
from world4scorer.engine.scene.scene import Scene


def label(
    scene: Scene, plans: ArrayLike, *, lqr: LqrProfile = "navsim", reference_progress: float | None = None
) -> V1Outcome:
    """Return the v1 training labels of plans (N, 8, 3): `.table` is (N, 7), NC, DAC, EP, TTC, C, DDC, PDMS.

    >>> outcome = label(scene, plans)    # x forward [m], y left [m], heading [rad], every 0.5 s
    >>> best = plans[outcome.score.argmax()]

    Each plan is scored independently against the reference. `reference_progress` [m] replaces the reference's progress
    times its NC * DAC, e.g. from a training cache.
    """
    return _judge(scene, plans, lqr, reference_progress, "labels-v1")


def pdms(scene: Scene, plans: ArrayLike, *, lqr: LqrProfile = "navsim") -> V1Outcome:
    """Return the official v1.1 evaluation of plans (N, 8, 3), each against the reference: `.table` as for `label`."""
    return _judge(scene, plans, lqr, None, "pdms-v1.1")


def _judge(scene: Scene, plans: ArrayLike, lqr: LqrProfile, reference_progress: float | None, metric: str) -> V1Outcome:
    poses = as_plans(plans, scene.token)
    tracks = scene.tracks
    if tracks.steps < TRAFFIC_STEPS_V1:
        raise SceneError(
            f"scene {scene.token!r}: tracks end after {tracks.steps} steps of 0.1 s; v1 metrics need "
            f"{TRAFFIC_STEPS_V1} (time to collision looks 0.9 s beyond the rollout)"
        )
    _, residuals, found = judge_v1(
        poses, scene.reference, scene.ego_state, scene.time_us, profile_code(lqr),
        scene.packed_map, tracks.boxes, tracks.valid, tracks.type, scene.centerline, comfort_filters_v1(),
    )  # fmt: skip
    check_residuals(residuals, scene.token)
    count = len(poses)
    nc, dac, ddc = (found.values[m, :count] for m in (Metric.NC, Metric.DAC, Metric.DDC))
    ttc, comfort = found.values[Metric.TTC, :count], found.values[Metric.COMFORT, :count]
    progress = found.values[Metric.PROGRESS, :count]
    if reference_progress is not None and not 0.0 <= reference_progress < np.inf:
        raise SceneError(
            f"scene {scene.token!r}: reference_progress is {reference_progress}; give metres, or None to compute it"
        )
    if reference_progress is None:
        own = found.values[:, count]
        reference_progress = float(own[Metric.PROGRESS] * own[Metric.NC] * own[Metric.DAC])
    product = nc * dac
    ep = normalise_v1(progress, product, reference_progress)
    return V1Outcome(
        scene=scene,
        plans=poses,
        metric=metric,
        lqr=lqr,
        nc=nc,
        dac=dac,
        ep=ep,
        ttc=ttc,
        comfort=comfort,
        ddc=ddc,
        score=product * (5 * ttc + 5 * ep + 2 * comfort) / 12,
        progress=progress,
        reference_progress=reference_progress,
        comfort_checks=found.within[:count],
        causes=Causes(
            found,
            count,
            {
                "NC": (Metric.NC, tracks.ids),
                "DAC": (Metric.DAC, CORNERS),
                "TTC": (Metric.TTC, tracks.ids),
                "C": (Metric.COMFORT, CHECKS),
                "DDC": (Metric.DDC, ()),
            },
        ),
    )
