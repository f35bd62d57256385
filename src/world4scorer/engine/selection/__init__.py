"""Plan selection: re-ranking of a planner's plans, NumPy only."""

from world4scorer.engine.selection.inertial import InertialReranker, inertial_utility, pair_interval

__all__ = ["InertialReranker", "inertial_utility", "pair_interval"]
