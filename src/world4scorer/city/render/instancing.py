"""Collect the lit triangles of one frame: scenery near the ego, and actors at their poses."""

from __future__ import annotations

from typing import Final

import numpy as np

from world4scorer.city.render.kernel_types import CHUNK_CASTS_SHADOW, CHUNK_VISIBLE
from world4scorer.city.render.noise import f32
from world4scorer.city.scenery.roles import COLOURS_PER_ROLE, Limb, Role
from world4scorer.city.scenery.surface import Material
from world4scorer.engine.kernels import kernel, leaf
from world4scorer.engine.rollout.angles import sine_cosine

SHADOW_RADIUS: Final = 110.0
"""Distance within which scenery casts shadows [m]."""
LAMP_ON: Final = 2.6
LAMP_OFF: Final = 0.05
"""Emission of signal lamps relative to their colour."""
BRAKE_LIGHT: Final = 2.2
TAIL_LIGHT: Final = 0.9
INDICATOR_LIGHT: Final = 2.5
HEADLIGHT: Final = 3.5
"""Emission of vehicle lamps that are on."""
SHADED_FROM: Final = 1.0
"""Height of the point of an actor that is tested for building shadow [m]."""


@leaf
def _shine(paint, normal, light, lit, out):
    """Colour of a matt surface under sun and sky."""
    facing = normal[0] * light.to_sun[0] + normal[1] * light.to_sun[1] + normal[2] * light.to_sun[2]
    facing = max(facing, f32(0.0)) * lit
    up = f32(0.5) + f32(0.5) * normal[2]
    for k in range(3):
        sky = light.ambient[k] * up + light.bounce[k] * (f32(1.0) - up)
        out[k] = paint[k] * (sky + light.sun[k] * facing)


@kernel
def gather_scenery(scenery, x, y, radius, fine_radius, light, lamp_on, frame):
    """Copy scenery within `radius` of (x, y) into the buffer; returns the counts of triangles and chunks.

    `lamp_on` (signal heads,) bits: 1 red, 2 yellow, 4 green. Returns -1 triangles if the frame is too small.
    """
    size = scenery.cell
    rows, columns = scenery.cells.shape
    i0 = max(int(np.floor((y - radius - scenery.corner[1]) / size)), 0)
    i1 = min(int(np.floor((y + radius - scenery.corner[1]) / size)) + 1, rows)
    j0 = max(int(np.floor((x - radius - scenery.corner[0]) / size)), 0)
    j1 = min(int(np.floor((x + radius - scenery.corner[0]) / size)) + 1, columns)
    n, chunks = 0, 0
    for i in range(i0, i1):
        for j in range(j0, j1):
            cell = scenery.cells[i, j]
            if cell < 0:
                continue
            dx = f32(scenery.corner[0] + (j + 0.5) * size - x)
            dy = f32(scenery.corner[1] + (i + 0.5) * size - y)
            cx, cy = scenery.sphere[cell, 0] + dx, scenery.sphere[cell, 1] + dy
            away = np.sqrt(cx * cx + cy * cy)
            reach = scenery.sphere[cell, 3]
            if away - reach > radius:
                continue
            fine = away < fine_radius
            first = scenery.span[cell, 0 if fine else 1]
            last = scenery.span[cell, 2 if fine else 3]
            if n + last - first > frame.corners.shape[0] or chunks >= frame.chunk_span.shape[0]:
                return -1, 0
            frame.chunk_span[chunks, 0] = n
            for t in range(first, last):
                for c in range(3):
                    frame.corners[n, c, 0] = scenery.corners[t, c, 0] + dx
                    frame.corners[n, c, 1] = scenery.corners[t, c, 1] + dy
                    frame.corners[n, c, 2] = scenery.corners[t, c, 2]
                    frame.normal[n, c] = scenery.normal[t, c]
                material = scenery.material[t]
                frame.material[n] = material
                frame.surface[n] = scenery.surface[t]
                frame.instance[n] = -1
                frame.detail[n] = scenery.detail[t]
                frame.offset[n] = scenery.offset[t]
                _shine(scenery.paint[t], scenery.normal[t], light, f32(1.0), frame.colour[n])
                if material == Material.LAMP:
                    on = (lamp_on[scenery.detail[t] >> 2] >> (scenery.detail[t] & 3)) & 1
                    for c in range(3):
                        frame.colour[n, c] = scenery.paint[t, c] * f32(LAMP_ON if on else LAMP_OFF)
                elif material == Material.STREET_LAMP:
                    for c in range(3):
                        frame.colour[n, c] += scenery.paint[t, c] * light.lamps * f32(3.0)
                n += 1
            frame.chunk_span[chunks, 1] = n
            frame.chunk_sphere[chunks, 0] = cx
            frame.chunk_sphere[chunks, 1] = cy
            frame.chunk_sphere[chunks, 2] = scenery.sphere[cell, 2]
            frame.chunk_sphere[chunks, 3] = reach
            frame.chunk_flags[chunks] = (
                CHUNK_VISIBLE | CHUNK_CASTS_SHADOW if away - reach < SHADOW_RADIUS else CHUNK_VISIBLE
            )
            chunks += 1
    return n, chunks


@leaf
def _in_shade(scenery, x, y, light):
    """Whether a building stands between a point and the sun."""
    if light.to_sun[2] < f32(0.05):
        return False
    size = scenery.cell
    rows, columns = scenery.cells.shape
    ci, cj = int((y - scenery.corner[1]) / size), int((x - scenery.corner[0]) / size)
    for i in range(max(ci - 2, 0), min(ci + 3, rows)):
        for j in range(max(cj - 2, 0), min(cj + 3, columns)):
            cell = scenery.cells[i, j]
            if cell < 0:
                continue
            for b in range(scenery.box_span[cell, 0], scenery.box_span[cell, 1]):
                box = scenery.boxes[b]
                px, py = x - box[0], y - box[1]
                along, across = px * box[2] + py * box[3], py * box[2] - px * box[3]
                go_along = light.to_sun[0] * box[2] + light.to_sun[1] * box[3]
                go_across = light.to_sun[1] * box[2] - light.to_sun[0] * box[3]
                enter, leave = 0.0, (box[6] - SHADED_FROM) / light.to_sun[2]
                for k in range(2):
                    place, go, half = (along, go_along, box[4]) if k == 0 else (across, go_across, box[5])
                    if abs(go) < 1e-6:
                        if abs(place) > half:
                            leave = -1.0
                    else:
                        s0, s1 = (-half - place) / go, (half - place) / go
                        enter, leave = max(enter, min(s0, s1)), min(leave, max(s0, s1))
                if leave > enter:
                    return True
    return False


@leaf
def _lamp_light(role, brake, left, right, lamps):
    """Emission of a vehicle's part relative to its colour."""
    if role == Role.TAIL_LAMP:
        return f32(BRAKE_LIGHT) if brake else f32(TAIL_LIGHT) * lamps
    if role == Role.HEADLAMP:
        return f32(HEADLIGHT) * lamps
    if (role == Role.LEFT_INDICATOR and left) or (role == Role.RIGHT_INDICATOR and right):
        return f32(INDICATOR_LIGHT)
    return f32(0.0)


@kernel
def place_actors(
    models, scenery, pose, size, kind, look, brake, left, right, stride, rows, x, y, light, frame, n, chunks
):
    """Append actors `rows` to the first n triangles of the buffer; returns the new counts (-1 if it is full).

    A row of -1 stands for the ego, which is a car at the origin that only casts a shadow; its pose is the last one.
    """
    for r in rows:
        who = pose.shape[0] - 1 if r < 0 else r
        sort = kind[who]
        start, end = models.start[sort], models.start[sort + 1]
        if n + end - start > frame.corners.shape[0] or chunks >= frame.chunk_span.shape[0]:
            return -1, 0
        s64, c64 = sine_cosine(pose[who, 2])
        sin, cos = f32(s64), f32(c64)
        cx, cy = f32(pose[who, 0] - x), f32(pose[who, 1] - y)
        sx, sy, sz = f32(size[who, 0]), f32(size[who, 1]), f32(size[who, 2])
        lit = f32(0.0) if _in_shade(scenery, pose[who, 0], pose[who, 1], light) else f32(1.0)
        phase, _ = sine_cosine(stride[who] * 2 * np.pi / models.step[sort])
        hip = models.hip[sort] * sz
        frame.chunk_span[chunks, 0] = n
        for t in range(start, end):
            angle = 0.0
            limb = models.limb[t]
            if limb == Limb.LEFT_LEG or limb == Limb.RIGHT_ARM:
                angle = models.swing[sort] * phase
            elif limb != Limb.NONE:
                angle = -models.swing[sort] * phase
            pivot = hip if limb <= Limb.RIGHT_LEG else f32(0.8) * sz
            sa, ca = sine_cosine(angle)
            for c in range(3):
                px, py, pz = models.corners[t, c, 0] * sx, models.corners[t, c, 1] * sy, models.corners[t, c, 2] * sz
                if limb != Limb.NONE:
                    arm = pz - pivot
                    px, pz = px * f32(ca) - arm * f32(sa), pivot + px * f32(sa) + arm * f32(ca)
                    pz = max(pz, f32(0.0))
                frame.corners[n, c, 0] = cx + px * cos - py * sin
                frame.corners[n, c, 1] = cy + px * sin + py * cos
                frame.corners[n, c, 2] = pz
            _set_normal(frame.corners[n], frame.normal[n])
            role = models.role[t]
            tint = (look[who] * 2654435761 + role * 40503) >> 7
            paint = models.colours[role, tint % COLOURS_PER_ROLE]
            frame.material[n] = models.material[role]
            frame.surface[n] = models.surface[sort]
            frame.instance[n] = r
            frame.detail[n] = -1
            frame.offset[n] = f32(0.0)
            _shine(paint, frame.normal[n], light, lit, frame.colour[n])
            own = _lamp_light(role, brake[who], left[who], right[who], light.lamps)
            for c in range(3):
                frame.colour[n, c] += paint[c] * own
            n += 1
        frame.chunk_span[chunks, 1] = n
        frame.chunk_sphere[chunks, 0] = cx
        frame.chunk_sphere[chunks, 1] = cy
        frame.chunk_sphere[chunks, 2] = sz * f32(0.5)
        frame.chunk_sphere[chunks, 3] = f32(0.56) * np.sqrt(sx * sx + sy * sy + sz * sz)
        frame.chunk_flags[chunks] = CHUNK_CASTS_SHADOW if r < 0 else (CHUNK_VISIBLE | CHUNK_CASTS_SHADOW)
        chunks += 1
    return n, chunks


@leaf
def _set_normal(corners, out):
    ax, ay, az = corners[1, 0] - corners[0, 0], corners[1, 1] - corners[0, 1], corners[1, 2] - corners[0, 2]
    bx, by, bz = corners[2, 0] - corners[0, 0], corners[2, 1] - corners[0, 1], corners[2, 2] - corners[0, 2]
    x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    scale = f32(1.0) / np.sqrt(x * x + y * y + z * z + f32(1e-20))
    out[0], out[1], out[2] = x * scale, y * scale, z * scale
