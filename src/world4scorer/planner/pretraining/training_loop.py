"""What recipes of pretraining share: the training loop, its checkpoint, its history and its report.

What a step draws depends on seed and step alone, so no state of a generator is kept and a run that was killed ends
with the same bits as one that was not (on the same machine with the same number of threads).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from world4scorer.jobs.files import write_json
from world4scorer.jobs.progress import JobProgress
from world4scorer.jobs.resumable import check_settings
from world4scorer.jobs.tensor_files import read_checkpoint, write_checkpoint
from world4scorer.planner.pretraining.schedule import decay_groups, learning_rate, loss_curve

CHECKPOINT_FILE: Final = "checkpoint.pt"
HISTORY_FILE: Final = "history.json"
REPORT_FILE: Final = "pretraining.json"
LOSS_WINDOW: Final = 50
"""Steps that the shown loss is a mean of."""
LOSS: Final = "loss"
"""Name of the total among the terms of a step."""

StepLosses = Callable[[int], Mapping[str, Tensor]]
"""Terms of the loss of a step by name, the total as `LOSS`."""


class Recipe(Protocol):
    """What the loop asks of a recipe's configuration."""

    @property
    def steps(self) -> int: ...  # noqa: D102

    @property
    def learning_rate(self) -> float: ...  # noqa: D102

    @property
    def warm_up(self) -> float: ...  # noqa: D102

    @property
    def weight_decay(self) -> float: ...  # noqa: D102

    @property
    def clip(self) -> float: ...  # noqa: D102

    @property
    def checkpoint_every(self) -> int: ...  # noqa: D102

    def to_json(self) -> dict[str, Any]:
        """Plain values for a report."""
        ...


class PretrainProgress(JobProgress):
    """Steps done, loss, time left; on standard error."""

    def __init__(self, steps: int, done: int, show: bool) -> None:
        super().__init__("pretraining", "steps  loss {task.fields[loss]}", show)
        self._task = self._bar.add_task("steps", total=steps, completed=done, loss="-")

    def update(self, step: int, losses: Sequence[float]) -> None:
        """Show the state after so many steps."""
        self._bar.update(self._task, completed=step, loss=f"{np.mean(losses[-LOSS_WINDOW:]):.4f}")


@dataclass(frozen=True)
class PretrainReport:
    """Report of a finished run."""

    digest: str
    """Digest of the encoder."""
    steps: int
    views: int
    """Views that were drawn from."""
    seconds: float
    """Training time over all parts of an interrupted run, without reading views."""
    first_loss: float
    last_loss: float
    """Means over the first and the last hundredth of the run."""
    curve: tuple[tuple[int, float], ...]
    """Step and mean loss since the point before."""


@dataclass
class TrainingRun:
    """State of training."""

    network: nn.Module
    recipe: Recipe
    settings: Mapping[str, Any]
    """What must match to resume."""
    out: Path
    betas: tuple[float, float] = (0.9, 0.95)
    """Of AdamW."""
    step: int = 0
    seconds: float = 0.0
    views: int = 0
    terms: dict[str, list[float]] = field(default_factory=lambda: {LOSS: []})
    """Of every step."""
    measured: list[dict[str, Any]] = field(default_factory=list)
    """Measurements on validation data, each with its step."""

    def __post_init__(self) -> None:
        self.optimiser = torch.optim.AdamW(
            decay_groups(self.network, self.recipe.weight_decay), lr=0.0, betas=self.betas
        )

    @property
    def is_finished(self) -> bool:
        """Whether all steps are done."""
        return self.step >= self.recipe.steps

    def resume(self) -> None:
        """Continue from the last checkpoint, if there is one."""
        path = self.out / CHECKPOINT_FILE
        if not path.is_file():
            return
        saved = read_checkpoint(path)
        check_settings(path, saved["settings"], self.settings, ValueError)
        self.network.load_state_dict(saved["network"])
        self.optimiser.load_state_dict(saved["optimiser"])
        self.step, self.seconds, self.views = saved["step"], saved["seconds"], saved["views"]
        self.terms, self.measured = saved["terms"], saved["measured"]

    def save(self) -> None:
        """Write the history so far, then a checkpoint: a run that resumes at its end writes no history any more."""
        write_json(self.out / HISTORY_FILE, self.history())
        content: dict[str, Any] = {
            "settings": json.loads(json.dumps(self.settings)),
            "network": self.network.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "step": self.step,
            "seconds": self.seconds,
            "views": self.views,
            "terms": self.terms,
            "measured": self.measured,
        }
        write_checkpoint(content, self.out / CHECKPOINT_FILE)

    def history(self) -> dict[str, Any]:
        """Curves of all terms, and measurements."""
        return {"curves": {name: loss_curve(values) for name, values in self.terms.items()}, "measured": self.measured}

    def train(
        self, losses: StepLosses, last: int, *, after: Callable[[TrainingRun], None] | None = None, show: bool = False
    ) -> None:
        """Train up to a step; `after` is called after each one, before a checkpoint."""
        start, before = time.perf_counter(), self.seconds
        with PretrainProgress(self.recipe.steps, self.step, show) as progress:
            while self.step < last:
                for name, value in self._optimise(losses(self.step)).items():
                    self.terms.setdefault(name, []).append(value)
                self.step += 1
                self.seconds = before + time.perf_counter() - start
                progress.update(self.step, self.terms[LOSS])
                if after is not None:
                    after(self)
                if self.step % self.recipe.checkpoint_every == 0 or self.step == last:
                    self.save()

    def _optimise(self, terms: Mapping[str, Tensor]) -> dict[str, float]:
        """Take a step; returns the terms as numbers."""
        recipe = self.recipe
        share = learning_rate(self.step, recipe.steps, recipe.warm_up * recipe.steps)
        for group in self.optimiser.param_groups:
            group["lr"] = recipe.learning_rate * share
        self.optimiser.zero_grad()
        terms[LOSS].backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), recipe.clip)
        self.optimiser.step()
        return {name: float(value.detach()) for name, value in terms.items()}

    def report(self, digest: str) -> PretrainReport:
        """Write the report of a finished run and return it."""
        losses = self.terms[LOSS]
        hundredth = max(1, len(losses) // 100)
        report = PretrainReport(
            digest=digest,
            steps=self.step,
            views=self.views,
            seconds=round(self.seconds, 1),
            first_loss=float(np.mean(losses[:hundredth])),
            last_loss=float(np.mean(losses[-hundredth:])),
            curve=tuple(loss_curve(losses)),
        )
        write_json(self.out / REPORT_FILE, {"recipe": self.recipe.to_json(), **vars(report)})
        return report
