"""Batches of views with dense labels, drawn by seed and step, and read ahead in a thread.

Shapes: B frames, C cameras, H x W pixels, h x w labelled pixels, X x Y cells of the map, x x y coarse cells, T twins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from world4scorer.datasets.dense.labels import DenseLabels
from world4scorer.datasets.dense.views_file import DenseViews, ViewGeometry
from world4scorer.planner.model.dense_encoder_config import FINE_STRIDE, DenseEncoderConfig
from world4scorer.planner.model.images import MEAN, STD
from world4scorer.planner.pretraining.dense_config import DensePretrainConfig

FRONT: Final = 0
"""Camera whose pooled features are matched between kinds of weather."""
MAX_BRIGHTNESS: Final = 1.3
"""Of jittered colours; 1 is white."""
READ_AHEAD: Final = 4
"""Batches that are prepared while the network works."""
MOUNT_DIGITS: Final = 6
"""Decimals of camera mounts that are read from calibrations."""

_Item = TypeVar("_Item")


@dataclass(frozen=True, eq=False)
class DenseBatch:
    """The frames of one step."""

    image: Tensor
    """(B, C, 3, H, W) normalised"""
    bits: Tensor
    """(B, X, Y) uint8"""
    direction: Tensor
    """(B, x, y) uint8"""
    classes: Tensor
    """(B, C, h, w) uint8"""
    depth: Tensor
    """(B, C, h, w) uint8"""
    twin: Tensor
    """(T, 3, H, W) front views in another weather"""
    twin_of: Tensor
    """(T,) their frames"""


def encoder_config(geometry: ViewGeometry, base: DenseEncoderConfig | None = None) -> DenseEncoderConfig:
    """The configuration of an encoder for views of some cameras; widths are those of `base`."""
    if (geometry.height - geometry.crop_top) % FINE_STRIDE or geometry.width % FINE_STRIDE:
        size = f"{geometry.width} x {geometry.height - geometry.crop_top}"
        raise ValueError(
            f"views of {size} pixels without sky: their sides must be multiples of {FINE_STRIDE}; make a city with "
            "other --height and --width"
        )
    rotation, translation = np.array(geometry.rotation), np.array(geometry.translation)
    yaw = np.rad2deg(np.arctan2(rotation[:, 1, 2], rotation[:, 0, 2]))
    mounts = np.column_stack([translation, yaw]).round(MOUNT_DIGITS) + 0.0
    found = replace(
        base or DenseEncoderConfig(),
        image_height=geometry.height - geometry.crop_top,
        image_width=geometry.width,
        crop_top=geometry.crop_top,
        focal_to_width=geometry.intrinsics[0][0][0] / geometry.width,
        mounts=tuple((x, y, z, angle) for x, y, z, angle in mounts.tolist()),
    )
    for ours, theirs in zip(found.cameras, (geometry.intrinsics, geometry.rotation, geometry.translation), strict=True):
        if not np.allclose(ours[0].numpy(), np.array(theirs), atol=1e-3):
            raise ValueError("the cameras of the views are not level or have no square pixels; use those of a city")
    return found


def mirrored_cameras(config: DenseEncoderConfig) -> list[int]:
    """For each camera the one that sees the same in a mirrored world."""
    order = []
    for x, y, z, yaw in config.mounts:
        wanted = (x, -y, z, -yaw % 360.0)
        found = [k for k, (a, b, c, d) in enumerate(config.mounts) if (a, b, c, d % 360.0) == wanted]
        if not found:
            raise ValueError(f"mirror: no camera mirrors that at {x}, {y} m, {yaw} deg; use --no-mirror")
        order.append(found[0])
    return order


def mirror_labels(labels: DenseLabels, cameras: Sequence[int]) -> DenseLabels:
    """Labels of the mirrored world."""
    codes = labels.direction[:, ::-1].astype(np.int16)
    return DenseLabels(
        labels.classes[cameras, :, ::-1],
        labels.depth[cameras, :, ::-1],
        labels.bits[:, ::-1],
        np.where(codes > 0, 256 - codes, 0).astype(np.uint8),
        labels.velocity[:, ::-1] * np.array([1, -1], np.int8),
    )


def light_table(config: DensePretrainConfig | None, rng: np.random.Generator) -> NDArray[np.float32]:
    """(3, 256) normalised value of every byte of each colour, in a light drawn at random; None leaves it as it is."""
    value = np.arange(256, dtype=np.float64) / 255.0
    colours = np.repeat(value[None], 3, 0)
    if config is not None:
        gamma, gain = np.exp(rng.uniform(-config.gamma, config.gamma)), rng.uniform(-config.gain, config.gain)
        tint = rng.uniform(-config.tint, config.tint, 3)
        colours = np.minimum(value**gamma * np.exp(gain + tint)[:, None], MAX_BRIGHTNESS)
    return np.asarray((colours - np.array(MEAN)[:, None]) / np.array(STD)[:, None], np.float32)


def apply_light(views: NDArray[np.uint8], table: NDArray[np.float32]) -> NDArray[np.float32]:
    """Views (..., H, W, 3) of bytes as the encoder's input (..., 3, H, W)."""
    return np.stack([table[colour][views[..., colour]] for colour in range(3)], -3)


class DenseBatches:
    """Draws the batch of any step of a run."""

    def __init__(self, views: DenseViews, config: DensePretrainConfig, encoder: DenseEncoderConfig) -> None:
        if len(views) < config.batch:
            raise ValueError(f"batch: {config.batch}, but the training split has {len(views)} frames only")
        self._views, self._config = views, config
        self._cameras = mirrored_cameras(encoder) if config.mirror else []
        self._per_epoch = len(views) // config.batch
        self._epoch = lru_cache(2)(self._order)

    def draw(self, step: int) -> DenseBatch:
        """The batch of a step: a function of seed and step."""
        epoch, index = divmod(step, self._per_epoch)
        size = self._config.batch
        frames = self._epoch(epoch)[index * size : (index + 1) * size].tolist()
        rows = [self._row(frame, np.random.default_rng([self._config.seed, step, k])) for k, frame in enumerate(frames)]
        images, labels, twins = zip(*rows, strict=True)
        there = [k for k, twin in enumerate(twins) if twin is not None]
        height, width = images[0].shape[-2:]
        empty = np.zeros((0, 3, height, width), np.float32)
        return DenseBatch(
            _stacked(images),
            _stacked([one.bits for one in labels]),
            _stacked([one.direction for one in labels]),
            _stacked([one.classes for one in labels]),
            _stacked([one.depth for one in labels]),
            _stacked([twins[k] for k in there]) if there else torch.from_numpy(empty),
            torch.tensor(there, dtype=torch.int64),
        )

    def _order(self, epoch: int) -> NDArray[np.int64]:
        """Frames in the order of an epoch."""
        return np.random.default_rng([self._config.seed, epoch, 1 << 20]).permutation(len(self._views))

    def _row(
        self, frame: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.float32], DenseLabels, NDArray[np.float32] | None]:
        views, config = self._views, self._config
        mirrored = config.mirror and bool(rng.random() < 0.5)
        images, labels = views.images(frame), views.labels(frame)
        if mirrored:
            images, labels = images[self._cameras, :, ::-1], mirror_labels(labels, self._cameras)
        image = apply_light(images, light_table(config, rng))
        if not (config.contrast and views.has_twin[frame]):
            return image, labels, None
        twin = views.images(frame, twin=True)[FRONT]
        return image, labels, apply_light(twin[:, ::-1] if mirrored else twin, light_table(config, rng))


@contextmanager
def read_ahead(function: Callable[[int], _Item], first: int, last: int) -> Iterator[Callable[[int], _Item]]:
    """A function that returns what the given one does for `first`, ..., `last` - 1 in turn, computed ahead."""
    waiting: dict[int, Future[_Item]] = {}
    with ThreadPoolExecutor(1) as pool:

        def take(step: int) -> _Item:
            for ahead in range(step, min(step + 1 + READ_AHEAD, last)):
                if ahead not in waiting:
                    waiting[ahead] = pool.submit(function, ahead)
            return waiting.pop(step).result()

        try:
            yield take
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _stacked(rows: Sequence[NDArray[np.generic]]) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(np.stack(rows)))
