"""Fog between surface and camera."""

from __future__ import annotations

from world4scorer.city.render.noise import f32
from world4scorer.engine.kernels import inlined


@inlined
def add_through_fog(r, g, b, depth, density, colour, weight, total, u):
    """Add light from `depth` metres away to pixel u of `total` (3 n,); about exp(-density * depth) gets through."""
    k = depth * density
    clear = f32(1.0) / (f32(1.0) + k * (f32(1.0) + k * (f32(0.48) + k * f32(0.235))))
    total[3 * u] += (colour[0] + (r - colour[0]) * clear) * weight
    total[3 * u + 1] += (colour[1] + (g - colour[1]) * clear) * weight
    total[3 * u + 2] += (colour[2] + (b - colour[2]) * clear) * weight
