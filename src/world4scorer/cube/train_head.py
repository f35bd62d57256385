"""Train the outcome head on labelled groups, and say how well it orders candidates that it never saw."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from world4scorer.cube.collect import Groups
from world4scorer.cube.errors import CubeError
from world4scorer.cube.keeping import read_json, write_json
from world4scorer.cube.outcome_head import OutcomeHead, outcome_loss, pairwise_accuracy, standardised
from world4scorer.cube.simulator import SUCCESS_METRES, Floats
from world4scorer.model.weight_files import read_tensors, write_tensors
from world4scorer.progress import ProgressBar

WEIGHTS: Final = "head.safetensors"
DESCRIPTION: Final = "head.json"
LEAST_SPREAD: Final = 1e-4
"""Groups whose utilities (in metres) spread less teach nothing and are dropped."""


@dataclass(frozen=True)
class HeadConfig:
    """How the head is trained; the defaults are the paper's."""

    epochs: int = 80
    """Passes over the training groups."""
    batch: int = 64
    """Groups of a step."""
    rate: float = 1e-3
    """Learning rate, falling along a cosine."""
    decay: float = 1e-4
    """Weight decay."""
    validation: float = 0.2
    """Share of the episodes that validate."""
    seed: int = 0
    """Seed of split, weights and batches."""

    def __post_init__(self) -> None:
        if self.epochs < 1 or self.batch < 1 or not 0 < self.validation < 1:
            raise CubeError(
                "training needs an epoch, a group a step, and a share of episodes to validate between 0 and 1"
            )


@dataclass(frozen=True)
class Quality:
    """How well scores order the candidates of groups; means over groups."""

    groups: int
    rank_correlation: float
    """Spearman's, within groups."""
    ordering: float
    """Share of pairs in the right order."""
    chosen_metres: float
    """Distance of the candidate that the score likes best: best of N by score."""
    chosen_success: float
    """Share of groups in which that candidate brings the cube within 4 cm."""


@dataclass(frozen=True)
class TrainedHead:
    """An outcome head and how it came about."""

    head: OutcomeHead
    epoch: int
    """The epoch kept, counted from 0."""
    train_groups: int
    """Groups that it learned from."""
    episodes: list[int]
    """Episodes that it learned from or that chose the epoch."""
    quality: dict[str, Quality]
    """On validation groups, by what scores: the head, the latent cost alone, both together; the best and a random
    candidate for comparison."""
    history: list[float]
    """Validation ordering accuracy of every epoch."""


def usable(groups: Groups) -> Groups:
    """Groups with something to tell apart."""
    return groups.only(groups.utility.std(1) >= LEAST_SPREAD)


def split_by_episode(groups: Groups, share: float, seed: int) -> tuple[Groups, Groups]:
    """Groups to train on and to validate on; no episode is in both.

    Raises:
        CubeError: Fewer than two episodes.
    """
    episodes = np.unique(groups.episode)
    if len(episodes) < 2:
        raise CubeError("groups of at least two episodes are needed: one to train on, one to validate")
    shuffled = np.random.default_rng(seed).permutation(episodes)
    count = min(max(1, round(share * len(episodes))), len(episodes) - 1)
    validates = np.isin(groups.episode, shuffled[:count])
    return groups.only(~validates), groups.only(validates)


def train_head(groups: Groups, config: HeadConfig, progress: bool = True) -> TrainedHead:
    """Train on four fifths of the episodes; keep the epoch that orders the others' candidates best.

    Raises:
        CubeError: Too few groups that have something to tell apart.
    """
    learned, validated = split_by_episode(usable(groups), config.validation, config.seed)
    features, target = learned.features(), standardised(torch.from_numpy(learned.utility)).float()
    unseen, utility = validated.features(), torch.from_numpy(validated.utility)

    torch.manual_seed(config.seed)
    head = OutcomeHead(features.shape[-1])
    optimiser = torch.optim.AdamW(head.parameters(), lr=config.rate, weight_decay=config.decay)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, config.epochs)
    history: list[float] = []
    best = {name: tensor.clone() for name, tensor in head.state_dict().items()}
    with ProgressBar("Outcome head", "epochs", config.epochs, progress) as bar:
        for epoch in range(config.epochs):
            head.train()
            order = torch.from_numpy(np.random.default_rng((config.seed, epoch)).permutation(len(learned)))
            for chosen in order.split(config.batch):
                loss = outcome_loss(head(features[chosen]), target[chosen])
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
            schedule.step()
            history.append(_ordering(scores_of(head, unseen), utility))
            if int(np.argmax(history)) == epoch:
                best = {name: tensor.clone() for name, tensor in head.state_dict().items()}
            bar.advance()
    head.load_state_dict(best)
    return TrainedHead(
        head=head.eval(),
        epoch=int(np.argmax(history)),
        train_groups=len(learned),
        episodes=np.unique(groups.episode).tolist(),
        quality=qualities(head, validated),
        history=history,
    )


@torch.inference_mode()
def scores_of(head: OutcomeHead, features: Tensor) -> Tensor:
    """Scores (groups, candidates) of a head that is not learning."""
    return torch.cat([head.eval()(part) for part in features.split(64)])


def qualities(head: OutcomeHead, groups: Groups, weight: float = 0.3) -> dict[str, Quality]:
    """How well the head, the latent cost and their sum order the candidates of groups, between best and random."""
    utility, cost = torch.from_numpy(groups.utility), torch.from_numpy(groups.cost)
    outcome = standardised(scores_of(head, groups.features()))
    likeness = standardised(-cost)
    shuffled = np.random.default_rng(0).permuted(groups.utility, axis=1)
    scores = {
        "latent cost": likeness,
        "outcome head": outcome,
        f"cost + {weight:g} head": likeness + weight * outcome,
        "best candidate": utility,
        "random candidate": torch.from_numpy(shuffled),
    }
    return {name: quality(score.double(), utility) for name, score in scores.items()}


def quality(scores: Tensor, utility: Tensor) -> Quality:
    """How well scores order candidates; both (groups, candidates)."""
    chosen = utility.gather(1, scores.argmax(1, keepdim=True))[:, 0]
    return Quality(
        groups=len(utility),
        rank_correlation=float(np.nanmean(rank_correlations(scores.numpy(), utility.numpy()))),
        ordering=_ordering(scores, utility),
        chosen_metres=float(-chosen.mean()),
        chosen_success=float((-chosen <= SUCCESS_METRES).double().mean()),
    )


def rank_correlations(scores: NDArray[np.floating], utility: NDArray[np.floating]) -> Floats:
    """Spearman's rank correlation within each group (groups,); NaN where one side is constant."""
    first, second = (_ranks(values) for values in (scores, utility))
    first, second = (ranks - ranks.mean(1, keepdims=True) for ranks in (first, second))
    with np.errstate(invalid="ignore"):
        found: Floats = (first * second).sum(1) / np.sqrt((first**2).sum(1) * (second**2).sum(1))
    return found


def _ranks(values: NDArray[np.floating]) -> Floats:
    """Ranks within rows; equal values share the mean of theirs."""
    below = (values[:, :, None] > values[:, None, :]).sum(2)
    equal = (values[:, :, None] == values[:, None, :]).sum(2)
    ranks: Floats = below + (equal - 1) / 2
    return ranks


def _ordering(scores: Tensor, utility: Tensor) -> float:
    return float(pairwise_accuracy(scores, utility).nanmean())


def save_head(trained: TrainedHead, config: HeadConfig, folder: Path) -> None:
    """Write weights and what is known of them; the description last, so that with it all is there."""
    folder.mkdir(parents=True, exist_ok=True)
    write_tensors(trained.head.state_dict(), folder / WEIGHTS)
    write_json(
        folder / DESCRIPTION,
        {
            "config": asdict(config),
            "epoch": trained.epoch,
            "train_groups": trained.train_groups,
            "episodes": trained.episodes,
            "quality": {name: asdict(one) for name, one in trained.quality.items()},
            "history": trained.history,
        },
    )


def load_head(folder: Path) -> OutcomeHead:
    """Read a head.

    Raises:
        CubeError: Nothing there, or not a head.
    """
    if not (folder / WEIGHTS).exists():
        raise CubeError(f"{folder} holds no outcome head: run `w4s cube head` with this folder")
    try:
        tensors = read_tensors(folder / WEIGHTS)
        head = OutcomeHead(len(tensors["layers.0.weight"]))
        head.load_state_dict(tensors)
    except (KeyError, RuntimeError, ValueError) as error:
        raise CubeError(f"{folder} does not hold an outcome head of this version: {error}") from error
    return head.eval()


def read_head_report(folder: Path) -> dict[str, Any]:
    """What `save_head` wrote about a head."""
    return read_json(folder / DESCRIPTION)
