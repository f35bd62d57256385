"""Lamp posts along the streets."""

from __future__ import annotations

from typing import Final

import numpy as np

from world4scorer.city.scenery.clearance import Clearance, Roadside
from world4scorer.city.scenery.light import to_linear
from world4scorer.city.scenery.mesh_builder import MeshBuilder
from world4scorer.city.scenery.polyline import parallel, points_at
from world4scorer.city.scenery.scenery_builder import SceneryBuilder
from world4scorer.city.scenery.surface import Material, SurfaceClass
from world4scorer.engine.scene.geometry import arc_length_hypot, rotate

LAMP_SPACING: Final = 31.0
LAMP_SETBACK: Final = 0.45
"""Distance between posts, and of a post from the border of the street [m]."""
LAMP_HEIGHT: Final = 6.8
ARM_LENGTH: Final = 1.6
"""Height of a post and length of its arm [m]."""
POST_COLOUR: Final = to_linear([104, 108, 110])
LIGHT_COLOUR: Final = to_linear([255, 222, 170])


def place_lamps(sides: list[Roadside], clearance: Clearance, builder: SceneryBuilder, seed: int) -> None:
    """Place posts every thirty metres where there is room."""
    rng = np.random.default_rng([seed, 0xD01])
    post = MeshBuilder()
    post.box((-0.07, -0.07, 0), (0.07, 0.07, LAMP_HEIGHT), 0, skip="-z", top=(0.6, 0.6))
    post.bar((0, 0, LAMP_HEIGHT - 0.05), (0, ARM_LENGTH, LAMP_HEIGHT + 0.1), 0.07, 0)
    post.box((-0.13, ARM_LENGTH - 0.35, LAMP_HEIGHT + 0.06), (0.13, ARM_LENGTH + 0.35, LAMP_HEIGHT + 0.2), 0, skip="-z")
    lamp = [
        (-0.12, ARM_LENGTH - 0.33, LAMP_HEIGHT + 0.05),
        (0.12, ARM_LENGTH - 0.33, LAMP_HEIGHT + 0.05),
        (0.12, ARM_LENGTH + 0.33, LAMP_HEIGHT + 0.05),
    ]
    post.face([*lamp, (-0.12, ARM_LENGTH + 0.33, LAMP_HEIGHT + 0.05)], 1, (0, ARM_LENGTH, LAMP_HEIGHT + 1))
    corners, role, _ = post.arrays()
    paint = np.where((role == 1)[:, None], LIGHT_COLOUR, POST_COLOUR)
    material = np.where(role == 1, int(Material.STREET_LAMP), int(Material.MATT))
    taken: set[tuple[int, int]] = set()
    for side in sides:
        line = parallel(side.border, -LAMP_SETBACK)
        length = float(arc_length_hypot(line)[-1])
        where = np.arange(rng.uniform(4, 14), length - 2, LAMP_SPACING)
        xy, heading = points_at(line, where)
        free = clearance.far_from_traffic(xy, LAMP_SETBACK * 0.6) & clearance.far_from_houses(xy, 0.5)
        for place, angle in zip(xy[free], heading[free], strict=True):
            square = (int(place[0] // 12), int(place[1] // 12))
            if square in taken:
                continue
            taken.add(square)
            turned = rotate(corners, angle) + np.append(place, 0.0)
            builder.add(turned, paint, material, SurfaceClass.POLE, place)
