"""Routes: polylines, progress along them, and driving commands. NumPy only."""

from world4scorer.engine.routes.commands import CommandTracker, RoadOption
from world4scorer.engine.routes.route import Route, RouteCursor

__all__ = ["CommandTracker", "RoadOption", "Route", "RouteCursor"]
