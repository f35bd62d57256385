"""The ego's recorded past that HC (v2.2) prepends to a rollout.

The past (about 1.5 s, four time stamps) is sampled every 0.1 s from its first stamp, up to but not including its last,
and then the last sample is dropped as well. So a span of exactly 1.5 s gives 14 rows that end at -0.2 s, and history
and rollout are treated as evenly spaced although the step between them is 0.2 s; a span of one microsecond more gives
15 rows. Yaw rate, yaw acceleration and steering rate are 0 in these rows.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.scene.geometry import wrap_modulo
from world4scorer.engine.scene.indices import State

INTERVAL_US: Final = 100_000
INTERPOLATED: Final = (
    State.X,
    State.Y,
    State.HEADING,
    State.VELOCITY_X,
    State.VELOCITY_Y,
    State.ACCELERATION_X,
    State.ACCELERATION_Y,
    State.STEERING_ANGLE,
)


def history_rows(past_states: NDArray[np.float64], past_time_us: NDArray[np.int64]) -> NDArray[np.float64]:
    """Sample the past, states (H, 11) at `past_time_us` (H,), as (rows, 11)."""
    times = np.arange(past_time_us[0], past_time_us[-1], INTERVAL_US)[:-1]
    rows = np.zeros((len(times), len(State)))
    for column in INTERPOLATED:
        values = past_states[:, column]
        if column == State.HEADING:
            values = np.unwrap(values)
        rows[:, column] = np.interp(times, past_time_us, values)
    rows[:, State.HEADING] = wrap_modulo(rows[:, State.HEADING])
    return rows
