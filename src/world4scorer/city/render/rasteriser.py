"""Scanline rasteriser with a z-buffer.

The buffers keep the reciprocal depth, which is linear on the screen, and the number of the nearest triangle; colours
are found afterwards (`shading`), once per sample. Shadows are triangles flattened onto the ground along the light.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from world4scorer.city.render.kernel_types import (
    CHUNK_CASTS_SHADOW,
    CHUNK_VISIBLE,
    CONTACT_SHADOW,
    NO_TRIANGLE,
    SUN_SHADOW,
)
from world4scorer.city.render.noise import f32
from world4scorer.engine.kernels import leaf

NEAR_PLANE: Final = 0.08
"""Near clipping plane [m]."""
MIN_SUN_SINE: Final = 0.12
"""Sine of the sun's elevation below which no shadows are drawn: they would cover everything."""
CONTACT_MARGIN: Final = 1.06
"""Contact shadow size / vehicle size."""


@leaf
def sphere_seen(x, y, z, radius, view, half_width, half_height):
    """Whether a sphere touches the camera's field of view; half sizes in pixels."""
    x, y, z = x - view.eye[0], y - view.eye[1], z - view.eye[2]
    a = view.axes
    right = a[0, 0] * x + a[0, 1] * y + a[0, 2] * z
    down = a[1, 0] * x + a[1, 1] * y + a[1, 2] * z
    ahead = a[2, 0] * x + a[2, 1] * y + a[2, 2] * z
    if ahead < -radius:
        return False
    focal = view.focal
    slack = radius * np.sqrt(focal * focal + half_width * half_width)
    if abs(right) * focal - ahead * half_width > slack:
        return False
    slack = radius * np.sqrt(focal * focal + half_height * half_height)
    return abs(down) * focal - ahead * half_height <= slack


@leaf
def clip_near(q, p):
    """Cut a triangle q (3, 3) in camera axes at the near plane into a polygon p; returns its number of corners."""
    near = f32(NEAR_PLANE)
    m = 0
    for k in range(3):
        j = k + 1 if k < 2 else 0
        here, there = q[k, 2] > near, q[j, 2] > near
        if here:
            p[m, 0], p[m, 1], p[m, 2] = q[k, 0], q[k, 1], q[k, 2]
            m += 1
        if here != there:
            s = (near - q[k, 2]) / (q[j, 2] - q[k, 2])
            p[m, 0], p[m, 1], p[m, 2] = q[k, 0] + s * (q[j, 0] - q[k, 0]), q[k, 1] + s * (q[j, 1] - q[k, 1]), near
            m += 1
    return m


@leaf
def fill(q, p, view, number, bit, inverse_depth, ids, shadow):
    """Draw a triangle q (3, 3) in camera axes: into the depth buffer, or as a shadow `bit` if that is not zero.

    p (4, 4) is scratch: corners on the screen as x, y, 1 / depth and the slope dx / dy of the edge to the next.
    """
    m = clip_near(q, p)
    if m < 3:
        return
    rows, columns = inverse_depth.shape
    half_x, half_y = f32(0.5) * f32(columns), f32(0.5) * f32(rows)
    left, right, top, bottom = f32(1e9), f32(-1e9), f32(1e9), f32(-1e9)
    for k in range(m):
        w = f32(1.0) / p[k, 2]
        p[k, 0] = p[k, 0] * w * view.focal + half_x
        p[k, 1] = p[k, 1] * w * view.focal + half_y
        p[k, 2] = w
        left, right = min(left, p[k, 0]), max(right, p[k, 0])
        top, bottom = min(top, p[k, 1]), max(bottom, p[k, 1])
    if right <= 0 or left >= columns or bottom <= 0 or top >= rows:
        return
    # The first three corners span the plane of 1/z; after clipping they may lie on a line only if the area is nil.
    bx, by, bz = p[1, 0] - p[0, 0], p[1, 1] - p[0, 1], p[1, 2] - p[0, 2]
    cx, cy, cz = p[2, 0] - p[0, 0], p[2, 1] - p[0, 1], p[2, 2] - p[0, 2]
    area = bx * cy - by * cx
    if abs(area) < f32(1e-9):
        return
    slope_x, slope_y = (bz * cy - by * cz) / area, (bx * cz - bz * cx) / area
    for k in range(m):
        j = k + 1 if k + 1 < m else 0
        p[k, 3] = (p[j, 0] - p[k, 0]) / (p[j, 1] - p[k, 1])
    v0, v1 = max(int(top), 0), min(int(bottom) + 1, rows)
    for v in range(v0, v1):
        y = f32(v) + f32(0.5)
        start, end = f32(1e9), f32(-1e9)
        for k in range(m):
            j = k + 1 if k + 1 < m else 0
            y0, y1 = p[k, 1], p[j, 1]
            if (y0 <= y) != (y1 <= y):
                x = p[k, 0] + (y - y0) * p[k, 3]
                start, end = min(start, x), max(end, x)
        if end <= start:
            continue
        u0 = int(np.ceil(max(start, f32(0.0)) - f32(0.5)))
        u1 = int(np.ceil(min(end, f32(columns)) - f32(0.5)))
        if bit:
            for u in range(u0, u1):
                shadow[v, u] |= bit
        else:
            base = p[0, 2] + slope_y * (y - p[0, 1]) + slope_x * (f32(0.5) - p[0, 0])
            for u in range(u0, u1):
                w = base + slope_x * f32(u)
                old = inverse_depth[v, u]
                closer = w > old
                inverse_depth[v, u] = w if closer else old
                ids[v, u] = number if closer else ids[v, u]


@leaf
def to_camera(x, y, z, view, out):
    """Transform a point into camera axes."""
    x, y, z = x - view.eye[0], y - view.eye[1], z - view.eye[2]
    for r in range(3):
        out[r] = view.axes[r, 0] * x + view.axes[r, 1] * y + view.axes[r, 2] * z


@leaf
def rasterise(frame, chunks, view, q, p, inverse_depth, ids, shadow):
    """Fill the depth buffer with all visible triangles; q (3, 3) and p (4, 4) are scratch."""
    rows, columns = inverse_depth.shape
    half_width, half_height = f32(0.5) * f32(columns), f32(0.5) * f32(rows)
    inverse_depth[:] = f32(0.0)
    ids[:] = NO_TRIANGLE
    for chunk in range(chunks):
        ball = frame.chunk_sphere[chunk]
        if not frame.chunk_flags[chunk] & CHUNK_VISIBLE:
            continue
        if not sphere_seen(ball[0], ball[1], ball[2], ball[3], view, half_width, half_height):
            continue
        for t in range(frame.chunk_span[chunk, 0], frame.chunk_span[chunk, 1]):
            c, normal = frame.corners[t], frame.normal[t]
            away = (
                normal[0] * (c[0, 0] - view.eye[0])
                + normal[1] * (c[0, 1] - view.eye[1])
                + normal[2] * (c[0, 2] - view.eye[2])
            )
            if away >= f32(0.0):
                continue
            beyond = True
            for k in range(3):
                to_camera(c[k, 0], c[k, 1], c[k, 2], view, q[k])
                beyond = beyond and q[k, 2] <= f32(NEAR_PLANE)
            if beyond or _beside(q, view.focal, half_width, half_height):
                continue
            fill(q, p, view, np.int64(t), np.uint8(0), inverse_depth, ids, shadow)


@leaf
def _beside(q, focal, half_width, half_height):
    """Whether a triangle lies entirely beyond one side of the image."""
    for axis in range(2):
        half = half_width if axis == 0 else half_height
        if (
            q[0, axis] * focal > q[0, 2] * half
            and q[1, axis] * focal > q[1, 2] * half
            and q[2, axis] * focal > q[2, 2] * half
        ):
            return True
        if (
            -q[0, axis] * focal > q[0, 2] * half
            and -q[1, axis] * focal > q[1, 2] * half
            and -q[2, axis] * focal > q[2, 2] * half
        ):
            return True
    return False


@leaf
def cast_shadows(frame, chunks, footprints, light, view, q, p, inverse_depth, ids, shadow):
    """Mark samples whose ground lies in a shadow; `footprints` (n, 4, 2) are the corners of vehicles."""
    rows, columns = inverse_depth.shape
    half_width, half_height = f32(0.5) * f32(columns), f32(0.5) * f32(rows)
    shadow[:] = 0
    sun = light.to_sun
    if sun[2] > f32(MIN_SUN_SINE) and light.sun[0] > f32(0.2):
        east, north = -sun[0] / sun[2], -sun[1] / sun[2]
        for chunk in range(chunks):
            ball = frame.chunk_sphere[chunk]
            if not frame.chunk_flags[chunk] & CHUNK_CASTS_SHADOW:
                continue
            # The shadow of the ball's axis, as a ball around its middle.
            height = ball[2] + ball[3]
            reach = f32(0.5) * height * np.sqrt(east * east + north * north)
            x, y = ball[0] + f32(0.5) * height * east, ball[1] + f32(0.5) * height * north
            if not sphere_seen(x, y, f32(0.0), ball[3] + reach, view, half_width, half_height):
                continue
            for t in range(frame.chunk_span[chunk, 0], frame.chunk_span[chunk, 1]):
                normal = frame.normal[t]
                if normal[0] * sun[0] + normal[1] * sun[1] + normal[2] * sun[2] <= f32(0.0):
                    continue
                beyond = True
                for k in range(3):
                    z = frame.corners[t, k, 2]
                    to_camera(
                        frame.corners[t, k, 0] + z * east, frame.corners[t, k, 1] + z * north, f32(0.0), view, q[k]
                    )
                    beyond = beyond and q[k, 2] <= f32(NEAR_PLANE)
                if beyond or _beside(q, view.focal, half_width, half_height):
                    continue
                fill(q, p, view, np.int64(t), np.uint8(SUN_SHADOW), inverse_depth, ids, shadow)
    for n in range(footprints.shape[0]):
        for half in range(2):
            for k in range(3):
                corner = 0 if k == 0 else half + k
                to_camera(footprints[n, corner, 0], footprints[n, corner, 1], f32(0.0), view, q[k])
            if not _beside(q, view.focal, half_width, half_height):
                fill(q, p, view, np.int64(n), np.uint8(CONTACT_SHADOW), inverse_depth, ids, shadow)
