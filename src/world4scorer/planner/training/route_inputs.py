"""Route points for samples of a city: the point of each log's route 20 m ahead of the ego.

NAVSIM's logs have only roadblocks; a city knows the full route of each ego. Route points come from a `RouteCursor`, as
in driving.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from world4scorer.city.streets.errors import CityError
from world4scorer.city.streets.places import PLACES
from world4scorer.city.streets.street_map import read_streets
from world4scorer.city.world.commands import RouteReader
from world4scorer.city.world.global_plan import global_plan
from world4scorer.city.world.manifest import find_log
from world4scorer.datasets.navsim.logs import read_log
from world4scorer.datasets.prepare.samples import Samples
from world4scorer.engine.routes import Route, RouteCursor
from world4scorer.jobs.data_folder import DataFolder


def with_route_points(samples: Samples, data: Path) -> Samples:
    """The same samples with ego statuses of 13 numbers instead of 11."""
    points = np.zeros((len(samples), 2), np.float32)
    indices: dict[str, list[int]] = {}
    for index, name in enumerate(samples.log_names):
        indices.setdefault(name, []).append(index)
    for name, rows in indices.items():
        known = _log_route_points(data, name)
        points[rows] = [known[samples.tokens[row]] for row in rows]
    return replace(samples, ego_status=np.concatenate([samples.ego_status, points], 1))


def _log_route_points(data: Path, name: str) -> dict[str, NDArray[np.float64]]:
    """The route point at each frame of a log, by token."""
    try:
        simulation, entry = find_log(data, name)
    except CityError as error:
        raise ValueError(f"ego_numbers: 13 take a route point, which only logs of a city have ({error})") from error
    network = DataFolder(data).city_network(PLACES[simulation.place].network.name)
    reader, offset = _reader(network)
    log = read_log(DataFolder(data).log(simulation.data_split, name))
    poses = np.stack([frame.ego_pose for frame in log.frames])
    found = global_plan(reader, entry.route, poses[0] - np.append(offset, 0.0))
    # Where the streets have no way along the route, the ego found one.
    line = poses[:, :2] if found is None else found[0] + offset
    cursor = RouteCursor(Route(line))
    points = {}
    for frame, pose in zip(log.frames, poses, strict=True):
        cursor.advance(pose[:2])
        points[frame.token] = cursor.route_point(pose)
    return points


@lru_cache(8)
def _reader(network: Path) -> tuple[RouteReader, NDArray[np.float64]]:
    streets = read_streets(network)
    return RouteReader(streets), streets.offset
