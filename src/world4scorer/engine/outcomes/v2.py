"""NAVSIM v2.2: EPDMS, with the human filter as fixed (`v2.2`) or as published before (`pre151`)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from world4scorer.engine.outcomes.causes import Causes
from world4scorer.engine.outcomes.comfort import CHECKS, comfort_filters_v2
from world4scorer.engine.outcomes.ego import CORNERS
from world4scorer.engine.outcomes.history_comfort import history_rows
from world4scorer.engine.outcomes.judge import Judgement, Metric, judge_v2, judge_v2_reactive
from world4scorer.engine.outcomes.progress import normalise_v2
from world4scorer.engine.outcomes.results import V2_COLUMNS, V2_WEIGHTS, V2Outcome, sub_scores
from world4scorer.engine.reactive.simulate import check_traffic, replayed_part
from world4scorer.engine.reactive.start import start_traffic
from world4scorer.engine.rollout.plans import LqrProfile, check_residuals, plans_first, profile_code
from world4scorer.engine.scene.geometry import Floats
from world4scorer.engine.scene.indices import STEPS, Light, State
from world4scorer.engine.scene.plan import as_plans
from world4scorer.engine.scene.scene import Scene

EpdmsVersion = Literal["v2.2", "pre151"]
TrafficMode = Literal["replay", "reactive"]
"""`replay`: the traffic as recorded; `reactive`: vehicles follow their lanes and brake for the ego, plan by plan."""

MULTIPLIERS = ("NC", "DAC", "DDC", "TLC")
ROWS = {**{name: Metric[name] for name in (*MULTIPLIERS, "TTC", "LK")}, "HC": Metric.COMFORT}
"""Rows of a judgement by column."""
NO_HISTORY = np.zeros((0, len(State)))


def epdms(
    scene: Scene,
    plans: ArrayLike,
    *,
    version: EpdmsVersion = "v2.2",
    human_filter: bool = True,
    lqr: LqrProfile = "navsim",
    reference_progress: float | Floats | None = None,
    traffic: TrafficMode = "replay",
) -> V2Outcome:
    """Return the v2 evaluation of plans (N, 8, 3), each paired with the reference: `.table` is (N, 10).

    Columns: NC, DAC, DDC, TLC, EP, TTC, LK, HC, product, pdm_score; `.score` is EPDMS without extended comfort and
    `.score_with(ec)` with it. The human filter replaces by 1 every sub-score in which the human's own future scores
    exactly 0. `v2.2` computes the final score from the filtered values; `pre151`, like the releases before that bug
    was fixed, from the unfiltered ones. `reference_progress` [m] replaces the reference's progress times the product of
    its multipliers.

    In `reactive` traffic, which navhard uses, every plan is judged in the traffic that reacts to it, the reference in
    that of the plan it is compared with, and the human in its own; causes name the track that reacted.
    """
    if traffic not in ("replay", "reactive"):
        raise ValueError(f"traffic: unknown mode {traffic!r}; choose 'replay' or 'reactive'")
    if version not in ("v2.2", "pre151"):
        raise ValueError(f"version: unknown version {version!r}; choose 'v2.2' or 'pre151'")
    poses = as_plans(plans, scene.token)
    count = len(poses)
    human = scene.human_future if human_filter else None
    candidates = poses
    if human is not None:
        candidates = np.concatenate([poses, as_plans(human[None], f"{scene.token}, the human's future")])
    reference = scene.reference if scene.reference_v2 is None else scene.reference_v2
    states, found, reference_nc = _judge(scene, candidates, reference, lqr, traffic)

    if reference_progress is None:
        reference_progress = _reference_progress(found, None if reference_nc is None else reference_nc[:count])
    raw = _raw_table(found, count, reference_progress)
    filtered = raw.copy()
    human_row = None
    if human is not None:
        human_row = _human_row(found, count)
        filtered[:, : len(V2_COLUMNS) - 2] = np.where(human_row[:-2] == 0.0, 1.0, raw[:, :-2])
        if version == "v2.2":
            filtered[:, -2] = _product(filtered)
    lights = tuple(scene.map.ids[p] if p >= 0 else "" for p in scene.lights.polygon)
    ids = (scene.tracks if scene.tracks_v2 is None else scene.tracks_v2).ids
    names = {"NC": ids, "DAC": CORNERS, "DDC": (), "TLC": lights, "TTC": ids, "LK": (), "HC": CHECKS}
    return V2Outcome(
        metric=f"epdms-{version}",
        lqr=lqr,
        traffic=traffic,
        human_filter=human is not None,
        product=filtered[:, -2],
        **sub_scores(filtered),
        raw=raw,
        human=human_row,
        progress=found.values[Metric.PROGRESS, :count],
        reference_progress=reference_progress,
        comfort_checks=found.within[:count],
        rollouts=plans_first(states[:, :, :count]),
        causes=Causes(found, count, {name: (ROWS[name], ids) for name, ids in names.items()}),
    )


def _judge(
    scene: Scene, plans: Floats, reference: Floats, lqr: LqrProfile, traffic: TrafficMode
) -> tuple[Floats, Judgement, Floats | None]:
    """Return states (11, 41, L) and judgement of the plans and, as the last rollout, the reference.

    In reactive traffic also the reference's NC beside each plan (L - 1,).
    """
    tracks = scene.tracks if scene.tracks_v2 is None else scene.tracks_v2
    history = NO_HISTORY
    if scene.past_states is not None and scene.past_time_us is not None:
        history = history_rows(scene.past_states, scene.past_time_us)
    red = (scene.lights.status == Light.RED) & scene.lights.on_route[:, None]
    before: tuple[Any, ...] = (
        plans, reference, scene.ego_state, scene.time_us, profile_code(lqr), scene.packed_map,
    )  # fmt: skip
    after: tuple[Any, ...] = (
        tracks.type, scene.centerline, comfort_filters_v2(len(history) + STEPS), history, scene.lights.polygon, red,
    )  # fmt: skip
    beside = None
    if traffic == "replay":
        states, residuals, found = judge_v2(*before, tracks.boxes, tracks.valid, *after)
    else:
        start = start_traffic(scene)
        states, residuals, found, beside, failed = judge_v2_reactive(*before, *replayed_part(tracks), *after, start)
        check_traffic(scene, start, failed)
    check_residuals(residuals, scene.token)
    if scene.past_states is None:
        found.values[Metric.COMFORT] = 1.0
    return states, found, beside


def _reference_progress(found: Judgement, reference_nc: Floats | None) -> float | Floats:
    """Progress of the last rollout times its multipliers [m]; beside each plan (N,) where its NC is given so."""
    progress = found.values[Metric.PROGRESS, -1]
    row = _sub_scores(found)[-1:]
    if reference_nc is None:
        return float(progress * _product(row)[0])
    rows = np.repeat(row, len(reference_nc), axis=0)
    rows[:, V2_COLUMNS.index("NC")] = reference_nc
    return np.asarray(progress * _product(rows))


def _raw_table(found: Judgement, count: int, reference: float | Floats) -> Floats:
    """The unfiltered (N, 10) table of the first `count` rollouts, against the reference's progress [m]."""
    table = _sub_scores(found)[:count]
    product = _product(table)
    progress = found.values[Metric.PROGRESS]
    table[:, V2_COLUMNS.index("EP")] = normalise_v2(progress[:count], product, reference)
    return _with_scores(table)


def _human_row(found: Judgement, rollout: int) -> Floats:
    """The (10,) row of the human, scored alone: relative to its own progress, without history."""
    table = _sub_scores(found)[rollout : rollout + 1]
    table[:, V2_COLUMNS.index("EP")] = 1.0
    table[:, V2_COLUMNS.index("HC")] = 1.0
    row: Floats = _with_scores(table)[0]
    return row


def _sub_scores(found: Judgement) -> Floats:
    table = np.empty((found.values.shape[1], len(V2_COLUMNS)))
    for name, metric in ROWS.items():
        table[:, V2_COLUMNS.index(name)] = found.values[metric]
    return table


def _product(table: Floats) -> Floats:
    return np.asarray(np.prod([table[:, V2_COLUMNS.index(name)] for name in MULTIPLIERS], axis=0))


def _with_scores(table: Floats) -> Floats:
    """Fill in the last two columns."""
    product = _product(table)
    weighted = sum(weight * table[:, V2_COLUMNS.index(name)] for name, weight in V2_WEIGHTS.items())
    table[:, V2_COLUMNS.index("product")] = product
    table[:, V2_COLUMNS.index("pdm_score")] = product * weighted / sum(V2_WEIGHTS.values())
    return table
