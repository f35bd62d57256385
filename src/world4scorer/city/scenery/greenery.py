"""Trees along streets and in gardens, hedges, bushes."""

from __future__ import annotations

from typing import Final

import numpy as np

from world4scorer.city.scenery.clearance import Clearance, Roadside
from world4scorer.city.scenery.houses import House
from world4scorer.city.scenery.light import to_linear
from world4scorer.city.scenery.mesh_builder import MeshBuilder
from world4scorer.city.scenery.polyline import parallel, points_at
from world4scorer.city.scenery.scenery_builder import DetailLevel, SceneryBuilder
from world4scorer.city.scenery.surface import Material, SurfaceClass
from world4scorer.engine.scene.geometry import Floats, arc_length_hypot

STREET_TREE_SPACING: Final = 11.0
"""Mean distance between trees along a street [m]."""
TREE_SETBACK: Final = 1.3
"""Distance of a trunk from the border of the street [m]."""
TREE_MARGIN: Final = 0.9
"""Minimum distance of trunks from traffic [m]."""
GARDEN_TREE_DENSITY: Final = 1 / 500
"""Trees per square metre of open ground near streets."""
GARDEN_DEPTH: Final = 45.0
"""Depth of gardens beside a street [m]."""
LEAF_COLOURS: Final = to_linear(
    [(88, 118, 54), (76, 108, 50), (104, 128, 58), (66, 98, 52), (120, 128, 56), (94, 122, 72)]
)
BARK_COLOUR: Final = to_linear([96, 80, 66])
HEDGE_COLOUR: Final = to_linear([70, 98, 48])
CROWN_SHAPES: Final = 4
"""Number of crown shapes."""


def plant(sides: list[Roadside], houses: list[House], clearance: Clearance, builder: SceneryBuilder, seed: int) -> None:
    """Trees, bushes and hedges wherever there is room."""
    rng = np.random.default_rng([seed, 0xC01])
    street = _along_streets(sides, rng)
    street = street[clearance.far_from_traffic(street, TREE_MARGIN) & clearance.far_from_houses(street, 1.4)]
    garden = _in_gardens(sides, rng)
    garden = garden[clearance.far_from_traffic(garden, 2.2) & clearance.far_from_houses(garden, 2.4)]
    places = _thinned(np.concatenate([street, garden]), 4.5)
    bush = rng.random(len(places)) < np.where(np.arange(len(places)) < len(street), 0.03, 0.3)
    _trees(places[~bush], builder, rng)
    _bushes(places[bush], builder, rng)
    _hedges(houses, clearance, builder, rng)


def _along_streets(sides: list[Roadside], rng: np.random.Generator) -> Floats:
    rows = [np.zeros((0, 2))]
    for side in sides:
        if rng.random() < 0.2:
            continue
        line = parallel(side.border, -TREE_SETBACK)
        length = float(arc_length_hypot(line)[-1])
        where = np.arange(rng.uniform(3, 8), length - 3, STREET_TREE_SPACING * rng.uniform(0.8, 1.5))
        rows.append(points_at(line, where + rng.uniform(-1, 1, len(where)))[0])
    return np.concatenate(rows)


def _in_gardens(sides: list[Roadside], rng: np.random.Generator) -> Floats:
    rows = [np.zeros((0, 2))]
    for side in sides:
        length = float(arc_length_hypot(side.border)[-1])
        count = int(rng.poisson(length * GARDEN_DEPTH * GARDEN_TREE_DENSITY))
        xy, heading = points_at(side.border, rng.uniform(0, length, count))
        away = 4 + (GARDEN_DEPTH - 4) * rng.random(count) ** 1.3
        rows.append(xy + away[:, None] * np.stack([np.sin(heading), -np.cos(heading)], 1))
    return np.concatenate(rows)


def _thinned(points: Floats, distance: float) -> Floats:
    """The first point of each grid cell."""
    _, first = np.unique(np.floor(points / distance).astype(np.int64), axis=0, return_index=True)
    return points[np.sort(first)]


def crown(rng: np.random.Generator, fine: bool) -> Floats:
    """(n, 3, 3) a lumpy ball of leaves of radius 1 around the origin."""
    mesh = MeshBuilder()
    if not fine:
        mesh.ball((0, 0, 0), (1, 1, 1), 0, sides=5, rows=3)
        corners, _, _ = mesh.arrays()
        return corners
    mesh.ball((0, 0, 0), (0.9, 0.9, 0.92), 0, sides=7, rows=4)
    start = rng.uniform(0, 2 * np.pi)
    for k in range(3):
        turn, size = start + 2.1 * k + rng.uniform(-0.4, 0.4), rng.uniform(0.42, 0.6)
        place = (0.55 * np.cos(turn), 0.55 * np.sin(turn), rng.uniform(-0.45, 0.5))
        mesh.ball(place, (size, size, size * 0.9), 0, sides=5, rows=3)
    corners, _, _ = mesh.arrays()
    # Shared corners must move together: the shift depends on the position only.
    bump = np.sin(corners @ np.array([5.1, 3.7, 4.3]) + rng.uniform(0, 6)) * 0.12
    lumpy: Floats = corners * (1 + bump)[..., None]
    return lumpy


def _trees(places: Floats, builder: SceneryBuilder, rng: np.random.Generator) -> None:
    fine = [crown(rng, True) for _ in range(CROWN_SHAPES)]
    coarse = crown(rng, False)
    trunk = MeshBuilder()
    trunk.box((-0.16, -0.16, 0), (0.16, 0.16, 1.0), 0, skip="+z-z", top=(0.6, 0.6))
    trunk_corners, _, _ = trunk.arrays()
    wide = rng.uniform(1.7, 3.0, len(places))
    tall = wide * rng.uniform(1.0, 1.35, len(places))
    middle = rng.uniform(2.6, 3.4, len(places)) + tall * 0.8
    tint = LEAF_COLOURS[rng.integers(0, len(LEAF_COLOURS), len(places))] * rng.uniform(0.75, 1.1, (len(places), 1))
    shape = rng.integers(0, CROWN_SHAPES, len(places))
    for k, (x, y) in enumerate(places):
        size = np.array([wide[k], wide[k], tall[k]])
        here = np.array([x, y, middle[k]])
        anchor = places[k]
        for seen, model in ((DetailLevel.NEAR, fine[shape[k]]), (DetailLevel.FAR, coarse)):
            corners = model * size + here
            # Light filters from above: the lower half of a crown is darker.
            dark = (0.55 + 0.45 * np.clip((model[..., 2].mean(1) + 0.8) / 1.2, 0, 1)).astype(np.float32)
            builder.add(corners, tint[k] * dark[:, None], Material.LEAVES, SurfaceClass.VEGETATION, anchor, seen=seen)
        stem = trunk_corners * (1, 1, middle[k]) + (x, y, 0)
        builder.add(stem, BARK_COLOUR, Material.MATT, SurfaceClass.VEGETATION, anchor)


def _bushes(places: Floats, builder: SceneryBuilder, rng: np.random.Generator) -> None:
    model = crown(rng, False)
    for place in places:
        size = rng.uniform(0.6, 1.2)
        corners = model * (size, size, size * 0.8) + (*place, size * 0.55)
        tint = LEAF_COLOURS[rng.integers(len(LEAF_COLOURS))] * rng.uniform(0.6, 0.9)
        builder.add(np.maximum(corners, (-np.inf, -np.inf, 0)), tint, Material.LEAVES, SurfaceClass.VEGETATION, place)


def _hedges(houses: list[House], clearance: Clearance, builder: SceneryBuilder, rng: np.random.Generator) -> None:
    for house in houses:
        if house.closed or rng.random() < 0.35:
            continue
        out = house.outline[2] - house.outline[1]
        out = out / np.hypot(*out)
        near = house.outline[:2] - out * 3.2
        if not clearance.far_from_traffic(np.linspace(near[0], near[1], 6), 0.9).all():
            continue
        if not clearance.far_from_houses(np.linspace(near[0], near[1], 6), 0.6).all():
            continue
        mesh = MeshBuilder()
        wide, tall = 0.4, rng.uniform(0.8, 1.4)
        ring = [near[0] - out * wide, near[1] - out * wide, near[1] + out * wide, near[0] + out * wide]
        mesh.loft([[(*p, 0.0) for p in ring], [(*p, tall) for p in ring]], 0)
        corners, _, _ = mesh.arrays()
        tint = HEDGE_COLOUR * rng.uniform(0.75, 1.1)
        builder.add(corners, tint, Material.LEAVES, SurfaceClass.VEGETATION, near.mean(0))
