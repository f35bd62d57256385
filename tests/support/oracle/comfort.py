"""Comfort with SciPy's own Savitzky-Golay filter."""

from __future__ import annotations

import numpy as np
from scipy.signal import savgol_filter

BOUNDS = ((-4.05, 2.40), (-4.89, 4.89), (-8.37, 8.37), (-4.13, 4.13), (-1.93, 1.93), (-0.95, 0.95))


def smooth(series, window, order, derivative=0):
    window = min(window, series.shape[-1])
    return np.round(savgol_filter(series, window, order, deriv=derivative, delta=0.1, mode="interp", axis=-1), 8)


def unwrapped(heading):
    turns = np.cumsum(np.round(np.diff(heading, axis=-1) / (2 * np.pi)), -1)
    return heading - 2 * np.pi * np.concatenate([np.zeros((*heading.shape[:-1], 1)), turns], -1)


def checks(states, version):
    """(..., 6) flags of (..., S, 11) states."""
    along, across = states[..., 5], states[..., 6]
    if version == 2:
        along = along + 1.461 * (states[..., 9] ** 2 + states[..., 10])
    magnitude = np.hypot(states[..., 5], states[..., 6])
    heading = unwrapped(states[..., 2])
    window, jerk = (states.shape[-2],) * 2 if version == 1 else (8, 15)
    signals = (
        smooth(along, window, 2),
        smooth(across, window, 2),
        smooth(smooth(magnitude, 8, 2), jerk, 2, 1),
        smooth(smooth(along, 8, 2), jerk, 2, 1),
        smooth(heading, 5, 3, 2),
        smooth(heading, 5, 2, 1),
    )
    return np.stack([((s > low) & (s < high)).all(-1) for s, (low, high) in zip(signals, BOUNDS, strict=True)], -1)


def extended_rms(now, before, shift):
    """(4,) differences of two (41, 11) rollouts."""

    def signals(states):
        acceleration = smooth(np.hypot(states[:, 5], states[:, 6]), 8, 2)
        heading = unwrapped(states[:, 2])
        return acceleration, smooth(acceleration, 15, 2, 1), smooth(heading, 5, 2, 1), smooth(heading, 5, 2, 2)

    pairs = zip(signals(now[: 41 - shift]), signals(before[shift:]), strict=True)
    return np.array([np.sqrt(((a - b) ** 2).mean()) for a, b in pairs])
