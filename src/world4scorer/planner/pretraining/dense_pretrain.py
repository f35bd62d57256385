"""Pretraining of the dense encoder with the labels of rendered frames; an interrupted run resumes.

>>> report = pretrain_dense(train_views, val_views, Path("encoder"), DensePretrainConfig(steps=10_000))

Validation frames are measured and never trained on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from world4scorer.datasets.dense.views_file import DenseViews
from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.model_folder import ModelFolder
from world4scorer.jobs.resumable import resumable
from world4scorer.planner.model.dense_encoder import DenseEncoder
from world4scorer.planner.model.dense_encoder_config import MAP_CLASSES, PIXEL_CLASSES, DenseEncoderConfig
from world4scorer.planner.model.dense_encoder_files import load_dense_encoder, save_dense_encoder
from world4scorer.planner.model.images import normalise
from world4scorer.planner.pretraining.dense_batches import FRONT, DenseBatch, DenseBatches, encoder_config, read_ahead
from world4scorer.planner.pretraining.dense_config import DensePretrainConfig
from world4scorer.planner.pretraining.dense_losses import (
    cell_weights,
    contrast_loss,
    direction_loss,
    map_losses,
    pixel_losses,
)
from world4scorer.planner.pretraining.history_figure import save_curves
from world4scorer.planner.pretraining.map_iou import BINS, REGIONS, count_cells, iou_of, spread_frames
from world4scorer.planner.pretraining.training_loop import LOSS, PretrainReport, TrainingRun

BETAS: Final = (0.9, 0.999)
"""Of AdamW."""
CURVES_FILE: Final = "curves.png"


class DenseTeacher(nn.Module):
    """An encoder with what it is taught by: a head for pixels, and features of earlier frames."""

    queue: Tensor
    filled: Tensor
    weights_XY: Tensor

    def __init__(self, config: DensePretrainConfig, encoder: DenseEncoderConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder = DenseEncoder(encoder)
        self.pixels = nn.Conv2d(encoder.lifted, PIXEL_CLASSES + 1, 1)
        weights = cell_weights(
            self.encoder.lift.visible, config.unseen_weight, config.near_weight, config.near_distance
        )
        self.register_buffer("weights_XY", weights, persistent=False)
        self.register_buffer("queue", torch.zeros(config.queue, encoder.patch_width))
        self.register_buffer("filled", torch.zeros((), dtype=torch.int64))

    def forward(self, batch: DenseBatch) -> dict[str, Tensor]:
        """Terms of the loss of a batch; the total is their weighted sum."""
        config, encoder = self.config, self.encoder
        views = encoder.encode_views(batch.image)
        seen = encoder.perceive(views)
        maps = map_losses(encoder.heads(seen.features), batch.bits, self.weights_XY)
        terms = dict(zip(MAP_CLASSES, maps.unbind(), strict=True))
        terms["direction"] = direction_loss(
            encoder.heads.directions(seen.features), batch.direction, encoder.lift.visible
        )
        terms["pixel_classes"], terms["pixel_depth"] = pixel_losses(
            self.pixels(views.fine), batch.classes.flatten(0, 1), batch.depth.flatten(0, 1)
        )
        if config.contrast:
            terms["contrast"] = self._contrast(batch, seen.patches[:, FRONT].mean((2, 3)))
        total = torch.stack([getattr(config, name) * term for name, term in terms.items()]).sum()
        return {LOSS: total, **terms}

    def _contrast(self, batch: DenseBatch, frames_BV: Tensor) -> Tensor:
        queue = self.queue[: int(self.filled)].clone()
        self._enqueue(frames_BV.detach())
        if not len(batch.twin_of):
            return frames_BV.new_zeros(())
        twins = self.encoder.views(batch.twin.contiguous(memory_format=torch.channels_last)).patches.mean((2, 3))
        return contrast_loss(twins, frames_BV, queue, batch.twin_of, self.config.temperature)

    def _enqueue(self, frames_BV: Tensor) -> None:
        kept = torch.cat([frames_BV, self.queue[: int(self.filled)]])[: len(self.queue)]
        self.queue[: len(kept)] = kept
        self.filled.fill_(len(kept))


def open_dense_views(data: Path, split: str) -> DenseViews:
    """Views with dense labels of a split."""
    folder = DataFolder(data).dense / split
    paths = sorted(folder.glob("*.arrow"))
    if not paths:
        raise DatasetError(f"{folder}: no views with dense labels; `w4s city dense` makes them")
    return DenseViews.open(paths)


def pretrain_dense(
    train: DenseViews,
    val: DenseViews | None,
    out: Path,
    config: DensePretrainConfig | None = None,
    base: DenseEncoderConfig | None = None,
    *,
    start: DenseEncoder | None = None,
    stop_after: int | None = None,
    show_progress: bool = False,
) -> PretrainReport | None:
    """Pretrain on views and write an encoder folder; widths of the encoder are those of `base`.

    Weights of `start` are taken over where the shapes agree; the others start at random.
    `stop_after` ends after so many steps of this call, with a checkpoint, and gives None if the run is not finished.
    """
    config = config or DensePretrainConfig()
    sizes = encoder_config(train.geometry, base)
    with resumable(out, "pretraining there"):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            teacher = DenseTeacher(config, sizes)
        if start is not None:
            take_weights(teacher.encoder, start)
        settings = {
            "pretraining": config.to_json(),
            "encoder": asdict(sizes),
            "frames": len(train),
            "start": None if start is None else start.digest(),
        }
        run = TrainingRun(teacher, config, settings, out, BETAS)
        run.resume()
        run.views = len(train) * len(sizes.mounts)
        last = config.steps if stop_after is None else min(config.steps, run.step + stop_after)

        def measure(run: TrainingRun) -> None:
            if val is not None and (run.step % config.validate_every == 0 or run.is_finished):
                iou = validation_iou(teacher.encoder, val, spread_frames(val, config.validation_frames))
                run.measured.append({"step": run.step, "iou": iou})

        with read_ahead(DenseBatches(train, config, sizes).draw, run.step, last) as batch_of:
            teacher.train()
            run.train(lambda step: teacher(batch_of(step)), last, after=measure, show=show_progress)
        return _finish(run, teacher, config, train) if run.is_finished else None


def take_weights(encoder: DenseEncoder, start: DenseEncoder) -> None:
    """Copy the weights of another encoder that have the same names and shapes."""
    own = encoder.state_dict()
    alike = {
        name: tensor for name, tensor in start.state_dict().items() if own.get(name, tensor[None]).shape == tensor.shape
    }
    encoder.load_state_dict(alike, strict=False)


def validation_iou(
    encoder: DenseEncoder, views: DenseViews, frames: Sequence[int]
) -> dict[str, dict[str, float | None]]:
    """IoU at a probability of one half, by region and class; None for a class that is nowhere."""
    was_training = encoder.training
    encoder.eval()
    counts = count_cells(lambda chosen: map_logits(encoder, views, chosen), views, frames, visible_cells(encoder))
    encoder.train(was_training)
    found = iou_of(counts, np.full(len(MAP_CLASSES), BINS // 2))
    return {region: _by_class(row) for region, row in zip(REGIONS, found, strict=True)}


def _by_class(values: NDArray[np.float64]) -> dict[str, float | None]:
    return {
        name: None if np.isnan(value) else round(float(value), 4)
        for name, value in zip(MAP_CLASSES, values, strict=True)
    }


@torch.no_grad()
def map_logits(encoder: DenseEncoder, views: DenseViews, frames: Sequence[int]) -> Tensor:
    """Logits (B, K, X, Y) of frames."""
    images = torch.from_numpy(np.stack([views.images(frame) for frame in frames]))
    logits: Tensor = encoder.heads(encoder(normalise(images)).features)
    return logits


def visible_cells(encoder: DenseEncoder) -> Tensor:
    """(X, Y) cells of the map whose ground a camera sees."""
    return encoder.lift.visible.repeat_interleave(2, 0).repeat_interleave(2, 1)


def _finish(run: TrainingRun, teacher: DenseTeacher, config: DensePretrainConfig, train: DenseViews) -> PretrainReport:
    notes: dict[str, Any] = {
        "frames": len(train),
        "logs": len(set(train.logs)),
        "simulations": [path.stem for path in train.paths],
        "recipe": config.to_json(),
        "start": run.settings["start"],
        "measured": run.measured[-1:],
    }
    save_dense_encoder(teacher.encoder, *ModelFolder(run.out).files, notes)
    save_curves(run.history(), run.out / CURVES_FILE)
    return run.report(load_dense_encoder(run.out).digest())
