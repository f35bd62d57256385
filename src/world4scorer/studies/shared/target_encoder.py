"""Which encoder a run's future targets were made with."""

from __future__ import annotations

from pathlib import Path

from world4scorer.planner.model.image_encoder import BUNDLED, load_encoder
from world4scorer.planner.targets.future_targets import FutureTargets
from world4scorer.planner.training.config import TrainConfig


def target_encoder(config: TrainConfig, targets: Path) -> str | None:
    """A bundled one, or the run's own ViT weights, whichever has the digest that the targets name; None for others."""
    digest = FutureTargets.open(targets).notes.encoder
    own = config.vit_weights
    candidates = [*BUNDLED, *([own] if own and Path(own).exists() else [])]
    return next((str(one) for one in candidates if load_encoder(one).digest() == digest), None)
