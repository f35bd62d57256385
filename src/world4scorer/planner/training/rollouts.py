"""Scenes that the planner itself drove, beside those of the logs.

On these, outcomes of all candidates and of the bank are learnt as on logs, and the future is that of the drive itself.
What was driven is no example: it is imitated either by nobody, or the teacher is PDM-Closed, whose plan every prepared
scene holds.

Each part has its own scene store, bank, targets and features; scenes are found by their tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from world4scorer.datasets.prepare.samples import Samples
from world4scorer.datasets.store import SceneStore
from world4scorer.engine.scene.geometry import plan_of_steps
from world4scorer.planner.bank.candidate_bank import BankSample
from world4scorer.planner.features.feature_cache import FeatureCache
from world4scorer.planner.targets.future_targets import FutureTargets
from world4scorer.planner.training.config import TrainConfig
from world4scorer.planner.training.dataset import BankNegatives, FeatureSource, Negatives, TargetSource
from world4scorer.planner.training.inputs import open_bank, open_targets
from world4scorer.planner.training.labels import PlanLabeller, SceneLabeller
from world4scorer.planner.training.split_samples import split_samples

Imitation = Literal["off", "pdm-closed"]


@dataclass(frozen=True)
class RolloutData:
    """Paths of a split of drives."""

    data: Path
    split: str
    store: Path
    bank: Path | None = None
    targets: Path | None = None
    imitation: Imitation = "off"
    """Whom plans imitate there: nobody, or PDM-Closed."""

    def __post_init__(self) -> None:
        if self.imitation not in get_args(Imitation):
            raise ValueError(f"imitation {self.imitation!r}: choose from {', '.join(get_args(Imitation))}")


class TrainInputs(NamedTuple):
    """What a run trains on."""

    samples: Samples
    labeller: PlanLabeller
    bank: Negatives | None
    targets: TargetSource | None
    features: FeatureSource | None


def join_rollouts(
    inputs: TrainInputs,
    config: TrainConfig,
    rollouts: Sequence[RolloutData],
    cache: Callable[[Samples, Path, str], FeatureCache],
) -> TrainInputs:
    """Inputs of the logs and of drives together; `cache` opens or makes the features of a split's samples."""
    if not rollouts:
        return inputs
    parts = [_open(config, one, inputs.targets) for one in rollouts]
    samples = [part.samples for part in parts]
    banks = [part.bank for part in parts if isinstance(part.bank, BankNegatives)]
    targets = [part.targets for part in parts if part.targets is not None]
    features = None
    if inputs.features is not None:
        each = [cache(part.samples, one.data, one.split) for part, one in zip(parts, rollouts, strict=True)]
        features = JoinedFeatures((inputs.features, *each))
    return TrainInputs(
        samples=Samples.joined([inputs.samples, *samples]),
        labeller=JoinedLabeller((inputs.labeller, *(part.labeller for part in parts)), _owners(samples)),
        bank=None if inputs.bank is None else JoinedNegatives(inputs.bank, tuple(banks)),
        targets=None if inputs.targets is None else JoinedTargets((inputs.targets, *targets)),
        features=features,
    )


def _open(config: TrainConfig, one: RolloutData, main: TargetSource | None) -> TrainInputs:
    store = SceneStore(one.store)
    samples = split_samples(one.data, one.split, one.store, config.model.ego_numbers)
    targets = open_targets(config, one.targets, samples)
    if targets is not None and isinstance(main, FutureTargets) and main.notes.centre:
        targets = targets.centred(main.mean())
    return TrainInputs(
        _taught(samples, store, one.imitation),
        SceneLabeller(store),
        open_bank(config, one.bank, samples),
        targets,
        None,
    )


def _taught(samples: Samples, store: SceneStore, imitation: Imitation) -> Samples:
    """The samples of drives with whom they imitate."""
    if imitation == "off":
        return replace(samples, taught=np.zeros(len(samples), np.bool_))
    plans = np.stack([reference_plan(store, token) for token in samples.tokens])
    return replace(samples, taught=np.ones(len(samples), np.bool_), teacher_plans=plans)


def reference_plan(store: SceneStore, token: str) -> NDArray[np.float64]:
    """PDM-Closed's plan (8, 3) of a scene, in the ego frame, every 0.5 s."""
    scene = store[token]
    return plan_of_steps(scene.reference, scene.ego_state[:3])


def _owners(samples: Sequence[Samples]) -> dict[str, int]:
    """Number of the part of each token; those of the logs, 0, are left out."""
    return {token: number for number, part in enumerate(samples, 1) for token in part.tokens}


@dataclass(frozen=True, eq=False)
class JoinedLabeller:
    """Labels plans in the scenes of several stores."""

    labellers: tuple[PlanLabeller, ...]
    owners: dict[str, int]
    """Number of the labeller by token, 0 for tokens that are not in it."""

    def label(self, token: str, plans_NT3: NDArray[np.float64]) -> NDArray[np.float64]:
        """Labels (N, 7) of plans."""
        return self.labellers[self.owners.get(token, 0)].label(token, plans_NT3)


@dataclass(frozen=True, eq=False)
class JoinedNegatives:
    """Plans of several banks; those of the logs first."""

    main: Negatives
    others: tuple[BankNegatives, ...]

    def draw(self, token: str, rng: np.random.Generator) -> BankSample:
        """Plans for one step with a scene, and their labels."""
        owner = next((bank for bank in self.others if token in bank.pack), self.main)
        return owner.draw(token, rng)


@dataclass(frozen=True, eq=False)
class JoinedTargets:
    """Future targets of several files."""

    parts: tuple[TargetSource, ...]

    def __contains__(self, token: object) -> bool:
        return any(token in part for part in self.parts)

    def features(self, tokens: Sequence[str]) -> tuple[Tensor, Tensor]:
        """Targets (B, E) and which scenes have one (B,), for tokens that are all of one part."""
        owner = next((part for part in self.parts if tokens[0] in part), self.parts[0])
        return owner.features(tokens)


@dataclass(frozen=True, eq=False)
class JoinedFeatures:
    """Cached features of several splits."""

    parts: tuple[FeatureSource, ...]

    def __contains__(self, token: object) -> bool:
        return any(token in part for part in self.parts)

    def read(self, token: str) -> tuple[NDArray[np.float16], ...]:
        """Patches, map features and forecast, if there is one, of a scene."""
        return next(part for part in self.parts if token in part).read(token)
