"""Training one readout network, step by step. May be killed at any time: the same call resumes from its checkpoint.

What a step draws depends on seed and step alone, so a run that was killed ends with the same bits as one that was not
(on the same machine with the same number of threads).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor, nn

from world4scorer.jobs.progress import ProgressBar
from world4scorer.jobs.resumable import check_settings
from world4scorer.jobs.tensor_files import read_checkpoint, write_checkpoint
from world4scorer.planner.pretraining.schedule import decay_groups
from world4scorer.studies.readout_networks.config import ReadoutConfig

Loss = Callable[[int, torch.Generator], Tensor]
"""Of a step, with what it draws from."""
DELETE: Final = "delete it to train another network"


def fit(
    name: str,
    network: nn.Module,
    loss: Loss,
    steps: int,
    config: ReadoutConfig,
    checkpoint: Path,
    settings: Mapping[str, Any],
    *,
    stop_after: int | None = None,
    show: bool = False,
) -> tuple[float, ...] | None:
    """Train a network; returns the loss of every step, or None if it stopped before the end.

    `settings` must be the same to resume from a checkpoint; the caller deletes it once the weights are written.
    """
    optimiser = torch.optim.AdamW(decay_groups(network, config.weight_decay), lr=0.0, betas=(0.9, 0.95))
    first, losses = _resume(network, optimiser, checkpoint, settings)
    last = steps if stop_after is None else min(steps, first + stop_after)
    network.train()
    with ProgressBar(name, "steps", steps, show) as progress:
        progress.advance(first)
        for step in range(first, last):
            losses.append(_step(network, optimiser, loss, step, steps, config))
            progress.advance()
            if step + 1 == last or (step + 1) % config.checkpoint_every == 0:
                _save(network, optimiser, step + 1, losses, checkpoint, settings)
    network.eval()
    return tuple(losses) if last == steps else None


def learning_rate(step: int, steps: int, config: ReadoutConfig) -> float:
    """Rises evenly, then falls as a cosine to zero."""
    rising = config.warm_up * steps
    if step < rising:
        return config.learning_rate * (step + 1) / (rising + 1)
    return config.learning_rate * 0.5 * (1 + math.cos(math.pi * (step - rising) / max(1.0, steps - rising)))


def _step(
    network: nn.Module, optimiser: torch.optim.Optimizer, loss: Loss, step: int, steps: int, config: ReadoutConfig
) -> float:
    for group in optimiser.param_groups:
        group["lr"] = learning_rate(step, steps, config)
    found = loss(step, torch.Generator().manual_seed(config.seed * 1_000_003 + step))
    optimiser.zero_grad()
    found.backward()
    nn.utils.clip_grad_norm_(network.parameters(), config.clip)
    optimiser.step()
    return float(found.detach())


def _resume(
    network: nn.Module, optimiser: torch.optim.Optimizer, checkpoint: Path, settings: Mapping[str, Any]
) -> tuple[int, list[float]]:
    if not checkpoint.is_file():
        return 0, []
    saved = read_checkpoint(checkpoint)
    check_settings(checkpoint, json.loads(saved["settings"]), settings, ValueError, remedy=DELETE)
    network.load_state_dict(saved["network"])
    optimiser.load_state_dict(saved["optimiser"])
    return int(saved["step"]), list(saved["losses"])


def _save(
    network: nn.Module,
    optimiser: torch.optim.Optimizer,
    step: int,
    losses: list[float],
    checkpoint: Path,
    settings: Mapping[str, Any],
) -> None:
    content = {
        "settings": json.dumps(settings),
        "network": network.state_dict(),
        "optimiser": optimiser.state_dict(),
        "step": step,
        "losses": losses,
    }
    write_checkpoint(content, checkpoint)
