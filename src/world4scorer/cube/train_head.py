"""Train the outcome head on labelled groups and validate its ordering of held-out candidates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from world4scorer.cube.about import read_arrays, write_arrays
from world4scorer.cube.collect import MIN_SPREAD, Groups
from world4scorer.cube.errors import CubeError
from world4scorer.cube.model.outcome_head import (
    HeadSees,
    OutcomeHead,
    PathHead,
    outcome_loss,
    pairwise_accuracy,
    standardised,
)
from world4scorer.cube.simulator.cube_env import SUCCESS_METRES, Floats
from world4scorer.jobs.files import read_json, write_json
from world4scorer.jobs.progress import ProgressBar
from world4scorer.jobs.tensor_files import read_tensors, write_tensors

WEIGHTS: Final = "head.safetensors"
DESCRIPTION: Final = "head.json"
VALIDATION: Final = "validation.npz"
LATENT_COST, OUTCOME_HEAD, BEST, RANDOM = "latent cost", "outcome head", "best candidate", "random candidate"
"""What orders candidates, beside the sums of the first two."""
SUMMED_WEIGHTS: Final = (0.1, 0.2, 0.3, 0.5, 1.0, 3.0)
"""Weights of the head in sums with the latent cost that are measured on validation groups."""
GROUP_BATCH: Final = 64
"""Ordering compares all pairs of a group, which takes a megabyte for each."""


@dataclass(frozen=True)
class HeadConfig:
    """How the head is trained; the defaults are the paper's."""

    sees: HeadSees = "final"
    """What it sees of a candidate: the paper's head where it ends, the extension every block."""
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
        if self.epochs < 1 or self.batch < 1 or not 0 < self.validation < 1 or self.seed < 0:
            raise CubeError(
                "training needs an epoch, a group a step, a share of episodes to validate between 0 and 1, and a seed "
                "that is not negative"
            )


@dataclass(frozen=True)
class GroupQuality:
    """How well a score orders the candidates of each group; arrays (groups,)."""

    rank_correlation: Floats
    """Spearman's; NaN where score or outcome is the same for all."""
    ordering: Floats
    """Share of pairs in the right order; NaN where no pair differs."""
    chosen_metres: Floats
    """Distance of the candidate that the score likes best: best of N by score."""

    def mean(self) -> dict[str, float]:
        """Means over groups, and the share of groups whose chosen candidate brings the cube within 4 cm."""
        return {
            "groups": len(self.chosen_metres),
            "rank_correlation": float(np.nanmean(self.rank_correlation)),
            "ordering": float(np.nanmean(self.ordering)),
            "chosen_metres": float(self.chosen_metres.mean()),
            "chosen_success": float((self.chosen_metres <= SUCCESS_METRES).mean()),
        }


_PER_GROUP: Final = tuple(field.name for field in fields(GroupQuality))


@dataclass(frozen=True)
class Validation:
    """What was measured on validation groups, one by one."""

    episode: NDArray[np.int64]
    """Episodes of the groups (groups,)."""
    scores: dict[str, GroupQuality]
    """By what orders the candidates: latent cost, head, their sums; the best and a random candidate for comparison."""


@dataclass(frozen=True)
class TrainedHead:
    """An outcome head and how it came about."""

    head: OutcomeHead | PathHead
    epoch: int
    """The epoch kept, counted from 0."""
    train_groups: int
    """Groups that it learned from."""
    train_episodes: int
    """Episodes of these."""
    episodes: list[int]
    """Episodes that it learned from or that chose the epoch."""
    validation: Validation
    history: list[float]
    """Validation ordering accuracy of every epoch."""


def usable(groups: Groups) -> Groups:
    """Groups with something to tell apart."""
    return groups.only(groups.utility.std(1) >= MIN_SPREAD)


def split_by_episode(groups: Groups, share: float, seed: int) -> tuple[Groups, Groups]:
    """Groups to train on and to validate on; no episode is in both; raises CubeError for fewer than two episodes."""
    episodes = np.unique(groups.episode)
    if len(episodes) < 2:
        raise CubeError("groups of at least two episodes are needed: one to train on, one to validate")
    shuffled = np.random.default_rng(seed).permutation(episodes)
    count = min(max(1, round(share * len(episodes))), len(episodes) - 1)
    validates = np.isin(groups.episode, shuffled[:count])
    return groups.only(~validates), groups.only(validates)


def train_head(groups: Groups, config: HeadConfig, progress: bool = True) -> TrainedHead:
    """Train on four fifths of the episodes; keep the epoch that orders the others' candidates best."""
    learned, validated = split_by_episode(usable(groups), config.validation, config.seed)
    target, utility = standardised(torch.from_numpy(learned.utility)).float(), torch.from_numpy(validated.utility)
    torch.manual_seed(config.seed)
    head = new_head(learned.only(np.arange(1)).features(config.sees))
    optimiser = torch.optim.AdamW(head.parameters(), lr=config.rate, weight_decay=config.decay)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, config.epochs)
    history: list[float] = []
    best = {name: tensor.clone() for name, tensor in head.state_dict().items()}
    with ProgressBar("Outcome head", "epochs", config.epochs, progress) as bar:
        for epoch in range(config.epochs):
            head.train()
            order = torch.from_numpy(np.random.default_rng((config.seed, epoch)).permutation(len(learned)))
            for chosen in order.split(config.batch):
                features = learned.only(chosen.numpy()).features(config.sees)
                loss = outcome_loss(head(features), target[chosen])
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
            schedule.step()
            history.append(float(_ordering(scores_of(head, validated), utility).nanmean()))
            if int(np.argmax(history)) == epoch:
                best = {name: tensor.clone() for name, tensor in head.state_dict().items()}
            bar.advance()
    head.load_state_dict(best)
    return TrainedHead(
        head=head.eval(),
        epoch=int(np.argmax(history)),
        train_groups=len(learned),
        train_episodes=len(np.unique(learned.episode)),
        episodes=np.unique(groups.episode).tolist(),
        validation=validate(head, validated),
        history=history,
    )


def new_head(features: Tensor) -> OutcomeHead | PathHead:
    """A head for features (groups, candidates, width), or of every block (groups, candidates, blocks, width)."""
    if features.ndim == 4:
        return PathHead(features.shape[-1], features.shape[-2])
    return OutcomeHead(features.shape[-1])


@torch.inference_mode()
def scores_of(head: OutcomeHead | PathHead, groups: Groups) -> Tensor:
    """Scores (groups, candidates) of a head that is not learning."""
    head.eval()
    parts = np.split(np.arange(len(groups)), range(GROUP_BATCH, len(groups), GROUP_BATCH))
    return torch.cat([head(groups.only(part).features(head.sees)) for part in parts])


def sum_name(weight: float) -> str:
    """What the sum of latent cost and head is called."""
    return f"cost + {weight:g} head"


def validate(head: OutcomeHead | PathHead, groups: Groups) -> Validation:
    """How well the head, the latent cost and their sums order the candidates of groups, between best and random."""
    utility, cost = torch.from_numpy(groups.utility), torch.from_numpy(groups.cost)
    outcome = standardised(scores_of(head, groups))
    likeness = standardised(-cost)
    shuffled = np.random.default_rng(0).permuted(groups.utility, axis=1)
    scores = {
        LATENT_COST: likeness,
        OUTCOME_HEAD: outcome,
        **{sum_name(weight): likeness + weight * outcome for weight in SUMMED_WEIGHTS},
        BEST: utility,
        RANDOM: torch.from_numpy(shuffled),
    }
    return Validation(groups.episode, {name: quality(score.double(), utility) for name, score in scores.items()})


def quality(scores: Tensor, utility: Tensor) -> GroupQuality:
    """How well scores order candidates; both (groups, candidates)."""
    chosen = utility.gather(1, scores.argmax(1, keepdim=True))[:, 0]
    return GroupQuality(
        rank_correlation=rank_correlations(scores.numpy(), utility.numpy()),
        ordering=_ordering(scores, utility).numpy(),
        chosen_metres=-chosen.numpy(),
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


def _ordering(scores: Tensor, utility: Tensor) -> Tensor:
    parts = zip(scores.split(GROUP_BATCH), utility.split(GROUP_BATCH), strict=True)
    return torch.cat([pairwise_accuracy(*part) for part in parts])


def save_head(trained: TrainedHead, config: HeadConfig, folder: Path, made_from: Mapping[str, str]) -> None:
    """Write weights and what is known of them; the description last, so that with it all is there.

    `made_from`: what tells the groups, and the world model whose candidates they hold, from others.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_tensors(trained.head.state_dict(), folder / WEIGHTS)
    scores = trained.validation.scores
    measured = {name: np.stack([getattr(one, name) for one in scores.values()]) for name in _PER_GROUP}
    arrays = {"episode": trained.validation.episode, "scores": np.array(list(scores)), **measured}
    write_arrays(folder / VALIDATION, arrays)
    write_json(
        folder / DESCRIPTION,
        {
            "config": asdict(config),
            "made_from": dict(made_from),
            "epoch": trained.epoch,
            "train_groups": trained.train_groups,
            "train_episodes": trained.train_episodes,
            "episodes": trained.episodes,
            "quality": {name: one.mean() for name, one in scores.items()},
            "history": trained.history,
        },
    )


def load_head(folder: Path) -> OutcomeHead | PathHead:
    """Read a head; raises CubeError if there is none."""
    if not (folder / WEIGHTS).exists():
        raise CubeError(f"{folder} holds no outcome head: run `w4s cube head` with this folder")
    try:
        tensors = read_tensors(folder / WEIGHTS)
        head: OutcomeHead | PathHead
        if "block.0.weight" in tensors:
            block_width = tensors["block.3.weight"].shape[0]
            head = PathHead(len(tensors["block.0.weight"]), tensors["layers.1.weight"].shape[1] // block_width)
        else:
            head = OutcomeHead(len(tensors["layers.0.weight"]))
        head.load_state_dict(tensors)
    except (KeyError, RuntimeError, ValueError) as error:
        raise CubeError(f"{folder} does not hold an outcome head of this version: {error}") from error
    return head.eval()


def read_head_report(folder: Path) -> dict[str, Any]:
    """What `save_head` wrote about a head; as `validation` a `Validation`; raises CubeError if it cannot be read."""
    if not (folder / DESCRIPTION).exists():
        raise CubeError(f"{folder} holds no finished outcome head: run `w4s cube head` first")
    again = "run `w4s cube head` with this study again"
    arrays = read_arrays(folder / VALIDATION, ("episode", "scores", *_PER_GROUP), again)
    scores = {
        name: GroupQuality(**{measure: arrays[measure][row] for measure in _PER_GROUP})
        for row, name in enumerate(arrays["scores"].tolist())
    }
    return {**read_json(folder / DESCRIPTION, CubeError), "validation": Validation(arrays["episode"], scores)}
