"""Drivable area of a town from its OpenDRIVE file, read by CARLA's client library without a server.

Lanes are sampled every metre; points within half a lane's width of the centreline are drivable. Adjacent lanes count if
cars may drive or park there; shoulders and sidewalks do not.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.driving.clips.axes import flip_y, heading_from_yaw
from world4scorer.driving.clips.drivable import CELL, DrivableGrid, GridPainter
from world4scorer.driving.clips.errors import ClipError
from world4scorer.engine.scene.geometry import direction

LANE_STEP: Final = 1.0
"""Step along lanes [m]."""
MARK_SPACING: Final = CELL / 2
"""Spacing of the points marked around each step [m]."""
LANE_TYPES: Final = ("Driving", "Parking", "Bidirectional", "Entry", "Exit", "OnRamp", "OffRamp")
"""CARLA's drivable lane types."""
MARGIN: Final = 20.0
"""Margin around the outermost lanes [m]."""


def opendrive_grid(path: Path, town: str | None = None) -> DrivableGrid:
    """Drivable area of an OpenDRIVE file (.xodr); `town` defaults to the file's stem."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ClipError(
            f"{path}: no such file; CARLA keeps its maps in CarlaUE4/Content/Carla/Maps/OpenDrive"
        ) from None
    except UnicodeDecodeError as error:
        raise ClipError(f"{path}: not OpenDRIVE ({error})") from error
    if "<OpenDRIVE" not in text:
        raise ClipError(f"{path}: not OpenDRIVE (no element <OpenDRIVE>)")
    carla = load_carla()
    name = town or path.stem
    try:
        waypoints = carla.Map(name, text).generate_waypoints(LANE_STEP)
    except RuntimeError as error:
        raise ClipError(f"{path}: CARLA cannot read this map ({error})") from error
    rows = np.array([row for waypoint in waypoints for row in _across(waypoint)]).reshape(-1, 4)
    if not len(rows):
        raise ClipError(f"{path}: no lane to drive on")
    return _rasterise(name, rows)


def load_carla() -> Any:
    """CARLA's client library (optional dependency)."""
    try:
        import carla
    except ImportError:
        raise ClipError("reading OpenDRIVE needs carla: pip install 'world4scorer[carla]'") from None
    return carla


def _across(waypoint: Any) -> Iterator[tuple[float, float, float, float]]:
    """x, y, heading and width of a lane step, and of adjacent lanes that CARLA does not list itself."""
    yield _row(waypoint)
    for side in ("get_left_lane", "get_right_lane"):
        beside, seen = getattr(waypoint, side)(), {waypoint.lane_id}
        # Beyond the middle of the road the other side's left is this side's right: a lane seen twice ends the search.
        while beside is not None and beside.lane_id not in seen:
            seen.add(beside.lane_id)
            if beside.lane_type.name in LANE_TYPES[1:]:
                yield _row(beside)
            if beside.lane_id * waypoint.lane_id < 0:
                break
            beside = getattr(beside, side)()


def _row(waypoint: Any) -> tuple[float, float, float, float]:
    place = waypoint.transform
    x, y = flip_y([place.location.x, place.location.y])
    return float(x), float(y), float(heading_from_yaw(place.rotation.yaw)), float(waypoint.lane_width)


def _rasterise(town: str, rows: NDArray[np.float64]) -> DrivableGrid:
    """Mark a rectangle around each row (x, y, heading, width)."""
    painter = GridPainter(town, rows[:, :2].min(0) - MARGIN, rows[:, :2].max(0) + MARGIN)
    for width in np.unique(np.round(rows[:, 3] / MARK_SPACING)):
        chosen = rows[np.round(rows[:, 3] / MARK_SPACING) == width]
        half = width * MARK_SPACING / 2
        along = np.linspace(-LANE_STEP / 2, LANE_STEP / 2, round(LANE_STEP / MARK_SPACING) + 1)
        aside = np.linspace(-half, half, max(1, round(2 * half / MARK_SPACING)) + 1) * (1 - 1e-9)
        forward = direction(chosen[:, 2])
        left = np.stack([-forward[:, 1], forward[:, 0]], -1)
        for ahead in along:
            for offset in aside:
                painter.mark(chosen[:, :2] + ahead * forward + offset * left)
    return painter.finish()
