"""GridMask: parts of the images are blanked in a regular pattern, so that no single one is relied on.

Bars across and bars down, one period apart, are laid over a canvas half as large again as the image; the image is its
middle. Plain, the bars are blanked; inverted, as in the paper's training, what lies between them: squares. One pattern
serves a whole batch. A canvas has as many bars each way as whole periods fit into it, the first of them less than a
period from its edge, so that a coarse pattern may leave a side of the image as it is.

    rng = np.random.default_rng(3)
    images = grid_mask(images, GridMaskConfig(), rng)     # normalised images: blanked is the mean colour

Shapes: B scenes, C cameras, H x W pixels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

CANVAS_SCALE: Final = 1.5
"""Sides of the canvas, in sides of the image: room for the pattern to be turned."""
MIN_PERIOD: Final = 2
"""A bar and a gap of one pixel each [pixels]."""


@dataclass(frozen=True)
class GridMaskConfig:
    """How often and how. The defaults are those of the paper's training."""

    probability: float = 0.7
    """Share of batches that get a pattern."""
    ratio: float = 0.5
    """Width of a bar, in periods."""
    inverted: bool = True
    """Blank between the bars instead of the bars."""
    rotations: int = 1
    """Patterns are turned by a whole number of degrees below this; 1 for not at all."""

    def __post_init__(self) -> None:
        if not 0 <= self.probability <= 1:
            raise ValueError(f"probability: {self.probability}; from 0 to 1")
        if not 0 < self.ratio < 1:
            raise ValueError(f"ratio: {self.ratio}; above 0 and below 1")
        if self.rotations < 1:
            raise ValueError(f"rotations: {self.rotations}; at least 1, which is none")


class Pattern(NamedTuple):
    """What was drawn for a batch; lengths in pixels."""

    period: int
    bar: int
    """Width of a bar; from 1 to below the period."""
    top: int
    """Where the first bar across begins, from the upper edge of the canvas; below the period."""
    left: int
    """Where the first bar down begins, from the left edge of the canvas; below the period."""
    angle: int
    """By which the canvas is turned [degrees]."""


def grid_mask(image_BC3HW: Tensor, config: GridMaskConfig, rng: np.random.Generator) -> Tensor:
    """Images of a batch with one pattern of blanked parts, or as they are; the given tensor is not changed."""
    if rng.random() >= config.probability:
        return image_BC3HW
    height, width = image_BC3HW.shape[-2:]
    kept = kept_pixels(draw_pattern(height, width, config, rng), height, width, config.inverted)
    return image_BC3HW * torch.from_numpy(kept).to(image_BC3HW)


def draw_pattern(height: int, width: int, config: GridMaskConfig, rng: np.random.Generator) -> Pattern:
    """A pattern for images of that size [pixels]."""
    if min(height, width) <= MIN_PERIOD:
        raise ValueError(f"images of {height} x {width} pixels are too small for a pattern")
    period = int(rng.integers(MIN_PERIOD, min(height, width)))
    bar = min(max(int(period * config.ratio + 0.5), 1), period - 1)
    top, left = (int(start) for start in rng.integers(0, period, 2))
    return Pattern(period, bar, top, left, int(rng.integers(config.rotations)))


def kept_pixels(pattern: Pattern, height: int, width: int, inverted: bool) -> NDArray[np.bool_]:
    """Which pixels of an image (H, W) a pattern leaves as they are."""
    canvas_height, canvas_width = int(CANVAS_SCALE * height), int(CANVAS_SCALE * width)
    across = _in_bar(canvas_height, pattern.period, pattern.bar, pattern.top)
    down = _in_bar(canvas_width, pattern.period, pattern.bar, pattern.left)
    gaps = ~(across[:, None] | down[None, :])
    if pattern.angle:
        gaps = np.asarray(Image.fromarray(gaps.astype(np.uint8)).rotate(pattern.angle)).astype(bool)
    top, left = (canvas_height - height) // 2, (canvas_width - width) // 2
    gaps = gaps[top : top + height, left : left + width]
    return ~gaps if inverted else gaps


def _in_bar(length: int, period: int, bar: int, start: int) -> NDArray[np.bool_]:
    """Which of `length` pixels along one side of the canvas lie in a bar."""
    index, within = np.divmod(np.arange(length) - start, period)
    return (index >= 0) & (index < length // period) & (within < bar)
