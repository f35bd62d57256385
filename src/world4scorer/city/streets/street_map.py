"""Street maps: a SUMO network as plain arrays.

Coordinates are metres in the network's own frame (x east, y north); `StreetMap.offset` converts to the UTM zone.
Rendering and map export use only this, so that only the traffic needs SUMO.

Example::

    streets = read_streets("berlin.net.xml")
    drivable = [lane for lane in streets.lanes.values() if lane.use is LaneUse.DRIVE]
"""

from __future__ import annotations

import os
import xml.sax
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.city.streets.errors import CityError

WGS84: Final = "EPSG:4326"


class LaneUse(Enum):
    """Road users that a lane is for."""

    DRIVE = auto()
    """Cars."""
    SERVICE = auto()
    """Driveways and bus lanes: paved, without through traffic."""
    BICYCLE = auto()
    WALK = auto()
    """Sidewalks, footpaths."""
    CROSSING = auto()
    """Pedestrians across a road."""
    WALKING_AREA = auto()
    """Where sidewalks meet; its shape is a polygon, not a centreline."""
    RAIL = auto()


class Turn(Enum):
    """Direction of a connection; values are SUMO's."""

    STRAIGHT = "s"
    LEFT = "l"
    RIGHT = "r"
    SLIGHT_LEFT = "L"
    SLIGHT_RIGHT = "R"
    AROUND = "t"


@dataclass(frozen=True, eq=False)
class Lane:
    """A lane of an edge, or a piece of a connection."""

    id: str
    edge: str
    """Edge (street section) of the lane; lanes of an edge run side by side."""
    index: int
    """0 is the rightmost lane of its edge."""
    shape: NDArray[np.float64]
    """(n, 2) centreline in driving direction; the outline of a walking area."""
    width: float
    """m"""
    speed: float
    """Speed limit [m/s]."""
    use: LaneUse
    internal: bool
    """Inside a junction."""


@dataclass(frozen=True, eq=False)
class Junction:
    """Where edges meet."""

    id: str
    shape: NDArray[np.float64]
    """(n, 2) outline; may have fewer than 3 points where only the number of lanes changes."""
    centre: NDArray[np.float64]
    """(2,)"""
    has_signals: bool


@dataclass(frozen=True)
class SignalLink:
    """The traffic light and lamp of a connection or crossing."""

    signal: str
    index: int
    """Index into the SUMO state string of the signal."""


@dataclass(frozen=True, eq=False)
class Connection:
    """A connection from one lane through a junction to another."""

    from_lane: str
    to_lane: str
    via: tuple[str, ...]
    """Internal lanes in driving order; left turns often have two."""
    shape: NDArray[np.float64]
    """(n, 2) centreline through the junction, from the end of one lane to the start of the other."""
    turn: Turn
    junction: str
    link: SignalLink | None
    use: LaneUse


@dataclass(frozen=True, eq=False)
class StreetMap:
    """Lanes, junctions and connections of a network."""

    name: str
    crs: str
    """Metric coordinate system of the place, e.g. `epsg:32633`."""
    offset: NDArray[np.float64]
    """(2,) added to map coordinates gives those of `crs`."""
    lanes: Mapping[str, Lane]
    junctions: Mapping[str, Junction]
    connections: tuple[Connection, ...]
    crossing_links: Mapping[str, SignalLink]
    """Signals of crossings, by lane."""

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """Smallest x and y, largest x and y of the lanes for cars."""
        points = np.concatenate([lane.shape for lane in self.lanes.values() if lane.use is LaneUse.DRIVE])
        return (*points.min(0).tolist(), *points.max(0).tolist())


def read_streets(path: str | os.PathLike[str]) -> StreetMap:
    """Read a SUMO network (`.net.xml`, `.net.xml.gz`)."""
    import sumolib

    path = Path(path)
    if not path.is_file():
        raise CityError(f"{path}: no such network; `w4s city make` writes it")
    try:
        net = sumolib.net.readNet(str(path), withInternal=True, withFoes=False, withPedestrianConnections=True)
    except (xml.sax.SAXException, SyntaxError, ValueError, KeyError, OSError, EOFError) as error:  # lxml: SyntaxError
        raise CityError(f"{path}: not a readable SUMO network ({error}); delete it and make it again") from error
    lanes = {lane.id: lane for lane in _lanes(net)}
    if not any(lane.use is LaneUse.DRIVE for lane in lanes.values()):
        raise CityError(f"{path}: no lane for cars in this network; delete it and make it again")
    crs, offset = _coordinate_system(net, path)
    return StreetMap(
        name=path.name.split(".")[0],
        crs=crs,
        offset=offset,
        lanes=lanes,
        junctions={node.getID(): _junction(node) for node in net.getNodes() if node.getType() != "internal"},
        connections=tuple(_connections(net, lanes)),
        crossing_links=dict(_crossing_links(net, lanes)),
    )


def _coordinate_system(net: Any, path: Path) -> tuple[str, NDArray[np.float64]]:
    from pyproj import CRS, Transformer
    from pyproj.exceptions import CRSError

    offset = -np.array(net.getLocationOffset(), np.float64)
    text = net._location.get("projParameter", "!")
    try:
        crs = CRS.from_proj4(text)
    except CRSError as error:
        raise CityError(f"{path}: no geographic projection ({text!r}); delete it and make it again") from error
    to_globe = Transformer.from_crs(crs, WGS84, always_xy=True)
    longitude, latitude = to_globe.transform(*offset)
    utm = f"epsg:{(32600 if latitude >= 0 else 32700) + int((longitude + 180) // 6) + 1}"
    if crs.utm_zone is None:
        # Networks with a local projection (small surveyed places) are placed at its origin in the UTM zone, north up.
        offset = np.array(Transformer.from_crs(WGS84, utm, always_xy=True).transform(longitude, latitude))
    return utm, offset


def _lanes(net: Any) -> Iterable[Lane]:
    for edge in net.getEdges(withInternal=True):
        for lane in edge.getLanes():
            use = _use(lane, edge.getFunction())
            shape = np.array(lane.getShape(), np.float64)[:, :2]
            if use is None or len(shape) < 2:
                continue
            yield Lane(
                id=lane.getID(),
                edge=edge.getID(),
                index=lane.getIndex(),
                shape=shape,
                width=lane.getWidth(),
                speed=lane.getSpeed(),
                use=use,
                internal=edge.getFunction() == "internal",
            )


def _use(lane: Any, function: str) -> LaneUse | None:
    if function == "crossing":
        return LaneUse.CROSSING
    if function == "walkingarea":
        return LaneUse.WALKING_AREA
    for use, kind in (
        (LaneUse.DRIVE, "passenger"),
        (LaneUse.SERVICE, "bus"),
        (LaneUse.BICYCLE, "bicycle"),
        (LaneUse.WALK, "pedestrian"),
    ):
        if lane.allows(kind):
            # Footpaths that bicycles may use too stay footpaths.
            return LaneUse.WALK if use is LaneUse.BICYCLE and lane.allows("pedestrian") else use
    return LaneUse.RAIL if any(lane.allows(kind) for kind in ("tram", "rail", "rail_urban")) else None


def _junction(node: Any) -> Junction:
    return Junction(
        id=node.getID(),
        shape=np.array(node.getShape(), np.float64)[:, :2].reshape(-1, 2),
        centre=np.array(node.getCoord(), np.float64)[:2],
        has_signals="traffic_light" in node.getType(),
    )


def _connections(net: Any, lanes: Mapping[str, Lane]) -> Iterable[Connection]:
    for edge in net.getEdges(withInternal=False):
        for lane in edge.getLanes():
            for connection in lane.getOutgoing():
                source, target = lane.getID(), connection.getToLane().getID()
                via = tuple(_via(net, connection))
                pieces = [lanes[piece].shape for piece in via if piece in lanes]
                if source not in lanes or target not in lanes or not pieces:
                    continue
                signal = connection.getTLSID()
                yield Connection(
                    from_lane=source,
                    to_lane=target,
                    via=via,
                    shape=_join(pieces),
                    turn=Turn(connection.getDirection()),
                    junction=edge.getToNode().getID(),
                    link=SignalLink(signal, connection.getTLLinkIndex()) if signal else None,
                    use=lanes[via[0]].use,
                )


def _via(net: Any, connection: Any) -> Iterable[str]:
    """Internal lanes of a connection; a left turn waits at the end of the first."""
    seen: set[str] = set()
    piece = connection.getViaLaneID()
    while piece and piece not in seen:
        seen.add(piece)
        yield piece
        following = net.getLane(piece).getOutgoing()
        piece = following[0].getViaLaneID() if following else ""


def _join(pieces: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    points = np.concatenate(pieces)
    keep = np.concatenate([[True], np.linalg.norm(np.diff(points, axis=0), axis=1) > 0.01])
    if keep.sum() < 2:
        keep[-1] = True
    joined: NDArray[np.float64] = points[keep]
    return joined


def _crossing_links(net: Any, lanes: Mapping[str, Lane]) -> Iterable[tuple[str, SignalLink]]:
    for signal in net.getTrafficLights():
        for _, target, index in signal.getConnections():
            if target.getID() in lanes and lanes[target.getID()].use is LaneUse.CROSSING:
                yield target.getID(), SignalLink(signal.getID(), index)
