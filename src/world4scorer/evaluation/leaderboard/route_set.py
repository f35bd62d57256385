"""The routes that are to be driven: a set by its XML file, and its parts for runs beside each other.

Two sets of Bench2Drive exist, the original 220 routes and the validation set of version 0.0.4. Scores of different sets
cannot be compared, so a set carries a name that says which it is.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Mapping
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from world4scorer.jobs.files import atomic_write

STREAMING_RADIUS: Final[Mapping[str, int]] = {
    "3800": 2000,
    **dict.fromkeys(("11715", "11755", "23659", "23695", "23708", "24041", "24071"), 4000),
}
"""Routes during which CARLA crashes while it streams the map, and the radius within which to load it instead [m]."""


@dataclass(frozen=True)
class RouteSet:
    """Routes that results are about."""

    name: str
    """For reports."""
    count: int
    routes: tuple[str, ...] | None = None
    """Their numbers; None if only their count is known."""

    def missing(self, recorded: Collection[str]) -> tuple[str, ...]:
        """Numbers of the routes that are not among the recorded ones, in the set's order."""
        if self.routes is None:
            raise ValueError(f"{self.name}: only the number of routes is known; give the routes' XML file")
        return tuple(route for route in self.routes if route not in recorded)

    def check(self, recorded: Collection[str]) -> None:
        """Raise a ValueError if there are results of routes that are not of this set."""
        if self.routes is None:
            if len(recorded) > self.count:
                raise ValueError(f"{self.name}: results of {len(recorded)} routes; which set are they of?")
            return
        foreign = sorted(set(recorded) - set(self.routes))
        if foreign:
            raise ValueError(f"{self.name}: route {foreign[0]} is not in it ({len(foreign)} such); another set?")


def route_set(given: str) -> RouteSet:
    """A set by the name of its XML file, or just by a number of routes."""
    if given.isdecimal():
        count = int(given)
        if count < 1:
            raise ValueError(f"routes {given}: at least 1")
        return RouteSet(f"{count} routes, by number only", count)
    path = Path(given)
    numbers = tuple(route.attrib["id"] for route in _routes(path))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:8]
    return RouteSet(f"{path.name} ({len(numbers)} routes, SHA-256 {digest})", len(numbers), numbers)


def split_routes(path: Path, parts: int, folder: Path, without: Collection[str] = ()) -> dict[Path, tuple[str, ...]]:
    """Write a set as XML files for runs beside each other; returns the routes of each.

    Routes of a town stay together as far as possible: loading a town takes long. Routes that need another streaming
    radius get files of their own, `routes_radius_4000.xml`, since the radius is set for a whole run.

    Args:
        path: The set's XML file.
        parts: Files for the routes with the usual radius: `routes_0.xml`, ...
        folder: Where to write them.
        without: Routes to leave out: those that have been driven.
    """
    if parts < 1:
        raise ValueError(f"parts: {parts}; at least 1")
    left = [route for route in _routes(path) if route.attrib["id"] not in without]
    usual = [route for route in left if route.attrib["id"] not in STREAMING_RADIUS]
    usual.sort(key=lambda route: route.attrib.get("town", ""))
    bounds = [len(usual) * part // parts for part in range(parts + 1)]
    groups = {f"routes_{part}.xml": usual[bounds[part] : bounds[part + 1]] for part in range(parts)}
    for radius in sorted(set(STREAMING_RADIUS.values())):
        wide = [route for route in left if STREAMING_RADIUS.get(route.attrib["id"]) == radius]
        groups[f"routes_radius_{radius}.xml"] = wide
    written = {}
    for name, routes in groups.items():
        if routes:
            tree = ElementTree.Element("routes")
            tree.extend(deepcopy(routes))
            with atomic_write(folder / name) as stream:
                ElementTree.ElementTree(tree).write(stream, encoding="utf-8", xml_declaration=True)
            written[folder / name] = tuple(route.attrib["id"] for route in routes)
        else:
            (folder / name).unlink(missing_ok=True)  # of an earlier split: would be driven again
    return written


def _routes(path: Path) -> list[ElementTree.Element]:
    """The `<route id= town=>` of a file."""
    try:
        tree = ElementTree.parse(path)
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}; give the XML file of the routes, or their number") from error
    except (ElementTree.ParseError, ValueError) as error:
        raise ValueError(f"{path}: not XML ({error}); give the XML file of the routes, or their number") from error
    routes = tree.getroot().findall("route")
    if not routes or not all(route.get("id") for route in routes):
        raise ValueError(f"{path}: want <routes> of <route id=... town=...>")
    counts = Counter(route.attrib["id"] for route in routes)
    twice = [number for number, count in counts.items() if count > 1]
    if twice:
        raise ValueError(f"{path}: route {twice[0]} stands in it {counts[twice[0]]} times")
    return routes
