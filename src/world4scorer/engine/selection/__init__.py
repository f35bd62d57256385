"""Choosing among a planner's plans: numpy in, index out."""

from world4scorer.engine.selection.inertial import InertialReranker, inertial_utility, pair_interval

__all__ = ["InertialReranker", "inertial_utility", "pair_interval"]
