"""Windows, shops and storeys, drawn from the position on a wall instead of a picture."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from world4scorer.kernels import leaf
from world4scorer.render.noise import f32, hashed
from world4scorer.render.sky import look_up_sky


class Facade(IntEnum):
    """Columns of the facade table (float32)."""

    DIR_X = 0
    """Unit vector along the wall."""
    DIR_Y = 1
    STOREY = 2
    """Height of a storey [m]."""
    BAY = 3
    """Distance between windows [m]."""
    WIDE = 4
    """Share of a bay that is window."""
    TALL = 5
    """Share of a storey that is window."""
    SHOPS = 6
    """1 with shop windows at street level."""
    HEIGHT = 7
    """Of the wall [m]."""
    SEED = 8
    RED = 9
    GREEN = 10
    BLUE = 11
    """Colour of shop signs, balconies and shutters (linear)."""
    BALCONIES = 12
    """Every how many bays there is a balcony; 0 for none."""


GLASS_LIGHT: Final = 0.06
"""Own brightness of a dark window in daylight."""
LIT_SHARE: Final = 0.42
"""Windows that are lit when it is dark."""
BLUR_FROM: Final = 0.22
BLUR_TO: Final = 0.9
"""Where windows fade into the wall: footprint of a pixel as a share of a bay."""


@leaf
def window_at(row, u, v):
    """What is at u metres along and v metres up a wall: (kind, bay, storey).

    Kinds: 0 wall, 1 glass, 2 frame, 3 sign or balcony, 4 ledge.
    """
    storey_height, bay_width = row[Facade.STOREY], row[Facade.BAY]
    storey = int(v / storey_height)
    up = v / storey_height - f32(storey)
    shifted = u / bay_width + f32(1024.0)
    bay = int(shifted)
    along = abs(shifted - f32(bay) - f32(0.5))
    if v > row[Facade.HEIGHT] - f32(0.55):
        return 4, bay, storey
    if storey == 0 and row[Facade.SHOPS] > f32(0.5):
        if up > f32(0.80):
            return (3 if up < f32(0.97) else 4), bay, storey
        if up > f32(0.10) and along < f32(0.43):
            return (1 if along < f32(0.40) and up < f32(0.77) else 2), bay, storey
        return 0, bay, storey
    if up < f32(0.035) and storey > 0:
        return 4, bay, storey
    half = row[Facade.WIDE] * f32(0.5)
    low = f32(0.26)
    high = low + row[Facade.TALL]
    every = int(row[Facade.BALCONIES])
    if every > 0 and storey > 0 and bay % every == 1:
        if up < f32(0.32) and along < f32(0.47):
            return 3, bay, storey
        low = f32(0.05)
    if along < half and low < up < high:
        frame = f32(0.05) / bay_width
        thin = f32(0.06) / storey_height
        inside = frame * f32(0.6) < along < half - frame and low + thin < up < high - thin
        return (1 if inside else 2), bay, storey
    return 0, bay, storey


@leaf
def shade_facade(row, u, v, footprint, wall, normal, dx, dy, dz, light):
    """Colour of a wall: `wall` is its own colour under the light, (dx, dy, dz) the ray that hit it."""
    kind, bay, storey = window_at(row, u, v)
    seed = int(row[Facade.SEED])
    r, g, b = wall[0], wall[1], wall[2]
    stain = f32(0.94) + f32(0.10) * hashed(bay, storey, seed + 7)
    # The plinth is darker; walls grow lighter towards the sky.
    stain *= f32(0.90) + f32(0.10) * min(v * f32(0.12), f32(1.0))
    r, g, b = r * stain, g * stain, b * stain
    if kind == 0:
        return r, g, b
    if kind == 4:
        return r * f32(1.22), g * f32(1.22), b * f32(1.2)
    shine = (light.ambient[0] + light.bounce[0]) * f32(0.5)
    if kind == 2:
        wr, wg, wb = (
            r * f32(0.4) + shine * f32(0.45),
            g * f32(0.4) + shine * f32(0.45),
            b * f32(0.4) + shine * f32(0.44),
        )
    elif kind == 3:
        glow = shine + (light.lamps if storey == 0 else f32(0.0)) + f32(0.35) * light.sun[0]
        wr, wg, wb = row[Facade.RED] * glow, row[Facade.GREEN] * glow, row[Facade.BLUE] * glow
    else:
        facing = dx * normal[0] + dy * normal[1] + dz * normal[2]
        sr, sg, sb = look_up_sky(
            dx - f32(2.0) * facing * normal[0], dy - f32(2.0) * facing * normal[1], abs(dz) + f32(0.15), light.sky
        )
        chance = hashed(bay, storey, seed)
        mirror = f32(0.16) + f32(0.22) * hashed(bay, storey, seed + 3)
        curtain = f32(0.05) + f32(0.30) * max(chance - f32(0.55), f32(0.0))
        wr = sr * mirror + curtain * shine + f32(GLASS_LIGHT) * shine
        wg = sg * mirror + curtain * shine + f32(GLASS_LIGHT) * shine
        wb = sb * mirror + curtain * shine + f32(GLASS_LIGHT) * shine
        shop = storey == 0 and row[Facade.SHOPS] > f32(0.5)
        if light.lamps > f32(0.0) and (hashed(bay, storey, seed + light.seed) < f32(LIT_SHARE) or shop):
            warm = light.lamps * (f32(0.55) + f32(0.5) * chance)
            wr, wg, wb = wr + warm * f32(1.0), wg + warm * f32(0.68), wb + warm * f32(0.34)
    blur = (footprint / row[Facade.BAY] - f32(BLUR_FROM)) / f32(BLUR_TO - BLUR_FROM)
    keep = f32(1.0) - f32(0.75) * min(max(blur, f32(0.0)), f32(1.0))
    return r + (wr - r) * keep, g + (wg - g) * keep, b + (wb - b) * keep
