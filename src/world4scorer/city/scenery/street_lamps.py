"""Lamp posts along the streets."""

from __future__ import annotations

from typing import Final

import numpy as np

from world4scorer.city.scenery.clearance import Clearance, Roadside
from world4scorer.city.scenery.draft import Draft
from world4scorer.city.scenery.light import to_linear
from world4scorer.city.scenery.parts import Parts
from world4scorer.city.scenery.polyline import parallel, points_at
from world4scorer.city.scenery.surface import Material, SurfaceClass
from world4scorer.engine.scene.geometry import arc_length_hypot, rotate

SPACING: Final = 31.0
SETBACK: Final = 0.45
"""Between posts; between the border of the street and a post [m]."""
HEIGHT: Final = 6.8
ARM: Final = 1.6
"""Of a post and of the arm that holds the lamp over the street [m]."""
STEEL: Final = to_linear([104, 108, 110])
GLOW: Final = to_linear([255, 222, 170])


def place_lamps(sides: list[Roadside], clearance: Clearance, parts: Parts, seed: int) -> None:
    """Posts every thirty metres, where they stand in nobody's way."""
    rng = np.random.default_rng([seed, 0xD01])
    post = Draft()
    post.box((-0.07, -0.07, 0), (0.07, 0.07, HEIGHT), 0, skip="-z", top=(0.6, 0.6))
    post.bar((0, 0, HEIGHT - 0.05), (0, ARM, HEIGHT + 0.1), 0.07, 0)
    post.box((-0.13, ARM - 0.35, HEIGHT + 0.06), (0.13, ARM + 0.35, HEIGHT + 0.2), 0, skip="-z")
    lamp = [(-0.12, ARM - 0.33, HEIGHT + 0.05), (0.12, ARM - 0.33, HEIGHT + 0.05), (0.12, ARM + 0.33, HEIGHT + 0.05)]
    post.face([*lamp, (-0.12, ARM + 0.33, HEIGHT + 0.05)], 1, (0, ARM, HEIGHT + 1))
    corners, role, _ = post.arrays()
    paint = np.where((role == 1)[:, None], GLOW, STEEL)
    material = np.where(role == 1, int(Material.STREET_LAMP), int(Material.MATT))
    taken: set[tuple[int, int]] = set()
    for side in sides:
        line = parallel(side.border, -SETBACK)
        length = float(arc_length_hypot(line)[-1])
        where = np.arange(rng.uniform(4, 14), length - 2, SPACING)
        xy, heading = points_at(line, where)
        free = clearance.far_from_traffic(xy, SETBACK * 0.6) & clearance.far_from_houses(xy, 0.5)
        for place, angle in zip(xy[free], heading[free], strict=True):
            square = (int(place[0] // 12), int(place[1] // 12))
            if square in taken:
                continue
            taken.add(square)
            turned = rotate(corners, angle) + np.append(place, 0.0)
            parts.add(turned, paint, material, SurfaceClass.POLE, place)
