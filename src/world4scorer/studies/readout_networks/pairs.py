"""Front views of scenes now and two seconds later, with what a frozen encoder sees in them.

Shapes: N pairs, P patches, V channels, E features of a vector, H x W pixels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from world4scorer.datasets.navsim.cameras import FRONT, VIEWS
from world4scorer.datasets.navsim.logs import read_log
from world4scorer.datasets.navsim.splits import find_split
from world4scorer.datasets.prepare.log_samples import TARGET_FRAMES_AHEAD
from world4scorer.datasets.store import SceneStore
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.progress import ProgressBar
from world4scorer.planner.model.images import normalise, read_view
from world4scorer.planner.pretrained.dinov2 import load_vit, weights_file
from world4scorer.planner.pretrained.image_encoder import DINOV2_PIXELS, ImageEncoder, load_encoder
from world4scorer.planner.targets.future_targets import FutureTargets

PIXELS: Final = 224
"""Side of DINOv2's images here, for grids of 16 x 16 patches as in the paper."""
BATCH: Final = 64
"""Images at a time."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Views, grids and vectors of scenes that have a future."""

    tokens: tuple[str, ...]
    log_names: tuple[str, ...]
    now_views: NDArray[np.uint8]
    """(N, H, W, 3)"""
    future_views: NDArray[np.uint8]
    """(N, H, W, 3)"""
    now: Tensor
    """(N, P, V) float16"""
    future: Tensor
    """(N, P, V) float16"""
    vectors: Tensor
    """(N, E) of the future views, as the planner's readout learns them"""

    def __len__(self) -> int:
        return len(self.tokens)


def grid_encoder(source: str | Path) -> ImageEncoder:
    """The encoder of a run's targets; DINOv2 for images of 224 x 224 pixels."""
    encoder = load_encoder(source)
    if (encoder.config.image_height, encoder.config.image_width) != (DINOV2_PIXELS, DINOV2_PIXELS):
        return encoder
    smaller = ImageEncoder(replace(encoder.config, image_height=PIXELS, image_width=PIXELS))
    load_vit(smaller.vit, smaller.config, weights_file(source))
    return smaller


def draw_tokens(log_names: Sequence[str], count: int, seed: int) -> list[int]:
    """Indices of scenes, given by their logs, in an order that does not ask what they show.

    One of each log comes first, then a second of each, and so on.

    Logs, and scenes within a log, come in an order drawn by seed.
    """
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(len(log_names))
    names, log = np.unique(np.asarray(log_names), return_inverse=True)
    order_of_logs = rng.permutation(len(names))
    turn = np.empty(len(log_names), np.int64)
    seen = np.zeros(len(names), np.int64)
    for index in shuffled:
        turn[index] = seen[log[index]]
        seen[log[index]] += 1
    chosen = np.lexsort((order_of_logs[log], turn))[:count]
    return [int(index) for index in chosen]


def read_pairs(
    data: Path,
    split: str,
    store: Path,
    encoder: ImageEncoder,
    targets: FutureTargets,
    count: int,
    seed: int,
    show: bool = False,
) -> Pairs:
    """Pairs of at most so many scenes of a store, drawn by seed; vectors come from `targets`."""
    scenes = SceneStore(store)
    known = [(token, name) for name in scenes.logs for token in scenes.tokens_of(name)]
    valid = targets.features([token for token, _ in known])[1].numpy()
    known = [one for one, there in zip(known, valid, strict=True) if there]
    if not known:
        raise ValueError(f"{store}: none of its scenes has a future in the targets; were they made for another split?")
    indices = draw_tokens([name for _, name in known], count, seed)
    return pairs_of([known[index] for index in indices], data, split, encoder, targets, show)


def pairs_of(
    scenes: Sequence[tuple[str, str]],
    data: Path,
    split: str,
    encoder: ImageEncoder,
    targets: FutureTargets,
    show: bool = False,
) -> Pairs:
    """Pairs of scenes, given as token and name of the log; all must have a future."""
    index = {token: number for number, (token, _) in enumerate(scenes)}
    config = encoder.config
    views = np.empty((2, len(scenes), config.image_height, config.image_width, 3), np.uint8)
    data_split = find_split(split, data).data_split
    layout = DataFolder(data)
    sensors = layout.sensors(data_split)
    names = sorted({name for _, name in scenes})
    found = 0
    with ProgressBar("views", "logs", len(names), show) as progress:
        for name in names:
            log = read_log(layout.log(data_split, name))
            later = log.rows_after(TARGET_FRAMES_AHEAD)
            for row, frame in enumerate(log.frames):
                number = index.get(frame.token)
                if number is None or later[row] < 0:
                    continue
                for when, seen in enumerate((frame, log.frames[later[row]])):
                    camera = seen.cameras.get(VIEWS[FRONT])
                    if camera is None:
                        raise ValueError(f"{seen.where}: no camera {VIEWS[FRONT]}")
                    views[when, number] = read_view(sensors / camera.path, config)
                found += 1
            progress.advance()
    if found != len(scenes):
        raise ValueError(f"{layout.logs(data_split)}: {len(scenes) - found} scenes of the targets lack a view two "
                         "seconds later; were the targets made from other data?")  # fmt: skip
    tokens = tuple(token for token, _ in scenes)
    now, future = (grids_of(encoder, part, show) for part in views)
    vectors = targets.features(tokens)[0]
    return Pairs(tokens, tuple(name for _, name in scenes), views[0], views[1], now, future, vectors)


def grids_of(encoder: ImageEncoder, views: NDArray[np.uint8], show: bool = False) -> Tensor:
    """Grids (N, P, V) float16 of views (N, H, W, 3)."""
    parts = []
    with ProgressBar("grids", "views", len(views), show) as progress:
        for start in range(0, len(views), BATCH):
            part = torch.from_numpy(views[start : start + BATCH])
            parts.append(encoder.patches(normalise(part)).half())
            progress.advance(len(part))
    return torch.cat(parts)


def as_images(views: NDArray[np.uint8]) -> Tensor:
    """Views (N, H, W, 3) as images (N, 3, H, W), colours from 0 to 1."""
    return torch.from_numpy(views).movedim(-1, 1).float() / 255.0
