"""The route of a log as CARLA gives it to agents: centreline points with a `RoadOption` each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.city.streets.street_map import Turn
from world4scorer.city.world.commands import RouteReader, every_metre
from world4scorer.engine.routes.commands import RoadOption

OPTION_OF: Final = {Turn.LEFT: RoadOption.LEFT, Turn.AROUND: RoadOption.LEFT, Turn.RIGHT: RoadOption.RIGHT}
"""Other turns are `RoadOption.STRAIGHT`."""


def global_plan(
    reader: RouteReader, route: Sequence[str], pose: NDArray[np.float64]
) -> tuple[NDArray[np.float64], list[RoadOption]] | None:
    """Points (n, 2) from an ego at `pose` (3,) to the end of the route, and the option of each.

    None where the street map does not connect the route.
    """
    edges = tuple(route)
    pieces = reader.pieces(reader.nearest_lane(edges, pose), edges)
    if pieces is None:
        return None
    points: list[NDArray[np.float64]] = []
    options: list[RoadOption] = []
    for piece in pieces:
        line, _ = every_metre(piece.shape)
        points.append(line)
        option = RoadOption.LANE_FOLLOW if piece.turn is None else OPTION_OF.get(piece.turn, RoadOption.STRAIGHT)
        options += [option] * len(line)
    line = np.concatenate(points)
    first = int(np.argmin(((line - pose[:2]) ** 2).sum(1)))
    return line[first:], options[first:]
