"""Lines along streets: lengths, pieces, parallels, ribbons."""

from __future__ import annotations

import numpy as np

from world4scorer.engine.scene.geometry import Floats, arc_length_hypot

Line = Floats
"""(n, 2) points [m]"""

SHARPEST_MITRE = 0.35
"""Limits the miter of parallels at sharp bends."""


def tidy(line: Line) -> Line:
    """The line without repeated points."""
    keep = np.concatenate([[True], np.hypot(*np.diff(line, axis=0).T) > 1e-3])
    tidied: Line = line[keep]
    return tidied


def points_at(line: Line, where: Floats) -> tuple[Line, Floats]:
    """Points (k, 2) and headings (k,) [rad] at distances (k,) from the start."""
    along = arc_length_hypot(line)
    xy = np.stack([np.interp(where, along, line[:, 0]), np.interp(where, along, line[:, 1])], 1)
    piece = np.clip(np.searchsorted(along, where, "right") - 1, 0, len(line) - 2)
    step = np.diff(line, axis=0)[piece]
    return xy, np.arctan2(step[:, 1], step[:, 0])


def cut(line: Line, start: float, end: float) -> Line:
    """The piece between two distances from the start."""
    along = arc_length_hypot(line)
    inner = line[(along > start + 1e-6) & (along < end - 1e-6)]
    ends, _ = points_at(line, np.array([start, end]))
    return np.concatenate([ends[:1], inner, ends[1:]])


def parallel(line: Line, left: float) -> Line:
    """The line moved to the left [m]; to the right if negative."""
    step = np.diff(line, axis=0)
    normal = np.stack([-step[:, 1], step[:, 0]], 1) / np.maximum(np.hypot(*step.T), 1e-9)[:, None]
    before, after = np.concatenate([normal[:1], normal]), np.concatenate([normal, normal[-1:]])
    middle = before + after
    middle /= np.maximum(np.hypot(*middle.T), 1e-9)[:, None]
    stretch = np.maximum((middle * before).sum(1), SHARPEST_MITRE)
    moved: Line = line + left * middle / stretch[:, None]
    return moved


def ribbon(line: Line, width: float) -> Line:
    """Outline of a stroke along the line."""
    return np.concatenate([parallel(line, width / 2), parallel(line, -width / 2)[::-1]])
