"""What colour is each sample? Sky, ground, walls, leaves and cars, with fog, averaged into pixels."""

from __future__ import annotations

from typing import Final

import numpy as np

from world4scorer.kernels import leaf
from world4scorer.render.facades import shade_facade
from world4scorer.render.frame import CONTACT_SHADOW, SUN_SHADOW
from world4scorer.render.ground_look import ground_class, shade_ground
from world4scorer.render.light import TONE_STEPS, TONE_WHITE
from world4scorer.render.noise import f32, hashed
from world4scorer.render.sky import look_up_sky
from world4scorer.render.surface import Material, SurfaceClass

HORIZON: Final = 2e-3
"""Slope of a ray below which it counts as sky; the ground there is all fog."""
MIRROR_GLASS: Final = 0.55
MIRROR_PAINT: Final = 0.10
"""Share of the sky that car windows and car paint reflect, seen straight on."""
LEAF_CELLS: Final = 4.0
"""Clumps of leaves per metre."""
ROOF_ROWS: Final = 3.0
"""Rows of tiles per metre of height."""


@leaf
def through_fog(depth, density):
    """Share of light that gets through; a rational exp(-density * depth)."""
    k = depth * density
    return f32(1.0) / (f32(1.0) + k * (f32(1.0) + k * (f32(0.48) + k * f32(0.235))))


@leaf
def shade_triangle(frame, facades, t, depth, dx, dy, dz, footprint, view, light):
    """Light from a triangle towards the camera, before fog."""
    material = frame.material[t]
    colour = frame.colour[t]
    if material == Material.MATT or material == Material.LAMP or material == Material.STREET_LAMP:
        return colour[0], colour[1], colour[2]
    x, y, z = view.eye[0] + depth * dx, view.eye[1] + depth * dy, view.eye[2] + depth * dz
    normal = frame.normal[t]
    if material == Material.FACADE:
        row = facades[frame.detail[t]]
        corner = frame.corners[t, 0]
        u = (x - corner[0]) * row[0] + (y - corner[1]) * row[1] + frame.offset[t]
        return shade_facade(row, u, max(z, f32(0.0)), footprint, colour, normal, dx, dy, dz, light)
    if material == Material.LEAVES or material == Material.ROOF:
        if material == Material.LEAVES:
            i = int((x + view.anchor[0] + f32(1024.0)) * f32(LEAF_CELLS)) & 1023
            j = int((y + view.anchor[1] + f32(1024.0)) * f32(LEAF_CELLS)) & 1023
            # Smaller clumps are added close by, where they can be seen.
            h = hashed(i, j, int(z * f32(LEAF_CELLS)))
            if footprint < f32(0.04):
                k = int((x + y + view.anchor[0] + view.anchor[1] + f32(1024.0)) * f32(16.0)) & 4095
                h = f32(0.6) * h + f32(0.4) * hashed(k, int(z * f32(18.0)), i)
            tone = f32(0.55) + f32(0.9) * h
        else:
            row_of_tiles = z * f32(ROOF_ROWS)
            tone = f32(0.86) if row_of_tiles - f32(int(row_of_tiles)) < f32(0.3) and footprint < f32(0.15) else f32(1.0)
        return colour[0] * tone, colour[1] * tone, colour[2] * tone
    length = f32(1.0) / np.sqrt(dx * dx + dy * dy + dz * dz)
    facing = (dx * normal[0] + dy * normal[1] + dz * normal[2]) * length
    graze = f32(1.0) + facing
    graze = max(graze * graze * graze, f32(0.0))
    base = f32(MIRROR_GLASS if material == Material.GLASS else MIRROR_PAINT)
    mirror = base + (f32(0.75) - base) * graze
    up = dz * length - f32(2.0) * facing * normal[2]
    sr, sg, sb = look_up_sky(
        dx * length - f32(2.0) * facing * normal[0],
        dy * length - f32(2.0) * facing * normal[1],
        max(up, f32(0.0)) + f32(0.02),
        light.sky,
    )
    if up < f32(0.0):
        # The road and whatever stands on it is darker than the sky.
        sr, sg, sb = light.bounce[0], light.bounce[1], light.bounce[2]
    return (
        colour[0] * (f32(1.0) - mirror) + sr * mirror,
        colour[1] * (f32(1.0) - mirror) + sg * mirror,
        colour[2] * (f32(1.0) - mirror) + sb * mirror,
    )


@leaf
def shade_picture(frame, facades, ground, light, view, tables, inverse_depth, ids, shadow, supersample, image):
    """Colour all pixels of `image` (H, W, 3) from buffers that are `supersample` times as large in each direction."""
    decode, tone = tables
    height, width = image.shape[0], image.shape[1]
    rows, columns = ids.shape
    a = view.axes
    pixel = f32(1.0) / view.focal
    share = light.exposure / f32(supersample * supersample)
    scale = f32(TONE_STEPS - 1)
    for v in range(height):
        for u in range(width):
            total_r, total_g, total_b = f32(0.0), f32(0.0), f32(0.0)
            last, last_r, last_g, last_b = -2, f32(0.0), f32(0.0), f32(0.0)
            for sub in range(supersample * supersample):
                sv, su = v * supersample + sub // supersample, u * supersample + sub % supersample
                t = ids[sv, su]
                if t >= 0 and t == last:
                    total_r, total_g, total_b = total_r + last_r, total_g + last_g, total_b + last_b
                    continue
                x = (f32(su) + f32(0.5) - f32(0.5) * columns) * pixel
                y = (f32(sv) + f32(0.5) - f32(0.5) * rows) * pixel
                dx = a[0, 0] * x + a[1, 0] * y + a[2, 0]
                dy = a[0, 1] * x + a[1, 1] * y + a[2, 1]
                dz = a[0, 2] * x + a[1, 2] * y + a[2, 2]
                if t >= 0:
                    depth = f32(1.0) / inverse_depth[sv, su]
                    r, g, b = shade_triangle(frame, facades, t, depth, dx, dy, dz, depth * pixel, view, light)
                elif dz < f32(-HORIZON):
                    depth = -view.eye[2] / dz
                    mark = shadow[sv, su]
                    sunny = f32(0.0) if mark & SUN_SHADOW else f32(1.0)
                    open_sky = light.contact if mark & CONTACT_SHADOW else f32(1.0)
                    r, g, b = shade_ground(ground, depth, dx, dy, dz, pixel, sunny, open_sky, view, light, decode)
                else:
                    depth = f32(0.0)
                    r, g, b = look_up_sky(dx, dy, max(dz, f32(0.0)), light.sky)
                if depth > f32(0.0):
                    clear = through_fog(depth, light.fog)
                    r = light.fog_colour[0] + (r - light.fog_colour[0]) * clear
                    g = light.fog_colour[1] + (g - light.fog_colour[1]) * clear
                    b = light.fog_colour[2] + (b - light.fog_colour[2]) * clear
                total_r, total_g, total_b = total_r + r, total_g + g, total_b + b
                if t >= 0 and frame.material[t] != Material.FACADE:
                    last, last_r, last_g, last_b = t, r, g, b
            for k in range(3):
                value = total_r if k == 0 else (total_g if k == 1 else total_b)
                value = np.sqrt(min(max(value * share, f32(0.0)), f32(TONE_WHITE)) * f32(1.0 / TONE_WHITE))
                image[v, u, k] = tone[int(value * scale + f32(0.5))]


@leaf
def label_picture(frame, ground, view, inverse_depth, ids, classes, depths, instances):
    """Class, depth [m] along the optical axis (inf for sky) and actor (-1 for none) of each sample."""
    rows, columns = ids.shape
    a = view.axes
    pixel = f32(1.0) / view.focal
    for v in range(rows):
        y = (f32(v) + f32(0.5) - f32(0.5) * rows) * pixel
        for u in range(columns):
            t = ids[v, u]
            if t >= 0:
                classes[v, u] = frame.surface[t]
                depths[v, u] = f32(1.0) / inverse_depth[v, u]
                instances[v, u] = frame.instance[t]
                continue
            instances[v, u] = -1
            x = (f32(u) + f32(0.5) - f32(0.5) * columns) * pixel
            dz = a[0, 2] * x + a[1, 2] * y + a[2, 2]
            if dz < f32(-HORIZON):
                depth = -view.eye[2] / dz
                dx, dy = a[0, 0] * x + a[1, 0] * y + a[2, 0], a[0, 1] * x + a[1, 1] * y + a[2, 1]
                depths[v, u] = depth
                classes[v, u] = ground_class(ground, view.eye[0] + depth * dx, view.eye[1] + depth * dy)
            else:
                depths[v, u] = f32(np.inf)
                classes[v, u] = SurfaceClass.SKY
