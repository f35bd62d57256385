"""Vocabulary plans for one training step of a scene: two rounds, with labels.

The coarse round covers the vocabulary: 16 shapes at 4 speed targets, by stratified draws. The expert round covers the
expert's neighbourhood: the 16 shapes nearest to its path, at the 4 speed targets nearest to its final speed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.driving.bench2drive.vocabulary import Vocabulary
from world4scorer.driving.clips.prepared import PreparedClips
from world4scorer.engine.scene.indices import PLAN_INTERVAL
from world4scorer.planner.bank.candidate_bank import BankSample

ROUND_SHAPES: Final = 16
ROUND_SPEEDS: Final = 4


@dataclass(frozen=True, eq=False)
class VocabularyNegatives:
    """Vocabulary plans with labels in prepared clips."""

    vocabulary: Vocabulary
    clips: PreparedClips

    def draw(self, token: str, rng: np.random.Generator) -> BankSample:
        """Plans of both rounds and their labels."""
        speed, future = self.clips.expert_motion(token)
        expert = future[:, :2]
        end_speed = float(np.linalg.norm(expert[-1] - expert[-2]) / PLAN_INTERVAL)
        rounds = (coarse_round(self.vocabulary, rng), expert_round(self.vocabulary, expert, end_speed))
        shapes, targets = (np.concatenate(part) for part in zip(*rounds, strict=True))
        plans = self.vocabulary.plans(shapes, targets, speed).astype(np.float32)
        labels = self.clips.label(token, plans.astype(np.float64))
        return BankSample(plans, labels.astype(np.float32), True)


def coarse_round(vocabulary: Vocabulary, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Indices of shapes and of speed targets: the product of two stratified draws."""
    shapes = _stratified_draw(len(vocabulary.shapes), ROUND_SHAPES, rng)
    return _product(shapes, _stratified_draw(len(vocabulary.speeds), ROUND_SPEEDS, rng))


def expert_round(
    vocabulary: Vocabulary, path: NDArray[np.float64], end_speed: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Indices of shapes and of speed targets nearest to the expert's path (T, 2) and final speed [m/s]."""
    shapes = vocabulary.nearest(path)[:ROUND_SHAPES]
    targets = np.argsort(np.abs(vocabulary.speeds - end_speed), kind="stable")[:ROUND_SPEEDS]
    return _product(np.sort(shapes), np.sort(targets))


def _stratified_draw(count: int, parts: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """One index from each of `parts` equal ranges of 0 .. count - 1; all indices if there are fewer."""
    rims = np.linspace(0, count, min(parts, count) + 1).astype(np.int64)
    return rng.integers(rims[:-1], rims[1:])


def _product(shapes: NDArray[np.integer], targets: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return np.repeat(shapes, len(targets)).astype(np.int64), np.tile(targets, len(shapes)).astype(np.int64)
