"""Traffic lights on the 0.1 s grid of a scene.

Each frame's states hold for the five steps that follow it. Only lights of the route as logged count, not those that
a correction of the route adds.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from world4scorer.cache.tracks import STEPS_PER_FRAME
from world4scorer.navsim.frames import LogFrame
from world4scorer.scene.indices import STEPS, Light


def light_states(frames: Sequence[LogFrame], route_lanes: Collection[str]) -> dict[str, NDArray[np.int8]]:
    """The lights of the route by lane connector, each (41,) codes of `Light`.

    Logs tell red from everything else, so what is not red is unknown, and so is what a frame does not mention.
    """
    states: dict[str, NDArray[np.int8]] = {}
    for index in range((STEPS - 1) // STEPS_PER_FRAME + 1):
        if index >= len(frames):
            break
        for connector, red in frames[index].traffic_lights:
            if connector not in route_lanes:
                continue
            state = states.setdefault(connector, np.full(STEPS, Light.UNKNOWN, np.int8))
            if red:
                state[index * STEPS_PER_FRAME : (index + 1) * STEPS_PER_FRAME] = Light.RED
    return states
