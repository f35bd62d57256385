"""Reading the painted ground: which texel does a ray hit, and what does it look like in this light?"""

from __future__ import annotations

from typing import Final

import numpy as np

from world4scorer.kernels import leaf
from world4scorer.render.noise import f32, hashed
from world4scorer.render.sky import look_up_sky
from world4scorer.render.surface import SurfaceClass

TILE: Final = 512
"""Texels along a tile."""
LEVELS: Final = 7
"""Mip levels, each half the size of the one before."""
FINE: Final = 8.0
COARSE: Final = 2.0
"""Texels per metre of the two kinds of tiles."""
MARKING_LIGHT: Final = 0.62
"""Reflectance of road markings."""
GRAIN_CELLS: Final = 32.0
"""Grains of asphalt per metre."""
GRAIN_UNTIL: Final = 14.0
"""Where grains can no longer be seen [m]."""
UNKNOWN: Final = (0.13, 0.17, 0.08)
"""Ground that nobody painted: grass (linear)."""
PATCHES: Final = 0.5
"""Cells per metre of wet patches."""


@leaf
def find_tile(ground, x, y):
    """(slot, x and y in texels, kind) of the tile at a point; slot -1 where there is none."""
    for kind in range(2):
        scale = f32(FINE) if kind == 0 else f32(COARSE)
        px, py = (x - ground.corner[kind, 0]) * scale, (y - ground.corner[kind, 1]) * scale
        if px < f32(0.0) or py < f32(0.0):
            continue
        j, i = int(px) // TILE, int(py) // TILE
        if i < ground.slots.shape[1] and j < ground.slots.shape[2] and ground.slots[kind, i, j] >= 0:
            return ground.slots[kind, i, j], px - f32(j * TILE), py - f32(i * TILE), kind
    return -1, f32(0.0), f32(0.0), 0


@leaf
def ground_class(ground, x, y):
    """`SurfaceClass` of a point on the ground."""
    slot, px, py, _ = find_tile(ground, x, y)
    if slot < 0:
        return np.uint8(SurfaceClass.GROUND)
    return ground.classes[slot, min(int(py), TILE - 1), min(int(px), TILE - 1)]


@leaf
def shade_ground(ground, depth, dx, dy, dz, pixel, sunny, open_sky, view, light, decode):
    """Light from the ground at `depth` along a ray; `sunny` and `open_sky` say how much light falls on it."""
    x, y = view.eye[0] + depth * dx, view.eye[1] + depth * dy
    slot, px, py, kind = find_tile(ground, x, y)
    r, g, b = f32(UNKNOWN[0]), f32(UNKNOWN[1]), f32(UNKNOWN[2])
    paved = False
    if slot >= 0:
        # Pixels are long along the view and narrow across it; a size between the two neither blurs nor flickers.
        across = depth * pixel
        along = across * depth / view.eye[2]
        texel = (across * f32(0.6) + along * f32(0.4)) * (f32(FINE) if kind == 0 else f32(COARSE))
        level = 0
        while texel > f32(1.2) and level < LEVELS - 1:
            texel *= f32(0.5)
            px *= f32(0.5)
            py *= f32(0.5)
            level += 1
        size = TILE >> level
        fx, fy = max(px - f32(0.5), f32(0.0)), max(py - f32(0.5), f32(0.0))
        j, i = min(int(fx), size - 1), min(int(fy), size - 1)
        fx, fy = fx - f32(j), fy - f32(i)
        right = 1 if j < size - 1 else 0
        down = size if i < size - 1 else 0
        start = ground.level_start[level] + i * size + j
        texels = ground.texels[slot]
        w00, w01 = (f32(1.0) - fx) * (f32(1.0) - fy), fx * (f32(1.0) - fy)
        w10, w11 = (f32(1.0) - fx) * fy, fx * fy
        p00, p01, p10, p11 = texels[start], texels[start + right], texels[start + down], texels[start + down + right]
        r = decode[int(p00[0] * w00 + p01[0] * w01 + p10[0] * w10 + p11[0] * w11 + f32(0.5))]
        g = decode[int(p00[1] * w00 + p01[1] * w01 + p10[1] * w10 + p11[1] * w11 + f32(0.5))]
        b = decode[int(p00[2] * w00 + p01[2] * w01 + p10[2] * w10 + p11[2] * w11 + f32(0.5))]
        paint = (p00[3] * w00 + p01[3] * w01 + p10[3] * w10 + p11[3] * w11) * f32(1.0 / 255.0)
        if paint > f32(0.0):
            # Where a texel is larger than a pixel its border is drawn sharp.
            sharp = max(f32(1.0), min(f32(1.0) / (texel + f32(0.05)), f32(5.0)))
            paint = min(max((paint - f32(0.5)) * sharp + f32(0.5), f32(0.0)), f32(1.0)) * f32(0.93)
            r, g, b = (
                r + (f32(MARKING_LIGHT) - r) * paint,
                g + (f32(MARKING_LIGHT) - g) * paint,
                b + (f32(MARKING_LIGHT) - b) * paint,
            )
        if depth < f32(GRAIN_UNTIL):
            grain_x = int((x + view.anchor[0] + f32(1024.0)) * f32(GRAIN_CELLS)) & 8191
            grain_y = int((y + view.anchor[1] + f32(1024.0)) * f32(GRAIN_CELLS)) & 8191
            strength = f32(0.22) * (f32(1.0) - depth * f32(1.0 / GRAIN_UNTIL))
            grain = f32(1.0) + strength * (hashed(grain_x, grain_y, 5) - f32(0.5))
            r, g, b = r * grain, g * grain, b * grain
        if light.wetness > f32(0.0):
            surface = ground.classes[slot, min(int(py) << level, TILE - 1), min(int(px) << level, TILE - 1)]
            paved = surface != SurfaceClass.GROUND
    sun = light.to_sun[2] * sunny
    lr = light.ambient[0] * open_sky + light.sun[0] * sun
    lg = light.ambient[1] * open_sky + light.sun[1] * sun
    lb = light.ambient[2] * open_sky + light.sun[2] * sun
    if light.lamps > f32(0.2):
        ahead, beside = x * view.ahead[0] + y * view.ahead[1], y * view.ahead[0] - x * view.ahead[1]
        if ahead > f32(3.0):
            spread = beside / (f32(1.2) + f32(0.28) * ahead)
            far = ahead * f32(0.045)
            near = min((ahead - f32(3.0)) * f32(0.4), f32(1.0))
            beam = (
                f32(0.9)
                * near
                * light.lamps
                / ((f32(1.0) + spread * spread * spread * spread) * (f32(1.0) + far * far))
            )
            lr, lg, lb = lr + beam, lg + beam * f32(0.95), lb + beam * f32(0.82)
    r, g, b = r * lr, g * lg, b * lb
    if paved:
        wet = light.wetness
        grazing = f32(1.0) + dz / np.sqrt(dx * dx + dy * dy + dz * dz)
        mirror = grazing * grazing
        mirror = f32(0.04) + f32(0.7) * mirror * mirror
        i = int((x + view.anchor[0] + f32(1024.0)) * f32(PATCHES)) & 127
        j = int((y + view.anchor[1] + f32(1024.0)) * f32(PATCHES)) & 127
        mirror *= wet * (f32(0.55) + f32(0.3) * hashed(i, j, 3))
        sr, sg, sb = look_up_sky(dx, dy, dz, light.sky)
        dark = (f32(1.0) - f32(0.4) * wet) * (f32(1.0) - mirror)
        r, g, b = r * dark + sr * mirror, g * dark + sg * mirror, b * dark + sb * mirror
    return r, g, b
