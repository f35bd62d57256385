"""A planner without weights that drives to its route point, for tests of what is around planners."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from world4scorer.driving.closed_loop.planner_agent import AgentOptions
from world4scorer.driving.serving.address import Address, listening
from world4scorer.driving.serving.server import PlannerServer
from world4scorer.driving.serving.session import ServedPlanner
from world4scorer.planner.model.config import city
from world4scorer.planner.model.utility import COMPONENTS
from world4scorer.planner.planner import ScoredPlans

SPEEDS = (4.0, 2.0, 0.0)
"""m/s of its plans, the best first."""
TURNS = (1.0, 0.0, -1.0)
"""How much of the way to the route point a plan turns, the best first."""
CRUISE = 4.0


class RouteFollower(nn.Module):
    """Nine plans: arcs to the route point, straight on and to its mirror image, at three speeds."""

    def __init__(self) -> None:
        super().__init__()
        self.config = replace(city(), ego_numbers=13, proposals=9, plan_sampling=False, sampling_fine=0)
        self.weight = nn.Parameter(torch.zeros(1))
        self.commands: list[int] = []
        """That it was told, by their place in the one-hot command."""
        self.views: list[Tensor] = []
        self.delay = 0.0
        """s that a call takes."""

    def forward(
        self, image: Tensor, ego_status: Tensor, cameras: object = None, corridor: Tensor | None = None
    ) -> ScoredPlans:
        time.sleep(self.delay)
        self.commands.append(int(ego_status[0, 7:11].argmax()))
        self.views = [image]
        x, y = ego_status[0, 11:].double().numpy()
        bend = 2 * y / max(x * x + y * y, 1e-9)
        plans = [arc(speed, turn * bend) for turn in TURNS for speed in SPEEDS]
        quality = torch.arange(len(plans), 0.0, -1.0)[None]
        tensor = torch.from_numpy(np.stack(plans))[None].float()
        return ScoredPlans(tensor, torch.zeros(1, len(plans), 4), dict.fromkeys(COMPONENTS, quality))


def arc(speed: float, bend: float) -> np.ndarray:
    """(8, 3) poses of a circle that begins at the origin, straight ahead; `bend` in 1/m, positive to the left."""
    way = speed * 0.5 * np.arange(1, 9)
    if abs(bend) < 1e-6:
        return np.column_stack([way, np.zeros(8), np.zeros(8)])
    return np.column_stack([np.sin(bend * way) / bend, (1 - np.cos(bend * way)) / bend, bend * way])


@contextmanager
def serving(
    planner: nn.Module | ServedPlanner | None = None,
    options: AgentOptions | None = None,
    address: Address | None = None,
    said: list[str] | None = None,
    fixed: bool = False,
    **settings: float,
) -> Iterator[Address]:
    """A server of this process, for a planner that is made ready here unless it is."""
    served = planner
    if not isinstance(served, ServedPlanner):
        given = planner or RouteFollower()
        served = ServedPlanner(given, "route follower", "", options or AgentOptions(), fixed)  # type: ignore[arg-type]
    with listening(address or Address(port=0)) as (listener, where):
        server = PlannerServer(served, listener, (said if said is not None else []).append, **settings)
        thread = threading.Thread(target=server.run)
        thread.start()
        try:
            yield where
        finally:
            server.stop()
            thread.join(20)
            assert not thread.is_alive()
