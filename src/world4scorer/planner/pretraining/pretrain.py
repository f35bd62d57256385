"""Pretraining by masked autoencoding; an interrupted run resumes from the last checkpoint.

>>> report = pretrain(Path("city"), "city_train", Path("encoder"), PretrainConfig(steps=6000))
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch

from world4scorer.jobs.model_folder import ModelFolder
from world4scorer.jobs.resumable import resumable
from world4scorer.planner.model.config import ModelConfig, pretrained_city
from world4scorer.planner.pretrained.image_encoder import load_encoder, save_encoder
from world4scorer.planner.pretraining.batches import draw_batch
from world4scorer.planner.pretraining.config import PretrainConfig
from world4scorer.planner.pretraining.masked_views import MaskedViews
from world4scorer.planner.pretraining.training_loop import LOSS, PretrainReport, TrainingRun
from world4scorer.planner.pretraining.views import Views, read_views


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
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            network = MaskedViews(model, config)
        settings = {"pretraining": config.to_json(), "model": json.loads(model.to_json())}
        run = TrainingRun(network, config, settings, out)
        run.resume()
        if not run.is_finished:
            seen = views or read_views(data, split, model, show=show_progress)
            run.views = int(np.prod(seen.bytes.shape[:2]))
            last = config.steps if stop_after is None else min(config.steps, run.step + stop_after)
            run.train(
                lambda step: {LOSS: network(draw_batch(seen, model.patch, config, step))}, last, show=show_progress
            )
        if not run.is_finished:
            return None
        notes = {"split": split, "views": run.views, "recipe": config.to_json()}
        save_encoder(network.vit, model, *ModelFolder(out).files, notes)
        return run.report(load_encoder(out).digest())
