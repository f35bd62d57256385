"""Texture lookup and shading of the ground."""

from __future__ import annotations

from typing import Final

import numpy as np

from world4scorer.city.render.fog import add_through_fog
from world4scorer.city.render.kernel_types import CONTACT_SHADOW, NO_TRIANGLE, SUN_SHADOW
from world4scorer.city.render.noise import f32, hashed
from world4scorer.city.render.sky import look_up_sky
from world4scorer.city.scenery.surface import SurfaceClass
from world4scorer.engine.kernels import inlined, leaf

MIN_SLOPE: Final = 2e-3
"""Slope below which a ray hits the sky; the ground there is all fog."""
TILE_BITS: Final = 9
TILE_SIZE: Final = 1 << TILE_BITS
"""Texels along a tile."""
MIP_LEVELS: Final = 7
"""Mip levels, each half the size of the one before."""
FINE_RESOLUTION: Final = 8.0
COARSE_RESOLUTION: Final = 2.0
"""Texels per metre of the two kinds of tiles."""
MARKING_LIGHT: Final = 0.60
"""Reflectance of road markings."""
GRAIN_CELLS: Final = 32.0
"""Grains of asphalt per metre."""
GRAIN_DISTANCE: Final = 14.0
"""Distance up to which grains are visible [m]."""
UNPAINTED_COLOUR: Final = (0.13, 0.17, 0.08)
"""Linear colour of unpainted ground: grass."""
PATCH_CELLS: Final = 0.5
"""Cells per metre of wet patches."""


@inlined
def find_tile(ground, x, y):
    """(slot, x and y in texels, texels per metre) of the tile at a point; slot -1 where there is none."""
    slot, scale = np.int32(-1), f32(FINE_RESOLUTION)
    px, py = f32(0.0), f32(0.0)
    for kind in range(2):
        if slot < 0:
            scale = f32(FINE_RESOLUTION) if kind == 0 else f32(COARSE_RESOLUTION)
            px, py = (x - ground.corner[kind, 0]) * scale, (y - ground.corner[kind, 1]) * scale
            i, j = int(py) >> TILE_BITS, int(px) >> TILE_BITS
            if px >= f32(0.0) and py >= f32(0.0) and i < ground.slots.shape[1] and j < ground.slots.shape[2]:
                slot = ground.slots[kind, i, j]
                px, py = px - f32(j * TILE_SIZE), py - f32(i * TILE_SIZE)
    return slot, px, py, scale


@leaf
def ground_class(ground, x, y):
    """`SurfaceClass` of a point on the ground."""
    slot, px, py, _ = find_tile(ground, x, y)
    if slot < 0:
        return np.uint8(SurfaceClass.GROUND)
    return ground.classes[slot, min(int(py), TILE_SIZE - 1), min(int(px), TILE_SIZE - 1)]


@inlined
def mixed(a, b, c, d, right, down):
    """Two bytes of four texels at once (the lowest and the third), weighted by sixteenths to the right and down.

    Every product fits into the 16 bits that a byte has for itself.
    """
    even = 0x00FF00FF
    left, up = 16 - right, 16 - down
    return (
        (a & even) * (left * up) + (b & even) * (right * up) + (c & even) * (left * down) + (d & even) * (right * down)
    )


@leaf
def shade_ground(ground, view, light, decode, ids, shadow, slope, pixel, supersample, weight, total):
    """Add the light of the ground in one row of samples to `total` (3 pixels,).

    `slope` is that of the row's rays, `pixel` its step between samples; a sample counts `weight` times.
    """
    columns = ids.shape[0]
    a, eye = view.axes, view.eye
    bx, by, bz = a[1, 0] * slope + a[2, 0], a[1, 1] * slope + a[2, 1], a[1, 2] * slope + a[2, 2]
    anchor_x, anchor_y = view.anchor[0] + f32(1024.0), view.anchor[1] + f32(1024.0)
    sun_r, sun_g, sun_b = light.sun[0] * light.to_sun[2], light.sun[1] * light.to_sun[2], light.sun[2] * light.to_sun[2]
    sky_r, sky_g, sky_b = light.ambient[0], light.ambient[1], light.ambient[2]
    ahead_x, ahead_y = view.ahead[0], view.ahead[1]
    lamps, wet, contact, fog = light.lamps, light.wetness, light.contact, light.fog
    level, shrink = 0, f32(1.0)
    u, place = 0, -1
    for k in range(columns):
        # Counting is faster than dividing by the number of samples.
        place += 1
        if place == supersample:
            u, place = u + 1, 0
        column = (f32(k) + f32(0.5) - f32(0.5) * f32(columns)) * pixel
        dz = a[0, 2] * column + bz
        if ids[k] != NO_TRIANGLE or dz >= f32(-MIN_SLOPE):
            continue
        dx, dy = a[0, 0] * column + bx, a[0, 1] * column + by
        depth = -eye[2] / dz
        x, y = eye[0] + depth * dx, eye[1] + depth * dy
        slot, px, py, scale = find_tile(ground, x, y)
        r, g, b = f32(UNPAINTED_COLOUR[0]), f32(UNPAINTED_COLOUR[1]), f32(UNPAINTED_COLOUR[2])
        paved = False
        if slot >= 0:
            if wet > f32(0.0):
                surface = ground.classes[slot, min(int(py), TILE_SIZE - 1), min(int(px), TILE_SIZE - 1)]
                paved = surface != SurfaceClass.GROUND
            # Pixels are long along the view and narrow across it; a size between the two neither blurs nor flickers.
            across = depth * pixel
            texel = across * (f32(0.6) + f32(0.4) * depth / eye[2]) * scale
            while texel * shrink > f32(1.2) and level < MIP_LEVELS - 1:
                shrink *= f32(0.5)
                level += 1
            while level > 0 and texel * shrink <= f32(0.6):
                shrink *= f32(2.0)
                level -= 1
            texel, px, py = texel * shrink, px * shrink, py * shrink
            size = TILE_SIZE >> level
            if level > 0:
                # Far away the samples of a pixel already mix neighbouring texels.
                i, j = min(int(py), size - 1), min(int(px), size - 1)
                red_blue = np.int64(ground.texels[slot, ground.level_start[level] + i * size + j])
                green_white = red_blue & 0xFF00FF00
                red_blue = (red_blue & 0x00FF00FF) << 8
            else:
                fx, fy = max(px - f32(0.5), f32(0.0)), max(py - f32(0.5), f32(0.0))
                i, j = min(int(fy), size - 1), min(int(fx), size - 1)
                part_x, part_y = min(int((fx - f32(j)) * f32(16.0)), 16), min(int((fy - f32(i)) * f32(16.0)), 16)
                start = i * size + j
                right = 1 if j < size - 1 else 0
                below = start + (size if i < size - 1 else 0)
                t00, t01 = np.int64(ground.texels[slot, start]), np.int64(ground.texels[slot, start + right])
                t10, t11 = np.int64(ground.texels[slot, below]), np.int64(ground.texels[slot, below + right])
                red_blue = mixed(t00, t01, t10, t11, part_x, part_y)
                green_white = mixed(t00 >> 8, t01 >> 8, t10 >> 8, t11 >> 8, part_x, part_y)
            r, g, b = decode[(red_blue >> 8) & 255], decode[(green_white >> 8) & 255], decode[red_blue >> 24]
            white = green_white >> 24
            if white:
                paint = f32(white) * f32(1.0 / 255.0)
                # Where a texel is larger than a pixel its border is drawn sharp.
                sharp = max(f32(1.0), min(f32(1.0) / (texel + f32(0.05)), f32(5.0)))
                paint = min(max((paint - f32(0.5)) * sharp + f32(0.5), f32(0.0)), f32(1.0)) * f32(0.93)
                r += (f32(MARKING_LIGHT) - r) * paint
                g += (f32(MARKING_LIGHT) - g) * paint
                b += (f32(MARKING_LIGHT) - b) * paint
            if depth < f32(GRAIN_DISTANCE):
                grain_x, grain_y = int((x + anchor_x) * f32(GRAIN_CELLS)), int((y + anchor_y) * f32(GRAIN_CELLS))
                strength = f32(0.22) * (f32(1.0) - depth * f32(1.0 / GRAIN_DISTANCE))
                grain = f32(1.0) + strength * (hashed(grain_x & 8191, grain_y & 8191, 5) - f32(0.5))
                r, g, b = r * grain, g * grain, b * grain
        mark = shadow[k]
        sunny = f32(0.0) if mark & SUN_SHADOW else f32(1.0)
        open_sky = contact if mark & CONTACT_SHADOW else f32(1.0)
        lr, lg, lb = (
            sky_r * open_sky + sun_r * sunny,
            sky_g * open_sky + sun_g * sunny,
            sky_b * open_sky + sun_b * sunny,
        )
        if lamps > f32(0.2):
            ahead, beside = x * ahead_x + y * ahead_y, y * ahead_x - x * ahead_y
            if ahead > f32(3.0):
                spread = beside / (f32(1.2) + f32(0.28) * ahead)
                far = ahead * f32(0.045)
                near = min((ahead - f32(3.0)) * f32(0.4), f32(1.0))
                beam = (
                    f32(0.6) * near * lamps / ((f32(1.0) + spread * spread * spread * spread) * (f32(1.0) + far * far))
                )
                lr, lg, lb = lr + beam, lg + beam * f32(0.95), lb + beam * f32(0.82)
        r, g, b = r * lr, g * lg, b * lb
        if paved:
            grazing = f32(1.0) + dz / np.sqrt(dx * dx + dy * dy + dz * dz)
            mirror = f32(0.04) + f32(0.7) * grazing * grazing * grazing * grazing
            i, j = int((x + anchor_x) * f32(PATCH_CELLS)) & 127, int((y + anchor_y) * f32(PATCH_CELLS)) & 127
            mirror *= wet * (f32(0.55) + f32(0.3) * hashed(i, j, 3))
            sr, sg, sb = look_up_sky(dx, dy, dz, light.sky)
            dark = (f32(1.0) - f32(0.4) * wet) * (f32(1.0) - mirror)
            r, g, b = r * dark + sr * mirror, g * dark + sg * mirror, b * dark + sb * mirror
        add_through_fog(r, g, b, depth, fog, light.fog_colour, weight, total, u)
