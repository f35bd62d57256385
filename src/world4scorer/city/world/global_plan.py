"""The route of a log as CARLA gives it to agents: centreline points with a `RoadOption` each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import numpy as np

from world4scorer.city.streets.places import PLACES
from world4scorer.city.streets.street_map import Turn, read_streets
from world4scorer.city.world.commands import RouteReader, every_metre
from world4scorer.city.world.manifest import find_drive, find_log
from world4scorer.datasets.navsim.logs import Log
from world4scorer.engine.routes.commands import RoadOption
from world4scorer.engine.scene.geometry import Floats
from world4scorer.jobs.data_folder import DataFolder

OPTION_OF: Final = {Turn.LEFT: RoadOption.LEFT, Turn.AROUND: RoadOption.LEFT, Turn.RIGHT: RoadOption.RIGHT}
"""Other turns are `RoadOption.STRAIGHT`."""


def global_plan(reader: RouteReader, route: Sequence[str], pose: Floats) -> tuple[Floats, list[RoadOption]] | None:
    """Points (n, 2) from an ego at `pose` (3,) to the end of the route, and the option of each.

    None where the street map does not connect the route.
    """
    edges = tuple(route)
    pieces = reader.pieces(reader.nearest_lane(edges, pose), edges)
    if pieces is None:
        return None
    points: list[Floats] = []
    options: list[RoadOption] = []
    for piece in pieces:
        line, _ = every_metre(piece.shape)
        points.append(line)
        option = RoadOption.LANE_FOLLOW if piece.turn is None else OPTION_OF.get(piece.turn, RoadOption.STRAIGHT)
        options += [option] * len(line)
    line = np.concatenate(points)
    first = int(np.argmin(((line - pose[:2]) ** 2).sum(1)))
    return line[first:], options[first:]


@dataclass(frozen=True)
class CityRoutes:
    """A `RouteSource`: the streets that each ego was going to take."""

    root: Path

    def route(self, log: Log) -> Floats:
        """Centreline (n, 2) from the first pose of a log to its destination; of a drive, the route that was given."""
        driven = find_drive(self.root, log.name)
        if driven is not None:
            return np.array(driven.points, np.float64)
        simulation, entry = find_log(self.root, log.name)
        reader, offset = _reader(DataFolder(self.root).city_network(PLACES[simulation.place].network.name))
        poses = np.stack([frame.ego_pose for frame in log.frames])
        found = global_plan(reader, entry.route, poses[0] - np.append(offset, 0.0))
        # Where the streets have no way along the route, the ego found one.
        return poses[:, :2] if found is None else found[0] + offset


def city_routes(root: Path) -> CityRoutes | None:
    """Routes of a dataset, if it is a city and the packages that read its streets are installed."""
    return CityRoutes(root) if DataFolder(root).is_city and find_spec("sumolib") else None


@lru_cache(8)
def _reader(network: Path) -> tuple[RouteReader, Floats]:
    streets = read_streets(network)
    return RouteReader(streets), streets.offset
