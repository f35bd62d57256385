"""The planner as a network: encoder, generator, shared predictor, score heads, and its files. Needs torch."""

from world4scorer.model.components import COMPONENTS
from world4scorer.model.config import ModelConfig, baseline, city, paper
from world4scorer.model.network import Forward, Network
from world4scorer.model.plan_sampling import Cameras
from world4scorer.model.planner import Planner, ScoredPlans
from world4scorer.model.utility import WEIGHTS, utility

__all__ = [
    "COMPONENTS",
    "WEIGHTS",
    "Cameras",
    "Forward",
    "ModelConfig",
    "Network",
    "Planner",
    "ScoredPlans",
    "baseline",
    "city",
    "paper",
    "utility",
]
