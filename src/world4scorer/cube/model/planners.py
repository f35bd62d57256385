"""Planners of the study: the world model's search, with and without outcome scores, and baselines.

A planner is asked for the next 25 actions of several windows at once. Candidates of a window are drawn from its own
seed, so that two planners try the same first candidates and a window's plan does not depend on the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
import torch
from torch import Tensor

from world4scorer.cube.errors import CubeError
from world4scorer.cube.model.lewm import ACTION_BLOCK, BLOCK_STEPS
from world4scorer.cube.model.outcome_head import (
    HeadSees,
    OutcomeHead,
    PathHead,
    candidate_features,
    path_features,
    standardised,
)
from world4scorer.cube.model.search import Search, search
from world4scorer.cube.model.world_model import ActionScale, WorldModel
from world4scorer.cube.simulator.cube_env import ACTION, CubeSimulator, Floats
from world4scorer.cube.windows import GOAL_STEPS, Window

if TYPE_CHECKING:
    import mujoco

PLAN_STEPS: Final = GOAL_STEPS
"""Steps of a plan, all of which are carried out."""


@dataclass(frozen=True)
class ReplanStep:
    """A window under way."""

    window: Window
    round: int
    """Plans carried out before."""
    snapshot: mujoco.MjData
    """The simulator's state."""

    def generator(self) -> torch.Generator:
        """Random generator of this replan step's candidates, the same for all planners."""
        place = (self.window.seed, self.window.episode, self.window.step, self.round)
        return torch.Generator().manual_seed(int(np.random.SeedSequence(place).generate_state(1, np.uint64)[0] >> 1))


class CubePlanner(Protocol):
    """Plans."""

    def plan(self, simulator: CubeSimulator, moments: Sequence[ReplanStep]) -> Floats:
        """Actions of the simulator (moments, steps, 5), carried out before it is asked again.

        25 steps except for policies; the simulator's state may be used and changed.
        """
        ...


@dataclass(frozen=True)
class ImaginedCandidates:
    """Candidates of an iteration with what the world model makes of them; the first axis is the moments'."""

    iteration: int
    candidates: Tensor
    """(…, candidates, blocks, 25), in the model's unit."""
    path: Tensor
    """Latents after each of their blocks (…, candidates, blocks, latent)."""
    goal: Tensor
    """Latents of the goals (…, latent)."""
    cost: Tensor
    """Squared distances between the two (…, candidates)."""

    @property
    def final(self) -> Tensor:
        """Latents at their ends (…, candidates, latent)."""
        return self.path[..., -1, :]

    def features(self, sees: HeadSees) -> Tensor:
        """Inputs of an outcome head."""
        if sees == "path":
            return path_features(self.path, self.goal, self.candidates)
        return candidate_features(self.final, self.goal, self.cost, self.candidates)


class WorldModelPlanner:
    """Cross-entropy search in a world model, by latent cost alone or with an outcome head's score added."""

    def __init__(
        self,
        model: WorldModel,
        budget: Search,
        head: OutcomeHead | PathHead | None = None,
        weight: float = 0.0,
        watch: Callable[[ImaginedCandidates], None] | None = None,
    ) -> None:
        """`watch` is shown what was imagined in each iteration."""
        if weight and head is None:
            raise CubeError("a weight of outcome scores needs an outcome head")
        self.model, self.budget, self.weight, self._watch = model, budget, weight, watch
        self.head = None if head is None else head.eval()

    def plan(self, simulator: CubeSimulator, moments: Sequence[ReplanStep]) -> Floats:
        """Search for all moments side by side."""
        start, goal = latents_of(self.model, simulator, moments)
        iteration = -1

        def score(candidates: Tensor) -> Tensor:
            nonlocal iteration
            iteration += 1
            path = self.model.imagine(start, candidates)
            cost = (path[:, :, -1] - goal[:, None]).square().sum(-1)
            imagined = ImaginedCandidates(iteration, candidates, path, goal, cost)
            if self._watch is not None:
                self._watch(imagined)
            if self.head is None or not self.weight:
                return -cost
            return standardised(-cost) + self.weight * standardised(self.head(imagined.features(self.head.sees)))

        generators = [moment.generator() for moment in moments]
        plans = search(self.budget, score, generators, self.model.scale.bounds())
        return self.model.scale.to_simulator(plans)


def latents_of(model: WorldModel, simulator: CubeSimulator, moments: Sequence[ReplanStep]) -> tuple[Tensor, Tensor]:
    """Latents of where windows are, and of their goals, each (moments, latent)."""
    goals = [model.look_at(simulator, moment.window.goal_state) for moment in moments]
    starts = []
    for moment in moments:
        if moment.round == 0:
            starts.append(model.look_at(simulator, moment.window.start))
        else:
            simulator.restore(moment.snapshot)
            starts.append(model.look(simulator))
    latents = model.encode(np.stack(starts + goals))
    return latents[: len(moments)], latents[len(moments) :]


class SimulatorPlanner:
    """The same search by simulated outcomes: the upper bound of a perfect scorer."""

    def __init__(self, scale: ActionScale, budget: Search) -> None:
        self.scale, self.budget = scale, budget

    def plan(self, simulator: CubeSimulator, moments: Sequence[ReplanStep]) -> Floats:
        """Search for one moment after the other."""
        from world4scorer.cube.simulator.replay import Replay

        replay = Replay(simulator.environment)
        plans = []
        for moment in moments:

            def score(candidates: Tensor, moment: ReplanStep = moment) -> Tensor:
                actions = self.scale.to_simulator(candidates[0])
                return -torch.from_numpy(replay.outcomes(moment.snapshot, actions, moment.window.goal))[None]

            plans.append(search(self.budget, score, [moment.generator()], self.scale.bounds()))
        return self.scale.to_simulator(torch.cat(plans))


class RandomPlanner:
    """One random action sequence, from where searches begin."""

    def __init__(self, scale: ActionScale) -> None:
        self.scale = scale

    def plan(self, simulator: CubeSimulator, moments: Sequence[ReplanStep]) -> Floats:
        """The first draw of each moment, within the action space."""
        drawn = torch.stack(
            [torch.randn(PLAN_STEPS // BLOCK_STEPS, ACTION_BLOCK, generator=moment.generator()) for moment in moments]
        )
        return np.clip(self.scale.to_simulator(drawn), -1, 1)


class ZeroPlanner:
    """Actions of nothing, with which the arm stays where it is."""

    def plan(self, simulator: CubeSimulator, moments: Sequence[ReplanStep]) -> Floats:
        """Zeros."""
        return np.zeros((len(moments), PLAN_STEPS, ACTION))


class ExpertReplay:
    """Replays the expert's actions, then zero actions."""

    def plan(self, simulator: CubeSimulator, moments: Sequence[ReplanStep]) -> Floats:
        """The recorded actions."""
        nothing = np.zeros((PLAN_STEPS, ACTION))
        return np.stack([moment.window.expert if moment.round == 0 else nothing for moment in moments])
