"""Pretraining loop; an interrupted run resumes from the last checkpoint.

>>> report = pretrain(Path("city"), "city_train", Path("encoder"), PretrainConfig(steps=6000))

What a step draws (views, mirroring, masks) depends on seed and step alone, so no state of a generator is kept and a run
that was killed ends with the same bits as one that was not (on the same machine with the same number of threads).
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from world4scorer.jobs.files import write_json
from world4scorer.jobs.model_folder import ModelFolder
from world4scorer.jobs.progress import JobProgress
from world4scorer.jobs.resumable import check_settings, resumable
from world4scorer.jobs.tensor_files import read_checkpoint, write_checkpoint
from world4scorer.planner.model.config import ModelConfig, pretrained_city
from world4scorer.planner.model.image_encoder import load_encoder, save_encoder
from world4scorer.planner.pretraining.batches import draw_batch
from world4scorer.planner.pretraining.config import PretrainConfig
from world4scorer.planner.pretraining.masked_views import MaskedViews
from world4scorer.planner.pretraining.schedule import decay_groups, learning_rate, loss_curve
from world4scorer.planner.pretraining.views import Views, read_views

CHECKPOINT_FILE: Final = "checkpoint.pt"
REPORT_FILE: Final = "pretraining.json"
LOSS_WINDOW: Final = 50
"""Steps that the shown loss is a mean of."""


class PretrainProgress(JobProgress):
    """Steps done, loss, views a second, time left; on standard error."""

    def __init__(self, config: PretrainConfig, done: int, show: bool) -> None:
        super().__init__("pretraining", "steps  loss {task.fields[loss]}", show)
        self._task = self._bar.add_task("steps", total=config.steps, completed=done, loss="-")

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
    """In memory."""
    seconds: float
    """Training time over all parts of an interrupted run, without reading views."""
    first_loss: float
    last_loss: float
    """Means over the first and the last hundredth of the run."""
    curve: tuple[tuple[int, float], ...]
    """Step and mean loss since the point before."""


def pretrain(
    data: Path,
    split: str,
    out: Path,
    config: PretrainConfig | None = None,
    model: ModelConfig | None = None,
    *,
    views: Views | None = None,
    stop_after: int | None = None,
    show_progress: bool = False,
) -> PretrainReport | None:
    """Pretrain on the views of a split and write an encoder folder.

    `views` saves reading them again; `stop_after` ends after so many steps of this call, with a checkpoint, and gives
    None if the run is not finished.
    """
    config, model = config or PretrainConfig(), model or pretrained_city()
    with resumable(out, "pretraining there"):
        run = _Run.start(config, model, out)
        if run.step < config.steps:
            views = views or read_views(data, split, model, show=show_progress)
            run.views_seen = int(np.prod(views.bytes.shape[:2]))
            last = config.steps if stop_after is None else min(config.steps, run.step + stop_after)
            _train(run, views, last, out, show_progress)
        if run.step < config.steps:
            return None
        return _finish(run, split, out)


class _Run:
    """State of training."""

    def __init__(self, config: PretrainConfig, model: ModelConfig) -> None:
        self.config, self.model = config, model
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            self.network = MaskedViews(model, config)
        self.optimiser = torch.optim.AdamW(decay_groups(self.network, config.weight_decay), lr=0.0, betas=(0.9, 0.95))
        self.step = 0
        self.seconds = 0.0
        self.views_seen = 0
        self.losses: list[float] = []

    @classmethod
    def start(cls, config: PretrainConfig, model: ModelConfig, out: Path) -> _Run:
        """A new run, or where the last checkpoint was."""
        run = cls(config, model)
        path = out / CHECKPOINT_FILE
        if not path.is_file():
            return run
        saved = read_checkpoint(path)
        check_settings(path, _parsed(saved["settings"]), _parsed(run.settings()), ValueError)
        run.network.load_state_dict(saved["network"])
        run.optimiser.load_state_dict(saved["optimiser"])
        run.step, run.seconds, run.losses = saved["step"], saved["seconds"], saved["losses"]
        run.views_seen = saved["views"]
        return run

    def settings(self) -> str:
        """Settings that must match to resume a run."""
        return self.config.to_text() + self.model.to_json()

    def save(self, out: Path) -> None:
        """Write a checkpoint."""
        content: dict[str, Any] = {
            "settings": self.settings(),
            "network": self.network.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "step": self.step,
            "seconds": self.seconds,
            "losses": self.losses,
            "views": self.views_seen,
        }
        write_checkpoint(content, out / CHECKPOINT_FILE)


def _parsed(settings: str) -> dict[str, Any]:
    """The two JSON texts of `_Run.settings`."""
    pretraining, model = json.loads("[" + settings.replace("}\n{", "},{") + "]")
    return {"pretraining": pretraining, "model": model}


def _train(run: _Run, views: Views, last: int, out: Path, show: bool) -> None:
    start, before = time.perf_counter(), run.seconds
    with PretrainProgress(run.config, run.step, show) as progress:
        while run.step < last:
            run.losses.append(_step(run, views))
            run.step += 1
            run.seconds = before + time.perf_counter() - start
            progress.update(run.step, run.losses)
            if run.step % run.config.checkpoint_every == 0 or run.step == last:
                run.save(out)


def _step(run: _Run, views: Views) -> float:
    config = run.config
    batch = draw_batch(views, run.model.patch, config, run.step)
    for group in run.optimiser.param_groups:
        group["lr"] = config.learning_rate * learning_rate(run.step, config.steps, config.warm_up * config.steps)
    loss = run.network(batch)
    run.optimiser.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(run.network.parameters(), config.clip)
    run.optimiser.step()
    return float(loss.detach())


def _finish(run: _Run, split: str, out: Path) -> PretrainReport:
    notes = {"split": split, "views": run.views_seen, "recipe": run.config.to_json()}
    save_encoder(run.network.vit, run.model, *ModelFolder(out).files, notes)
    hundredth = max(1, len(run.losses) // 100)
    report = PretrainReport(
        digest=load_encoder(out).digest(),
        steps=run.step,
        views=run.views_seen,
        seconds=round(run.seconds, 1),
        first_loss=float(np.mean(run.losses[:hundredth])),
        last_loss=float(np.mean(run.losses[-hundredth:])),
        curve=tuple(loss_curve(run.losses)),
    )
    write_json(out / REPORT_FILE, {"recipe": run.config.to_json(), **vars(report)})
    return report
