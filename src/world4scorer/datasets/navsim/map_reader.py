"""Read the map of a city from its GeoPackage.

Example::

    city = read_city_map("maps", "us-nv-las-vegas-strip")
    print(city.describe())
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import numpy as np
import shapely
from numpy.typing import NDArray

from world4scorer.datasets.navsim.city_map import CityMap, Lane, Roadblock
from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.datasets.navsim.geopackage import NO_LINK, VectorLayer, read_layers
from world4scorer.datasets.navsim.map_files import map_path

LAYERS: Final = (
    "lanes_polygons",
    "lane_connectors",
    "gen_lane_connectors_scaled_width_polygons",
    "baseline_paths",
    "lane_groups_polygons",
    "lane_group_connectors",
    "intersections",
    "carpark_areas",
)
"""Layers that are read, besides the table `meta`."""


def read_city_map(maps: str | os.PathLike[str], location: str) -> CityMap:
    """Read the map of a city below a map folder."""
    return read_map_file(map_path(Path(maps), location), location)


def read_map_file(path: str | os.PathLike[str], location: str) -> CityMap:
    """Read a GeoPackage."""
    layers = read_layers(path, LAYERS)
    problems: list[str] = []
    lane_rows, connector_rows = layers["lanes_polygons"], layers["lane_connectors"]
    groups, group_connectors = layers["lane_groups_polygons"], layers["lane_group_connectors"]
    shared = np.intersect1d(lane_rows.ids, connector_rows.ids)
    if len(shared):
        raise DatasetError(f"{path}: id {shared[0]} names both a lane and a lane connector")
    lane_at = _places(lane_rows, connector_rows)
    group_at = _places(groups)
    connector_block_at = {int(fid): len(groups.ids) + i for i, fid in enumerate(group_connectors.ids)}

    lane_block = [group_at.get(int(fid), -1) for fid in lane_rows.links("lane_group_fid")]
    lane_block += [connector_block_at.get(int(fid), -1) for fid in connector_rows.links("lane_group_connector_fid")]
    lane_ids = np.concatenate([lane_rows.ids, connector_rows.ids])
    _add_problem(problems, "lane", lane_ids, lane_block, "has no block")
    limits = np.concatenate([lane_rows.numbers("speed_limit_mps"), connector_rows.numbers("speed_limit_mps")])
    paths = _paths(layers["baseline_paths"], lane_at, problems)
    after = _lane_links(connector_rows, lane_at, problems)
    lanes = tuple(
        Lane(
            id=str(fid),
            block=lane_block[index],
            is_connector=index >= len(lane_rows.ids),
            path=paths[index][0],
            length=paths[index][1],
            speed_limit=None if np.isnan(limits[index]) else float(limits[index]),
            outgoing=tuple(after[index]),
        )
        for index, fid in enumerate(lane_ids)
    )
    return CityMap(
        location=location,
        lanes=lanes,
        blocks=_blocks(groups, group_connectors, group_at, lane_block, lanes, problems),
        lane_polygons=np.concatenate(
            [
                lane_rows.geometry,
                _connector_polygons(layers["gen_lane_connectors_scaled_width_polygons"], connector_rows),
            ]
        ),
        block_polygons=np.concatenate([groups.geometry, group_connectors.geometry]),
        intersections=layers["intersections"].geometry,
        intersection_ids=tuple(str(fid) for fid in layers["intersections"].ids),
        carparks=layers["carpark_areas"].geometry,
        carpark_ids=tuple(str(fid) for fid in layers["carpark_areas"].ids),
        problems=tuple(problems),
    )


def _places(*layers: VectorLayer) -> dict[int, int]:
    ids = np.concatenate([layer.ids for layer in layers])
    return {int(fid): index for index, fid in enumerate(ids)}


def _add_problem(problems: list[str], kind: str, ids: NDArray[np.int64], targets: list[int], what: str) -> None:
    problems.extend(f"{kind} {fid} {what}" for fid, target in zip(ids, targets, strict=True) if target < 0)


def _paths(layer: VectorLayer, lane_at: dict[int, int], problems: list[str]) -> list[tuple[NDArray[np.float64], float]]:
    """The centreline of every lane: vertices with headings, and its length [m]."""
    owner = layer.links("lane_fid")
    owner = np.where(owner == NO_LINK, layer.links("lane_connector_fid"), owner)
    nothing = (np.zeros((0, 3)), 0.0)
    out: list[tuple[NDArray[np.float64], float]] = [nothing] * len(lane_at)
    lengths = shapely.length(layer.geometry)
    for row, fid in enumerate(owner):
        points = shapely.get_coordinates(layer.geometry[row])
        if int(fid) not in lane_at or len(points) < 2:
            problems.append(f"baseline path {layer.ids[row]} belongs to no lane or has no length")
            continue
        steps = np.diff(points, axis=0)
        headings = np.arctan2(steps[:, 1], steps[:, 0])
        out[lane_at[int(fid)]] = (np.column_stack([points, np.append(headings, headings[-1])]), float(lengths[row]))
    problems.extend(f"lane {fid} has no baseline path" for fid, lane in lane_at.items() if not len(out[lane][0]))
    return out


def _lane_links(connectors: VectorLayer, lane_at: dict[int, int], problems: list[str]) -> list[list[int]]:
    """Successors of each lane."""
    after: list[list[int]] = [[] for _ in lane_at]
    before, behind = connectors.links("exit_lane_fid"), connectors.links("entry_lane_fid")
    for row, fid in enumerate(connectors.ids):
        here = lane_at[int(fid)]
        if int(before[row]) in lane_at:
            after[lane_at[int(before[row])]].append(here)
        if int(behind[row]) in lane_at:
            after[here].append(lane_at[int(behind[row])])
        else:
            problems.append(f"lane connector {fid} leads to no lane")
    return after


def _blocks(
    groups: VectorLayer,
    connectors: VectorLayer,
    group_at: dict[int, int],
    lane_block: list[int],
    lanes: tuple[Lane, ...],
    problems: list[str],
) -> tuple[Roadblock, ...]:
    count = len(groups.ids) + len(connectors.ids)
    inside: list[list[int]] = [[] for _ in range(count)]
    for lane, block in enumerate(lane_block):
        if block >= 0 and len(lanes[lane].path):
            inside[block].append(lane)
    incoming: list[list[int]] = [[] for _ in range(count)]
    outgoing: list[list[int]] = [[] for _ in range(count)]
    before, behind = connectors.links("from_lane_group_fid"), connectors.links("to_lane_group_fid")
    for row, fid in enumerate(connectors.ids):
        here = len(groups.ids) + row
        for link, forward in ((before[row], False), (behind[row], True)):
            there = group_at.get(int(link), -1)
            if there < 0:
                problems.append(f"roadblock connector {fid} {'leads to' if forward else 'comes from'} no roadblock")
                continue
            first, second = (here, there) if forward else (there, here)
            outgoing[first].append(second)
            incoming[second].append(first)
    ids = np.concatenate([groups.ids, connectors.ids])
    return tuple(
        Roadblock(str(fid), i >= len(groups.ids), tuple(inside[i]), tuple(incoming[i]), tuple(outgoing[i]))
        for i, fid in enumerate(ids)
    )


def _connector_polygons(layer: VectorLayer, connectors: VectorLayer) -> NDArray[Any]:
    place = {int(fid): row for row, fid in enumerate(layer.links("lane_connector_fid"))}
    empty = shapely.Polygon()
    out = np.empty(len(connectors.ids), object)
    for index, fid in enumerate(connectors.ids):
        out[index] = layer.geometry[place[int(fid)]] if int(fid) in place else empty
    return out
