"""Where a drive is to lead: a polyline, how far along it the ego is, and the driving commands on it. NumPy only."""

from world4scorer.engine.routes.commands import CommandTracker, RoadOption
from world4scorer.engine.routes.route import Route, RouteCursor

__all__ = ["CommandTracker", "RoadOption", "Route", "RouteCursor"]
