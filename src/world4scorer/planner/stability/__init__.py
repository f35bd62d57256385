"""Stability of choices under supervision: radii of comparisons in a local model of the scorer (Proposition 1)."""

from world4scorer.planner.stability.conjugate_gradients import NotConverged
from world4scorer.planner.stability.decisions import Stability
from world4scorer.planner.stability.geometry import Geometry
from world4scorer.planner.stability.radii import Radii
from world4scorer.planner.stability.supervision import LossWeights, SupervisedScenes, Supervision

__all__ = ["Geometry", "LossWeights", "NotConverged", "Radii", "Stability", "SupervisedScenes", "Supervision"]
