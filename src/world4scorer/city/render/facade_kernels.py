"""Procedural facades: windows, shops and storeys from the position on a wall."""

from __future__ import annotations

from typing import Final

from world4scorer.city.render.fog import add_through_fog
from world4scorer.city.render.noise import f32, hashed
from world4scorer.city.render.sky import look_up_sky
from world4scorer.city.scenery.facade import Facade
from world4scorer.city.scenery.surface import Material
from world4scorer.engine.kernels import leaf

GLASS_LIGHT: Final = 0.06
"""Brightness of a dark window in daylight."""
LIT_WINDOW_SHARE: Final = 0.42
"""Share of windows lit in the dark."""
WALL, GLASS, FRAME, SIGN, LEDGE = range(5)
"""Kinds of wall elements."""
BLUR_START: Final = 0.22
BLUR_END: Final = 0.9
"""Pixel footprint / bay width between which windows fade into the wall."""


@leaf
def window_at(row, u, v):
    """Wall element at u metres along and v metres up: (kind, bay, storey).

    The kind is one of the constants above; a balcony counts as a sign.
    """
    up = v * row[Facade.STOREYS]
    storey = int(up)
    up -= f32(storey)
    shifted = u * row[Facade.BAYS] + f32(1024.0)
    bay = int(shifted)
    along = abs(shifted - f32(bay) - f32(0.5))
    if v > row[Facade.HEIGHT] - f32(0.55):
        return LEDGE, bay, storey
    if storey == 0 and row[Facade.SHOPS] > f32(0.5):
        if up > f32(0.80):
            return (SIGN if up < f32(0.97) else LEDGE), bay, storey
        if up > f32(0.10) and along < f32(0.43):
            return (GLASS if along < f32(0.40) and up < f32(0.77) else FRAME), bay, storey
        return WALL, bay, storey
    if up < f32(0.035) and storey > 0:
        return LEDGE, bay, storey
    half = row[Facade.WIDE] * f32(0.5)
    low = f32(0.26)
    high = low + row[Facade.TALL]
    every = int(row[Facade.BALCONIES])
    if every > 0 and storey > 0 and bay % every == 1:
        if up < f32(0.32) and along < f32(0.47):
            return SIGN, bay, storey
        low = f32(0.05)
    if along < half and low < up < high:
        frame, thin = f32(0.05) * row[Facade.BAYS], f32(0.06) * row[Facade.STOREYS]
        inside = frame * f32(0.6) < along < half - frame and low + thin < up < high - thin
        return (GLASS if inside else FRAME), bay, storey
    return WALL, bay, storey


@leaf
def shade_walls(frame, facades, view, light, ids, inverse_depth, y, pixel, supersample, total):
    """Add the light of walls in one row of samples to `total` (3 pixels,).

    y is the slope of the row's rays, `pixel` the step of slope between samples.
    """
    columns = ids.shape[0]
    a, eye, weight = view.axes, view.eye, f32(1.0)
    bx, by, bz = a[1, 0] * y + a[2, 0], a[1, 1] * y + a[2, 1], a[1, 2] * y + a[2, 2]
    shine = (light.ambient[0] + light.bounce[0]) * f32(0.5)
    lamps, sunlight, fog = light.lamps, light.sun[0], light.fog
    last, last_bay, last_storey = -1, 0, 0
    chance, dirt, mirror, lit = f32(0.0), f32(0.0), f32(0.0), False
    u, place = 0, -1
    for k in range(columns):
        # Counting is quicker than dividing by the number of samples.
        place += 1
        if place == supersample:
            u, place = u + 1, 0
        t = ids[k]
        if t < 0 or frame.material[t] != Material.FACADE:
            continue
        x = (f32(k) + f32(0.5) - f32(0.5) * f32(columns)) * pixel
        dx, dy, dz = a[0, 0] * x + bx, a[0, 1] * x + by, a[0, 2] * x + bz
        depth = f32(1.0) / inverse_depth[k]
        row = facades[frame.detail[t]]
        along = (eye[0] + depth * dx - frame.corners[t, 0, 0]) * row[Facade.DIR_X]
        along += (eye[1] + depth * dy - frame.corners[t, 0, 1]) * row[Facade.DIR_Y] + frame.offset[t]
        v = max(eye[2] + depth * dz, f32(0.0))
        kind, bay, storey = window_at(row, along, v)
        if t != last or bay != last_bay or storey != last_storey:
            # Neighbouring samples mostly lie in the same bay, which has its own random numbers.
            last, last_bay, last_storey = t, bay, storey
            seed = int(row[Facade.SEED])
            chance, dirt = hashed(bay, storey, seed), hashed(bay, storey, seed + 7)
            mirror = f32(0.16) + f32(0.22) * hashed(bay, storey, seed + 3)
            shop = storey == 0 and row[Facade.SHOPS] > f32(0.5)
            lit = lamps > f32(0.0) and (shop or hashed(bay, storey, seed + light.seed) < f32(LIT_WINDOW_SHARE))
        # The plinth is darker; walls grow lighter towards the sky.
        stain = (f32(0.94) + f32(0.10) * dirt) * (f32(0.90) + f32(0.10) * min(v * f32(0.12), f32(1.0)))
        r, g, b = frame.colour[t, 0] * stain, frame.colour[t, 1] * stain, frame.colour[t, 2] * stain
        if kind == LEDGE:
            r, g, b = r * f32(1.22), g * f32(1.22), b * f32(1.2)
        elif kind != WALL:
            wr, wg, wb = (
                r * f32(0.4) + shine * f32(0.45),
                g * f32(0.4) + shine * f32(0.45),
                b * f32(0.4) + shine * f32(0.44),
            )
            if kind == SIGN:
                glow = shine + f32(0.35) * sunlight + (lamps if storey == 0 else f32(0.0))
                wr, wg, wb = row[Facade.RED] * glow, row[Facade.GREEN] * glow, row[Facade.BLUE] * glow
            elif kind == GLASS:
                n = frame.normal[t]
                facing = f32(2.0) * (dx * n[0] + dy * n[1])
                sr, sg, sb = look_up_sky(dx - facing * n[0], dy - facing * n[1], abs(dz) + f32(0.15), light.sky)
                inside = (f32(0.05 + GLASS_LIGHT) + f32(0.30) * max(chance - f32(0.55), f32(0.0))) * shine
                wr, wg, wb = sr * mirror + inside, sg * mirror + inside, sb * mirror + inside
                if lit:
                    warm = lamps * (f32(0.45) + f32(0.5) * chance)
                    wr, wg, wb = wr + warm, wg + warm * f32(0.66), wb + warm * f32(0.32)
            blur = (depth * pixel * row[Facade.BAYS] - f32(BLUR_START)) / f32(BLUR_END - BLUR_START)
            keep = f32(1.0) - f32(0.75) * min(max(blur, f32(0.0)), f32(1.0))
            r, g, b = r + (wr - r) * keep, g + (wg - g) * keep, b + (wb - b) * keep
        add_through_fog(r, g, b, depth, fog, light.fog_colour, weight, total, u)
