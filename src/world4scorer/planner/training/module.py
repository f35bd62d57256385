"""Lightning module of training: step, validation, optimiser.

Every step seeds its random numbers from (seed, step, process), so that a resumed run is identical.

Shapes: B scenes, N generated plans, K bank plans.
"""

from __future__ import annotations

import time
from typing import Any

import lightning.pytorch as pl
import numpy as np
import torch
from lightning.pytorch.utilities.types import OptimizerLRScheduler
from torch import Tensor, nn

from world4scorer.engine.outcomes.results import V1_COLUMNS
from world4scorer.engine.selection.pool_metrics import PoolMetrics, pool_metrics
from world4scorer.planner.model.generator import VocabularyGenerator
from world4scorer.planner.model.network import Network
from world4scorer.planner.model.utility import COMPONENTS, DDC, utility
from world4scorer.planner.pretraining.schedule import learning_rate
from world4scorer.planner.training.augmentation import jitter_light, mirror_batch, mirror_poses
from world4scorer.planner.training.config import TrainConfig
from world4scorer.planner.training.dataset import Batch
from world4scorer.planner.training.grid_mask import grid_mask
from world4scorer.planner.training.labels import LabelThreads, PlanLabeller
from world4scorer.planner.training.losses import Targets, compute_losses, count_labels, screen_loss
from world4scorer.planner.training.predictions import explored_plans, predict, propose, screen_logits

PDMS = V1_COLUMNS.index("PDMS")
EXPLORED = 16
"""Plans of the vocabulary per scene and step that are labelled for its screen alone, drawn at random."""


class ScorerModule(pl.LightningModule):
    """A network with its losses; the labellers are those of the two splits."""

    def __init__(
        self,
        config: TrainConfig,
        network: Network,
        labeller: PlanLabeller,
        val_labeller: PlanLabeller,
        steps: int,
        label_threads: int = 1,
    ) -> None:
        super().__init__()
        self.config, self.network, self.steps = config, network, steps
        self.labels, self.val_labels = LabelThreads(labeller, label_threads), LabelThreads(val_labeller, label_threads)
        self._validated: list[PoolMetrics] = []
        self._step_began = 0.0
        freeze_unused(network, config)

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        """Seed the step."""
        numbers = np.random.SeedSequence((self.config.seed, self.global_step, self.global_rank)).generate_state(2)
        torch.manual_seed(int(numbers[0]))
        self._rng = np.random.default_rng((self.config.seed, self.global_step))
        self._step_began = time.perf_counter()

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """Propose plans, predict while their labels are computed, then compute losses."""
        config, weights = self.config, self.config.loss_weights
        in_mirror = torch.rand(len(batch.tokens), device=self.device) < config.augmentation.mirror
        batch = mirror_batch(batch, in_mirror)
        image = batch.image
        if isinstance(image, Tensor):
            image = jitter_light(image, config.augmentation.light)
            image = grid_mask(image, config.grid_mask, self._rng)
        proposed = propose(self.network, image, batch.ego_status, batch.cameras)
        explored = explored_plans(self.network, proposed, EXPLORED) if weights.screen else None
        plans = proposed.plans.detach() if explored is None else torch.cat([proposed.plans.detach(), explored], 1)
        pending = self.labels.submit(batch.tokens, mirror_poses(plans, in_mirror))
        predictions = predict(
            self.network,
            proposed,
            batch.bank if weights.bank else None,
            batch.trajectory if weights.future else None,
            weights.future_gradient,
        )
        every, bank_labels = pending.result().to(self.device), batch.bank_labels
        labels = every[:, : proposed.plans.shape[1]]
        screen = None
        if explored is not None:
            screen = screen_loss(screen_logits(self.network, proposed, plans), every[..., PDMS])
        if config.permuted_labels == "all":
            labels = permute_labels(labels)
        if config.permuted_labels != "none" and bank_labels is not None:
            bank_labels = permute_labels(bank_labels)
        targets = Targets(
            batch.trajectory if batch.imitation is None else batch.imitation,
            batch.trajectory_warped,
            labels,
            bank_labels,
            batch.bank_valid,
            batch.future,
            batch.future_valid,
            batch.bank,
            batch.taught,
        )
        counts = self._of_all(count_labels(targets, weights)).mean(0)
        losses = compute_losses(predictions, targets, weights, counts, screen)
        if not losses.total.isfinite():
            raise ValueError(
                f"step {self.global_step}: the loss is not finite (scenes {', '.join(batch.tokens[:4])}, ...); "
                "look at these scenes, or lower the learning rate"
            )
        parts = {f"train/{name}": part.detach() for name, part in losses._asdict().items() if part is not None}
        self.log_dict({**parts, "train/pool_score": labels[..., PDMS].mean()}, batch_size=len(batch.tokens))
        return losses.total

    def on_train_batch_end(self, outputs: Any, batch: Batch, batch_idx: int) -> None:
        """Log times."""
        times, seconds = self.labels.times, time.perf_counter() - self._step_began
        self.log_dict(
            {
                "time/labels_waited": times.waited / seconds,
                "time/labels_worked": times.worked / seconds,
                "time/scenes_per_second": len(batch.tokens) * self.trainer.world_size / seconds,
            },
            batch_size=len(batch.tokens),
        )
        self.labels.times.clear()

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        """Score plans and label them."""
        with torch.no_grad():
            passed = self.network(batch.image, batch.ego_status, None, batch.cameras)
        scores = self.val_labels.submit(batch.tokens, passed.plans).result().numpy()[..., PDMS]
        worth = utility(dict(zip(COMPONENTS, passed.logits.unbind(-1), strict=True)), "v1")
        self._validated.append(pool_metrics(worth.float().cpu().numpy(), scores))

    def on_validation_epoch_end(self) -> None:
        """Put the scenes of all processes together: `val/score` is the mean PDMS of the selected plans."""
        found = self._validated
        sums = [sum(float(getattr(part, name).sum()) for part in found) for name in PoolMetrics._fields]
        count = sum(len(part.selected) for part in found)
        self._validated = []
        totals = self._of_all(torch.tensor([*sums, count], dtype=torch.float32)).sum(0).tolist()
        selected, random, oracle, ordered, pairs, scenes = totals
        self.log_dict(
            {
                "val/score": selected / max(scenes, 1),
                "val/random": random / max(scenes, 1),
                "val/oracle": oracle / max(scenes, 1),
                "val/ordering": ordered / max(pairs, 1),
            },
            rank_zero_only=False,
        )

    def configure_optimizers(self) -> OptimizerLRScheduler:
        """AdamW; the learning rate rises in the first steps and falls to zero along a cosine."""
        chosen = self.config.optimiser
        optimiser = torch.optim.AdamW(
            [parameter for parameter in self.parameters() if parameter.requires_grad],
            lr=self.config.peak_learning_rate,
            betas=chosen.betas,
            eps=chosen.epsilon,
            weight_decay=chosen.weight_decay,
            fused=self.config.precision not in ("bf16", "fp16"),  # with these Lightning could not clip gradients
        )
        # Not the trainer's own estimate: asking for it makes the loader before its state is restored.
        warm_up = max(1, round(chosen.warm_up * self.steps))
        schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: learning_rate(step, self.steps, warm_up))
        return {"optimizer": optimiser, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def _of_all(self, numbers: Tensor) -> Tensor:
        """Gather values (n,) of all processes as (processes, n)."""
        gathered = self.all_gather(numbers.to(self.device))
        assert isinstance(gathered, Tensor)
        return gathered.reshape(-1, len(numbers))


def permute_labels(labels_BN7: Tensor) -> Tensor:
    """Labels permuted among the plans of each scene."""
    order = torch.rand(labels_BN7.shape[:2], device=labels_BN7.device).argsort(1)
    return labels_BN7.gather(1, order[..., None].expand_as(labels_BN7))


def freeze_unused(network: Network, config: TrainConfig) -> None:
    """Freeze parameters without gradients, which distributed processes would wait for."""
    weights = config.loss_weights
    generates, scores = bool(weights.imitation or weights.coverage), bool(weights.score or weights.bank)
    sampling = network.plan_sampling
    unused: list[nn.Module | None] = []
    if not weights.future:
        unused.append(network.readout)
    if not scores:
        unused.append(network.heads)
        if sampling is not None:  # the future's path sees the scene, and so these maps, without gradient
            unused += [sampling.reduce, getattr(sampling, "fine", None)]
    if not weights.driving_direction:
        unused.append(network.heads.components[DDC])
    if not (scores or weights.future):
        unused += [network.action_encoder, network.predictor, sampling]
    if not generates:
        unused.append(network.generator)
    if isinstance(network.generator, VocabularyGenerator) and not weights.screen:
        unused.append(network.generator.screen)
    if not (generates or scores):
        unused += [network.encoder, network.ego_encoder]
    if not config.model.images:
        unused += [network.encoder, sampling]
    for part in unused:
        if part is not None:
            part.requires_grad_(False)
