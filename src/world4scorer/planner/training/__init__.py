"""Learning from logs and outcomes: the losses and where their gradients go. Needs torch."""

from world4scorer.planner.training.losses import (
    LossConfig,
    Losses,
    Targets,
    baseline,
    bench2drive,
    compute_losses,
    paper,
)
from world4scorer.planner.training.predictions import Predictions, Proposed, predict, propose
from world4scorer.planner.training.time_warp import imitation_targets, time_warped

__all__ = [
    "LossConfig",
    "Losses",
    "Predictions",
    "Proposed",
    "Targets",
    "baseline",
    "bench2drive",
    "compute_losses",
    "imitation_targets",
    "paper",
    "predict",
    "propose",
    "time_warped",
]
