"""A cache of what a frozen encoder perceives: memory-mapped blocks of float16, found by token.

    DATA/features/DIGEST/SPLIT/about.json      tokens in order, shapes
    DATA/features/DIGEST/SPLIT/00000.npy       512 scenes each

The digest is the encoder's, so that other weights never meet old features. A scene of the city's encoder takes 306 kB,
one of a frozen ViT 2 C V h w bytes. An encoder with a forecast also looks at the frame before each scene; where what it
sees in single frames is in caches already, as after teaching the forecast, no image is read again.

Shapes: C cameras, V features of a patch, h x w patches or blocks of patches, F features of a map cell, X x Y cells,
T times of a forecast.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import parent_process
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from world4scorer.datasets.prepare.samples import Samples
from world4scorer.jobs.array_files import map_array, write_array
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.executors import Executor, as_executor
from world4scorer.jobs.files import read_json
from world4scorer.jobs.resumable import Settings, resumable
from world4scorer.jobs.sources import check_source
from world4scorer.planner.model.config import ModelConfig
from world4scorer.planner.model.dense_encoder import DenseEncoder, Perception, Shapes
from world4scorer.planner.model.dense_encoder_config import DenseEncoderConfig
from world4scorer.planner.model.frozen_vit import FrozenEncoder
from world4scorer.planner.model.images import ImageError, fit_intrinsics, normalise, read_view
from world4scorer.planner.model.plan_sampling import Cameras

BLOCK: Final = 512
"""Scenes in a file."""
BATCH_PIXELS: Final = 1_100_000
"""Pixels at a time, but at least a scene: 16 scenes of the city."""
FORMAT: Final = "world4scorer-features-1"
ABOUT: Final = "about.json"
BEFORE: Final = "_before"
"""Suffix of a split's name for features of the frames before its scenes."""
IMAGES: Final = "images"
"""Name of the digest of the images in it; caches of 0.1.0 have none."""


class FeatureCache:
    """Perceptions of a split's scenes, by token."""

    def __init__(self, folder: Path, tokens: Sequence[str], shapes: Shapes) -> None:
        self.folder = folder
        self._row = {token: row for row, token in enumerate(tokens)}
        self._shapes = shapes
        self._open: dict[int, NDArray[np.float16]] = {}

    def __len__(self) -> int:
        return len(self._row)

    def __contains__(self, token: object) -> bool:
        return token in self._row

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_open": {}}

    def holds(self, samples: Samples) -> bool:
        """Whether all samples are in it."""
        return all(token in self for token in samples.tokens)

    def read(self, token: str) -> tuple[NDArray[np.float16], ...]:
        """Patches (C, V, h, w), map features (F, X, Y) and forecast (4T, X, Y), if there is one, of a scene."""
        block, row = divmod(self._row[token], BLOCK)
        if block not in self._open:
            self._open[block] = map_array(
                _block_file(self.folder, block), ValueError, "delete it; `w4s train` makes it again"
            )
        ends = np.cumsum([math.prod(shape) for shape in self._shapes])[:-1]
        parts = np.split(self._open[block][row], ends)
        return tuple(part.reshape(shape) for part, shape in zip(parts, self._shapes, strict=True))


@dataclass(frozen=True)
class CacheTask:
    """A block to be computed."""

    block: int
    tokens: tuple[str, ...]
    images: tuple[tuple[str, ...], ...]
    images_before: tuple[tuple[str, ...], ...]
    """Of the frames before, none for scenes without one; empty for an encoder without a forecast."""
    poses_before: tuple[tuple[float, ...], ...]

    def __str__(self) -> str:
        return f"block {self.block}"


def cache_features(
    encoder: FrozenEncoder,
    samples: Samples,
    data: Path,
    split: str,
    *,
    executor: Executor | None = None,
    device: str = "cpu",
    show_progress: bool = False,
) -> FeatureCache:
    """The cache of a split, made or completed where it is missing; by all cores, or by another device.

    Of several processes, such as the nodes of a training, one makes it and the others wait.
    """
    if isinstance(encoder, DenseEncoder):
        check_calibration(samples, encoder.config)
    images_before, poses_before = samples.frames_before() if makes_forecast(encoder) else ((), ())
    seen = _seen_frames(encoder, samples, data, split)
    folder = DataFolder(data).features(encoder.digest(), split)
    about: dict[str, Any] = {
        "format": FORMAT,
        "tokens": list(samples.tokens),
        "shapes": [list(shape) for shape in encoder.shapes],
        IMAGES: samples.images_digest(),
    }
    known = read_json(folder / ABOUT) if (folder / ABOUT).is_file() else about
    check_source(folder, "images", known.get(IMAGES), about[IMAGES], ValueError, "delete it and train again")
    tasks = [
        CacheTask(
            start // BLOCK,
            tuple(samples.tokens[start : start + BLOCK]),
            tuple(samples.images[start : start + BLOCK]),
            tuple(images_before[start : start + BLOCK]),
            tuple(tuple(map(float, pose)) for pose in poses_before[start : start + BLOCK]),
        )
        for start in range(0, len(samples), BLOCK)
    ]
    settings = Settings(folder / ABOUT, about, ignored=(IMAGES,))
    with resumable(folder, "caching features there", ValueError, settings, wait=True) as job:
        job.run_missing(
            executor or as_executor(None if device == "cpu" else 1),
            _Encode(type(encoder), encoder.config, _weights(encoder), samples.sensors, folder, device, seen),
            tasks,
            "features",
            "blocks",
            is_done=lambda task: _block_file(folder, task.block).is_file(),
            unit="scenes",
            size=lambda task: len(task.tokens),
            show=show_progress,
        )
    return FeatureCache(folder, samples.tokens, encoder.shapes)


def open_features(encoder: FrozenEncoder, data: Path, split: str) -> FeatureCache | None:
    """The complete cache of a split, if there is one."""
    folder = DataFolder(data).features(encoder.digest(), split)
    if not (folder / ABOUT).is_file():
        return None
    tokens = read_json(folder / ABOUT, ValueError)["tokens"]
    blocks = range((len(tokens) + BLOCK - 1) // BLOCK)
    complete = all(_block_file(folder, block).is_file() for block in blocks)
    return FeatureCache(folder, tokens, encoder.shapes) if complete else None


def _seen_frames(
    encoder: FrozenEncoder, samples: Samples, data: Path, split: str
) -> tuple[FeatureCache, FeatureCache] | None:
    """Of an encoder with a forecast: what it sees in scenes and in the frames before, if caches hold it."""
    if not isinstance(encoder, DenseEncoder) or encoder.forecast is None:
        return None
    alone = encoder.without_forecast()
    now = _open_current(alone, samples, data, split)
    before = _open_current(alone, samples.at_frames_before(), data, f"{split}{BEFORE}")
    return None if now is None or before is None else (now, before)


def _open_current(encoder: FrozenEncoder, samples: Samples, data: Path, split: str) -> FeatureCache | None:
    """The cache of a split, if it holds these samples with the images that they have now."""
    found = open_features(encoder, data, split)
    if found is None or not found.holds(samples):
        return None
    return found if read_json(found.folder / ABOUT).get(IMAGES) == samples.images_digest() else None


def find_features(encoder: FrozenEncoder, samples: Samples) -> FeatureCache | None:
    """A complete cache of any split of the samples' dataset that holds all of them, if there is one."""
    data = samples.sensors.parents[1]
    for split in sorted(path.name for path in DataFolder(data).all_features(encoder.digest()).glob("*")):
        found = open_features(encoder, data, split)
        if found is not None and found.holds(samples):
            return found
    return None


def makes_forecast(encoder: FrozenEncoder) -> bool:
    """Whether an encoder looks at two frames."""
    return isinstance(encoder, DenseEncoder) and encoder.forecast is not None


def check_calibration(samples: Samples, config: DenseEncoderConfig) -> None:
    """Raise a ValueError for scenes whose cameras are not those that the encoder was taught with."""
    sizes, views = config.view_sizes, len(config.mounts)
    for index in {0, len(samples) - 1} if len(samples) else ():
        width, height = samples.image_size[index]
        given = (
            fit_intrinsics(samples.intrinsics[index, :views], width, height, sizes),
            samples.rotation[index, :views],
            samples.translation[index, :views],
        )
        try:
            config.check_cameras(Cameras(*(torch.tensor(part)[None] for part in given)))
        except ValueError as error:
            raise ValueError(f"scene {samples.tokens[index]!r}: {error}") from error


def _block_file(folder: Path, block: int) -> Path:
    return folder / f"{block:05d}.npy"


def _weights(encoder: FrozenEncoder) -> tuple[tuple[str, NDArray[Any]], ...]:
    """Weights as arrays, which pass to other processes as they are."""
    return tuple((name, tensor.cpu().numpy()) for name, tensor in encoder.state_dict().items())


@dataclass(frozen=True, eq=False)
class _Encode:
    """Encodes a block; runs in worker processes."""

    kind: Callable[[Any], FrozenEncoder]
    config: Any
    weights: tuple[tuple[str, NDArray[Any]], ...]
    sensors: Path
    folder: Path
    device: str
    seen: tuple[FeatureCache, FeatureCache] | None
    """What the encoder sees in scenes and in the frames before, if that is known."""

    def __call__(self, task: CacheTask) -> None:
        encoder = _load(self)
        sizes = encoder.view_sizes
        batch = max(1, BATCH_PIXELS // (sizes.cameras * sizes.image_height * sizes.image_width))
        shape = len(task.tokens), sum(map(math.prod, encoder.shapes))
        with write_array(_block_file(self.folder, task.block), "<f2", shape) as append:
            # Written batch by batch: a block of a ViT's tokens can take gigabytes.
            for start in range(0, len(task.tokens), batch):
                chosen = range(start, min(start + batch, len(task.tokens)))
                with torch.inference_mode():
                    seen = self._recall(encoder, task, chosen) or self._perceive(encoder, task, chosen)
                rows = torch.cat([part.flatten(1) for part in seen if part is not None], 1)
                append(rows.half().cpu().numpy())

    def _recall(self, encoder: FrozenEncoder, task: CacheTask, chosen: Sequence[int]) -> Perception | None:
        """What an encoder makes of scenes, from what it has seen in single frames."""
        if self.seen is None:
            return None
        assert isinstance(encoder, DenseEncoder)
        now, before = ([cache.read(task.tokens[k]) for k in chosen] for cache in self.seen)
        patches, features = (
            torch.from_numpy(np.stack(part)).float().to(self.device) for part in zip(*now, strict=True)
        )
        features_before = torch.from_numpy(np.stack([part[1] for part in before])).float().to(self.device)
        poses = torch.tensor([task.poses_before[k] for k in chosen], device=self.device)
        return encoder.foresee(Perception(patches, features), features_before, poses)

    def _perceive(self, encoder: FrozenEncoder, task: CacheTask, chosen: Sequence[int]) -> Perception:
        """What an encoder makes of scenes; a frame is encoded once, though it may be of now and of before."""
        now = [task.images[k] for k in chosen]
        before = [task.images_before[k] for k in chosen] if task.images_before else []
        scene_of = dict(zip([*before, *now], [task.tokens[k] for k in chosen] * 2, strict=False))
        row = {images: row for row, images in enumerate(filter(None, scene_of))}
        views = np.stack([self._views(scene_of[images], images, encoder.view_sizes) for images in row])
        image = normalise(torch.from_numpy(views).to(self.device))
        seen: Perception = encoder.look(image) if isinstance(encoder, DenseEncoder) else encoder(image)
        rows = [row[images] for images in now]
        here = Perception(seen.patches[rows], seen.features[rows])
        if not isinstance(encoder, DenseEncoder) or encoder.forecast is None:
            return here
        poses = torch.tensor([task.poses_before[k] for k in chosen], device=self.device)
        return encoder.foresee(here, seen.features[[row.get(images, 0) for images in before]], poses)

    def _views(self, token: str, images: Sequence[str], sizes: ModelConfig) -> NDArray[np.uint8]:
        try:
            return np.stack([read_view(self.sensors / path, sizes) for path in images[: sizes.cameras]])
        except ImageError as error:
            raise ImageError(f"scene {token!r}: {error}") from error


@lru_cache(1)
def _load(task: _Encode) -> FrozenEncoder:
    """Build the encoder once per process."""
    if parent_process() is not None:
        torch.set_num_threads(1)  # a core for each worker
    encoder = task.kind(task.config).requires_grad_(False).eval()
    encoder.load_state_dict({name: torch.from_numpy(np.array(array)) for name, array in task.weights})
    return (encoder.fused() if isinstance(encoder, DenseEncoder) else encoder).to(task.device)
