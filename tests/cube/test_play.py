"""Playing windows: paired candidates, the budget, exact replays, and players whose result is known."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from world4scorer.cube.episodes import Episodes
from world4scorer.cube.errors import CubeError
from world4scorer.cube.model.outcome_head import OutcomeHead
from world4scorer.cube.model.planners import (
    ExpertReplay,
    ImaginedCandidates,
    RandomPlanner,
    ReplanStep,
    SimulatorPlanner,
    WorldModelPlanner,
    ZeroPlanner,
)
from world4scorer.cube.model.search import Search
from world4scorer.cube.model.world_model import LewmWorldModel
from world4scorer.cube.play import play_windows, replay_window
from world4scorer.cube.simulator.cube_env import SUCCESS_METRES, CubeSimulator, cube_of
from world4scorer.cube.windows import BUDGET_STEPS, Window, draw_windows

SMALL = Search(candidates=12, elites=3, iterations=2)


@pytest.fixture(scope="module")
def windows(expert: Episodes) -> list[Window]:
    return draw_windows(expert, 42, 6)


def moments(windows: list[Window], simulator: CubeSimulator, number: int = 0) -> list[ReplanStep]:
    found = []
    for window in windows:
        simulator.start_at(window.start)
        found.append(ReplanStep(window, number, simulator.snapshot()))
    return found


def test_windows_hold_what_the_episodes_hold(expert: Episodes, windows: list[Window]) -> None:
    for window in windows:
        np.testing.assert_array_equal(window.goal, cube_of(expert.qpos[window.episode, window.step + 25]))
        np.testing.assert_array_equal(window.start.cube, cube_of(expert.qpos[window.episode, window.step]))
        assert window.solved_at_start == (np.linalg.norm(window.goal - window.start.cube) <= SUCCESS_METRES)


def test_the_expert_arrives(windows: list[Window], simulator: CubeSimulator) -> None:
    """From positions and speeds alone the arm moves nearly as it did."""
    assert all(one.success for one in play_windows(windows, ExpertReplay(), simulator))


def test_doing_nothing_solves_what_was_solved(windows: list[Window], simulator: CubeSimulator) -> None:
    for one in play_windows(windows, ZeroPlanner(), simulator):
        assert one.success or not one.solved_at_start
        assert one.steps == (1 if one.solved_at_start else one.steps)
        assert one.success or one.steps == BUDGET_STEPS


def test_a_played_window_can_be_played_again_to_the_bit(
    windows: list[Window], simulator: CubeSimulator, untrained: LewmWorldModel
) -> None:
    for window, one in zip(windows, play_windows(windows, RandomPlanner(untrained.scale), simulator), strict=True):
        distances = [
            float(np.linalg.norm(simulator.cube - window.goal))
            for done in replay_window(simulator, window, one)
            if done
        ]
        assert distances[-1] == one.final_metres
        assert min(distances) == one.nearest_metres


def test_both_planners_draw_the_same_candidates(
    windows: list[Window], simulator: CubeSimulator, untrained: LewmWorldModel
) -> None:
    seen: dict[str, list[ImaginedCandidates]] = {"anchor": [], "ours": []}
    head = OutcomeHead(4 * untrained.latent + 51)
    for name, weight in (("anchor", 0.0), ("ours", 0.5)):
        planner = WorldModelPlanner(untrained, SMALL, head, weight, watch=seen[name].append)
        planner.plan(simulator, moments(windows[:2], simulator))
    torch.testing.assert_close(seen["anchor"][0].candidates, seen["ours"][0].candidates)
    assert [one.iteration for one in seen["ours"]] == [0, 1]


def test_a_plan_does_not_depend_on_the_other_windows(
    windows: list[Window], simulator: CubeSimulator, untrained: LewmWorldModel
) -> None:
    planner = WorldModelPlanner(untrained, SMALL)
    together = planner.plan(simulator, moments(windows, simulator))
    alone = planner.plan(simulator, moments(windows[3:4], simulator))
    np.testing.assert_allclose(together[3:4], alone, atol=1e-4)


def test_a_second_plan_draws_other_candidates(windows: list[Window], simulator: CubeSimulator) -> None:
    first, second = (moments(windows[:1], simulator, number)[0].generator().initial_seed() for number in (0, 1))
    assert first != second


def test_the_score_is_the_sum_of_both_standardised(
    windows: list[Window], simulator: CubeSimulator, untrained: LewmWorldModel
) -> None:
    """The second iteration's mean is that of the first one's elites by the sum, computed by hand."""
    seen: list[ImaginedCandidates] = []
    torch.manual_seed(1)  # some heads choose the elites of the cost
    head = OutcomeHead(4 * untrained.latent + 51).eval()
    WorldModelPlanner(untrained, SMALL, head, 0.7, watch=seen.append).plan(simulator, moments(windows[:1], simulator))
    first = seen[0]
    with torch.no_grad():
        outcome = head(first.features("final"))[0].double().numpy()
    likeness = -first.cost[0].double().numpy()
    total = (likeness - likeness.mean()) / likeness.std() + 0.7 * (outcome - outcome.mean()) / outcome.std()
    elites = first.candidates[0, torch.from_numpy(np.argsort(-total)[: SMALL.elites].copy())]
    torch.testing.assert_close(seen[1].candidates[0, 0], elites.mean(0), rtol=1e-4, atol=1e-5)
    by_cost = first.candidates[0, torch.from_numpy(np.argsort(-likeness)[: SMALL.elites].copy())]
    assert not torch.allclose(by_cost.mean(0), elites.mean(0), atol=1e-3)


def test_a_weight_without_a_head_is_refused(untrained: LewmWorldModel) -> None:
    with pytest.raises(CubeError, match="needs an outcome head"):
        WorldModelPlanner(untrained, SMALL, None, 0.3)


def test_searching_in_the_simulator_comes_nearer_than_chance(
    expert: Episodes, simulator: CubeSimulator, untrained: LewmWorldModel
) -> None:
    held = [one for one in draw_windows(expert, 0, 60) if one.held and not one.solved_at_start][:2]
    by_chance = play_windows(held, RandomPlanner(untrained.scale), simulator)
    budget = Search(candidates=24, elites=4, iterations=2)
    searched = play_windows(held, SimulatorPlanner(untrained.scale, budget), simulator)
    assert sum(one.nearest_metres for one in searched) < sum(one.nearest_metres for one in by_chance)
