"""Controls trained on the same data: an ego-status MLP, and a scorer without images.

Blanking the images of a trained planner would overstate their value: it was never trained without them.

Shapes: S scenes, B scenes of a step, N plans, T poses.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from world4scorer.datasets.prepare.samples import Samples
from world4scorer.engine.scene.indices import PLAN_POSES
from world4scorer.planner.bank import CandidateBank
from world4scorer.planner.model.anchors import CONTROLS, integrate
from world4scorer.planner.model.config import EGO_NUMBERS
from world4scorer.planner.model.generator import CONTROL_SCALE
from world4scorer.planner.model.network import SPEED, Network
from world4scorer.planner.planner import Planner
from world4scorer.planner.pretraining.schedule import learning_rate
from world4scorer.planner.training.augmentation import mirror_poses, mirror_status
from world4scorer.planner.training.config import TrainConfig
from world4scorer.planner.training.losses import bank_loss, score_loss

MLP_WIDTH: Final = 128
MLP_STEPS: Final = 3000
MLP_BATCH: Final = 256
MLP_RATE: Final = 2e-3
HEADING_WEIGHT: Final = 2.0
"""Weight of heading errors [m/rad]."""
STATUS_SCALE: Final = (1.0, 1.0, 1.0, 0.1, 1.0, 0.5, 0.5, 1.0, 1.0, 1.0, 1.0)
"""Scales an ego status to about one."""


class EgoStatusPlanner(nn.Module):
    """One plan from the ego status alone, by imitation."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(EGO_NUMBERS, MLP_WIDTH),
            nn.GELU(),
            nn.Linear(MLP_WIDTH, MLP_WIDTH),
            nn.GELU(),
            nn.Linear(MLP_WIDTH, PLAN_POSES * CONTROLS),
        )

    def forward(self, ego_status: Tensor) -> Tensor:
        """Plans (B, T, 3)."""
        controls = self.layers(ego_status * ego_status.new_tensor(STATUS_SCALE)).unflatten(-1, (1, PLAN_POSES, -1))
        return integrate(ego_status[:, SPEED], controls * controls.new_tensor(CONTROL_SCALE))[:, 0]


def train_ego_status_planner(samples: Samples, config: TrainConfig) -> EgoStatusPlanner:
    """Fit the logged trajectories, with the run's mirror augmentation."""
    torch.manual_seed(config.seed)
    planner = EgoStatusPlanner()
    status = torch.tensor(samples.ego_status)
    driven = torch.tensor(samples.future[:, :PLAN_POSES]).float()
    optimiser = torch.optim.AdamW(planner.parameters(), lr=MLP_RATE)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: learning_rate(step, MLP_STEPS, 100))
    for _ in range(MLP_STEPS):
        chosen = torch.randint(0, len(samples), (MLP_BATCH,))
        in_mirror = torch.rand(MLP_BATCH) < config.augmentation.mirror
        seen = torch.where(in_mirror[:, None], mirror_status(status[chosen]), status[chosen])
        error = (planner(seen) - mirror_poses(driven[chosen], in_mirror)).abs().mean((0, 1))
        loss = error[0] + error[1] + HEADING_WEIGHT * error[2]
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
    return planner.eval()


def train_blind_scorer(
    config: TrainConfig,
    samples: Samples,
    plans: NDArray[np.float32],
    labels: NDArray[np.float32],
    bank: CandidateBank | None,
    epochs: int,
) -> Planner:
    """A scorer of the same size without images, trained on the same plans (S, N, T, 3) and labels (S, N, 7)."""
    torch.manual_seed(config.seed)
    network = Network(replace(config.model, images=False, vocabulary=0)).train()
    weights, batch, chosen = config.losses, config.batch, config.optimiser
    known = torch.from_numpy(labels)
    status = torch.tensor(samples.ego_status)
    optimiser = torch.optim.AdamW(
        network.parameters(),
        lr=config.peak_learning_rate,
        betas=chosen.betas,
        eps=chosen.epsilon,
        weight_decay=chosen.weight_decay,
    )
    steps = epochs * (len(samples) // batch)
    warm_up = max(1, round(chosen.warm_up * steps))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: learning_rate(step, steps, warm_up))
    scene = network.encode(torch.zeros(batch, 0))
    for epoch in range(epochs):
        order = np.random.default_rng((config.seed, epoch)).permutation(len(samples))
        for start in range(0, len(order) - batch + 1, batch):
            indices = order[start : start + batch]
            in_mirror = torch.rand(batch) < config.augmentation.mirror
            ego = network.encode_ego(torch.where(in_mirror[:, None], mirror_status(status[indices]), status[indices]))
            states = network.predict(mirror_poses(torch.from_numpy(plans[indices]), in_mirror), scene, ego)
            loss = weights.score * score_loss(network.score(states, ego), known[indices])
            if bank is not None and weights.bank:
                tokens = [samples.tokens[index] for index in indices]
                seeds = [(config.seed, epoch, int(index)) for index in indices]
                drawn = bank.draw_batch(tokens, seeds, config.bank_draw.count, config.bank_draw.unsafe)
                candidates = mirror_poses(torch.from_numpy(drawn.candidates), in_mirror)
                logits = network.score(network.predict(candidates, scene, ego), ego)
                valid, outcomes = torch.from_numpy(drawn.has_bank), torch.from_numpy(drawn.labels)
                loss = loss + weights.bank * bank_loss(logits, outcomes, valid, weights.bank_progress)
            optimiser.zero_grad()
            loss.backward()
            if chosen.clip:
                nn.utils.clip_grad_norm_(network.parameters(), chosen.clip)
            optimiser.step()
            schedule.step()
    return Planner.from_network(network)


def blind_utility(scorer: Planner, samples: Samples, plans: NDArray[np.float32]) -> NDArray[np.float32]:
    """Utilities (S, N) that a scorer without images gives plans (S, N, T, 3)."""
    image = torch.zeros(len(samples), 0)
    scored = scorer.score(image, torch.tensor(samples.ego_status), torch.from_numpy(plans))
    worth: NDArray[np.float32] = scored.utility("v1").numpy()
    return worth
