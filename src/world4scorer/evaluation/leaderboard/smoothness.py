"""Driving smoothness (comfortness): the share of chunks of 20 samples within limits of acceleration, jerk and yaw.

A chunk passes if every sample of it lies strictly within all limits, after a Savitzky-Golay filter over 7 samples of
order 2 within the chunk. Jerks are derivatives of the filtered accelerations, by the same filter. Samples after the
last whole chunk do not count.

The published formula has quirks. They are reproduced unless `corrected`:

- The yaw acceleration is the filtered yaw rate once more, so the limit of 1.93 never binds behind that of 0.95.
- CARLA gives the angular velocity in deg/s; the limits are in rad/s. A gentle curve of 1 deg/s fails.
- Time steps are taken as 0.1 s. An agent that logs each of the 20 ticks per second halves its jerks.

Longitudinal and lateral are along the ego's forward and right vectors, and |jerk| is the change of the length of both
together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.outcomes.savgol import savgol
from world4scorer.engine.scene.indices import DT
from world4scorer.evaluation.leaderboard.records import RouteRecord
from world4scorer.jobs.files import load_json

CHUNK: Final = 20
"""Samples."""
WINDOW: Final = 7
"""Samples."""
ORDER: Final = 2
MOST_BRAKING: Final = -4.05
"""m/s^2"""
MOST_ACCELERATION: Final = 2.40
"""m/s^2"""
MOST_LATERAL: Final = 4.89
"""m/s^2"""
MOST_JERK: Final = 8.37
"""m/s^3"""
MOST_LONGITUDINAL_JERK: Final = 4.13
"""m/s^3"""
MOST_YAW_ACCELERATION: Final = 1.93
"""rad/s^2"""
MOST_YAW_RATE: Final = 0.95
"""rad/s"""
METRIC_FILE: Final = "metric_info.json"

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Motion:
    """What an agent logged of a drive, one row for each of S samples."""

    acceleration: Floats
    """(S, 3) in the world's axes [m/s^2]."""
    angular_velocity: Floats
    """(S, 3) around the world's axes, as CARLA gives it [deg/s]."""
    forward: Floats
    """(S, 3) unit vector."""
    right: Floats
    """(S, 3) unit vector."""


NAMES: Final = {
    "acceleration": "acceleration",
    "angular_velocity": "angular_velocity",
    "forward": "forward_vector",
    "right": "right_vector",
}
"""Fields of a tick of the file."""


def read_motion(path: Path) -> Motion:
    """Read a `metric_info.json`: an object of ticks by number, each with vectors by name; or a list of ticks."""
    try:
        content = load_json(path.read_bytes())
        ticks = _ticks(content)
        vectors = {part: np.array([tick[name] for tick in ticks], np.float64) for part, name in NAMES.items()}
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}; the agent's metric file is needed") from error
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"{path}: not an agent's metric file ({type(error).__name__}: {error})") from error
    for part, values in vectors.items():
        values = vectors[part] = values.reshape(-1, 3) if values.size == 0 else values
        if values.ndim != 2 or values.shape[1] != 3 or not np.isfinite(values).all():
            raise ValueError(f"{path}: {NAMES[part]} of shape {values.shape}; want three finite numbers a tick")
    return Motion(**vectors)


def _ticks(content: Any) -> list[Any]:
    """Ticks in the order of their numbers, which JSON keeps as text."""
    if isinstance(content, list):
        return content
    if not isinstance(content, dict):
        raise ValueError("neither an object nor a list")
    return [content[key] for key in sorted(content, key=int)]


def chunks_passed(motion: Motion, corrected: bool = False, step: float = DT) -> NDArray[np.bool_]:
    """(C,) whether each whole chunk is smooth.

    Args:
        motion: Of a drive.
        corrected: Without the first two quirks: yaw rates in rad/s, and the yaw acceleration as their derivative.
        step: Between samples [s]; 0.1 is the published formula's, whatever the agent's is.
    """
    if not step > 0:
        raise ValueError(f"step {step}: a time between samples is above 0 s")
    count = len(motion.acceleration) // CHUNK

    def chunks(series: Floats) -> Floats:
        return series[: count * CHUNK].reshape(count, CHUNK)

    longitudinal = _filtered(chunks((motion.acceleration * motion.forward).sum(1)))
    lateral = _filtered(chunks((motion.acceleration * motion.right).sum(1)))
    total = _filtered(
        np.hypot(*(chunks((motion.acceleration * axis).sum(1)) for axis in (motion.forward, motion.right)))
    )
    yaw = chunks(motion.angular_velocity[:, 2])
    yaw_rate = _filtered(np.deg2rad(yaw) if corrected else yaw)
    yaw_acceleration = _slope(yaw_rate, step) if corrected else yaw_rate
    samples = (
        (longitudinal > MOST_BRAKING)
        & (longitudinal < MOST_ACCELERATION)
        & (np.abs(lateral) < MOST_LATERAL)
        & (np.abs(_slope(total, step)) < MOST_JERK)
        & (np.abs(_slope(longitudinal, step)) < MOST_LONGITUDINAL_JERK)
        & (np.abs(yaw_acceleration) < MOST_YAW_ACCELERATION)
        & (np.abs(yaw_rate) < MOST_YAW_RATE)
    )
    return np.asarray(samples.all(1))


def smoothness(motion: Motion, corrected: bool = False, step: float = DT) -> float:
    """Share of the chunks of a drive that are smooth, 0 to 1; NaN if it is shorter than one. See `chunks_passed`."""
    passed = chunks_passed(motion, corrected, step)
    return float(passed.mean()) if len(passed) else float("nan")


def route_smoothness(
    records: Iterable[RouteRecord], folder: Path, corrected: bool = False, step: float = DT
) -> dict[str, float]:
    """Smoothness by route, where FOLDER/SAVE_NAME/metric_info.json of the agent is there and holds at least a chunk."""
    if not folder.is_dir():
        raise ValueError(f"--metrics {folder}: no such folder")
    found = {}
    for record in records:
        path = folder / (record.save_name or "") / METRIC_FILE
        if record.save_name and path.is_file():
            found[record.route] = smoothness(read_motion(path), corrected, step)
    if not found:
        raise ValueError(f"--metrics {folder}: no SAVE_NAME/{METRIC_FILE} of any record in it")
    return {route: share for route, share in found.items() if not math.isnan(share)}


def formula(corrected: bool, step: float) -> str:
    """Which formula of smoothness is used, in words."""
    return f"{'corrected units' if corrected else 'the published formula with its quirks'}, {step:g} s between samples"


def _filtered(series: Floats) -> Floats:
    """Chunks (C, 20), each filtered on its own."""
    return _weighed(series, 0)


def _slope(series: Floats, step: float) -> Floats:
    """Derivatives of chunks (C, 20) per second."""
    return _weighed(series, 1) * (DT / step)  # the filter's samples are DT apart


def _weighed(series: Floats, derivative: int) -> Floats:
    operator = savgol(CHUNK, WINDOW, ORDER, derivative)
    windows = series[:, operator.start[:, None] + np.arange(WINDOW)]
    return np.asarray((windows * operator.weights).sum(2))
