"""Colour conversion: sRGB bytes and linear light."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

TONE_STEPS: Final = 4096
"""Entries of the tone curve over the square root of light, which keeps dark tones distinct."""
TONE_WHITE: Final = 4.0
"""Light shown as white; 1 is a white wall in full sun."""


def to_linear(colour: ArrayLike) -> NDArray[np.float32]:
    """Linear light of sRGB colours 0..255."""
    c = np.asarray(colour, np.float64) / 255
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4).astype(np.float32)


def to_srgb(light: NDArray[np.float64]) -> NDArray[np.float64]:
    """sRGB colours 0..255 of linear light 0..1."""
    c = np.clip(light, 0, 1)
    return 255 * np.where(c <= 0.0031308, c * 12.92, 1.055 * c ** (1 / 2.4) - 0.055)


def decode_table() -> NDArray[np.float32]:
    """(256,) linear light of sRGB bytes."""
    return to_linear(np.arange(256, dtype=np.uint8))


def tone_table() -> NDArray[np.uint8]:
    """(TONE_STEPS,) byte to show for sqrt(light / TONE_WHITE) in [0, 1).

    A shoulder keeps lamps and bright walls from clipping, as film does.
    """
    light = TONE_WHITE * (np.arange(TONE_STEPS) / (TONE_STEPS - 1)) ** 2
    shown = light * (2.51 * light + 0.03) / (light * (2.43 * light + 0.59) + 0.14)
    return np.round(to_srgb(shown)).astype(np.uint8)
