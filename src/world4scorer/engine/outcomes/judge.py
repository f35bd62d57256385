"""All metrics of one version for all rollouts at once: the kernels behind `label`, `pdms` and `epdms`.

Shapes: L rollouts (plans, then possibly the human, then the reference), M metrics (rows of `Metric`).
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.kernels import inlined, kernel, leaf
from world4scorer.engine.outcomes.area_grid import MAX_CELLS, AreaGrid, build_grid, grid_within
from world4scorer.engine.outcomes.collision import no_collision
from world4scorer.engine.outcomes.comfort import CHECKS, ComfortFilters, comfort
from world4scorer.engine.outcomes.drivable_area import drivable_area
from world4scorer.engine.outcomes.driving_direction import driving_direction
from world4scorer.engine.outcomes.ego import EgoBoxes, centre_bounds, ego_boxes
from world4scorer.engine.outcomes.lane_keeping import lanes_kept, segments_by_cell
from world4scorer.engine.outcomes.progress import measured_line, raw_progress
from world4scorer.engine.outcomes.time_to_collision import STEPS_V1, STEPS_V2, time_to_collision
from world4scorer.engine.outcomes.traffic import (
    Traffic,
    ego_reach,
    near_rollouts,
    nearby_traffic,
    reach_bounds,
    traffic_within,
)
from world4scorer.engine.outcomes.traffic_light import traffic_light
from world4scorer.engine.reactive.drive import drive, empty_traffic
from world4scorer.engine.rollout.plans import MAX_RESIDUAL, roll_out_kernel
from world4scorer.engine.scene.packed import MapArrays
from world4scorer.engine.scene.plan import MAX_COORDINATE


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


class Centreline(NamedTuple):
    """The centreline and what finds its nearest segments."""

    points: NDArray[np.float64]
    """(C, 2..)"""
    bounds: NDArray[np.float64]
    """(C // SEGMENTS_PER_BLOCK + 1, 4) of blocks of segments."""
    length: NDArray[np.float64]
    """(C,) arc length of each point [m]."""
    cell_start: NDArray[np.int64]
    """(rows * columns + 1,) offsets into `segments` by cell of the area grid; empty in v1.1."""
    segments: NDArray[np.int64]
    """Segments that come near a cell."""


class Prepared(NamedTuple):
    """What one version's metrics need of a scene, whatever the plans, as long as rollouts stay within `bounds`."""

    second: bool
    """By v2.2, else by v1.1."""
    polygons: MapArrays
    grid: AreaGrid
    line: Centreline
    traffic: Traffic
    bounds: NDArray[np.float64]
    """(2, 4) what centres, and boxes moved ahead, must stay within: x_min, y_min, x_max, y_max."""
    filters: ComfortFilters
    history: NDArray[np.float64]
    """(H, 11) rows in front of the rollouts; none in v1.1."""
    areas: NDArray[np.int64]
    """(K,) polygon that each light closes."""
    red: NDArray[np.bool_]
    """(K, T..) when."""


@kernel
def judge_plans(plans, reference, ego_state, time_us, profile, prepared):
    """Roll plans (N, 8, 3) and, unless empty, the reference (R, 3) out and judge them.

    Returns whether all went well, states (11, T, L) and the judgement. It did not where a plan has invalid values, a
    fit missed its equations, or a rollout left what was prepared. One call does it all, so that a thread gives the GIL
    away once and takes it back once.
    """
    states, residuals, ego, reach, bounds = roll_out_boxes(plans, reference, ego_state, time_us, profile)
    if not _usable(plans, residuals, bounds, prepared.bounds):
        return False, states, _empty(0)
    return True, states, judge_boxes(states, ego, reach, prepared)


@kernel
def judge_once(
    plans, reference, ego_state, time_us, profile, second, polygons, points, boxes, valid, types, steps, filters,
    history, areas, red,
):  # fmt: skip
    """Roll out as above and judge, with what is prepared for these rollouts and not kept.

    `points` (C, 2..) are the centreline, tracks (A, S.., 7) are read for `steps` steps; the rest is as in `Prepared`.
    Returns states (11, T, L), residuals (L,), the judgement, and bounds (2, 4) of what the rollouts touch.
    """
    states, residuals, ego, reach, bounds = roll_out_boxes(plans, reference, ego_state, time_us, profile)
    grid = grid_within(polygons, bounds[0], MAX_CELLS)
    line_bounds, line_length = measured_line(points)
    cell_start, segments = np.empty(0, np.int64), np.empty(0, np.int64)
    if second:
        cell_start, segments = segments_by_cell(grid, points)
    line = Centreline(points, line_bounds, line_length, cell_start, segments)
    traffic = traffic_within(boxes, valid, types, steps, second, ego, bounds[1])
    prepared = Prepared(second, polygons, grid, line, traffic, bounds, filters, history, areas, red)
    return states, residuals, judge_boxes(states, ego, reach, prepared), bounds


@kernel
def roll_out_boxes(plans, reference, ego_state, time_us, profile):
    """Roll out as above: states (11, T, L), residuals (L,), and what `place_boxes` returns."""
    states, residuals = roll_out_kernel(plans, reference, ego_state, time_us, profile)
    ego, reach, bounds = place_boxes(states)
    return states, residuals, ego, reach, bounds


@kernel
def place_boxes(states):
    """Boxes of rollouts `states` (11, T, L), their reach (T, 4, 4) by step and look-ahead, bounds (2, 4) of both."""
    ego = ego_boxes(states)
    reach = ego_reach(ego)
    bounds = np.empty((2, 4))
    bounds[0], bounds[1] = centre_bounds(ego), reach_bounds(reach)
    return ego, reach, bounds


@kernel
def judge_boxes(states, ego, reach, prepared):
    """Judge states (11, T, L), whose boxes and reach stay within what was prepared."""
    polygons, grid, line = prepared.polygons, prepared.grid, prepared.line
    second = prepared.second
    traffic = near_rollouts(prepared.traffic, reach)
    found = _empty(states.shape[2])
    corners = np.zeros(polygons.part.size, np.int64)
    _in_traffic(polygons, grid, traffic, ego, STEPS_V2 if second else STEPS_V1, corners, found)
    _without_traffic(polygons, grid, ego, line, second, found)
    if second:
        _only_v2(polygons, grid, ego, line, prepared.areas, prepared.red, found)
    _comfort(states, prepared.history, second, prepared.filters, found)
    return found


@leaf
def _usable(plans, residuals, bounds, prepared):
    usable = True
    for n in range(plans.shape[0]):
        for k in range(plans.shape[1]):
            for column in range(plans.shape[2]):
                usable = usable and abs(plans[n, k, column]) <= MAX_COORDINATE  # false for NaN
    for n in range(residuals.size):
        usable = usable and residuals[n] <= MAX_RESIDUAL
    for k in range(2):
        usable = usable and bounds[k, 0] >= prepared[k, 0] and bounds[k, 1] >= prepared[k, 1]
        usable = usable and bounds[k, 2] <= prepared[k, 2] and bounds[k, 3] <= prepared[k, 3]
    return usable


@kernel
def judge_v2_reactive(
    plans, reference, ego_state, time_us, profile, polygons, boxes, valid, types, points, filters, history, areas, red,
    start,
):  # fmt: skip
    """Roll plans and the reference out and judge them by v2.2, each plan in the traffic that reacts to it.

    That traffic starts from the vehicles of `start` (see `engine.reactive`). `boxes` (A, 41, 7) and `valid` (A, 41)
    hold what does not react; rows of vehicles are overwritten. The reference is judged in the traffic of each plan. No
    track is left out for overlapping the ego now. Returns states, residuals, judgement (NC and TTC of the reference are
    NaN), the reference's NC beside each plan (L - 1,), and -1 or the vehicle for which the simulation failed.
    """
    states, residuals = roll_out_kernel(plans, reference, ego_state, time_us, profile)
    ego = ego_boxes(states)
    grid = build_grid(polygons, ego)
    found = _empty(states.shape[2])
    corners = np.zeros(polygons.part.size, np.int64)
    bounds, length = measured_line(points)
    cell_start, segments = segments_by_cell(grid, points)
    line = Centreline(points, bounds, length, cell_start, segments)
    _without_traffic(polygons, grid, ego, line, True, found)
    _only_v2(polygons, grid, ego, line, areas, red, found)
    _comfort(states, history, True, filters, found)
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
    raw_progress(line.points, ego, line.bounds, line.length, values[PROGRESS])


@inlined
def _only_v2(polygons, grid, ego, line, areas, red, found):
    """The metrics of v2.2 alone."""
    traffic_light(polygons, ego, areas, red, found.values[TLC], found.steps[TLC], found.causes[TLC])
    values, steps = found.values[LK], found.steps[LK]
    lanes_kept(polygons, grid, ego, line.points, line.cell_start, line.segments, values, steps)
