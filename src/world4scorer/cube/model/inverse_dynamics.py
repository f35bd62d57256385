"""A goal-conditioned inverse-dynamics policy on a world model's frozen latents: the reference that does not search.

From the latents of a moment and of a later one, and the steps between, it predicts the actions of the next block;
trained on recorded episodes, played in closed loop, one block at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from world4scorer.cube.about import ABOUT, about, digest_of
from world4scorer.cube.episodes import EpisodeKind, read_episodes
from world4scorer.cube.errors import CubeError
from world4scorer.cube.model.lewm import ACTION_BLOCK, BLOCK_STEPS
from world4scorer.cube.model.planners import ReplanStep, latents_of
from world4scorer.cube.model.train_world_model import training_windows
from world4scorer.cube.model.world_model import WEIGHTS as MODEL_WEIGHTS
from world4scorer.cube.model.world_model import LewmWorldModel
from world4scorer.cube.simulator.cube_env import CubeSimulator, Floats
from world4scorer.cube.windows import GOAL_STEPS
from world4scorer.jobs.progress import ProgressBar
from world4scorer.jobs.resumable import resumable
from world4scorer.jobs.tensor_files import read_tensors, write_tensors

WEIGHTS: Final = "inverse.safetensors"
LEAST_STEPS: Final = 10
"""Steps that are left to the goal, at least, when the policy plays: the goal's own moment may have passed."""


@dataclass(frozen=True)
class InverseConfig:
    """The policy and how it is trained."""

    width: int = 832
    """Width of its three hidden layers: 1.5 million parameters."""
    steps: int = 8000
    """Optimiser steps."""
    batch: int = 256
    """Pairs of moments of a step."""
    rate: float = 1e-3
    """Learning rate, falling along a cosine."""
    seed: int = 0
    """Seed of weights and batches."""

    def __post_init__(self) -> None:
        if min(self.width, self.steps, self.batch) < 1 or self.rate <= 0 or self.seed < 0:
            raise CubeError(
                "the policy needs a width, a step, a batch, a positive rate and a seed that is not negative"
            )


class InverseDynamics(nn.Module):
    """Latents now and at the goal, and the steps between, to the next block of actions in the model's unit."""

    def __init__(self, latent: int, width: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(3 * latent + 1, width),
            nn.GELU(),
            nn.Linear(width, width),
            nn.GELU(),
            nn.Linear(width, width),
            nn.GELU(),
            nn.Linear(width, ACTION_BLOCK),
        )

    def forward(self, now: Tensor, goal: Tensor, steps: Tensor) -> Tensor:
        """Latents (samples, latent), steps (samples,) to actions (samples, 25)."""
        out: Tensor = self.layers(torch.cat([now, goal, goal - now, steps[:, None] / GOAL_STEPS], 1))
        return out


def train_inverse(
    data: Path, model: Path, folder: Path, config: InverseConfig, held_out: frozenset[int], progress: bool = True
) -> InverseDynamics:
    """Train on the episodes that the world model learned from, unless `folder` has the policy."""
    made_from = {"data": digest_of(data / ABOUT), "model": digest_of(model / MODEL_WEIGHTS)}
    settings = about(folder, config, "inverse dynamics", **made_from, held_out=sorted(held_out))
    with resumable(folder, "training this policy", CubeError, settings):
        if not (folder / WEIGHTS).exists():
            policy = _train(data, LewmWorldModel.load(model), config, held_out, progress)
            write_tensors(policy.state_dict(), folder / WEIGHTS)
    return load_inverse(folder)


def _train(
    data: Path, model: LewmWorldModel, config: InverseConfig, held_out: frozenset[int], progress: bool
) -> InverseDynamics:
    expert = read_episodes(data, EpisodeKind.EXPERT)
    parts = [expert.only([index for index in range(len(expert)) if index not in held_out])]
    parts.append(read_episodes(data, EpisodeKind.NOISY))
    windows = training_windows(parts, model.scale, model.network.config)
    actions = windows.actions
    torch.manual_seed(config.seed)
    policy = InverseDynamics(model.latent, config.width)
    optimiser = torch.optim.AdamW(policy.parameters(), lr=config.rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, config.steps)
    with ProgressBar("Inverse dynamics", "steps", config.steps, progress) as bar:
        for step in range(config.steps):
            generator = np.random.default_rng((config.seed, step))
            episode = generator.integers(len(actions), size=config.batch)
            first = generator.integers(actions.shape[1] - GOAL_STEPS, size=config.batch)
            ahead = generator.integers(BLOCK_STEPS, GOAL_STEPS + 1, size=config.batch)
            seen = windows.see(episode[:, None], np.stack([first, first + ahead], 1))
            latents = model.encode(seen.reshape(-1, *seen.shape[2:])).clone().view(config.batch, 2, -1)
            wanted = actions[episode[:, None], first[:, None] + np.arange(BLOCK_STEPS)].reshape(config.batch, -1)
            found = policy(latents[:, 0], latents[:, 1], torch.from_numpy(ahead).float())
            loss = functional.mse_loss(found, torch.from_numpy(wanted))
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            bar.advance()
    return policy


def load_inverse(folder: Path) -> InverseDynamics:
    """Read a policy; raises CubeError if there is none."""
    if not (folder / WEIGHTS).exists():
        raise CubeError(f"{folder} holds no inverse dynamics: run `w4s cube inverse` with this folder")
    try:
        tensors = read_tensors(folder / WEIGHTS)
        width, features = tensors["layers.0.weight"].shape
        policy = InverseDynamics((features - 1) // 3, width)
        policy.load_state_dict(tensors)
    except (KeyError, RuntimeError, ValueError) as error:
        raise CubeError(f"{folder} does not hold inverse dynamics of this version: {error}") from error
    return policy.eval()


class InversePlanner:
    """Plays the policy."""

    def __init__(self, model: LewmWorldModel, policy: InverseDynamics) -> None:
        self.model, self.policy = model, policy.eval()

    @torch.inference_mode()
    def plan(self, simulator: CubeSimulator, moments: Sequence[ReplanStep]) -> Floats:
        """The next block of every moment."""
        now, goal = latents_of(self.model, simulator, moments)
        left = [max(GOAL_STEPS - BLOCK_STEPS * moment.round, LEAST_STEPS) for moment in moments]
        blocks = self.policy(now, goal, torch.tensor(left, dtype=torch.float32))
        return np.clip(self.model.scale.to_simulator(blocks[:, None]), -1, 1)
