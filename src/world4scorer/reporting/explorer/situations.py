"""What the ego is about to do in each frame, by what the human drove; and how far a frame is from the others."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.studies.interventions.scenes import STRAIGHT_HEADING, TURN_HEADING

SITUATIONS: Final = ("unknown", "standing", "straight", "curve", "left turn", "right turn", "starting", "stopping")
"""By the human's next four seconds; their order gives the codes in files."""
STANDING: Final = 1.0
"""Distance driven in 4 s below which the ego stands [m]."""
SPEED_CHANGE: Final = 4.0
"""Way of the last second minus that of the first from which the ego starts or stops [m]."""
SLOW: Final = 1.0
"""Way within a second that counts as standing, where the ego starts or stops [m]."""
COMPONENTS: Final = 16
"""Principal components that outliers are measured in."""


def situations(human_plan: NDArray[np.float64]) -> NDArray[np.uint8]:
    """(S,) code of each frame's situation, from what was driven (S, 8, 3)."""
    heading = human_plan[:, -1, 2]
    steps = np.diff(human_plan[..., :2], axis=1, prepend=np.zeros((len(human_plan), 1, 2)))
    way = np.linalg.norm(steps, axis=-1)
    first, last = way[:, :2].sum(1), way[:, -2:].sum(1)
    rules = {  # the first that holds; comparisons with NaN, where nobody drove, are False
        "standing": way.sum(1) < STANDING,
        "left turn": heading > TURN_HEADING,
        "right turn": heading < -TURN_HEADING,
        "starting": (last - first > SPEED_CHANGE) & (first < SLOW),
        "stopping": (first - last > SPEED_CHANGE) & (last < SLOW),
        "straight": np.abs(heading) < STRAIGHT_HEADING,
        "curve": np.abs(heading) >= STRAIGHT_HEADING,
    }
    codes = [SITUATIONS.index(name) for name in rules]
    return np.select(list(rules.values()), codes, SITUATIONS.index("unknown")).astype(np.uint8)


def outliers(features: NDArray[np.floating]) -> NDArray[np.float32]:
    """(S,) distance of features (S, D) from their mean in standard deviations of the first principal components."""
    if len(features) < 2:
        return np.zeros(len(features), np.float32)
    centred = features - features.mean(0)
    values, vectors = np.linalg.eigh(centred.T @ centred / (len(features) - 1))
    kept = values > values[-1] * 1e-6
    kept[:-COMPONENTS] = False
    scores = centred @ vectors[:, kept] / np.sqrt(values[kept])
    return np.asarray(np.sqrt((scores**2).mean(1)), np.float32)


def project(states: NDArray[np.floating]) -> NDArray[np.float32]:
    """(N, 2) states (N, D) in the plane of their largest spread, scaled to -1..1; the sign is that of the largest."""
    centred = states.astype(np.float64) - states.mean(0)
    values, vectors = np.linalg.eigh(centred @ centred.T)
    plane = vectors[:, -2:][:, ::-1] * np.sqrt(np.maximum(values[-2:][::-1], 0.0))
    if plane.shape[1] < 2:
        plane = np.pad(plane, ((0, 0), (0, 2 - plane.shape[1])))
    peak = plane[np.abs(plane).argmax(0), np.arange(2)]
    plane = plane * np.where(peak < 0, -1.0, 1.0)
    return np.asarray(plane / max(float(np.abs(plane).max()), 1e-12), np.float32)
