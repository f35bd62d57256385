"""Scores of the reference planner's proposals by the rules of either version.

The planner scores its proposals against its own forecast. Collisions, drivable area and progress are the same in both
versions; v2.2 adds traffic lights and lane keeping, ignores driving direction inside intersections and checks time to
collision at steps 0..31 only. Without history its comfort is 1.

Shapes: J proposals, T = 41 steps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.kernels import kernel
from world4scorer.engine.outcomes.area_grid import build_grid
from world4scorer.engine.outcomes.collision import no_collision
from world4scorer.engine.outcomes.comfort import CHECKS, comfort
from world4scorer.engine.outcomes.drivable_area import drivable_area
from world4scorer.engine.outcomes.driving_direction import driving_direction
from world4scorer.engine.outcomes.ego import ego_boxes
from world4scorer.engine.outcomes.lane_keeping import lane_keeping
from world4scorer.engine.outcomes.progress import MIN_REFERENCE_PROGRESS, measured_line, raw_progress
from world4scorer.engine.outcomes.time_to_collision import STEPS_V1, STEPS_V2, time_to_collision
from world4scorer.engine.outcomes.traffic import nearby_traffic
from world4scorer.engine.outcomes.traffic_light import traffic_light


class ProposalOutcomes(NamedTuple):
    """Metrics of the proposals, each (J,)."""

    nc: NDArray[np.float64]
    dac: NDArray[np.float64]
    progress: NDArray[np.float64]
    """Raw progress [m]."""
    ttc_v1: NDArray[np.float64]
    ttc_v2: NDArray[np.float64]
    ddc_v1: NDArray[np.float64]
    """Not part of the score."""
    ddc_v2: NDArray[np.float64]
    comfort: NDArray[np.float64]
    """v1.1"""
    tlc: NDArray[np.float64]
    """v2.2"""
    lk: NDArray[np.float64]
    """v2.2"""

    def scores_v1(self) -> NDArray[np.float64]:
        """(J,) PDMS of the proposals among themselves."""
        product = self.nc * self.dac
        raw = self.progress * product
        best = raw.max()
        ep = raw / best if best > MIN_REFERENCE_PROGRESS else np.where(product == 0.0, 0.0, 1.0)
        return np.asarray(product * (5 * ep + 5 * self.ttc_v1 + 2 * self.comfort) / 12)

    def scores_v2(self) -> NDArray[np.float64]:
        """(J,) EPDMS of the proposals among themselves, without history and extended comfort."""
        product = self.nc * self.dac * self.tlc * self.ddc_v2
        best = (self.progress * product).max()
        ep = np.clip(self.progress / best, 0.0, 1.0) if best > MIN_REFERENCE_PROGRESS else np.ones_like(product)
        return np.asarray(product * (5 * ep + 5 * self.ttc_v2 + 2 * self.lk + 2.0) / 14)


@kernel
def judge_proposals(states, polygons, boxes, valid, types, line, filters, areas):
    """Judge rollouts `states` (11, T, J) among forecast tracks (N, 51, 7) with lights closing polygons `areas` (K,)."""
    ego = ego_boxes(states)
    grid = build_grid(polygons, ego)
    traffic = nearby_traffic(boxes, valid, types, boxes.shape[1], False, ego)
    count, steps = ego.x.shape
    out = np.empty((10, count))
    step = np.empty(count, np.int64)
    cause = np.empty(count, np.int64)
    forgiven = np.empty(traffic.track.size, np.bool_)
    corners = np.zeros(polygons.part.size, np.int64)
    no_collision(polygons, grid, traffic, ego, forgiven, corners, out[0], step, cause)
    drivable_area(polygons, grid, ego, out[1], step, cause)
    line_bounds, line_length = measured_line(line)
    raw_progress(line, ego, line_bounds, line_length, out[2])
    time_to_collision(polygons, grid, traffic, ego, STEPS_V1, forgiven, corners, out[3], step, cause)
    for n in range(count):
        out[4, n] = 0.0 if out[3, n] == 0.0 and step[n] < STEPS_V2 else 1.0
    way = np.empty(steps)
    driving_direction(polygons, grid, ego, False, way, out[5], step)
    driving_direction(polygons, grid, ego, True, way, out[6], step)
    history = np.empty((0, states.shape[0]))
    comfort(states, history, False, filters, out[7], step, cause, np.empty((count, len(CHECKS)), np.bool_))
    red = np.ones((areas.size, steps), np.bool_)
    traffic_light(polygons, ego, areas, red, out[8], step, cause)
    lane_keeping(polygons, grid, ego, line, out[9], step)
    return out
