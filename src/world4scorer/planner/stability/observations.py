"""Weighted readings of the scorer and their Gauss-Newton curvature, matrix-free.

An observation is a reading of some calls with a weight for each number. A = W^(1/2) J is its weighted Jacobian; what is
needed of it are products: A v, A^T u, and A^T A v = J^T (W (J v)), by forward and reverse derivatives. Several vectors
go through a call together (`vmap`), so that the network itself is computed once for all of them; scenes go in chunks.

Shapes: K vectors, P parameters, R numbers observed (rows of A), B scenes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor
from torch.func import jvp, vjp, vmap

from world4scorer.planner.stability.shared_scorer import Reading, ScorerCall, SharedScorer

MAX_CHUNK: Final = 256
"""Scenes times vectors that are computed at a time; bounds the memory."""


@dataclass(frozen=True, eq=False)
class WeightedReading:
    """A reading of some calls."""

    call: ScorerCall
    reading: Reading
    weight: Tensor
    """(B, N, 6) or (B, E): curvature of the loss in each number, not below 0"""

    @property
    def rows(self) -> int:
        """R."""
        return self.weight.numel()

    def scaled(self, factor: float) -> WeightedReading:
        """A copy with scaled weights."""
        return WeightedReading(self.call, self.reading, self.weight * factor)


def curvature_product(scorer: SharedScorer, seen: WeightedReading, vectors_KP: Tensor) -> Tensor:
    """A^T A v for each vector (K, P)."""
    total = torch.zeros_like(vectors_KP)
    for read, weight, _ in _chunks(scorer, seen, len(vectors_KP)):
        pull = vjp(read, scorer.theta)[1]
        moved = vmap(lambda v, read=read: jvp(read, (scorer.theta,), (v,))[1])(vectors_KP)
        total += vmap(lambda u, pull=pull: pull(u)[0])(moved * weight)
    return total


def jacobian_product(scorer: SharedScorer, seen: WeightedReading, vectors_KP: Tensor) -> Tensor:
    """A v for each vector (K, R)."""
    parts = []
    for read, weight, _ in _chunks(scorer, seen, len(vectors_KP)):
        moved = vmap(lambda v, read=read: jvp(read, (scorer.theta,), (v,))[1])(vectors_KP)
        parts.append((moved * weight.sqrt()).flatten(1))
    return torch.cat(parts, 1)


def transpose_product(scorer: SharedScorer, seen: WeightedReading, outputs_KR: Tensor) -> Tensor:
    """A^T u for each vector (K, P) of the space of observations."""
    total = outputs_KR.new_zeros(len(outputs_KR), len(scorer.theta))
    shaped = outputs_KR.unflatten(1, seen.weight.shape)
    for read, weight, scenes in _chunks(scorer, seen, len(outputs_KR)):
        pull = vjp(read, scorer.theta)[1]
        total += vmap(lambda u, pull=pull: pull(u)[0])(shaped[:, scenes] * weight.sqrt())
    return total


Read = Callable[[Tensor], Tensor]


def _chunks(scorer: SharedScorer, seen: WeightedReading, vectors: int) -> Iterator[tuple[Read, Tensor, slice]]:
    """The reading of some scenes as a function of theta, its weights, and which scenes they are."""
    size = max(1, MAX_CHUNK // max(vectors, 1))
    for start in range(0, len(seen.call), size):
        scenes = slice(start, start + size)
        call = seen.call.at(scenes)

        def read(theta: Tensor, call: ScorerCall = call) -> Tensor:
            return scorer.observe(theta, call, seen.reading)

        yield read, seen.weight[scenes], scenes
