"""Play windows with a planner: plan, execute the plan, replan, until success or the end of the budget."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from world4scorer.cube.model.planners import CubePlanner, ReplanStep
from world4scorer.cube.simulator.cube_env import SUCCESS_METRES, CubeSimulator, Floats
from world4scorer.cube.windows import BUDGET_STEPS, Window


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch use one thread: there is a process for each core."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@dataclass(frozen=True)
class WindowResult:
    """What became of a window."""

    episode: int
    step: int
    held: bool
    """Whether the cube was held at the start."""
    start_metres: float
    """Distance from the goal at the start."""
    steps: int
    """Steps carried out."""
    success: bool
    nearest_metres: float
    """Least distance from the goal after any step."""
    final_metres: float
    """Distance from the goal at the end."""
    actions: list[list[float]]
    """What was done (steps, 5): carried out again from the same start, it leads to the same bits."""
    solved_by_nothing: bool | None = None
    """Whether doing nothing solves it, too; None if that was not tried."""

    @property
    def solved_at_start(self) -> bool:
        """Whether there was nothing to do."""
        return self.start_metres <= SUCCESS_METRES


def play_windows(windows: Sequence[Window], planner: CubePlanner, simulator: CubeSimulator) -> list[WindowResult]:
    """Play all windows, those still under way planned together."""
    running = []
    for window in windows:
        simulator.start_at(window.start)
        running.append(_Run(window, simulator.snapshot()))
    for number in range(BUDGET_STEPS):
        left = [run for run in running if not run.success and len(run.actions) < BUDGET_STEPS]
        if not left:
            break
        plans = planner.plan(simulator, [ReplanStep(run.window, number, run.snapshot) for run in left])
        for run, actions in zip(left, plans, strict=True):
            run.carry_out(simulator, actions)
    return [run.played() for run in running]


class _Run:
    """A window under way."""

    def __init__(self, window: Window, snapshot: Any) -> None:
        self.window, self.snapshot = window, snapshot
        self.actions: list[Floats] = []
        self.distances: list[float] = []

    @property
    def success(self) -> bool:
        return bool(self.distances) and self.distances[-1] <= SUCCESS_METRES

    def carry_out(self, simulator: CubeSimulator, actions: Floats) -> None:
        """Act until the cube arrives."""
        simulator.restore(self.snapshot)
        for action in actions:
            simulator.step(action)
            self.actions.append(action)
            self.distances.append(float(np.linalg.norm(simulator.cube - self.window.goal)))
            if self.success:
                break
        self.snapshot = simulator.snapshot()

    def played(self) -> WindowResult:
        return WindowResult(
            episode=self.window.episode,
            step=self.window.step,
            held=self.window.held,
            start_metres=self.window.start_distance,
            steps=len(self.actions),
            success=self.success,
            nearest_metres=min(self.distances),
            final_metres=self.distances[-1],
            actions=[action.tolist() for action in self.actions],
        )


def replay_window(simulator: CubeSimulator, window: Window, played: WindowResult) -> Iterator[int]:
    """Carry a played window out again, yielding the number of steps done, 0 first, with the simulator there."""
    simulator.start_at(window.start)
    yield 0
    for number, action in enumerate(played.actions, 1):
        simulator.step(action)
        yield number
