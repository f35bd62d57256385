"""Opens and checks the bank and future targets of a run."""

from __future__ import annotations

from pathlib import Path

from world4scorer.datasets.prepare.samples import Samples
from world4scorer.planner.bank import CandidateBank
from world4scorer.planner.targets.future_targets import FutureTargets
from world4scorer.planner.training.config import TrainConfig
from world4scorer.planner.training.dataset import BankNegatives


def open_bank(config: TrainConfig, given: Path | None, samples: Samples) -> BankNegatives | None:
    """The bank, where its loss has a weight."""
    if not config.loss_weights.bank:
        return None
    path = _required(given, "bank")
    pack = CandidateBank.open(path)
    if not any(token in pack for token in samples.tokens):
        raise ValueError(f"{path}: a bank of other scenes; make one for this split with `w4s bank make`")
    return BankNegatives(pack, config.bank_draw)


def open_targets(config: TrainConfig, given: Path | None, samples: Samples) -> FutureTargets | None:
    """The future targets, where their loss has a weight."""
    if not config.loss_weights.future:
        return None
    path = _required(given, "targets")
    targets = FutureTargets.open(path)
    if targets.width != config.model.future_width:
        raise ValueError(
            f"{path}: targets of {targets.width} numbers; the model reads {config.model.future_width} "
            "(--model.future-width)"
        )
    if not targets.notes.encoder and config.auxiliary_target == "current":
        raise ValueError(
            f"{path}: a released cache, whose features are of the future frame; --auxiliary-target current needs those "
            "of the current one: w4s targets --frame current"
        )
    if targets.notes.encoder and targets.notes.frame != config.auxiliary_target:
        raise ValueError(
            f"{path}: targets of the {targets.notes.frame} frame, but --auxiliary-target is {config.auxiliary_target}"
        )
    if not any(token in targets for token in samples.tokens):
        raise ValueError(f"{path}: targets of other scenes; make them for this split with `w4s targets`")
    return targets


def _required(path: Path | None, name: str) -> Path:
    if path is None:
        raise ValueError(f"{name}: missing, but its loss has a weight; give it, or set the weight to 0")
    return path
