"""Reading the painted ground of a renderer."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from world4scorer.city.render.ground import FINE, LEVELS, TILE, Ground
from world4scorer.city.scenery.surface import SurfaceClass


def class_at(ground: Ground, x: float, y: float) -> SurfaceClass:
    """What the ground is at a point of the map; paints the tile."""
    j, i = int(np.floor(x * FINE)), int(np.floor(y * FINE))
    slot = ground._slot((0, i // TILE, j // TILE))
    return SurfaceClass(int(ground.classes[slot, i % TILE, j % TILE]))


def mip_levels(texels: NDArray[np.uint32]) -> list[NDArray[np.uint8]]:
    """The pictures (size, size, 4) in a slot of `Ground.texels`, finest first."""
    levels, start, texels_4 = [], 0, texels.view(np.uint8).reshape(-1, 4)
    for level in range(LEVELS):
        size = TILE >> level
        levels.append(texels_4[start : start + size * size].reshape(size, size, 4))
        start += size * size
    return levels
