"""Shade samples (sky, ground, walls, leaves, cars, fog) and average them into pixels.

Samples are coloured row by row, one kind of surface after the other: a call per sample would spend more time on
passing arguments than on light.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from world4scorer.city.render.facade_kernels import shade_walls
from world4scorer.city.render.fog import add_through_fog
from world4scorer.city.render.ground_kernels import FINE_RESOLUTION, MIN_SLOPE, ground_class, shade_ground
from world4scorer.city.render.kernel_types import NO_TRIANGLE, SHADED
from world4scorer.city.render.noise import f32, hashed
from world4scorer.city.render.sky import look_up_sky
from world4scorer.city.scenery.light import TONE_STEPS, TONE_WHITE
from world4scorer.city.scenery.surface import Material, SurfaceClass
from world4scorer.engine.kernels import leaf

MIRROR_GLASS: Final = 0.55
MIRROR_PAINT: Final = 0.10
"""Reflectance of car windows and car paint for the sky, at normal incidence."""
LEAF_CELLS: Final = 4.0
"""Clumps of leaves per metre."""
MAX_EVEN_TEXELS: Final = 1.0
"""Texels per pixel up to which one ground sample is enough."""
ROOF_ROWS: Final = 3.0
"""Rows of tiles per metre of height."""


@leaf
def shade_things(frame, view, light, ids, inverse_depth, y, pixel, supersample, weight, total):
    """Add the light of everything but walls and ground in one row of samples to `total` (3 pixels,)."""
    columns = ids.shape[0]
    a, eye = view.axes, view.eye
    bx, by, bz = a[1, 0] * y + a[2, 0], a[1, 1] * y + a[2, 1], a[1, 2] * y + a[2, 2]
    fog, anchor_x, anchor_y = light.fog, view.anchor[0] + f32(1024.0), view.anchor[1] + f32(1024.0)
    u, place = 0, -1
    for k in range(columns):
        # Counting is quicker than dividing by the number of samples.
        place += 1
        if place == supersample:
            u, place = u + 1, 0
        t = ids[k]
        if t == SHADED:
            continue
        x = (f32(k) + f32(0.5) - f32(0.5) * f32(columns)) * pixel
        dx, dy, dz = a[0, 0] * x + bx, a[0, 1] * x + by, a[0, 2] * x + bz
        if t < 0:
            if dz >= f32(-MIN_SLOPE):
                r, g, b = look_up_sky(dx, dy, max(dz, f32(0.0)), light.sky)
                add_through_fog(r, g, b, f32(0.0), fog, light.fog_colour, weight, total, u)
            continue
        material = frame.material[t]
        if material == Material.FACADE:
            continue
        depth = f32(1.0) / inverse_depth[k]
        r, g, b = frame.colour[t, 0], frame.colour[t, 1], frame.colour[t, 2]
        if material == Material.LEAVES:
            px, py, pz = eye[0] + depth * dx + anchor_x, eye[1] + depth * dy + anchor_y, eye[2] + depth * dz
            i, j = int(px * f32(LEAF_CELLS)) & 1023, int(py * f32(LEAF_CELLS)) & 1023
            clump = hashed(i, j, int(pz * f32(LEAF_CELLS)))
            if depth * pixel < f32(0.04):
                # Smaller clumps close by, where they can be seen.
                clump = f32(0.6) * clump + f32(0.4) * hashed(int((px + py) * f32(16.0)) & 4095, int(pz * f32(18.0)), i)
            strength = f32(0.9) * min(f32(1.0), f32(0.12) / (depth * pixel))
            tone = f32(1.0) + strength * (clump - f32(0.5))
            r, g, b = r * tone, g * tone, b * tone
        elif material == Material.ROOF:
            height = (eye[2] + depth * dz) * f32(ROOF_ROWS)
            if height - f32(int(height)) < f32(0.3) and depth * pixel < f32(0.15):
                r, g, b = r * f32(0.86), g * f32(0.86), b * f32(0.86)
        elif material == Material.PAINTWORK or material == Material.GLASS:
            n = frame.normal[t]
            length = f32(1.0) / np.sqrt(dx * dx + dy * dy + dz * dz)
            dx, dy, dz = dx * length, dy * length, dz * length
            facing = dx * n[0] + dy * n[1] + dz * n[2]
            graze = max(f32(1.0) + facing, f32(0.0))
            base = f32(MIRROR_GLASS if material == Material.GLASS else MIRROR_PAINT)
            most = f32(0.8 if material == Material.GLASS else 0.5)
            mirror = base + (most - base) * graze * graze * graze
            mx, my = dx - f32(2.0) * facing * n[0], dy - f32(2.0) * facing * n[1]
            mz = dz - f32(2.0) * facing * n[2]
            sr, sg, sb = look_up_sky(mx, my, max(mz, f32(0.0)) + f32(0.02), light.sky)
            # Towards and below the horizon a car mirrors the street, which is darker than the sky.
            street = min(max(f32(0.75) - mz * f32(3.0), f32(0.0)), f32(1.0))
            sr += (light.bounce[0] * f32(1.6) - sr) * street
            sg += (light.bounce[1] * f32(1.6) - sg) * street
            sb += (light.bounce[2] * f32(1.6) - sb) * street
            r, g, b = r + (sr - r) * mirror, g + (sg - g) * mirror, b + (sb - b) * mirror
        add_through_fog(r, g, b, depth, fog, light.fog_colour, weight, total, u)


@leaf
def find_even_pixels(frame, view, first, supersample, inverse_depth, ids, shadow, even, even_depth, even_shadow):
    """Find the pixels of a row that need one sample: all their samples see the same smooth surface.

    Writes its triangle, reciprocal depth and shadow per pixel and marks the samples as done; other pixels get DONE.
    """
    a, eye = view.axes, view.eye
    width, rows, columns = even.shape[0], ids.shape[0], ids.shape[1]
    pixel = f32(supersample) / view.focal
    y = (f32(first) + f32(0.5) * f32(supersample) - f32(0.5) * f32(rows)) / view.focal
    count = supersample * supersample
    for u in range(width):
        start = u * supersample
        t, mark, depth, alike = ids[first, start], shadow[first, start], f32(0.0), True
        for i in range(first, first + supersample):
            for j in range(start, start + supersample):
                alike = alike and ids[i, j] == t and shadow[i, j] == mark
                depth += inverse_depth[i, j]
        if alike and t == NO_TRIANGLE:
            x = (f32(start) + f32(0.5) * f32(supersample) - f32(0.5) * f32(columns)) / view.focal
            dz = a[0, 2] * x + a[1, 2] * y + a[2, 2]
            if dz < f32(0.0):
                # One sample is enough where a texel is larger than a pixel.
                away = -eye[2] / dz
                alike = away * pixel * (f32(0.6) + f32(0.4) * away / eye[2]) * f32(FINE_RESOLUTION) < f32(
                    MAX_EVEN_TEXELS
                )
            else:
                alike = dz > pixel
        elif alike:
            alike = frame.material[t] != Material.FACADE
        even[u] = t if alike else SHADED
        even_depth[u] = depth / f32(count)
        even_shadow[u] = mark
        if alike:
            for i in range(first, first + supersample):
                for j in range(start, start + supersample):
                    ids[i, j] = SHADED


@leaf
def shade_picture(
    frame, facades, ground, light, view, tables, inverse_depth, ids, shadow, supersample, row, total, image
):
    """Colour `image` (H, W, 3) from buffers `supersample` times as large each way; `row` and `total` are
    scratch: three arrays (W,) and one (3 W,).
    """
    decode, tone = tables
    height, width = image.shape[0], image.shape[1]
    rows = ids.shape[0]
    pixel = f32(1.0) / view.focal
    share = light.exposure / f32(supersample * supersample * TONE_WHITE)
    scale = f32(TONE_STEPS - 1)
    # A literal 1 would be a type of its own for Numba, and the functions would be compiled twice.
    one, count = np.int64(1), f32(supersample * supersample)
    even, even_depth, even_shadow = row
    for v in range(height):
        total[:] = f32(0.0)
        first = v * supersample
        find_even_pixels(frame, view, first, supersample, inverse_depth, ids, shadow, even, even_depth, even_shadow)
        y, step = (f32(first) + f32(0.5) * f32(supersample) - f32(0.5) * f32(rows)) * pixel, pixel * f32(supersample)
        shade_ground(ground, view, light, decode, even, even_shadow, y, step, one, count, total)
        shade_things(frame, view, light, even, even_depth, y, step, one, count, total)
        for s in range(first, first + supersample):
            y = (f32(s) + f32(0.5) - f32(0.5) * f32(rows)) * pixel
            shade_ground(ground, view, light, decode, ids[s], shadow[s], y, pixel, supersample, f32(1.0), total)
            shade_walls(frame, facades, view, light, ids[s], inverse_depth[s], y, pixel, supersample, total)
            shade_things(frame, view, light, ids[s], inverse_depth[s], y, pixel, supersample, f32(1.0), total)
        for k in range(3 * width):
            total[k] = np.sqrt(min(max(total[k] * share, f32(0.0)), f32(1.0))) * scale
        for u in range(width):
            for k in range(3):
                image[v, u, k] = tone[int(total[3 * u + k] + f32(0.5))]


@leaf
def label_picture(frame, ground, view, inverse_depth, ids, classes, depths, instances):
    """Class, depth [m] along the optical axis (inf for sky) and actor (-1 for none) of each sample."""
    rows, columns = ids.shape
    a = view.axes
    pixel = f32(1.0) / view.focal
    for v in range(rows):
        y = (f32(v) + f32(0.5) - f32(0.5) * f32(rows)) * pixel
        for u in range(columns):
            t = ids[v, u]
            if t >= 0:
                classes[v, u] = frame.surface[t]
                depths[v, u] = f32(1.0) / inverse_depth[v, u]
                instances[v, u] = frame.instance[t]
                continue
            instances[v, u] = -1
            x = (f32(u) + f32(0.5) - f32(0.5) * f32(columns)) * pixel
            dz = a[0, 2] * x + a[1, 2] * y + a[2, 2]
            if dz < f32(-MIN_SLOPE):
                depth = -view.eye[2] / dz
                dx, dy = a[0, 0] * x + a[1, 0] * y + a[2, 0], a[0, 1] * x + a[1, 1] * y + a[2, 1]
                depths[v, u] = depth
                classes[v, u] = ground_class(ground, view.eye[0] + depth * dx, view.eye[1] + depth * dy)
            else:
                depths[v, u] = f32(np.inf)
                classes[v, u] = SurfaceClass.SKY
