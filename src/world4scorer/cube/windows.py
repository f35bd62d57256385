"""Windows: starts and goals in the expert's episodes for evaluation, tuning and collection."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from world4scorer.cube.episodes import Episodes
from world4scorer.cube.errors import CubeError
from world4scorer.cube.simulator.cube_env import SUCCESS_METRES, CubeState, Floats, distance_to, is_held

GOAL_STEPS: Final = 25
"""The goal is where the expert had the cube so many steps later."""
BUDGET_STEPS: Final = 50
"""Steps within which a planner has to bring it there."""


@dataclass(frozen=True)
class Window:
    """A start and a goal."""

    seed: int
    """Seed of the draw."""
    episode: int
    step: int
    start: CubeState
    goal: Floats
    """Goal position of the cube."""
    goal_state: CubeState
    """The expert's moment at the goal, which a world model sees."""
    held: bool
    """Whether the gripper has the cube at the start."""
    expert: Floats
    """Expert actions from start to goal (25, 5)."""

    @property
    def name(self) -> str:
        """Names it in files and errors."""
        return f"seed {self.seed}, episode {self.episode}, step {self.step}"

    @property
    def start_distance(self) -> float:
        """Metres between cube and goal at the start."""
        return distance_to(self.goal, self.start.cube)

    @property
    def solved_at_start(self) -> bool:
        """Whether there is nothing to do."""
        return self.start_distance <= SUCCESS_METRES


def check_seeds(seeds: Sequence[int]) -> None:
    """Raise a CubeError for seeds that are none, negative or not all different."""
    if not seeds or min(seeds) < 0 or len(set(seeds)) < len(seeds):
        raise CubeError(
            f"seeds {', '.join(map(str, seeds)) or 'missing'}: give different numbers, none of them negative"
        )


def draw_windows(episodes: Episodes, seed: int, count: int = 50) -> list[Window]:
    """The windows of a seed as published: sorted rows with 25 steps left; raises CubeError if there are too few."""
    return [_window(episodes, seed, *place) for place in draw_places(len(episodes), episodes.steps, seed, count)]


def draw_places(episodes: int, steps: int, seed: int, count: int = 50) -> list[tuple[int, int]]:
    """Episode and step of the windows of a seed, which need no data to be known."""
    usable = steps - GOAL_STEPS
    valid = episodes * max(usable, 0)
    if valid - 1 < count:
        raise CubeError(
            f"{count} windows cannot be drawn from {episodes} episodes of {steps} steps: make more episodes, "
            f"each of more than {GOAL_STEPS} steps"
        )
    rows = np.sort(np.random.default_rng(seed).choice(valid - 1, count, replace=False))
    return [(int(row) // usable, int(row) % usable) for row in rows]


def evaluated_episodes(episodes: int, steps: int, seeds: Iterable[int], count: int = 50) -> frozenset[int]:
    """Episodes that any of the seeds has a window in: nothing may be learned from them."""
    return frozenset(episode for seed in seeds for episode, _ in draw_places(episodes, steps, seed, count))


def _window(episodes: Episodes, seed: int, episode: int, step: int) -> Window:
    start = episodes.state(episode, step)
    goal_state = episodes.state(episode, step + GOAL_STEPS)
    return Window(
        seed=seed,
        episode=episode,
        step=step,
        start=start,
        goal=goal_state.cube,
        goal_state=goal_state,
        held=is_held(start.observation),
        expert=episodes.actions[episode, step : step + GOAL_STEPS],
    )
