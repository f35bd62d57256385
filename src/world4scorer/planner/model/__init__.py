"""The planner as a network: encoder, generator, shared predictor, score heads, and its files. Needs torch."""

from world4scorer.planner.model.config import ModelConfig, baseline, city, city_vit, paper
from world4scorer.planner.model.network import Forward, Network
from world4scorer.planner.model.plan_sampling import Cameras
from world4scorer.planner.model.utility import COMPONENTS, WEIGHTS, utility

__all__ = [
    "COMPONENTS",
    "WEIGHTS",
    "Cameras",
    "Forward",
    "ModelConfig",
    "Network",
    "baseline",
    "city",
    "city_vit",
    "paper",
    "utility",
]
