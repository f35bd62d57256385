"""Pretraining of the forecast of a dense encoder, on what happened in a split's scenes; an interrupted run resumes.

The encoder itself stays as it is: its features of the scenes and of the frames before are cached, and the forecast
learns which cells road users occupy afterwards. Validation scenes are measured and never trained on.

>>> train = SplitScenes("city_train", samples, Path("city/store/city_train"))
>>> report = pretrain_forecast(Path("city"), train, None, load_dense_encoder("city"), Path("encoder"))

Shapes: B scenes, T times, 2X x 2Y cells of forecasts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from world4scorer.datasets.prepare.samples import Samples
from world4scorer.datasets.store import SceneStore
from world4scorer.jobs.model_folder import ModelFolder
from world4scorer.jobs.resumable import resumable
from world4scorer.planner.features.feature_cache import BEFORE, FeatureCache, cache_features
from world4scorer.planner.forecasting.config import ForecastConfig
from world4scorer.planner.forecasting.occupancy import occupancy
from world4scorer.planner.model.dense_encoder import DenseEncoder, MapHeads
from world4scorer.planner.model.dense_encoder_config import SCALE
from world4scorer.planner.model.dense_encoder_files import load_dense_encoder, save_dense_encoder
from world4scorer.planner.model.forecast import (
    FORECAST_SCALE,
    FORECAST_TIMES,
    FORECAST_WIDTH,
    Forecast,
    SeenFrames,
    forecast_maps,
)
from world4scorer.planner.pretraining.dense_batches import read_ahead
from world4scorer.planner.pretraining.dense_pretrain import CURVES_FILE, take_weights
from world4scorer.planner.pretraining.history_figure import save_curves
from world4scorer.planner.pretraining.map_iou import near_cells
from world4scorer.planner.pretraining.training_loop import LOSS, PretrainReport, TrainingRun

VALIDATION_BATCH: Final = 32
OCCUPIED_PROBABILITY: Final = 0.3
"""Cells above it count as occupied in measurements: hardly any is more probable some seconds ahead."""


class ForecastBatch(NamedTuple):
    """Two frames of scenes and what happened after them."""

    frames: SeenFrames
    occupied: Tensor
    """(B, T, 2X, 2Y) 0 or 1"""

    def mirrored(self) -> ForecastBatch:
        """Left and right exchanged."""
        return ForecastBatch(self.frames.mirrored(), self.occupied.flip(-1))


@dataclass(frozen=True, eq=False)
class SplitScenes:
    """Scenes of a split."""

    split: str
    samples: Samples
    store: Path


@dataclass(frozen=True, eq=False)
class ForecastScenes:
    """Scenes of a split with cached features."""

    samples: Samples
    store: SceneStore
    heads: MapHeads
    now: FeatureCache
    before: FeatureCache

    def __len__(self) -> int:
        return len(self.samples)

    @classmethod
    def open(cls, encoder: DenseEncoder, data: Path, scenes: SplitScenes, show: bool) -> ForecastScenes:
        """Cache what is missing: features of the scenes, and of the frames before them."""
        samples, split = scenes.samples, scenes.split
        now = cache_features(encoder, samples, data, split, show_progress=show)
        before = cache_features(encoder, samples.at_frames_before(), data, f"{split}{BEFORE}", show_progress=show)
        return cls(samples, SceneStore(scenes.store), encoder.heads, now, before)

    @torch.no_grad()
    def batch(self, rows: np.ndarray[Any, np.dtype[np.int64]]) -> ForecastBatch:
        """Scenes by their place in the split."""
        tokens = [self.samples.tokens[row] for row in rows]
        _, poses = self.samples.frames_before()
        now, before = (_tensor([cache.read(token)[1] for token in tokens]) for cache in (self.now, self.before))
        frames = self.heads.frames(now, before, torch.from_numpy(poses[rows].astype(np.float32)))
        return ForecastBatch(frames, _tensor([occupancy(self.store[token]) for token in tokens]))


def _tensor(rows: list[np.ndarray[Any, Any]]) -> Tensor:
    return torch.from_numpy(np.stack(rows).astype(np.float32))


@dataclass(frozen=True, eq=False)
class _Batches:
    """What a step draws depends on seed and step alone."""

    scenes: ForecastScenes
    config: ForecastConfig

    def draw(self, step: int) -> ForecastBatch:
        rng = np.random.default_rng([self.config.seed, step])
        batch = self.scenes.batch(np.sort(rng.choice(len(self.scenes), self.config.batch, replace=False)))
        alone = torch.from_numpy(rng.random(self.config.batch) < self.config.single_frame)
        pose = batch.frames.pose_before.masked_fill(alone[:, None], torch.nan)
        batch = batch._replace(frames=batch.frames._replace(pose_before=pose))
        return batch.mirrored() if self.config.mirror and rng.random() < 0.5 else batch

    @cached_property
    def bf16(self) -> bool:
        return torch.cpu._is_avx512_bf16_supported() if self.config.bf16 is None else self.config.bf16

    @cached_property
    def weight(self) -> Tensor:
        return torch.tensor(self.config.occupied_weight)

    def loss(self, network: Forecast, batch: ForecastBatch) -> dict[str, Tensor]:
        with torch.autocast("cpu", torch.bfloat16, enabled=self.bf16):
            logits = forecast_maps(network(batch.frames).float())
        losses = functional.binary_cross_entropy_with_logits(
            logits, batch.occupied, pos_weight=self.weight, reduction="none"
        )
        by_time = losses.mean((0, 2, 3))
        return {LOSS: by_time.mean(), "0.5 s": by_time[0], "4.0 s": by_time[-1]}


def pretrain_forecast(
    data: Path,
    train: SplitScenes,
    val: SplitScenes | None,
    encoder: DenseEncoder,
    out: Path,
    config: ForecastConfig | None = None,
    *,
    stop_after: int | None = None,
    show_progress: bool = False,
) -> PretrainReport | None:
    """Teach a forecast and write the encoder with it; the encoder's other weights stay as they are.

    `stop_after` ends after so many steps of this call, with a checkpoint, and gives None if the run is not finished.
    """
    config = config or ForecastConfig()
    base = encoder.without_forecast()
    scenes = ForecastScenes.open(base, data, train, show_progress)
    measured = None if val is None else ForecastScenes.open(base, data, val, show_progress)
    with resumable(out, "pretraining there"):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            network = Forecast()
        settings = {"pretraining": config.to_json(), "encoder": base.digest(), "scenes": len(scenes)}
        run = TrainingRun(network, config, settings, out, (0.9, 0.999))
        run.resume()
        run.views = len(scenes)
        batches = _Batches(scenes, config)
        last = config.steps if stop_after is None else min(config.steps, run.step + stop_after)

        def measure(run: TrainingRun) -> None:
            if measured is not None and (run.step % config.validate_every == 0 or run.is_finished):
                run.measured.append({"step": run.step, "iou": forecast_iou(network, measured, config)})

        with read_ahead(batches.draw, run.step, last) as batch_of:
            network.train()
            run.train(lambda step: batches.loss(network, batch_of(step)), last, after=measure, show=show_progress)
        if not run.is_finished:
            return None
        whole = DenseEncoder(replace(base.config, forecast=FORECAST_WIDTH))
        take_weights(whole, base)
        whole.forecast.load_state_dict(network.state_dict())  # type: ignore[union-attr]
        notes = {"recipe": config.to_json(), "scenes": len(scenes), "encoder": base.digest(), "measured": run.measured}
        save_dense_encoder(whole, *ModelFolder(out).files, notes)
        save_curves(run.history(), out / CURVES_FILE)
        return run.report(load_dense_encoder(out).digest())


@torch.no_grad()
def forecast_iou(network: Forecast, scenes: ForecastScenes, config: ForecastConfig) -> dict[str, dict[str, float]]:
    """IoU of near cells by time: from two frames, and from one."""
    rows = np.unique(np.linspace(0, len(scenes) - 1, min(config.validation_scenes, len(scenes))).round().astype(int))
    step = SCALE // FORECAST_SCALE
    near = torch.from_numpy(near_cells()[::step, ::step].copy())
    counts = torch.zeros(2, 2, FORECAST_TIMES)
    network.eval()
    for start in range(0, len(rows), VALIDATION_BATCH):
        batch = scenes.batch(rows[start : start + VALIDATION_BATCH])
        truth = (batch.occupied > 0) & near
        alone = batch.frames._replace(pose_before=torch.full_like(batch.frames.pose_before, torch.nan))
        for number, frames in enumerate((batch.frames, alone)):
            found = (forecast_maps(network(frames)).sigmoid() > OCCUPIED_PROBABILITY) & near
            counts[number, 0] += (found & truth).sum((0, 2, 3))
            counts[number, 1] += (found | truth).sum((0, 2, 3))
    network.train()
    shares = (counts[:, 0] / counts[:, 1].clamp(min=1)).tolist()
    names = [f"{0.5 * (time + 1):.1f} s" for time in range(FORECAST_TIMES)]
    return {
        region: {name: round(value, 4) for name, value in zip(names, row, strict=True)}
        for region, row in zip(("near", "near, one frame"), shares, strict=True)
    }
