"""Logs that are drives of a planner (`w4s drive --record`): who drove, how it ended, infractions, and the route."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.city.world.manifest import DriveEntry
from world4scorer.engine.routes.route import Route, RouteCursor
from world4scorer.engine.selection.route import route_agreement

SLOW: Final = "min_speed_infractions"
"""Slowness is a measurement, not an event."""

Floats = NDArray[np.float64]


def describe_drive(entry: DriveEntry, origin: Floats) -> dict[str, Any]:
    """What a page shows of a drive, in metres from the origin of the log."""
    return {
        "driver": entry.driver,
        "route": entry.route_name,
        "status": entry.status,
        "points": np.round(np.asarray(entry.points) - origin, 2).tolist(),
        "infractions": [
            [kind.replace("_", " "), time, *np.round(np.asarray(place) - origin, 2).tolist()]
            for kind, time, *place in entry.infractions
            if kind != SLOW
        ],
    }


def route_agreements(entry: DriveEntry, poses: Floats, plans: NDArray[Any]) -> Floats:
    """(F, N) agreement of plans (F, N, 8, 3) with the route of a drive by the published rule, at ego poses (F, 3)."""
    cursor, found = RouteCursor(Route(np.asarray(entry.points, np.float64))), []
    for pose, pool in zip(poses, plans, strict=True):
        cursor.advance(pose[:2])
        found.append(route_agreement(pool, cursor.ahead(pose)))
    return np.stack(found)
