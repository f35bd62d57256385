"""Bench2Drive's results: records of routes as CARLA's leaderboard writes them, and the published formulas on them."""

from world4scorer.evaluation.leaderboard.infractions import Infraction
from world4scorer.evaluation.leaderboard.records import RouteRecord, Scores, read_results, write_results
from world4scorer.evaluation.leaderboard.scores import driving_score, is_success, route_scores, success_rate

__all__ = [
    "Infraction",
    "RouteRecord",
    "Scores",
    "driving_score",
    "is_success",
    "read_results",
    "route_scores",
    "success_rate",
    "write_results",
]
