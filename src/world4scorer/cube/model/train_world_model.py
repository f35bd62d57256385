"""Train a LeWM on episodes: predict the next latent, keep latents spread; an interrupted training resumes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from world4scorer.cube.about import ABOUT, about, digest_of
from world4scorer.cube.episodes import EpisodeKind, Episodes, read_episodes
from world4scorer.cube.errors import CubeError
from world4scorer.cube.model.lewm import ACTION_BLOCK, BLOCK_STEPS, Lewm, LewmConfig, Sigreg
from world4scorer.cube.model.world_model import WEIGHTS, ActionScale, LewmWorldModel, as_input
from world4scorer.jobs.files import read_json, write_json
from world4scorer.jobs.progress import ProgressBar
from world4scorer.jobs.resumable import resumable
from world4scorer.jobs.tensor_files import read_checkpoint, write_checkpoint

CHECKPOINT: Final = "checkpoint.pt"
HISTORY: Final = "history.json"
CHECKPOINT_STEPS: Final = 500
"""Steps between checkpoints, and between lines of the history."""
HELD_OUT_WINDOWS: Final = 512
"""Windows of held-out episodes on which the history measures prediction."""


@dataclass(frozen=True)
class WorldModelConfig:
    """A world model and how it is trained."""

    sizes: LewmConfig = field(default_factory=LewmConfig)
    """The network."""
    steps: int = 100_000
    """Optimiser steps."""
    batch: int = 128
    """Windows of a step."""
    rate: float = 3e-4
    """Learning rate after the first 200 steps; falls to 2 % of it along a cosine."""
    decay: float = 1e-3
    """Weight decay."""
    spread: float = 0.1
    """Weight of SIGReg."""
    directions: int = 1024
    """Directions along which SIGReg compares."""
    seed: int = 0
    """Seed of weights and batches."""

    def __post_init__(self) -> None:
        if self.steps < 1 or self.batch < 2 or self.rate <= 0 or self.seed < 0:
            raise CubeError("training needs a step, a batch of two, a positive rate and a seed that is not negative")


See = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[Any]]


@dataclass(frozen=True)
class TrainingWindows:
    """Windows of consecutive frames, one action block apart, drawn from episodes."""

    see: See
    """Reads observations by episodes and steps."""
    actions: NDArray[np.float32]
    """In the model's unit (episodes, steps, 5)."""
    frames: int
    """Frames of a window."""

    def draw(self, generator: np.random.Generator, count: int) -> tuple[Tensor, Tensor]:
        """Frames (count, frames, …) and the action blocks between them (count, frames - 1, 25)."""
        between = BLOCK_STEPS * (self.frames - 1)
        episode = generator.integers(len(self.actions), size=count)[:, None]
        first = generator.integers(self.actions.shape[1] - between, size=count)[:, None]
        seen = self.see(episode, first + BLOCK_STEPS * np.arange(self.frames))
        actions = self.actions[episode, first + np.arange(between)]
        return as_input(torch.from_numpy(seen)), torch.from_numpy(actions).view(count, self.frames - 1, ACTION_BLOCK)


def train_world_model(
    data: Path, folder: Path, config: WorldModelConfig, held_out: frozenset[int], progress: bool = True
) -> LewmWorldModel:
    """Train on all episodes in `data` but the expert's in `held_out`; an interrupted training resumes."""
    settings = about(folder, config, "world model", data=digest_of(data / ABOUT), held_out=sorted(held_out))
    with resumable(folder, "training this world model", CubeError, settings):
        if (folder / WEIGHTS).exists():
            return LewmWorldModel.load(folder)
        return _train(data, folder, config, held_out, progress)


def _train(
    data: Path, folder: Path, config: WorldModelConfig, held_out: frozenset[int], progress: bool
) -> LewmWorldModel:
    expert = read_episodes(data, EpisodeKind.EXPERT)
    learned = [index for index in range(len(expert)) if index not in held_out]
    if not learned:
        raise CubeError(f"{data}: every expert episode is evaluated, none is left to learn from; make more")
    scale = ActionScale.of(expert.actions[learned])
    parts = [expert.only(learned), read_episodes(data, EpisodeKind.NOISY)]
    windows = training_windows(parts, scale, config.sizes)
    unseen = training_windows([expert.only(sorted(held_out) or learned)], scale, config.sizes)

    torch.manual_seed(config.seed)
    network = Lewm(config.sizes)
    optimiser = torch.optim.AdamW(network.parameters(), lr=config.rate, weight_decay=config.decay)
    history = _resume(folder / CHECKPOINT, network, optimiser)
    first = history[-1]["step"] if history else 0
    sigreg = Sigreg(config.directions)
    check = unseen.draw(np.random.default_rng(config.seed), HELD_OUT_WINDOWS)
    with ProgressBar("World model", "steps", config.steps, progress) as bar:
        bar.advance(int(first))
        for step in range(int(first), config.steps):
            drawn = windows.draw(np.random.default_rng((config.seed, step)), config.batch)
            _step(network, optimiser, sigreg, config, step, *drawn)
            bar.advance()
            if (step + 1) % CHECKPOINT_STEPS == 0 or step + 1 == config.steps:
                history.append({"step": step + 1, **measure(network, *check)})
                _save_checkpoint(folder, network, optimiser, history)
    write_json(folder / HISTORY, {"history": history})  # it may have been stopped between the last checkpoint and this
    model = LewmWorldModel(network, scale)
    model.save(folder)
    return model


@torch.inference_mode()
def measure(network: Lewm, seen: Tensor, actions: Tensor) -> dict[str, float]:
    """How well a network imagines: mean squared error one block and a whole window ahead, each as a share of the
    error of assuming that nothing changes."""
    network.eval()
    latents = network.encode(seen)
    imagined = network.roll_out(latents[:, 0], actions[:, None])[:, 0]
    still = latents[:, :1]
    found = {}
    for name, block in (("one_block", 0), ("all_blocks", actions.shape[1] - 1)):
        change = functional.mse_loss(still[:, 0], latents[:, block + 1])
        found[name] = float(functional.mse_loss(imagined[:, block], latents[:, block + 1]) / change)
    network.train()
    return found


def _step(
    network: Lewm,
    optimiser: torch.optim.Optimizer,
    sigreg: Sigreg,
    config: WorldModelConfig,
    step: int,
    seen: Tensor,
    actions: Tensor,
) -> None:
    torch.manual_seed(hash((config.seed, step)))  # dropout and directions, the same after an interruption
    for group in optimiser.param_groups:
        group["lr"] = config.rate * _learning_rate_factor(step, config.steps)
    latents = network.encode(seen)
    loss = functional.mse_loss(network.predict(latents[:, :-1], actions), latents[:, 1:])
    loss = loss + config.spread * sigreg(latents)
    optimiser.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(network.parameters(), 1.0)
    optimiser.step()


def _learning_rate_factor(step: int, steps: int) -> float:
    falling = 0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * step / steps))
    return min(1.0, (step + 1) / 200) * falling


def training_windows(parts: list[Episodes], scale: ActionScale, sizes: LewmConfig) -> TrainingWindows:
    """Windows of several kinds of episodes, as a model of these sizes sees them; raises CubeError if it cannot."""
    steps, frames = parts[0].steps, sizes.context + 1
    if steps <= BLOCK_STEPS * (frames - 1):
        raise CubeError(f"episodes of {steps} steps are too short for windows of {frames} frames")
    actions = np.concatenate([scale.to_model(part.actions).astype(np.float32) for part in parts])
    if sizes.sees == "pixels":
        pictures = [one for part in parts for one in part.pictures]
        if not pictures or pictures[0].shape[1] != sizes.image:
            raise CubeError(
                f"the episodes have no pictures of {sizes.image} pixels: make them with --pictures {sizes.image}"
            )

        def see(episode: NDArray[np.int64], step: NDArray[np.int64]) -> NDArray[Any]:
            return np.stack(
                [[pictures[int(one)][moment] for moment in row] for one, row in zip(episode[:, 0], step, strict=True)]
            )

        return TrainingWindows(see, actions, frames)
    observations = np.concatenate([part.observations for part in parts])
    return TrainingWindows(lambda episode, step: observations[episode, step], actions, frames)


def _save_checkpoint(
    folder: Path, network: Lewm, optimiser: torch.optim.Optimizer, history: list[dict[str, float]]
) -> None:
    content = {"network": network.state_dict(), "optimiser": optimiser.state_dict(), "history": history}
    write_checkpoint(content, folder / CHECKPOINT)
    write_json(folder / HISTORY, {"history": history})


def read_history(folder: Path) -> list[dict[str, float]]:
    """Training history: steps and results of `measure`."""
    history: list[dict[str, float]] = read_json(folder / HISTORY, CubeError)["history"]
    return history


def _resume(path: Path, network: Lewm, optimiser: torch.optim.Optimizer) -> list[dict[str, float]]:
    if not path.exists():
        return []
    kept = read_checkpoint(path)
    network.load_state_dict(kept["network"])
    optimiser.load_state_dict(kept["optimiser"])
    history: list[dict[str, float]] = kept["history"]
    return history
