"""Sine, cosine and angle wrapping from plain arithmetic.

Written out so that loops over them vectorise and every processor gives the same bits. The absolute error of sine and
cosine is below 2e-16 for |x| < 1e5.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from world4scorer.engine.kernels import inlined

TWO_PI: Final = 2 * np.pi
_ROUND: Final = 6755399441055744.0
"""1.5 * 2^52: adding and taking it away again rounds a double to the nearest integer, halves to even."""

# pi / 2 in three parts, the first two with trailing zero bits so that products with small integers are exact.
_HALF_PI_1: Final = float.fromhex("0x1.921fb54400000p+0")
_HALF_PI_2: Final = float.fromhex("0x1.0b4611a600000p-34")
_HALF_PI_3: Final = float.fromhex("0x1.3198a2e037073p-69")


@inlined
def nearest(x):
    """Round to the nearest integer, halves to even, for |x| < 2^51."""
    return (x + _ROUND) - _ROUND


@inlined
def wrap(angle):
    """Bring an angle to [-pi, pi]."""
    return angle - TWO_PI * nearest(angle / TWO_PI)


@inlined
def sine_cosine(x):
    """Return sin(x), cos(x)."""
    quarter = nearest(x * (2 / np.pi))
    r = ((x - quarter * _HALF_PI_1) - quarter * _HALF_PI_2) - quarter * _HALF_PI_3
    z = r * r
    # Taylor polynomials: on |r| <= pi/4 the first term left out is below 1e-17.
    s = 1.0 / 355687428096000.0 * z - 1.0 / 1307674368000.0
    s = s * z + 1.0 / 6227020800.0
    s = s * z - 1.0 / 39916800.0
    s = s * z + 1.0 / 362880.0
    s = s * z - 1.0 / 5040.0
    s = s * z + 1.0 / 120.0
    s = s * z - 1.0 / 6.0
    sin_r = r + r * (z * s)
    c = -1.0 / 6402373705728000.0 * z + 1.0 / 20922789888000.0
    c = c * z - 1.0 / 87178291200.0
    c = c * z + 1.0 / 479001600.0
    c = c * z - 1.0 / 3628800.0
    c = c * z + 1.0 / 40320.0
    c = c * z - 1.0 / 720.0
    c = c * z + 1.0 / 24.0
    cos_r = 1.0 - (0.5 * z - z * (z * c))
    # The quadrant, in floating point: 0, 1, 2 or -1 quarters away from the nearest whole turn.
    turn = quarter - 4.0 * nearest(quarter * 0.25)
    swapped = turn * turn == 1.0
    sine = cos_r if swapped else sin_r
    cosine = sin_r if swapped else cos_r
    sine = -sine if (turn == -1.0 or turn * turn == 4.0) else sine
    cosine = -cosine if (turn == 1.0 or turn * turn == 4.0) else cosine
    return sine, cosine
