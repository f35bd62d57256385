"""Learning from logs and outcomes: the losses and where their gradients go. Needs torch."""

from world4scorer.training.future_targets import FutureTargets
from world4scorer.training.losses import LossConfig, Losses, Targets, baseline, bench2drive, compute_losses, paper
from world4scorer.training.make_targets import make_targets
from world4scorer.training.predictions import Predictions, Proposed, predict, propose
from world4scorer.training.time_warp import imitation_targets, time_warped

__all__ = [
    "FutureTargets",
    "LossConfig",
    "Losses",
    "Predictions",
    "Proposed",
    "Targets",
    "baseline",
    "bench2drive",
    "compute_losses",
    "imitation_targets",
    "make_targets",
    "paper",
    "predict",
    "propose",
    "time_warped",
]
