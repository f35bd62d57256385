"""PDM-Closed, the reference planner: fifteen proposals, rolled out, scored against its own forecast; the best is kept.

Each version of the metrics scores the proposals by its own rules, so the two may choose differently.

Shapes: J = 15 proposals, L = 3 paths, N objects, K red lights.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from world4scorer.datasets.navsim.city_map import CityMap
from world4scorer.datasets.pdm_closed.forecast import Forecast
from world4scorer.datasets.pdm_closed.generator import ProposalGenerator
from world4scorer.datasets.pdm_closed.idm import Proposals
from world4scorer.datasets.pdm_closed.paths import LateralPaths
from world4scorer.datasets.pdm_closed.scorer import ProposalOutcomes, judge_proposals
from world4scorer.engine.kernels import kernel
from world4scorer.engine.outcomes.comfort import comfort_filters_v1
from world4scorer.engine.rollout.plans import check_residuals
from world4scorer.engine.rollout.profile import NAVSIM
from world4scorer.engine.rollout.simulate import simulate
from world4scorer.engine.scene.indices import STEPS
from world4scorer.engine.scene.packed import MapArrays


@dataclass(frozen=True, eq=False)
class ReferencePlan:
    """Proposals, their scores and the chosen ones."""

    proposals: Proposals
    states: NDArray[np.float64]
    """(11, 41, J) rollouts of the proposals."""
    outcomes: ProposalOutcomes
    scores_v1: NDArray[np.float64]
    """(J,)"""
    scores_v2: NDArray[np.float64]
    """(J,)"""
    best_v1: int
    best_v2: int

    @property
    def poses_v1(self) -> NDArray[np.float64]:
        """(51, 3) global poses of the plan that v1.1 compares with."""
        return np.asarray(self.proposals.poses[self.best_v1])

    @property
    def poses_v2(self) -> NDArray[np.float64]:
        """(51, 3) global poses of the plan that v2.2 compares with."""
        return np.asarray(self.proposals.poses[self.best_v2])


def plan_reference(
    city: CityMap,
    paths: LateralPaths,
    limit: float | None,
    ego_state: NDArray[np.float64],
    forecast: Forecast,
    polygons: MapArrays,
    red_polygons: NDArray[np.int64],
) -> ReferencePlan:
    """Plan from `ego_state` (11,) along the paths.

    `polygons` is the drivable map with the lanes of the corrected route marked, and `red_polygons` (K,) the indices of
    the forecast's red lanes in it.
    """
    generator = ProposalGenerator.of(city, paths, limit, ego_state, forecast)
    proposals = generator.propose()
    states, residuals = _roll_out(proposals.poses, ego_state)
    check_residuals(residuals, "the reference planner")

    boxes = forecast.at_steps()
    outcomes = ProposalOutcomes(
        *judge_proposals(
            states,
            polygons,
            boxes,
            np.ones(boxes.shape[:2], np.bool_),
            forecast.type[forecast.relevant],
            paths.poses[0],
            comfort_filters_v1(),
            red_polygons,
        )
    )
    scores_v1, scores_v2 = outcomes.scores_v1(), outcomes.scores_v2()
    best_v1, best_v2 = int(np.argmax(scores_v1)), int(np.argmax(scores_v2))
    for best in {best_v1, best_v2}:
        generator.extend(proposals, best)
    return ReferencePlan(proposals, states, outcomes, scores_v1, scores_v2, best_v1, best_v2)


@kernel
def _roll_out(poses, ego_state):
    """Rollouts (11, 41, J) of the first 41 `poses` (J, 51, 3), all from `ego_state` (11,), and residuals (J,)."""
    count = poses.shape[0]
    tracked = np.empty((3, STEPS, count))
    states = np.empty((ego_state.size, STEPS, count))
    for j in range(count):
        for step in range(STEPS):
            for column in range(3):
                tracked[column, step, j] = poses[j, step, column]
        for column in range(ego_state.size):
            states[column, 0, j] = ego_state[column]
    residuals = simulate(tracked, NAVSIM, states)
    return states, residuals
