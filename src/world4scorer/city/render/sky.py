"""The sky as a texture of the upper hemisphere, painted once per weather.

The half space is folded onto a square: a direction divided by the sum of its absolute values lies on an octahedron,
whose upper half is a square seen from above. That needs one division and no trigonometry per look-up.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.city.render.noise import f32, smooth_noise
from world4scorer.city.render.weather import Weather
from world4scorer.engine.kernels import inlined

SKY_SIZE: Final = 384
"""Pixels along each side of the square."""
CLOUD_HEIGHT: Final = 0.09
"""Offset that keeps clouds at the horizon from shrinking to a line."""


@lru_cache(maxsize=16)
def paint_sky(weather: Weather) -> NDArray[np.float32]:
    """(SKY_SIZE, SKY_SIZE, 3) radiance of the sky."""
    edge = (np.arange(SKY_SIZE) / (SKY_SIZE - 1)) * 2 - 1
    a, b = np.meshgrid(edge, edge, indexing="ij")
    x, y = (a + b) / 2, (a - b) / 2
    z = 1 - np.abs(x) - np.abs(y)
    norm = np.sqrt(x * x + y * y + z * z)
    x, y, z = x / norm, y / norm, np.maximum(z / norm, 0)
    zenith, horizon = np.array(weather.zenith), np.array(weather.horizon)
    low = ((1 - z) ** 4)[..., None]
    sky = zenith * (1 - low) + horizon * low
    toward = np.maximum(np.stack([x, y, z], -1) @ weather.to_sun, 0)[..., None]
    strength = max(weather.sun)
    sky = sky + np.array(weather.sun) * (0.35 * toward**12 + 0.6 * toward**120)
    u, v = x / (z + CLOUD_HEIGHT), y / (z + CLOUD_HEIGHT)
    density = smooth_noise(u * 1.3, v * 1.3, weather.seed, 5)
    cover = np.clip((density - (0.74 - 0.5 * weather.clouds)) * 5, 0, 1)[..., None]
    cover = cover * np.clip(z[..., None] * 9, 0, 1)
    shade = smooth_noise(u * 1.3 + 0.35, v * 1.3 + 0.2, weather.seed, 4)[..., None]
    bright = np.array(weather.horizon) * 0.55 + np.array(weather.sun) * 0.4
    cloud = bright * (1.25 - 0.55 * shade) + np.array(weather.sun) * 0.25 * toward**6
    sky = sky * (1 - 0.85 * cover) + cloud * 0.85 * cover
    sky = sky + np.array(weather.sun) * np.clip((toward - 0.9994) * 4e3, 0, 1) * 4 * (strength > 0.2)
    return np.ascontiguousarray(sky, np.float32)


@inlined
def look_up_sky(x, y, z, sky):
    """Radiance from a direction (any length); mirrored below the horizon."""
    scale = f32(1.0) / (abs(x) + abs(y) + abs(z))
    half = f32(0.5 * (sky.shape[0] - 1))
    i = int(((x + y) * scale + f32(1.0)) * half + f32(0.5))
    j = int(((x - y) * scale + f32(1.0)) * half + f32(0.5))
    return sky[i, j, 0], sky[i, j, 1], sky[i, j, 2]
