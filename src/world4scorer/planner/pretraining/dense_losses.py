"""Losses that teach the dense encoder.

Shapes: B frames, C cameras, K classes of the map, X x Y cells of the map, x x y coarse cells of twice the side,
h x w labelled pixels, V features of a patch, T frames with a twin, Q queued features.
"""

from __future__ import annotations

import math
from typing import Final

import torch
from torch import Tensor
from torch.nn import functional

from world4scorer.datasets.dense.labels import MapBit, cell_centres
from world4scorer.planner.model.dense_encoder_config import MAP_CLASSES, PIXEL_CLASSES

BITS: Final = tuple(int(MapBit[name.upper()]) for name in MAP_CLASSES)
"""`MapBit` of each map class."""
POSITIVE_WEIGHTS: Final = (1.0, 1.0, 2.0, 4.0, 8.0, 4.0, 2.0)
"""Weight of cells of each class relative to cells that are not: rare ones more."""
PERSON: Final = MAP_CLASSES.index("person")
PERSON_MARGIN: Final = 1
"""Cells."""
DEPTH_SCALE: Final = 128.0
"""Steps of a stored depth per unit of a predicted one: four octaves."""


def map_targets(bits_BXY: Tensor) -> tuple[Tensor, Tensor]:
    """Targets (B, K, X, Y) of the map classes, 0 or 1, and the cells (B, X, Y) with hidden road users.

    Persons reach `PERSON_MARGIN` cells farther than they are: few cells are theirs, and no view tells which exactly.
    """
    targets = torch.stack([(bits_BXY & bit) > 0 for bit in BITS], 1).float()
    persons = targets[:, PERSON : PERSON + 1]
    targets[:, PERSON : PERSON + 1] = functional.max_pool2d(persons, 2 * PERSON_MARGIN + 1, 1, PERSON_MARGIN)
    return targets, (bits_BXY & int(MapBit.HIDDEN)) > 0


def cell_weights(visible_xy: Tensor, unseen: float, near: float, distance: float) -> Tensor:
    """Weights (X, Y) of map cells: those that no camera sees count `unseen`, those within a distance [m] `near`."""
    visible = visible_xy.repeat_interleave(2, 0).repeat_interleave(2, 1)
    centres = torch.from_numpy(cell_centres()).float()
    shares = torch.where(visible, 1.0, unseen)
    return shares * torch.where(centres.norm(dim=-1) < distance, near, 1.0)


def map_losses(logits_BKXY: Tensor, bits_BXY: Tensor, weights_XY: Tensor) -> Tensor:
    """Binary cross entropy of each class (K,), a weighted mean over cells; hidden road users count nothing."""
    targets, hidden = map_targets(bits_BXY)
    positive = logits_BKXY.new_tensor(POSITIVE_WEIGHTS)[:, None, None]
    losses = functional.binary_cross_entropy_with_logits(logits_BKXY, targets, pos_weight=positive, reduction="none")
    weights = weights_XY * ~hidden
    return (losses * weights[:, None]).sum((0, 2, 3)) / weights.sum().clamp(min=1e-6)


def decode_direction(codes: Tensor) -> tuple[Tensor, Tensor]:
    """Headings [rad] of stored directions, and where there is one."""
    return (codes.float() - 0.5) * (2 * math.pi / 255) - math.pi, codes > 0


def direction_loss(predicted_B2xy: Tensor, codes_Bxy: Tensor, visible_xy: Tensor) -> Tensor:
    """Squared error of cosine and sine of lane headings, a mean over visible lane cells."""
    heading, there = decode_direction(codes_Bxy)
    target = torch.stack([heading.cos(), heading.sin()], 1)
    errors = (predicted_B2xy - target).square().sum(1)
    counted = there & visible_xy
    return (errors * counted).sum() / counted.sum().clamp(min=1)


def pixel_losses(predicted_MKhw: Tensor, classes_Mhw: Tensor, depth_Mhw: Tensor) -> tuple[Tensor, Tensor]:
    """Cross entropy of semantic classes, and mean error of log depths, of all labelled pixels of M views."""
    classes = functional.cross_entropy(predicted_MKhw[:, :PIXEL_CLASSES], classes_Mhw.long())
    depth = (predicted_MKhw[:, PIXEL_CLASSES] - depth_Mhw.float() / DEPTH_SCALE).abs().mean()
    return classes, depth


def contrast_loss(
    twins_TV: Tensor, frames_BV: Tensor, queue_QV: Tensor, twin_of_T: Tensor, temperature: float
) -> Tensor:
    """InfoNCE: each twin must be more like its own frame than like the other frames of the batch and queued ones.

    The mean of all frames is subtracted first: what all features share says nothing.
    """
    known = torch.cat([frames_BV, queue_QV])
    mean = known.mean(0).detach()
    ours, theirs = functional.normalize(twins_TV - mean, dim=1), functional.normalize(known - mean, dim=1)
    return functional.cross_entropy(ours @ theirs.T / temperature, twin_of_T)
