"""NAVSIM v2.2: EPDMS, with the human filter as fixed (`v2.2`) or as published before (`pre151`)."""

from __future__ import annotations

from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike

from world4scorer.engine.outcomes.causes import Causes
from world4scorer.engine.outcomes.judge import Judgement, Metric, judge_v2_reactive
from world4scorer.engine.outcomes.judged_scene import ROWS_V2, JudgedScene, judged_scene, rules_v2, tracks_v2
from world4scorer.engine.outcomes.results import V2_COLUMNS, V2_WEIGHTS, V2Outcome, sub_scores
from world4scorer.engine.outcomes.tables import table_v2
from world4scorer.engine.reactive.simulate import check_traffic, replayed_part
from world4scorer.engine.reactive.start import start_traffic
from world4scorer.engine.rollout.plans import NO_POSES, LqrProfile, check_residuals, plans_first, profile_code
from world4scorer.engine.scene.geometry import Floats
from world4scorer.engine.scene.plan import as_plans, shaped_plans
from world4scorer.engine.scene.scene import Scene

EpdmsVersion = Literal["v2.2", "pre151"]
TrafficMode = Literal["replay", "reactive"]
"""`replay`: the traffic as recorded; `reactive`: vehicles follow their lanes and brake for the ego, plan by plan."""

MULTIPLIERS = ("NC", "DAC", "DDC", "TLC")
PROGRESS: Final = int(Metric.PROGRESS)
NO_HUMAN: Final = np.zeros(0)


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
    return outcome_v2(judged_scene(scene), plans, version, human_filter, lqr, reference_progress, traffic)


def outcome_v2(
    prepared: JudgedScene,
    plans: ArrayLike,
    version: EpdmsVersion,
    human_filter: bool,
    lqr: LqrProfile,
    reference_progress: float | Floats | None,
    traffic: TrafficMode,
) -> V2Outcome:
    """Return the outcome of plans (N, 8, 3); arguments as for `epdms`."""
    if traffic not in ("replay", "reactive"):
        raise ValueError(f"traffic: unknown mode {traffic!r}; choose 'replay' or 'reactive'")
    if version not in ("v2.2", "pre151"):
        raise ValueError(f"version: unknown version {version!r}; choose 'v2.2' or 'pre151'")
    scene = prepared.scene
    poses = shaped_plans(plans, scene.token)
    count = len(poses)
    human_filter = human_filter and scene.human_future is not None
    judge = _replayed if traffic == "replay" else _reacting
    states, found, own, human = judge(prepared, poses, human_filter, lqr)
    if reference_progress is None:
        reference_progress = own
    against = np.array(reference_progress, np.float64, ndmin=1)
    if against.shape not in ((1,), (count,)):
        raise ValueError(
            f"reference_progress: shape {against.shape} for {count} plans; give one value, or one for each"
        )
    raw, filtered = table_v2(found.values, count, against, human, version == "v2.2")
    return V2Outcome(
        metric=f"epdms-{version}",
        lqr=lqr,
        traffic=traffic,
        human_filter=human_filter,
        product=filtered[:, -2],
        **sub_scores(filtered),
        raw=raw,
        human=human.copy() if human_filter else None,
        progress=found.values[PROGRESS, :count],
        reference_progress=reference_progress,
        comfort_checks=found.within[:count],
        rollouts=plans_first(states[:, :, :count]),
        causes=Causes(found, count, prepared.cause_names_v2),
    )


def _replayed(
    prepared: JudgedScene, poses: Floats, human_filter: bool, lqr: LqrProfile
) -> tuple[Floats, Judgement, float, Floats]:
    """States (11, 41, N..) and judgement of the plans, the reference's progress, the human's row (10,) or (0,)."""
    count = len(poses)
    own = prepared.own_v2.get((lqr, human_filter))
    if own is not None and count:
        blocks, found = prepared.judge(True, poses, NO_POSES, profile_code(lqr))
        return _joined(blocks), found, *own
    candidates = _with_human(prepared.scene, poses) if human_filter else poses
    blocks, found = prepared.judge(True, candidates, _reference(prepared.scene), profile_code(lqr))
    human = _human_row(found, count) if human_filter else NO_HUMAN
    progress = float(found.values[PROGRESS, -1] * _product(_sub_scores(found)[-1:])[0])
    prepared.own_v2[lqr, human_filter] = progress, human
    return _joined(blocks), found, progress, human


def _reacting(
    prepared: JudgedScene, poses: Floats, human_filter: bool, lqr: LqrProfile
) -> tuple[Floats, Judgement, Floats, Floats]:
    """The same in traffic that reacts; the reference's progress (N,) is that beside each plan."""
    scene, count = prepared.scene, len(poses)
    candidates = as_plans(_with_human(scene, poses) if human_filter else poses, scene.token)
    tracks = tracks_v2(scene)
    start = start_traffic(scene)
    filters, history, areas, red = rules_v2(scene)
    states, residuals, found, beside, failed = judge_v2_reactive(
        candidates, _reference(scene), scene.ego_state, scene.time_us, profile_code(lqr), scene.packed_map,
        *replayed_part(tracks), tracks.type, scene.centerline, filters, history, areas, red, start,
    )  # fmt: skip
    check_traffic(scene, start, failed)
    check_residuals(residuals, scene.token)
    if scene.past_states is None:
        found.values[Metric.COMFORT] = 1.0
    rows = np.repeat(_sub_scores(found)[-1:], count, axis=0)
    rows[:, V2_COLUMNS.index("NC")] = beside[:count]
    progress = np.asarray(found.values[PROGRESS, -1] * _product(rows))
    return states, found, progress, _human_row(found, count) if human_filter else NO_HUMAN


def _joined(blocks: list[Floats]) -> Floats:
    """States (11, 41, L) of blocks of rollouts."""
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks, axis=2)


def _with_human(scene: Scene, poses: Floats) -> Floats:
    """Plans (N + 1, 8, 3), the human's future last."""
    assert scene.human_future is not None
    return np.concatenate([poses, as_plans(scene.human_future[None], f"{scene.token}, the human's future")])


def _reference(scene: Scene) -> Floats:
    return scene.reference if scene.reference_v2 is None else scene.reference_v2


def _human_row(found: Judgement, rollout: int) -> Floats:
    """The (10,) row of the human, scored alone: relative to its own progress, without history."""
    table = _sub_scores(found)[rollout : rollout + 1]
    table[:, V2_COLUMNS.index("EP")] = 1.0
    table[:, V2_COLUMNS.index("HC")] = 1.0
    row: Floats = _with_scores(table)[0]
    return row


def _sub_scores(found: Judgement) -> Floats:
    table = np.empty((found.values.shape[1], len(V2_COLUMNS)))
    for name, metric in ROWS_V2.items():
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
