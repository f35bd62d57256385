"""Driving commands along a route, from CARLA's road options.

The option of a node holds from there on. Agents that drop a node as soon as it is near lose a turn in the middle of the
junction; `CommandTracker` drops it when it has been passed.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from world4scorer.engine.scene.geometry import to_ego_axes

PASSED_DISTANCE: Final = 2.0
"""A node further behind than this is dropped [m]."""
REACHED_DISTANCE: Final = 3.0
"""A node nearer than this is dropped [m]."""
ANNOUNCE_DISTANCE: Final = 35.0
"""Turns are announced this far ahead along the nodes [m]."""
NODE_SPACING: Final = 50.0
"""Maximum distance between the nodes of a route [m]."""


class RoadOption(IntEnum):
    """CARLA's road options."""

    VOID = -1
    LEFT = 1
    RIGHT = 2
    STRAIGHT = 3
    LANE_FOLLOW = 4
    CHANGE_LANE_LEFT = 5
    CHANGE_LANE_RIGHT = 6


TURNS: Final = (RoadOption.LEFT, RoadOption.RIGHT, RoadOption.STRAIGHT)
"""Options at junctions."""
COMMAND_INDEX: Final = {RoadOption.LEFT: 0, RoadOption.RIGHT: 2}
"""Index into the one-hot command (left, forward, right, unknown); other options are forward."""
FORWARD: Final = 1
COMMAND_COUNT: Final = 4


def one_hot(option: int) -> NDArray[np.float32]:
    """(4,) one-hot command: left, forward, right, unknown."""
    command = np.zeros(COMMAND_COUNT, np.float32)
    command[COMMAND_INDEX.get(RoadOption(option), FORWARD)] = 1.0
    return command


class CommandTracker:
    """Tracks the command of an ego along the nodes of a route."""

    def __init__(self, nodes: ArrayLike, options: Sequence[int]) -> None:
        """Nodes (n, 2), tens of metres apart, and the option of each."""
        self._nodes = np.asarray(nodes, np.float64).reshape(-1, 2)
        self._options = [RoadOption(option) for option in options]
        if len(self._nodes) != len(self._options):
            raise ValueError(f"route: {len(self._nodes)} nodes with {len(self._options)} options; one each is needed")
        self._next = 0

    def command(self, pose: ArrayLike) -> RoadOption:
        """The first junction option within 35 m, else lane-follow, for an ego at a pose (3,)."""
        here = np.asarray(pose, np.float64)
        nodes = to_ego_axes(self._nodes, here)
        while self._next < len(nodes):
            node = nodes[self._next]
            if node[0] >= -PASSED_DISTANCE and np.linalg.norm(node) >= REACHED_DISTANCE:
                break
            self._next += 1
        travelled, last = 0.0, np.zeros(2)
        for node, option in zip(nodes[self._next :], self._options[self._next :], strict=True):
            travelled += float(np.linalg.norm(node - last))
            if travelled > ANNOUNCE_DISTANCE:
                break
            if option in TURNS:
                return option
            last = node
        return RoadOption.LANE_FOLLOW


def sparse_nodes(
    points: NDArray[np.float64], options: Sequence[int], spacing: float = NODE_SPACING
) -> tuple[NDArray[np.float64], list[RoadOption]]:
    """Points (n, 2) where the option changes, at least one per `spacing` metres, and the last."""
    kept, since = [0], 0.0
    for row in range(1, len(points)):
        since += float(np.linalg.norm(points[row] - points[row - 1]))
        if options[row] != options[row - 1] or since >= spacing or row == len(points) - 1:
            kept.append(row)
            since = 0.0
    return points[kept], [RoadOption(options[row]) for row in kept]
