"""All metrics of one version for all rollouts at once: the kernels behind `label`, `pdms` and `epdms`.

Shapes: L rollouts (plans, then possibly the human, then the reference), M metrics (rows of `Metric`).
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.kernels import inlined, kernel
from world4scorer.engine.outcomes.area_grid import build_grid
from world4scorer.engine.outcomes.collision import no_collision
from world4scorer.engine.outcomes.comfort import CHECKS, comfort
from world4scorer.engine.outcomes.drivable_area import drivable_area
from world4scorer.engine.outcomes.driving_direction import driving_direction
from world4scorer.engine.outcomes.ego import EgoBoxes, ego_boxes
from world4scorer.engine.outcomes.lane_keeping import lane_keeping
from world4scorer.engine.outcomes.progress import SEGMENTS_PER_BLOCK, raw_progress
from world4scorer.engine.outcomes.time_to_collision import STEPS_V1, STEPS_V2, time_to_collision
from world4scorer.engine.outcomes.traffic import nearby_traffic
from world4scorer.engine.outcomes.traffic_light import traffic_light
from world4scorer.engine.reactive.drive import drive, empty_traffic
from world4scorer.engine.rollout.plans import roll_out_kernel


class Metric(IntEnum):
    """Rows of a `Judgement`."""

    NC = 0
    DAC = 1
    DDC = 2
    TLC = 3
    TTC = 4
    LK = 5
    COMFORT = 6
    PROGRESS = 7
    """Raw, in metres."""


NC: Final = int(Metric.NC)
DAC: Final = int(Metric.DAC)
DDC: Final = int(Metric.DDC)
TLC: Final = int(Metric.TLC)
TTC: Final = int(Metric.TTC)
LK: Final = int(Metric.LK)
COMFORT: Final = int(Metric.COMFORT)
PROGRESS: Final = int(Metric.PROGRESS)

METRICS: Final = len(Metric)

TRAFFIC_STEPS_V1: Final = 50
"""Steps of traffic in v1.1: 0..49."""
TRAFFIC_STEPS_V2: Final = 41
WINDOW_V1: Final = 51
"""Steps in which v1.1 searches for the first appearance of a track."""


class Judgement(NamedTuple):
    """Results of the kernels."""

    values: NDArray[np.float64]
    """(M, L); rows that a version does not have are NaN."""
    steps: NDArray[np.int64]
    """(M, L) step of a value below 1."""
    causes: NDArray[np.int64]
    """(M, L) its cause: index of a track, corner, light or check; -1 for none."""
    within: NDArray[np.bool_]
    """(L, 6) comfort check by check."""


@kernel
def judge_v1(plans, reference, ego_state, time_us, profile, polygons, boxes, valid, types, line, filters):
    """Roll plans (N, 8, 3) and the reference (R, 3) out and judge them by v1.1.

    Tracks are (A, 50.., 7), the centreline `line` (C, 2..). Returns states (11, T, L), residuals (L,), judgement.
    One call does it all, so that a thread gives the GIL away once and takes it back once.
    """
    states, residuals = roll_out_kernel(plans, reference, ego_state, time_us, profile)
    return states, residuals, judge_rollouts_v1(states, polygons, boxes, valid, types, line, filters)


@kernel
def judge_rollouts_v1(states, polygons, boxes, valid, types, line, filters):
    """Judge states (11, T, L) by v1.1."""
    ego = ego_boxes(states)
    grid = build_grid(polygons, ego)
    traffic = nearby_traffic(boxes, valid, types, min(WINDOW_V1, boxes.shape[1]), False, ego)
    found = _empty(states.shape[2])
    _common(polygons, grid, traffic, ego, line, False, STEPS_V1, found)
    history = np.empty((0, states.shape[0]))
    _comfort(states, history, False, filters, found)
    return found


@kernel
def judge_v2(
    plans, reference, ego_state, time_us, profile, polygons, boxes, valid, types, line, filters, history, areas, red
):
    """Roll plans and the reference out and judge them by v2.2; arguments and results as for `judge_v1`.

    `history` (H, 11) are the rows in front of the rollouts; lights close polygons `areas` (K,) when `red` (K, T..).
    """
    states, residuals = roll_out_kernel(plans, reference, ego_state, time_us, profile)
    found = judge_rollouts_v2(states, polygons, boxes, valid, types, line, filters, history, areas, red)
    return states, residuals, found


@kernel
def judge_rollouts_v2(states, polygons, boxes, valid, types, line, filters, history, areas, red):
    """Judge states (11, T, L) by v2.2; tracks that overlap the ego now are left out."""
    ego = ego_boxes(states)
    grid = build_grid(polygons, ego)
    traffic = nearby_traffic(boxes, valid, types, TRAFFIC_STEPS_V2, True, ego)
    found = _empty(states.shape[2])
    _common(polygons, grid, traffic, ego, line, True, STEPS_V2, found)
    _only_v2(polygons, grid, ego, states, line, filters, history, areas, red, found)
    return found


@kernel
def judge_v2_reactive(
    plans, reference, ego_state, time_us, profile, polygons, boxes, valid, types, line, filters, history, areas, red,
    start,
):  # fmt: skip
    """The same with each plan in the traffic that reacts to it, from the vehicles of `start` (see `engine.reactive`).

    `boxes` (A, 41, 7) and `valid` (A, 41) hold what does not react; rows of vehicles are overwritten. The reference is
    judged in the traffic of each plan. No track is left out for overlapping the ego now. Returns states, residuals,
    judgement (NC and TTC of the reference are NaN), the reference's NC beside each plan (L - 1,), and -1 or the
    vehicle for which the simulation failed.
    """
    states, residuals = roll_out_kernel(plans, reference, ego_state, time_us, profile)
    ego = ego_boxes(states)
    grid = build_grid(polygons, ego)
    found = _empty(states.shape[2])
    corners = np.zeros(polygons.part.size, np.int64)
    _without_traffic(polygons, grid, ego, line, True, found)
    _only_v2(polygons, grid, ego, states, line, filters, history, areas, red, found)
    last = states.shape[2] - 1
    beside = np.empty(last)
    reacting = empty_traffic(start)
    pair = _rows(ego, 2)
    pair_found = _empty(2)
    for n in range(last):
        failed = drive(start, states, n, reacting, boxes, valid)
        if failed >= 0:
            return states, residuals, found, beside, failed
        _copy_row(ego, n, pair, 0)
        _copy_row(ego, last, pair, 1)
        traffic = nearby_traffic(boxes, valid, types, TRAFFIC_STEPS_V2, False, pair)
        _in_traffic(polygons, grid, traffic, pair, STEPS_V2, corners, pair_found)
        for metric in (NC, TTC):
            found.values[metric, n] = pair_found.values[metric, 0]
            found.steps[metric, n] = pair_found.steps[metric, 0]
            found.causes[metric, n] = pair_found.causes[metric, 0]
        beside[n] = pair_found.values[NC, 1]
    return states, residuals, found, beside, -1


@inlined
def _rows(ego, count):
    """Boxes of `count` rollouts, to be filled."""
    shape = (count, ego.x.shape[1])
    return EgoBoxes(
        np.empty(shape), np.empty(shape), np.empty(shape), np.empty(shape), np.empty(shape), np.empty(shape),
        np.empty(shape),
    )  # fmt: skip


@inlined
def _copy_row(ego, n, rows, row):
    for t in range(ego.x.shape[1]):
        rows.x[row, t], rows.y[row, t] = ego.x[n, t], ego.y[n, t]
        rows.rear_x[row, t], rows.rear_y[row, t] = ego.rear_x[n, t], ego.rear_y[n, t]
        rows.cosine[row, t], rows.sine[row, t] = ego.cosine[n, t], ego.sine[n, t]
        rows.speed[row, t] = ego.speed[n, t]


@inlined
def _comfort(states, history, at_centre, filters, found):
    values, steps, causes = found.values[COMFORT], found.steps[COMFORT], found.causes[COMFORT]
    comfort(states, history, at_centre, filters, values, steps, causes, found.within)


@inlined
def _empty(rollouts):
    values = np.empty((METRICS, rollouts))
    steps = np.empty((METRICS, rollouts), np.int64)
    causes = np.empty((METRICS, rollouts), np.int64)
    for metric in range(METRICS):
        for n in range(rollouts):
            values[metric, n], steps[metric, n], causes[metric, n] = np.nan, -1, -1
    return Judgement(values, steps, causes, np.empty((rollouts, len(CHECKS)), np.bool_))


@inlined
def _common(polygons, grid, traffic, ego, line, spare_intersections, ttc_steps, found):
    """The metrics that both versions share."""
    corners = np.zeros(polygons.part.size, np.int64)
    _in_traffic(polygons, grid, traffic, ego, ttc_steps, corners, found)
    _without_traffic(polygons, grid, ego, line, spare_intersections, found)


@inlined
def _in_traffic(polygons, grid, traffic, ego, ttc_steps, corners, found):
    """Shared metrics that depend on other road users; `corners` (P,) is scratch, zero."""
    values, steps, causes = found.values, found.steps, found.causes
    forgiven = np.empty(traffic.track.size, np.bool_)
    no_collision(polygons, grid, traffic, ego, forgiven, corners, values[NC], steps[NC], causes[NC])
    time_to_collision(polygons, grid, traffic, ego, ttc_steps, forgiven, corners, values[TTC], steps[TTC], causes[TTC])


@inlined
def _without_traffic(polygons, grid, ego, line, spare_intersections, found):
    """Shared metrics that depend on the map alone."""
    values, steps, causes = found.values, found.steps, found.causes
    drivable_area(polygons, grid, ego, values[DAC], steps[DAC], causes[DAC])
    way = np.empty(ego.x.shape[1])
    driving_direction(polygons, grid, ego, spare_intersections, way, values[DDC], steps[DDC])
    points = line.shape[0]
    raw_progress(line, ego, np.empty((points // SEGMENTS_PER_BLOCK + 1, 4)), np.empty(points), values[PROGRESS])


@inlined
def _only_v2(polygons, grid, ego, states, line, filters, history, areas, red, found):
    """The metrics of v2.2 alone."""
    traffic_light(polygons, ego, areas, red, found.values[TLC], found.steps[TLC], found.causes[TLC])
    lane_keeping(polygons, grid, ego, line, found.values[LK], found.steps[LK])
    _comfort(states, history, True, filters, found)
