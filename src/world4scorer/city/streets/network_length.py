"""Street length of a network, read without SUMO."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from functools import lru_cache
from pathlib import Path

import numpy as np
import shapely
from numpy.typing import NDArray

from world4scorer.city.streets.errors import CityError

Area = tuple[float, float, float, float]
"""x_min, y_min, x_max, y_max [m] in the network's frame."""


def street_km(path: Path, area: Area) -> tuple[float, float]:
    """Length of streets for cars in a network (`.net.xml`) and in an area of it [km], per direction, not per lane."""
    lines = _street_lines(path)
    inside = shapely.clip_by_rect(lines, *area)
    return float(shapely.length(lines).sum() / 1000), float(shapely.length(inside).sum() / 1000)


@lru_cache(8)
def _street_lines(path: Path) -> NDArray[np.object_]:
    """One line for each edge between junctions that cars may use."""
    lines = []
    try:
        for _, edge in ElementTree.iterparse(path):
            if edge.tag != "edge":
                continue
            lanes = [lane for lane in edge.findall("lane") if _for_cars(lane)]
            if lanes and "function" not in edge.attrib:
                corners = [corner.split(",") for corner in lanes[0].attrib["shape"].split()]
                lines.append(shapely.LineString([(float(corner[0]), float(corner[1])) for corner in corners]))
            edge.clear()
    except (ElementTree.ParseError, KeyError, ValueError) as error:
        raise CityError(f"{path}: not a readable SUMO network ({error}); delete it and make it again") from error
    out = np.empty(len(lines), object)
    out[:] = lines
    return out


def _for_cars(lane: ElementTree.Element) -> bool:
    allowed, forbidden = lane.get("allow"), lane.get("disallow")
    if allowed is not None:
        return "passenger" in allowed.split() or allowed == "all"
    return forbidden is None or not {"passenger", "all"} & set(forbidden.split())
