"""Houses along the streets: closed fronts on main streets, free-standing ones elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.city.scenery.clearance import Clearance, Roadside
from world4scorer.city.scenery.light import to_linear
from world4scorer.city.scenery.polyline import Line, points_at
from world4scorer.city.scenery.scenery_builder import SceneryBuilder
from world4scorer.city.scenery.surface import Material, SurfaceClass
from world4scorer.engine.scene.geometry import arc_length_hypot

HOUSE_MARGIN: Final = 0.8
"""Minimum distance of houses from sidewalks and lanes [m]."""
CLOSED_SETBACK, OPEN_SETBACK = 3.6, 6.5
"""Distance of a house front from the border of the street, in closed and open rows [m]."""
FRONTAGE_STEP: Final = 4.0
"""Search step along roadsides [m]."""
CLOSED_SHARE: Final = 0.6
"""Share of small streets' sides with closed fronts."""
WALL_COLOURS: Final = to_linear(
    [
        (222, 208, 178), (206, 186, 150), (232, 224, 206), (196, 160, 132), (184, 128, 104), (168, 112, 92),
        (204, 200, 192), (178, 186, 188), (214, 190, 168), (226, 206, 160), (190, 198, 180), (160, 152, 146),
    ]
)  # fmt: skip
ROOF_COLOURS: Final = to_linear([(146, 82, 62), (126, 74, 60), (98, 90, 88), (84, 80, 82), (118, 98, 86)])
SIGN_COLOURS: Final = to_linear(
    [(170, 40, 40), (40, 84, 140), (44, 110, 80), (200, 150, 50), (90, 70, 60), (60, 60, 66), (196, 196, 190)]
)


@dataclass(frozen=True, eq=False)
class House:
    """A box with a roof."""

    outline: Line
    """(4, 2) counter-clockwise; the first side faces the street."""
    height: float
    """Height of the walls [m]."""
    roof: float
    """Height of the roof above the walls, 0 for a flat one [m]."""
    closed: bool
    """Part of a closed street front."""


def place_houses(sides: list[Roadside], clearance: Clearance, seed: int) -> list[House]:
    """Place houses along the roadsides, clear of traffic and of each other."""
    rng = np.random.default_rng([seed, 0xB01])
    houses: list[House] = []
    for side in sorted(sides, key=lambda side: not side.big):
        closed = side.big or rng.random() < CLOSED_SHARE
        length = float(arc_length_hypot(side.border)[-1])
        along, storeys = 0.5, int(rng.integers(4, 7))
        free = _free_frontage(side.border, length, clearance)
        while along < length - 5:
            if not free[int(along // FRONTAGE_STEP)]:
                along += FRONTAGE_STEP
                continue
            wide = rng.uniform(12, 24) if closed else rng.uniform(9, 14)
            depth = rng.uniform(11, 14) if closed else rng.uniform(8, 11)
            wide = min(wide, length - along)
            house = None
            if wide >= 5:
                count = int(np.clip(storeys + rng.integers(-1, 2), 3, 7)) if closed else int(rng.integers(1, 4))
                height = count * rng.uniform(3.1, 3.6) + 1.0
                roof = rng.uniform(2.0, 4.2) if rng.random() < (0.6 if closed else 0.85) else 0.0
                setback = CLOSED_SETBACK if closed else OPEN_SETBACK + rng.uniform(-1.5, 2.0)
                house = _fit(side.border, along, wide, depth, setback, clearance, height, roof, closed)
            if house is None:
                along += FRONTAGE_STEP
                continue
            houses.append(house)
            along += wide + (0.0 if closed and rng.random() < 0.94 else rng.uniform(4, 10))
    return houses


def _free_frontage(border: Line, length: float, clearance: Clearance) -> NDArray[np.bool_]:
    """Parts of a roadside that may hold a house; avoids most of the exact tests."""
    where = np.arange(0, length + FRONTAGE_STEP, FRONTAGE_STEP)
    xy, heading = points_at(border, np.minimum(where + FRONTAGE_STEP / 2, length))
    return clearance.far_from_traffic(xy + 5.5 * np.stack([np.sin(heading), -np.cos(heading)], 1), HOUSE_MARGIN)


def _fit(
    border: Line,
    along: float,
    wide: float,
    depth: float,
    setback: float,
    clearance: Clearance,
    height: float,
    roof: float,
    closed: bool,
) -> House | None:
    """The largest size that fits."""
    for share in (1.0, 0.7, 0.5):
        (start, end), _ = points_at(border, np.array([along, along + wide]))
        front = end - start
        size = float(np.hypot(*front))
        if size < 4:
            return None
        front /= size
        out = np.array([front[1], -front[0]])
        base = start + setback * out
        far = size * front
        back = depth * share * out
        # From above the street is to the left of the front: back, far side, front.
        outline = np.array([base + far, base, base + back, base + back + far])
        if clearance.claim(outline, HOUSE_MARGIN):
            return House(outline, height, roof, closed)
    return None


def build_houses(houses: list[House], builder: SceneryBuilder, seed: int) -> None:
    """Walls with windows, roofs, and the boxes that cast shade on actors."""
    rng = np.random.default_rng([seed, 0xB02])
    for house in houses:
        outline, height = house.outline, house.height
        centre = outline.mean(0)
        paint = WALL_COLOURS[rng.integers(len(WALL_COLOURS))] * rng.uniform(0.8, 1.05)
        storeys = max(round((height - 1.0) / 3.3), 1)
        style = {
            "storey": (height - 0.6) / storeys,
            "bay": rng.uniform(2.2, 3.4),
            "wide": rng.uniform(0.36, 0.58),
            "tall": rng.uniform(0.44, 0.58),
            "shops": float(house.closed and rng.random() < 0.5),
            "balconies": float(rng.integers(3, 5)) if rng.random() < 0.35 else 0.0,
            "seed": float(rng.integers(4096)),
        }
        sign = SIGN_COLOURS[rng.integers(len(SIGN_COLOURS))]
        for k in range(4):
            _wall(builder, outline[k], outline[(k + 1) % 4], height, paint, style, sign, front=k == 0)
        _roof(builder, house, paint, ROOF_COLOURS[rng.integers(len(ROOF_COLOURS))] * rng.uniform(0.85, 1.1))
        side, back = outline[1] - outline[0], outline[2] - outline[1]
        length, depth = np.hypot(*side), np.hypot(*back)
        builder.boxes.append((*centre, *(side / length), length / 2, depth / 2, height + 0.5 * house.roof))


def _wall(
    builder: SceneryBuilder,
    start: NDArray[np.float64],
    end: NDArray[np.float64],
    height: float,
    paint: NDArray[np.float32],
    style: dict[str, float],
    sign: NDArray[np.float32],
    front: bool,
) -> None:
    length = float(np.hypot(*(end - start)))
    along = (end - start) / length
    bay = length / max(round(length / style["bay"]), 1)
    row = [*along, 1 / style["storey"], 1 / bay, style["wide"], style["tall"], style["shops"] if front else 0.0]
    row += [height, style["seed"], *sign.tolist(), style["balconies"] if front else 0.0]
    a, b = (*start, 0.0), (*end, 0.0)
    c, d = (*end, height), (*start, height)
    builder.add(
        np.array([[a, b, c], [a, c, d]]),
        paint,
        Material.FACADE,
        SurfaceClass.BUILDING,
        (start + end) / 2,
        detail=len(builder.facades),
    )
    builder.facades.append(row)


def _roof(builder: SceneryBuilder, house: House, wall: NDArray[np.float32], paint: NDArray[np.float32]) -> None:
    outline, height = house.outline, house.height
    a, b, c, d = (np.array([*corner, height]) for corner in outline)
    centre = outline.mean(0)
    if house.roof == 0:
        builder.add(np.array([[a, b, c], [a, c, d]]), paint * 0.7, Material.MATT, SurfaceClass.BUILDING, centre)
        return
    up = np.array([0, 0, house.roof])
    left, right = (a + d) / 2 + up, (b + c) / 2 + up
    slopes = np.array([[a, b, right], [a, right, left], [c, d, left], [c, left, right]])
    builder.add(slopes, paint, Material.ROOF, SurfaceClass.BUILDING, centre)
    builder.add(np.array([[b, c, right], [d, a, left]]), wall, Material.MATT, SurfaceClass.BUILDING, centre)


def forecourts(houses: list[House]) -> list[Line]:
    """Paved ground in front of closed street fronts."""
    plots = []
    for house in houses:
        if house.closed:
            out = house.outline[2] - house.outline[1]
            out = out / np.hypot(*out)
            street = house.outline[:2] - out * (CLOSED_SETBACK + 0.3)
            plots.append(np.concatenate([street, house.outline[2:]]))
    return plots
