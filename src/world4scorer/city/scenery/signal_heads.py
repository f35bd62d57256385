"""Signal posts with heads for every signalled approach and crossing.

An approach has a post at its stop line and another across the junction, visible to waiting drivers. Straight and left
turns have separate heads where both exist.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.city.scenery.clearance import Clearance
from world4scorer.city.scenery.light import to_linear
from world4scorer.city.scenery.mesh_builder import MeshBuilder
from world4scorer.city.scenery.polyline import Line, points_at, tidy
from world4scorer.city.scenery.scenery_builder import SceneryBuilder
from world4scorer.city.scenery.surface import Material, SurfaceClass
from world4scorer.city.streets.street_map import Connection, LaneUse, SignalLink, StreetMap, Turn
from world4scorer.engine.scene.geometry import arc_length_hypot, direction, rotate

RED, YELLOW, GREEN = 0, 1, 2
"""Lamps of a head, from the top; their bits in `lamp_bits`."""
LAMP_COLOURS: Final = to_linear([(255, 44, 30), (255, 186, 32), (60, 255, 130)])
HOUSING_COLOUR: Final = to_linear([26, 28, 28])
POST_COLOUR: Final = to_linear([92, 96, 98])
POST_HEIGHT: Final = 3.5
HEAD_BOTTOM: Final = 2.35
"""Top of a post, lower edge of its head [m]."""
LAMP_SPACING: Final = 0.36
LAMP_RADIUS: Final = 0.15
"""Distance between lamps; radius of one [m]."""
HEAD_SPACING: Final = 0.62
"""Distance between two heads of a post [m]."""
POST_SETBACK: Final = 0.55
"""Distance of a post from the edge of the lane [m]."""
MAX_POST_SHIFT: Final = 7.0
"""Maximum shift of a post outwards, past bicycle lanes [m]."""
MAX_FAR_POST_DISTANCE: Final = 60.0
"""Maximum distance of the far post from the stop line [m]."""
PEDESTRIAN_HEAD_SCALE: Final = 0.7
"""Scale of pedestrian heads."""

_STATES: Final[Mapping[str, int]] = {
    "r": 1 << RED,
    "u": 1 << RED | 1 << YELLOW,
    "y": 1 << YELLOW,
    "Y": 1 << YELLOW,
    "g": 1 << GREEN,
    "G": 1 << GREEN,
    "s": 1 << RED,
    "o": 1 << YELLOW,
    "O": 0,
}
"""Lit lamps by SUMO signal state."""


@dataclass(frozen=True)
class SignalHead:
    """A signal head and the link whose state it shows."""

    link: SignalLink
    x: float
    y: float


def place_signals(streets: StreetMap, clearance: Clearance, builder: SceneryBuilder) -> list[SignalHead]:
    """Build all posts; heads are numbered as the lamps' triangles refer to them."""
    heads: list[SignalHead] = []
    approaches: dict[str, list[Connection]] = defaultdict(list)
    for connection in streets.connections:
        if connection.link is not None and connection.use is LaneUse.DRIVE:
            lane = streets.lanes[connection.from_lane]
            if lane.use is LaneUse.DRIVE:
                approaches[lane.edge].append(connection)
    for edge in sorted(approaches):
        ways = approaches[edge]
        lanes = sorted({streets.lanes[way.from_lane].index: streets.lanes[way.from_lane] for way in ways}.items())
        outer = lanes[0][1]
        line = tidy(outer.shape)
        (end,), (heading,) = points_at(line, arc_length_hypot(line)[-1:])
        right = np.array([np.sin(heading), -np.cos(heading)])
        links = _shown_links(ways)
        near = _beside(end + right * (outer.width / 2 + POST_SETBACK), right, clearance)
        _post(builder, heads, near, heading, links, 1.0)
        far = _across(end + right * (outer.width / 2), heading, clearance)
        if far is not None:
            _post(builder, heads, far, heading, links, 1.0)
    for name in sorted(streets.crossing_links):
        line = tidy(streets.lanes[name].shape)
        width = streets.lanes[name].width
        _, headings = points_at(line, np.array([0.0, arc_length_hypot(line)[-1]]))
        for corner, heading in ((line[0], headings[0] + np.pi), (line[-1], headings[1])):
            right = np.array([np.sin(heading), -np.cos(heading)])
            ahead = direction(heading)
            place = _beside(corner + right * (width / 2 + 0.3) + ahead * 0.5, ahead, clearance)
            _post(builder, heads, place, heading, [streets.crossing_links[name]], PEDESTRIAN_HEAD_SCALE)
    return heads


def lamp_bits(heads: Sequence[SignalHead], signals: Mapping[str, str]) -> NDArray[np.uint8]:
    """(heads,) lit lamps; all dark for signals without a state."""
    bits = np.zeros(max(len(heads), 1), np.uint8)
    for k, head in enumerate(heads):
        state = signals.get(head.link.signal, "")
        if head.link.index < len(state):
            bits[k] = _STATES.get(state[head.link.index], 0)
    return bits


def _shown_links(ways: Sequence[Connection]) -> list[SignalLink]:
    """Straight (or else right) and, if there is one, left."""
    left = [way.link for way in ways if way.turn in (Turn.LEFT, Turn.AROUND) and way.link]
    through = [way.link for way in ways if way.turn not in (Turn.LEFT, Turn.AROUND) and way.link]
    ahead = [way.link for way in ways if way.turn is Turn.STRAIGHT and way.link]
    return [links[0] for links in (ahead or through, left) if links]


def _beside(start: NDArray[np.float64], away: NDArray[np.float64], clearance: Clearance) -> NDArray[np.float64]:
    """The first point from `start` outwards that is off all vehicle lanes; `start` if there is none."""
    places = start + np.arange(0.0, MAX_POST_SHIFT, 0.4)[:, None] * away
    free = np.flatnonzero(clearance.far_from_wheels(places, POST_SETBACK / 2))
    place: NDArray[np.float64] = places[free[0] if len(free) else 0]
    return place


def _across(start: NDArray[np.float64], heading: float, clearance: Clearance) -> NDArray[np.float64] | None:
    """The first free point beyond the junction, slightly right of straight ahead."""
    ahead = direction(heading)
    right = np.array([np.sin(heading), -np.cos(heading)])
    distance = np.arange(10.0, MAX_FAR_POST_DISTANCE, 1.0)
    for aside in (0.8, 2.5, 4.5, 7.0):
        places = start + distance[:, None] * ahead + aside * right
        free = np.flatnonzero(clearance.far_from_traffic(places, 0.25) & clearance.far_from_houses(places, 0.3))
        if len(free):
            place: NDArray[np.float64] = places[free[0]]
            return place
    return None


def _post(
    builder: SceneryBuilder,
    heads: list[SignalHead],
    place: Line,
    heading: float,
    links: Sequence[SignalLink],
    scale: float,
) -> None:
    """A post with its heads side by side, facing against `heading`."""
    mesh = MeshBuilder()
    mesh.box((-0.06, -0.06, 0), (0.06, 0.06, POST_HEIGHT * (scale + 1) / 2), 1, skip="-z")
    for k in range(len(links)):
        y = HEAD_SPACING * scale * k
        low = HEAD_BOTTOM if scale == 1 else HEAD_BOTTOM * 0.9
        tall = LAMP_SPACING * scale
        half, deep = 0.21 * scale, 0.16 * scale
        mesh.box((-deep - 0.06, y - half, low), (-0.06, y + half, low + 3 * tall + 0.08), 0)
        if k:
            mesh.bar((0, 0, low + tall), (-0.1, y, low + tall), 0.05, 1)
        for lamp in (RED, YELLOW, GREEN):
            middle = low + tall * (2.5 - lamp) + 0.04
            turn = np.pi * (np.arange(8) + 0.5) / 4
            radius = LAMP_RADIUS * scale
            x = -deep - 0.07
            ring = [(x, y + radius * np.cos(a), middle + radius * np.sin(a)) for a in turn]
            mesh.face(ring, 2 + 3 * k + lamp, (0, y, middle))
            mesh.box((x - 0.12, y - radius, middle + radius), (x, y + radius, middle + radius + 0.02), 0, skip="+x")
    corners, role, _ = mesh.arrays()
    role = role.astype(np.int64)
    turned = rotate(corners, heading) + np.append(place, 0.0)
    lit = role >= 2
    which = np.where(lit, (role - 2) % 3, 0)
    number = len(heads) + np.where(lit, (role - 2) // 3, 0)
    paint = np.where(lit[:, None], LAMP_COLOURS[which], np.where((role == 1)[:, None], POST_COLOUR, HOUSING_COLOUR))
    builder.add(
        turned,
        paint,
        np.where(lit, int(Material.LAMP), int(Material.MATT)),
        np.where(lit, int(SurfaceClass.SIGNAL), int(SurfaceClass.POLE)),
        place,
        detail=np.where(lit, 4 * number + which, -1),
    )
    heads.extend(SignalHead(link, float(place[0]), float(place[1])) for link in links)
