"""What the record of a drive keeps of its motion: comfort, and speeds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from world4scorer.driving.closed_loop.drive import DriveResult
from world4scorer.driving.closed_loop.drive_log import STANDING_SPEED
from world4scorer.engine.selection.speed_limit import URBAN_LIMIT
from world4scorer.evaluation.leaderboard.records import RouteRecord
from world4scorer.evaluation.leaderboard.smoothness import chunks_passed

COMFORT_FIELDS: Final = {"smooth_chunks": False, "smooth_chunks_corrected": True}
"""Fields of `meta`, [comfortable chunks, all chunks], by whether the formula is corrected."""
SPEED_FIELD: Final = "speed"
"""Field of `meta` with a `DriveSpeed`."""


@dataclass(frozen=True)
class DriveSpeed:
    """Speeds of a drive."""

    standing: float
    """Share of the time in which the ego stands."""
    moving: float
    """Mean speed while it moves [m/s]; 0 if it never does."""
    most: float
    """Highest speed [m/s]."""
    speeding: float
    """Share of the time above 50 km/h."""


def with_measurements(result: DriveResult) -> RouteRecord:
    """The record with counts of comfortable chunks, by the published formula and by the corrected one, and speeds."""
    if result.motion is None or result.speeds is None:
        return result.record
    smooth = {name: chunks_passed(result.motion, corrected) for name, corrected in COMFORT_FIELDS.items()}
    chunks = {name: [int(passed.sum()), len(passed)] for name, passed in smooth.items()}
    speed = {name: round(value, 4) for name, value in vars(measure_speed(result.speeds)).items()}
    return replace(result.record, meta={**result.record.meta, **chunks, SPEED_FIELD: speed})


def measure_speed(speeds: Any) -> DriveSpeed:
    """Speeds of a drive from those of its steps (R,) [m/s]."""
    known = np.asarray(speeds, np.float64)
    moves = known >= STANDING_SPEED
    return DriveSpeed(
        standing=float(1 - moves.mean()),
        moving=float(known[moves].mean()) if moves.any() else 0.0,
        most=float(known.max()),
        speeding=float((known > URBAN_LIMIT).mean()),
    )


def drive_speed(record: RouteRecord) -> DriveSpeed | None:
    """Speeds of a recorded drive; None for records of earlier versions."""
    found = record.meta.get(SPEED_FIELD)
    return None if found is None else DriveSpeed(**found)


def comfort_share(record: RouteRecord, corrected: bool = False) -> float:
    """Share of a drive's chunks that are comfortable; NaN without chunks."""
    name = next(name for name, kind in COMFORT_FIELDS.items() if kind is corrected)
    passed, count = record.meta.get(name, (0, 0))
    return passed / count if count else float(np.nan)
