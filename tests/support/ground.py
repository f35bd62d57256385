"""Reading the painted ground of a renderer."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from world4scorer.city.render.ground import FINE_RESOLUTION, MIP_LEVELS, TILE_SIZE, Ground
from world4scorer.city.scenery.surface import SurfaceClass


def class_at(ground: Ground, x: float, y: float) -> SurfaceClass:
    """What the ground is at a point of the map; paints the tile."""
    j, i = int(np.floor(x * FINE_RESOLUTION)), int(np.floor(y * FINE_RESOLUTION))
    slot = ground._slot((0, i // TILE_SIZE, j // TILE_SIZE))
    return SurfaceClass(int(ground.classes[slot, i % TILE_SIZE, j % TILE_SIZE]))


def mip_levels(texels: NDArray[np.uint32]) -> list[NDArray[np.uint8]]:
    """The pictures (size, size, 4) in a slot of `Ground.texels`, finest first."""
    levels, start, texels_4 = [], 0, texels.view(np.uint8).reshape(-1, 4)
    for level in range(MIP_LEVELS):
        size = TILE_SIZE >> level
        levels.append(texels_4[start : start + size * size].reshape(size, size, 4))
        start += size * size
    return levels
