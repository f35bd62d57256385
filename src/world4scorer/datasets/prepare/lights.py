"""Traffic lights on the 0.1 s grid of a scene.

Each frame's states hold for the five steps that follow it. Only lights of the route as logged count, not those that
a correction of the route adds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from world4scorer.datasets.navsim.frames import LogFrame
from world4scorer.datasets.prepare.tracks import STEPS_PER_FRAME
from world4scorer.engine.scene.indices import STEPS, Light


def light_states(frames: Sequence[LogFrame], route_lanes: Sequence[str]) -> dict[str, NDArray[np.int8]]:
    """The lights of the route by lane connector, in the order of the route, each (41,) codes of `Light`.

    Logs tell red from everything else, so what is not red is unknown, and so is what a frame does not mention.
    """
    shown = [frame.red_connectors for frame in frames[: (STEPS - 1) // STEPS_PER_FRAME + 1]]
    states: dict[str, NDArray[np.int8]] = {}
    for connector in route_lanes:
        red = [lights.get(connector) for lights in shown]
        if any(state is not None for state in red):
            codes = np.array([Light.RED if state else Light.UNKNOWN for state in red], np.int8)
            states[connector] = np.full(STEPS, Light.UNKNOWN, np.int8)
            held = np.repeat(codes, STEPS_PER_FRAME)[:STEPS]
            states[connector][: len(held)] = held
    return states
