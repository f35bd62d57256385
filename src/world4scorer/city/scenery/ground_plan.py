"""Ground plan: outlines of all pavings of a city in painting order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

import numpy as np
import shapely
from numpy.typing import NDArray

from world4scorer.city.scenery.markings import draw_markings
from world4scorer.city.scenery.polyline import Line, parallel, points_at, ribbon, tidy
from world4scorer.city.scenery.surface import SurfaceClass
from world4scorer.city.streets.street_map import Lane, LaneUse, StreetMap
from world4scorer.engine.scene.geometry import arc_length_hypot, direction, rotate


class Paving(IntEnum):
    """Paving types."""

    GRASS = 0
    FORECOURT = 1
    SIDEWALK = 2
    ASPHALT = 3
    SERVICE = 4
    OLD_PATCH = 5
    NEW_PATCH = 6
    BIKE_LANE = 7
    BALLAST = 8
    RAIL = 9
    KERB = 10
    """Added while painting, where road meets other paving."""
    MANHOLE = 11


PAVING_CLASS: Final = np.array(
    [
        SurfaceClass.GROUND,
        SurfaceClass.SIDEWALK,
        SurfaceClass.SIDEWALK,
        SurfaceClass.ROAD,
        SurfaceClass.ROAD,
        SurfaceClass.ROAD,
        SurfaceClass.ROAD,
        SurfaceClass.BIKE_LANE,
        SurfaceClass.GROUND,
        SurfaceClass.GROUND,
        SurfaceClass.SIDEWALK,
        SurfaceClass.ROAD,
    ],
    np.uint8,
)
"""(pavings,)"""
PAVING_COLOUR: Final = np.array(
    [
        (104, 122, 70),
        (168, 162, 152),
        (176, 172, 164),
        (98, 98, 102),
        (112, 111, 110),
        (86, 86, 89),
        (76, 76, 80),
        (150, 88, 76),
        (128, 118, 106),
        (120, 112, 108),
        (194, 191, 184),
        (70, 68, 66),
    ],
    np.uint8,
)
"""(pavings, 3) sRGB"""
PAVING_RELIEF: Final = np.array([0.34, 0.10, 0.10, 0.13, 0.13, 0.15, 0.12, 0.10, 0.4, 0.2, 0.06, 0.2], np.float32)
"""(pavings,) variation of brightness."""
LANE_OVERLAP: Final = 0.12
"""Extra width of painted lanes, which hides seams [m]."""


@dataclass(frozen=True, eq=False)
class GroundPlan:
    """Outlines in painting order."""

    outlines: Sequence[Line]
    paving: NDArray[np.int64]
    """(m,) `Paving`, or -1 for markings."""
    bounds: NDArray[np.float64]
    """(m, 4) x, y of the lower and of the upper corner of each outline."""

    @classmethod
    def of(cls, streets: StreetMap, forecourts: Sequence[Line], seed: int) -> GroundPlan:
        """Lay out a city; `forecourts` are paved plots around houses."""
        layers = list(_layers(streets, forecourts, seed))
        layers += [(-1, outline) for outline in draw_markings(streets)]
        outlines = [outline for _, outline in layers]
        bounds = np.array([(*outline.min(0), *outline.max(0)) for outline in outlines])
        return cls(outlines, np.array([paving for paving, _ in layers]), bounds)

    def within(self, x: float, y: float, size: float) -> NDArray[np.int64]:
        """Outlines that touch a square, in painting order."""
        b = self.bounds
        return np.flatnonzero((b[:, 0] < x + size) & (b[:, 2] > x) & (b[:, 1] < y + size) & (b[:, 3] > y))


def lane_outlines(lanes: Sequence[Lane], extra: float = 0.0) -> list[Line]:
    """Outline of each lane, wider by `extra` [m] in total; that of a walking area is its shape."""
    outlines = []
    for lane in lanes:
        if lane.use is LaneUse.WALKING_AREA:
            outlines.append(lane.shape)
            continue
        strip = shapely.buffer(
            shapely.LineString(lane.shape), (lane.width + extra) / 2, cap_style="flat", join_style="mitre"
        )
        outlines.extend(
            np.array(part.exterior.coords) for part in getattr(strip, "geoms", [strip]) if not part.is_empty
        )
    return outlines


def _layers(streets: StreetMap, forecourts: Sequence[Line], seed: int) -> Iterable[tuple[int, Line]]:
    def of(*uses: LaneUse, internal: bool | None = None) -> list[Lane]:
        return [lane for lane in streets.lanes.values() if lane.use in uses and internal in (None, lane.internal)]

    yield from ((Paving.FORECOURT, outline) for outline in forecourts)
    rails = of(LaneUse.RAIL)
    yield from ((Paving.BALLAST, outline) for outline in lane_outlines(rails, 0.4))
    for lane in rails:
        line = tidy(lane.shape)
        if len(line) > 1:
            for side in (-0.72, 0.72):
                yield Paving.RAIL, ribbon(parallel(line, side), 0.14)
    yield from ((Paving.SIDEWALK, o) for o in lane_outlines(of(LaneUse.WALK, internal=False), 0.6))
    yield from ((Paving.SERVICE, o) for o in lane_outlines(of(LaneUse.SERVICE), LANE_OVERLAP))
    for junction in streets.junctions.values():
        if len(junction.shape) >= 3:
            yield Paving.ASPHALT, junction.shape
    yield from ((Paving.SIDEWALK, o) for o in lane_outlines(of(LaneUse.WALKING_AREA)) if len(o) >= 3)
    yield from ((Paving.SIDEWALK, o) for o in lane_outlines(of(LaneUse.WALK, internal=True)))
    yield from ((Paving.ASPHALT, o) for o in lane_outlines(of(LaneUse.DRIVE), LANE_OVERLAP))
    yield from _patches(of(LaneUse.DRIVE, internal=False), seed)
    yield from ((Paving.ASPHALT, o) for o in lane_outlines(of(LaneUse.CROSSING)))
    yield from ((Paving.BIKE_LANE, o) for o in lane_outlines(of(LaneUse.BICYCLE)))


def _patches(lanes: Sequence[Lane], seed: int) -> Iterable[tuple[int, Line]]:
    """Repair patches and manholes, some per lane."""
    rng = np.random.default_rng([seed, 0xA5F])
    for lane in lanes:
        line = tidy(lane.shape)
        length = float(arc_length_hypot(line)[-1])
        places = np.sort(rng.uniform(2, max(length - 2, 2.1), rng.poisson(length / 22)))
        xy, heading = points_at(line, places)
        for (x, y), h in zip(xy, heading, strict=True):
            long, wide, aside = rng.uniform(0.6, 4.5), rng.uniform(0.5, 1.5), rng.uniform(-0.7, 0.7)
            kind = Paving(int(rng.choice([Paving.OLD_PATCH, Paving.NEW_PATCH, Paving.MANHOLE], p=[0.45, 0.35, 0.2])))
            if kind is Paving.MANHOLE:
                turn = np.linspace(0, 2 * np.pi, 11)[:-1]
                shape = 0.35 * direction(turn)
            else:
                shape = np.array([[-long, -wide], [long, -wide], [long, wide], [-long, wide]]) / 2
            shape = shape + np.array([0.0, aside])
            yield kind, rotate(shape, h) + np.array([x, y])
