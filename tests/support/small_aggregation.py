"""A round of aggregation that takes seconds."""

from __future__ import annotations

from world4scorer.driving.aggregation.config import AggregateConfig
from world4scorer.driving.closed_loop.drive_log import Thinning
from world4scorer.driving.closed_loop.infraction_monitor import TerminationRules

SMALL_ROUND = AggregateConfig(
    rounds=1,
    routes=1,
    suite="",
    evaluation_routes=1,
    ego_numbers=21,
    imitation="pdm-closed",
    thinning=Thinning(stride=1),
    rules=TerminationRules(time_limit=9.0, deviation=500.0, off_road_time=60.0),
)
"""One drive, ended after 9 s."""
