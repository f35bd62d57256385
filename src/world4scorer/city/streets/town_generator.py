"""Generate towns: SUMO's `netgenerate` lays out streets, which are then bent, classified and given junctions.

Written as SUMO's plain node and edge files, from which `network.build_network` builds the town like any other network.

Example::

    generate_town(TownPlan(layout=("--grid", "--grid.number", "4"), size=(500.0, 500.0), ...), Path("town"))
"""

from __future__ import annotations

import heapq
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.city.streets.errors import CityError
from world4scorer.city.streets.sumo import netgenerate
from world4scorer.city.streets.town_plan import KMH, StreetClass, TownPlan

MAX_BEND_ACCELERATION: Final = 1.6
"""Lateral acceleration in bends at the speed limit [m/s^2]: SUMO's cars do not slow down for them."""
MIN_BENT_LENGTH: Final = 60.0
"""Shorter streets stay straight [m]."""
BEND_POINTS: Final = 9
"""Inner points of a bent street."""
DOUBLE_BEND_SHARE: Final = 0.35
"""Share of bent streets with a bend each way."""
GATEWAY_LENGTH: Final = 80.0
"""Length of streets that lead out of the town [m]."""
ROUNDABOUT_RADIUS: Final = 19.0
"""Radius of a roundabout's centreline with up to four arms [m]; 2 m more for each further arm."""
MIN_ARM_ANGLE: Final = np.radians(50.0)
"""Smallest angle between two arms of a roundabout [rad]."""
ROUNDABOUT_SPEED: Final = 30.0
"""km/h"""
ROUNDABOUT_WIDTH: Final = 4.5
"""Width of a roundabout's lane [m]."""
MAIN_PRIORITY, SIDE_PRIORITY, RING_PRIORITY = 7, 3, 9
"""SUMO's edge priorities."""

Point = NDArray[np.float64]
Street = tuple[str, str]
"""The two junctions of a street, in alphabetical order."""


@dataclass
class _Town:
    """A town while it is made: junctions with positions, streets in both directions."""

    nodes: dict[str, Point]
    streets: list[Street]
    main: set[Street] = field(default_factory=set)
    kinds: dict[str, str] = field(default_factory=dict)
    """SUMO's node types."""

    def neighbours(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for one, other in self.streets:
            found[one].append(other)
            found[other].append(one)
        return found

    def length(self, street: Street) -> float:
        return float(np.linalg.norm(self.nodes[street[1]] - self.nodes[street[0]]))


def generate_town(plan: TownPlan, prefix: Path) -> None:
    """Write `prefix.nod.xml` and `prefix.edg.xml`."""
    random = np.random.default_rng(plan.seed)
    town = _lay_out(plan, prefix.with_name("layout"))
    _remove_streets(town, plan.removed, random)
    _add_gateways(town, plan.gateways)
    _move_junctions(town, plan, random)
    _choose_main_streets(town, plan.main_streets)
    rings = _choose_roundabouts(town, plan.roundabouts, random)
    _choose_right_of_way(town, plan, rings, random)
    shapes = {street: _bent(town, street, plan, random) for street in town.streets}
    _write(town, plan, shapes, rings, prefix)


def _lay_out(plan: TownPlan, path: Path) -> _Town:
    options = [*plan.layout, "--seed", str(plan.seed), "--plain-output-prefix", str(path), "--no-warnings"]
    netgenerate([*options, "--no-turnarounds", "true", "--offset.disable-normalization", "true"])
    nodes = {
        str(node.get("id")): np.array([float(node.get("x", 0)), float(node.get("y", 0))])
        for node in ElementTree.parse(f"{path}.nod.xml").iter("node")
    }
    edges = ElementTree.parse(f"{path}.edg.xml").iter("edge")
    streets = sorted({_street(str(edge.get("from")), str(edge.get("to"))) for edge in edges})
    if not streets:
        raise CityError(f"layout {' '.join(plan.layout)}: no streets; choose other options of netgenerate")
    used = sorted({name for street in streets for name in street})
    return _Town({name: nodes[name] for name in used}, streets)


def _street(one: str, other: str) -> Street:
    return (one, other) if one < other else (other, one)


def _remove_streets(town: _Town, share: float, random: np.random.Generator) -> None:
    """Take out streets between junctions that keep three others, as long as the town stays connected."""
    wanted = round(share * len(town.streets))
    for street in [town.streets[index] for index in random.permutation(len(town.streets)).tolist()]:
        if wanted <= 0:
            break
        rest = _Town(town.nodes, [other for other in town.streets if other != street])
        around = rest.neighbours()
        if all(len(around[name]) >= 3 for name in street) and _is_connected(rest):
            town.streets = rest.streets
            wanted -= 1


def _add_gateways(town: _Town, count: int) -> None:
    """Prolong the town outwards at junctions on its border, in evenly turned directions."""
    names = sorted(town.nodes)
    points = np.array([town.nodes[name] for name in names])
    centre = points.mean(0)
    for number in range(count):
        ahead = np.array([np.cos(2 * np.pi * number / count), np.sin(2 * np.pi * number / count)])
        along, aside = (points - centre) @ ahead, np.abs((points - centre) @ np.array([-ahead[1], ahead[0]]))
        name = names[int(np.argmax(along - aside))]
        gateway = f"{name}g"
        if gateway not in town.nodes:
            town.nodes[gateway] = town.nodes[name] + GATEWAY_LENGTH * ahead
            town.streets.append(_street(name, gateway))


def _is_connected(town: _Town) -> bool:
    around = town.neighbours()
    first = town.streets[0][0]
    seen, queue = {first}, [first]
    while queue:
        for name in around[queue.pop()]:
            if name not in seen:
                seen.add(name)
                queue.append(name)
    return len(seen) == len(town.nodes)


def _move_junctions(town: _Town, plan: TownPlan, random: np.random.Generator) -> None:
    """Displace junctions at random, then fit the town into its size."""
    points = np.array(list(town.nodes.values()))
    points = points + random.uniform(-plan.jitter, plan.jitter, points.shape)
    low, high = points.min(0), points.max(0)
    points = (points - low) / (high - low) * np.array(plan.size)
    town.nodes = dict(zip(town.nodes, points, strict=True))


def _choose_main_streets(town: _Town, count: int) -> None:
    """Shortest paths between junctions that are farthest in opposite directions, evenly turned."""
    names = sorted(town.nodes)
    points = np.array([town.nodes[name] for name in names])
    for number in range(count):
        angle = np.pi * (number + 0.02) / max(count, 1)
        along = (points - points.mean(0)) @ np.array([np.cos(angle), np.sin(angle)])
        aside = np.abs((points - points.mean(0)) @ np.array([-np.sin(angle), np.cos(angle)]))
        start, end = names[int(np.argmin(along + aside))], names[int(np.argmax(along - aside))]
        path = _shortest_path(town, start, end)
        town.main |= {_street(one, other) for one, other in pairwise(path)}


def _shortest_path(town: _Town, start: str, end: str) -> list[str]:
    around = town.neighbours()
    queue: list[tuple[float, str, tuple[str, ...]]] = [(0.0, start, (start,))]
    done: set[str] = set()
    while queue:
        cost, name, path = heapq.heappop(queue)
        if name == end:
            return list(path)
        if name in done:
            continue
        done.add(name)
        for following in around[name]:
            heapq.heappush(queue, (cost + town.length(_street(name, following)), following, (*path, following)))
    raise CityError(f"junctions {start} and {end} of a generated town are not connected; choose another layout")


def _choose_roundabouts(town: _Town, count: int, random: np.random.Generator) -> dict[str, float]:
    """Radius of each roundabout, by junction: where main streets cross first, never at two neighbours."""
    around = town.neighbours()
    suitable = [name for name in sorted(town.nodes) if _is_suitable_roundabout(town, name, around[name])]
    order = [suitable[index] for index in random.permutation(len(suitable)).tolist()]
    order.sort(key=lambda name: -sum(_street(name, other) in town.main for other in around[name]))
    rings: dict[str, float] = {}
    for name in order:
        if len(rings) < count and not rings.keys() & set(around[name]):
            rings[name] = ROUNDABOUT_RADIUS + 2.0 * max(0, len(around[name]) - 4)
    if len(rings) < count:
        raise CityError(f"{count} roundabouts wanted, {len(rings)} junctions are suitable; choose fewer")
    return rings


def _is_suitable_roundabout(town: _Town, name: str, around: list[str]) -> bool:
    if len(around) < 3:
        return False
    angles = np.sort([_bearing(town.nodes[name], town.nodes[other]) for other in around])
    between = np.diff(np.append(angles, angles[0] + 2 * np.pi))
    long_enough = all(town.length(_street(name, other)) > 2.5 * ROUNDABOUT_RADIUS for other in around)
    return bool(between.min() > MIN_ARM_ANGLE) and long_enough


def _bearing(start: Point, end: Point) -> float:
    return float(np.arctan2(end[1] - start[1], end[0] - start[0]))


def _choose_right_of_way(town: _Town, plan: TownPlan, rings: Mapping[str, float], random: np.random.Generator) -> None:
    on_main = {
        name: sum(_street(name, other) in town.main for other in around)
        for name, around in town.neighbours().items()
        if len(around) >= 3 and name not in rings
    }
    main = sorted(name for name, arms in on_main.items() if arms)
    order = sorted(main, key=dict(zip(main, random.permutation(len(main)).tolist(), strict=True)).__getitem__)
    order.sort(key=lambda name: -on_main[name])
    with_signals = set(order[: round(plan.signals * len(order))])
    for name, arms in on_main.items():
        town.kinds[name] = "traffic_light" if name in with_signals else "priority" if arms else plan.minor_junctions


def _bent(town: _Town, street: Street, plan: TownPlan, random: np.random.Generator) -> NDArray[np.float64]:
    """Points (n, 2) of a street, from its first junction to its second."""
    start, end = (town.nodes[name] for name in street)
    length = town.length(street)
    strength, double = random.uniform(-1.0, 1.0), random.uniform() < DOUBLE_BEND_SHARE
    if plan.bend == 0.0 or length < MIN_BENT_LENGTH:
        return np.array([start, end])
    share = np.linspace(0.0, 1.0, BEND_POINTS + 2)
    speed = _class_of(town, street, plan).speed * KMH
    # sin^2 keeps the direction at both ends.
    wave = np.sin(np.pi * share) ** 2 * (np.sin(2 * np.pi * share) if double else 1.0)
    curvature = np.abs(np.gradient(np.gradient(wave, share), share)).max() / length**2
    height = min(plan.bend * length, MAX_BEND_ACCELERATION / speed**2 / curvature)
    normal = np.array([start[1] - end[1], end[0] - start[0]]) / length
    line: NDArray[np.float64] = start + share[:, None] * (end - start) + (strength * height * wave)[:, None] * normal
    return line


def _class_of(town: _Town, street: Street, plan: TownPlan) -> StreetClass:
    return plan.main if street in town.main else plan.side


def _write(
    town: _Town, plan: TownPlan, shapes: Mapping[Street, NDArray[np.float64]], rings: Mapping[str, float], prefix: Path
) -> None:
    nodes, edges = ElementTree.Element("nodes"), ElementTree.Element("edges")
    for name, point in town.nodes.items():
        if name not in rings:
            node = _add_node(nodes, name, point, town.kinds.get(name, "priority"))
            node.set("radius", f"{plan.corner_radius:.1f}")
    for name, radius in rings.items():
        _add_ring(nodes, edges, town, name, radius)
    for street in town.streets:
        kind, main = _class_of(town, street, plan), street in town.main
        ends = [_ring_node(name, other) if name in rings else name for name, other in (street, street[::-1])]
        shape = _between_rings(shapes[street], [rings.get(name, 0.0) for name in street])
        name, priority = "_".join(street), MAIN_PRIORITY if main else SIDE_PRIORITY
        _add_edge(edges, {"id": name, "from": ends[0], "to": ends[1]}, kind, priority, shape)
        _add_edge(edges, {"id": f"-{name}", "from": ends[1], "to": ends[0]}, kind, priority, shape[::-1])
    for root, ending in ((nodes, "nod"), (edges, "edg")):
        ElementTree.ElementTree(root).write(f"{prefix}.{ending}.xml")


def _between_rings(shape: NDArray[np.float64], radii: list[float]) -> NDArray[np.float64]:
    """The part of a street outside of the roundabouts at its ends; ends on the line to each centre."""
    start, end = shape[0], shape[-1]
    ahead = (end - start) / np.linalg.norm(end - start)
    first, last = start + radii[0] * ahead, end - radii[1] * ahead
    margin = [radius + 12.0 if radius else 0.0 for radius in radii]
    along, total = (shape - start) @ ahead, np.linalg.norm(end - start)
    inner = shape[1:-1][(along[1:-1] > margin[0]) & (along[1:-1] < total - margin[1])]
    return np.concatenate([[first], inner, [last]])


def _ring_node(name: str, arm: str) -> str:
    return f"{name}.{arm}"


def _add_ring(nodes: ElementTree.Element, edges: ElementTree.Element, town: _Town, name: str, radius: float) -> None:
    """A one-way ring, counter-clockwise, with a node for each arm."""
    centre = town.nodes[name]
    arms = sorted((_bearing(centre, town.nodes[other]) % (2 * np.pi), other) for other in town.neighbours()[name])
    for angle, other in arms:
        _add_node(nodes, _ring_node(name, other), _on_circle(centre, radius, angle), "priority")
    for (begin, one), (end, other) in _pairs(arms):
        turn = (end - begin) % (2 * np.pi)
        angles = begin + np.linspace(0.0, turn, max(3, int(np.degrees(turn) / 10.0)))
        line = np.array([_on_circle(centre, radius, angle) for angle in angles])
        values = {"id": f"{name}.{one}.{other}", "from": _ring_node(name, one), "to": _ring_node(name, other)}
        kind = StreetClass(ROUNDABOUT_SPEED, 1, ROUNDABOUT_WIDTH, 0.0, 0.0)
        _add_edge(edges, {**values, "spreadType": "center"}, kind, RING_PRIORITY, line)
    ring = ElementTree.SubElement(edges, "roundabout")
    ring.set("nodes", " ".join(_ring_node(name, other) for _, other in arms))
    ring.set("edges", " ".join(f"{name}.{one}.{other}" for (_, one), (_, other) in _pairs(arms)))


def _pairs(arms: list[tuple[float, str]]) -> Iterable[tuple[tuple[float, str], tuple[float, str]]]:
    return zip(arms, [*arms[1:], arms[0]], strict=True)


def _on_circle(centre: Point, radius: float, angle: float) -> Point:
    point: Point = centre + radius * np.array([np.cos(angle), np.sin(angle)])
    return point


def _add_node(nodes: ElementTree.Element, name: str, point: Point, kind: str) -> ElementTree.Element:
    return ElementTree.SubElement(nodes, "node", id=name, x=f"{point[0]:.2f}", y=f"{point[1]:.2f}", type=kind)


def _add_edge(
    edges: ElementTree.Element,
    values: Mapping[str, str],
    kind: StreetClass,
    priority: int,
    line: NDArray[np.float64],
) -> None:
    edge = ElementTree.SubElement(edges, "edge", {**values, "priority": str(priority)})
    edge.set("speed", f"{kind.speed * KMH:.2f}")
    edge.set("numLanes", str(kind.lanes))
    edge.set("width", f"{kind.lane_width:.2f}")
    if kind.sidewalk:
        edge.set("sidewalkWidth", f"{kind.sidewalk:.2f}")
    if kind.bicycle_lane:
        edge.set("bikeLaneWidth", f"{kind.bicycle_lane:.2f}")
    if len(line) > 2:
        edge.set("shape", " ".join(f"{x:.2f},{y:.2f}" for x, y in line))
