"""Ground tiles with mip levels from a painting of paving classes."""

from __future__ import annotations

from typing import Final

import numpy as np

from world4scorer.city.render.ground_kernels import MIP_LEVELS, TILE_SIZE
from world4scorer.city.render.noise import f32, hashed
from world4scorer.city.scenery.ground_plan import Paving
from world4scorer.city.scenery.surface import SurfaceClass
from world4scorer.engine.kernels import inlined, kernel

OVERSAMPLE: Final = 2
MARKING_OVERSAMPLE: Final = 4
"""Tiles are oversampled for smooth edges; markings, which are drawn sharp, need more."""


@inlined
def _value_noise(x, y, seed):
    i, j = int(np.floor(x)), int(np.floor(y))
    u, v = x - f32(i), y - f32(j)
    u, v = u * u * (f32(3.0) - f32(2.0) * u), v * v * (f32(3.0) - f32(2.0) * v)
    low = hashed(i, j, seed) * (f32(1.0) - u) + hashed(i + 1, j, seed) * u
    high = hashed(i, j + 1, seed) * (f32(1.0) - u) + hashed(i + 1, j + 1, seed) * u
    return low * (f32(1.0) - v) + high * v


@kernel
def finish_tile(paving, marking, first_x, first_y, scale, kerb, colours, relief, classes, texels, out_classes):
    """Colour an oversampled painting, downsample it and make its mip levels.

    `paving` (2 TILE, 2 TILE), `marking` (4 TILE, 4 TILE); `first_x`, `first_y` number the tile's
    first texel in the whole map.
    """
    side = paving.shape[0]
    for i in range(TILE_SIZE):
        for j in range(TILE_SIZE):
            red, green, blue, white = f32(0.0), f32(0.0), f32(0.0), 0
            for sub in range(OVERSAMPLE * OVERSAMPLE):
                v, u = i * OVERSAMPLE + sub // OVERSAMPLE, j * OVERSAMPLE + sub % OVERSAMPLE
                what = paving[v, u]
                if kerb and (what <= Paving.SIDEWALK):
                    for step in range(4):
                        n = min(max(v + (kerb if step == 0 else (-kerb if step == 1 else 0)), 0), side - 1)
                        m = min(max(u + (kerb if step == 2 else (-kerb if step == 3 else 0)), 0), side - 1)
                        if Paving.ASPHALT <= paving[n, m] <= Paving.NEW_PATCH:
                            what = np.uint8(Paving.KERB)
                red += f32(colours[what, 0])
                green += f32(colours[what, 1])
                blue += f32(colours[what, 2])
            for sub in range(MARKING_OVERSAMPLE * MARKING_OVERSAMPLE):
                v, u = (
                    i * MARKING_OVERSAMPLE + sub // MARKING_OVERSAMPLE,
                    j * MARKING_OVERSAMPLE + sub % MARKING_OVERSAMPLE,
                )
                white += marking[v, u]
            white //= MARKING_OVERSAMPLE * MARKING_OVERSAMPLE
            what = paving[i * OVERSAMPLE, j * OVERSAMPLE]
            x, y = f32(first_x + j) / f32(scale), f32(first_y + i) / f32(scale)
            cloud = _value_noise(x * f32(0.23), y * f32(0.23), 11) + _value_noise(x * f32(1.3), y * f32(1.3), 12)
            fine = hashed(first_x + j, first_y + i, 13)
            if what == Paving.SIDEWALK or what == Paving.FORECOURT:
                fine = hashed(int(np.floor(x * f32(1.6))), int(np.floor(y * f32(1.6))), 14)
            tone = f32(1.0) + relief[what] * (f32(0.6) * (cloud - f32(1.0)) + f32(0.8) * (fine - f32(0.5)))
            tone *= f32(1.0 / (OVERSAMPLE * OVERSAMPLE))
            texels[i * TILE_SIZE + j, 0] = int(min(red * tone, f32(255.0)))
            texels[i * TILE_SIZE + j, 1] = int(min(green * tone, f32(255.0)))
            texels[i * TILE_SIZE + j, 2] = int(min(blue * tone, f32(255.0)))
            texels[i * TILE_SIZE + j, 3] = white
            road = classes[what]
            painted = white >= 128
            out_classes[i, j] = np.uint8(SurfaceClass.MARKING) if painted else road
    start, size = 0, TILE_SIZE
    for _ in range(1, MIP_LEVELS):
        following, half = start + size * size, size // 2
        for i in range(half):
            for j in range(half):
                a = start + 2 * i * size + 2 * j
                for k in range(4):
                    total = int(texels[a, k]) + texels[a + 1, k] + texels[a + size, k] + texels[a + size + 1, k]
                    texels[following + i * half + j, k] = (total + 2) >> 2
        start, size = following, half
