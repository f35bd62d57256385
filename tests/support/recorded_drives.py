"""Entries of drives for the logs of stored pools."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from world4scorer.city.world.manifest import DriveEntry, write_drive
from world4scorer.reporting.explorer.explored_run import ExploredRun

DRIVER = "framewise <b>"


def as_drives(run: ExploredRun, data: Path) -> ExploredRun:
    """The same run, whose logs are drives along straight routes, the second with infractions."""
    for log, entry in enumerate(run.logs):
        start = run.pools.ego_pose[entry.rows.start, :2]
        points = start + np.column_stack([np.arange(0.0, 120.0, 1.0), np.linspace(0.0, 6.0, 120)])
        events = [["collisions_vehicle", 12.5, *(start + 5.0)], ["min_speed_infractions", 20.0, *start]]
        write_drive(
            data,
            "mini",
            DriveEntry(
                name=entry.name,
                driver=DRIVER,
                route_name=f"route_{log}",
                simulation="",
                place="",
                frames=5,
                weather_seed=0,
                route=(),
                points=points.tolist(),
                tokens=run.pools.tokens[entry.rows],
                status="Completed",
                infractions=events if log == 1 else (),
            ),
        )
    return replace(run, data=data)
