"""G = mu I + A_O^T A_O + lambda A_F^T A_F of a supervision: products, solutions and reductions.

    G_out       mu I and the outcomes
    G           G_out and lambda times the futures

Nothing of size P x P is formed. Every system is solved by conjugate gradients with a Nystroem preconditioner, whose
test products are made once, for outcomes and futures apart, so that they serve both matrices and every mu.

An exact way for few scenes would be the Gram matrix of all rows. It takes a product for each of them, 560 for a scene
of the city, while conjugate gradients take about ten for each comparison and matrix, so a hundred comparisons take what
four scenes would. Only there would the other way be ahead, and it is not worth a second one.

Shapes: K vectors, P parameters, R rows, Q test vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import torch
from torch import Tensor

from world4scorer.planner.stability.conjugate_gradients import MAX_ITERATIONS, TOLERANCE, Solution, solve
from world4scorer.planner.stability.nystrom import Nystrom
from world4scorer.planner.stability.observations import (
    WeightedReading,
    curvature_product,
    jacobian_product,
    transpose_product,
)
from world4scorer.planner.stability.supervision import Supervision

MU: Final = 0.1
DEFAULT_TEST_VECTORS: Final = 160
TEST_BLOCK: Final = 32
"""Test vectors at a time."""
NESTED_TOLERANCE: Final = 1e-2
"""Tolerance of nested solves relative to the outer one."""


@dataclass(frozen=True, eq=False)
class Sketch:
    """Test vectors, and the curvatures of outcomes and of futures times each of them."""

    tests: Tensor
    """(Q, P)"""
    outcomes: Tensor
    """(Q, P)"""
    futures: Tensor
    """(Q, P), without lambda"""


@dataclass(frozen=True, eq=False)
class Geometry:
    """The two matrices of a supervision at a scale mu."""

    supervision: Supervision
    mu: float = MU
    sketch: Sketch | None = None
    """For preconditioning; without, iterations are many."""
    tolerance: float = TOLERANCE
    max_iterations: int = MAX_ITERATIONS
    _nystrom: dict[bool, Nystrom] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if not self.mu > 0:
            raise ValueError(f"mu: {self.mu}; above 0")

    @classmethod
    def of(cls, supervision: Supervision, mu: float = MU, tests: int = DEFAULT_TEST_VECTORS, seed: int = 0) -> Geometry:
        """With a preconditioner from so many test vectors."""
        return cls(supervision, mu, make_sketch(supervision, tests, seed) if tests else None)

    def at(self, mu: float) -> Geometry:
        """A copy at another mu; the preconditioner's products are shared."""
        return replace(self, mu=mu)

    def product(self, vectors_KP: Tensor, future: bool) -> Tensor:
        """G_out v, or with `future` G v, for each vector (K, P)."""
        held = self.supervision
        total = self.mu * vectors_KP
        for seen in held.outcomes:
            total = total + curvature_product(held.scorer, seen, vectors_KP)
        if future and held.future is not None:
            total = total + held.future_weight * curvature_product(held.scorer, held.future, vectors_KP)
        return total

    def solve(
        self,
        right_KP: Tensor,
        future: bool,
        start_KP: Tensor | None = None,
        more: Sequence[Sequence[WeightedReading]] | None = None,
        tolerance: float | None = None,
    ) -> Solution:
        """G_out^-1 c or G^-1 c, with c^T G^-1 c; `more` adds the rows of further observations for each c."""
        scorer = self.supervision.scorer

        def product(vectors: Tensor, which: Tensor) -> Tensor:
            total = self.product(vectors, future)
            for row, index in enumerate(which.tolist() if more is not None else ()):
                for seen in more[index] if more is not None else ():
                    total[row] += curvature_product(scorer, seen, vectors[row : row + 1])[0]
            return total

        nystrom = self._preconditioner(future)
        return solve(
            product,
            right_KP,
            self.mu,
            None if nystrom is None else (lambda vectors: nystrom.inverse(vectors, self.mu)),
            start_KP,
            self.tolerance if tolerance is None else tolerance,
            self.max_iterations,
        )

    def reduction(
        self,
        seen: WeightedReading,
        solved_KP: Tensor,
        future: bool,
        weight: float = 1.0,
        tolerance: float | None = None,
    ) -> Solution:
        """What rows A of weight w take off c^T G^-1 c, in the space of observations: b^T (I/w + A G^-1 A^T)^-1 b.

        b = A G^-1 c comes from `solved` (K, P), the solutions G^-1 c. Nothing is known here of the enlarged system, so
        the result checks one that was solved directly. `value` of the solution is the reduction.
        """
        scorer = self.supervision.scorer
        tolerance = self.tolerance if tolerance is None else tolerance
        inner = NESTED_TOLERANCE * tolerance

        def product(outputs: Tensor, _: Tensor) -> Tensor:
            within = self.solve(transpose_product(scorer, seen, outputs), future, tolerance=inner).checked()
            return outputs / weight + jacobian_product(scorer, seen, within.x)

        right = jacobian_product(scorer, seen, solved_KP)
        return solve(product, right, 1 / weight, None, None, tolerance, self.max_iterations)

    def _preconditioner(self, future: bool) -> Nystrom | None:
        sketch = self.sketch
        if sketch is None:
            return None
        if future not in self._nystrom:
            weight = self.supervision.future_weight if future else 0.0
            self._nystrom[future] = Nystrom.of(sketch.tests, sketch.outcomes + weight * sketch.futures)
        return self._nystrom[future]


def make_sketch(supervision: Supervision, tests: int = DEFAULT_TEST_VECTORS, seed: int = 0) -> Sketch:
    """Products with random vectors."""
    scorer = supervision.scorer
    count = min(tests, len(scorer.theta))
    vectors = torch.randn(count, len(scorer.theta), generator=torch.Generator().manual_seed(seed), dtype=scorer.dtype)
    outcomes, futures = torch.zeros_like(vectors), torch.zeros_like(vectors)
    for start in range(0, count, TEST_BLOCK):
        rows = slice(start, start + TEST_BLOCK)
        for seen in supervision.outcomes:
            outcomes[rows] += curvature_product(scorer, seen, vectors[rows])
        if supervision.future is not None:
            futures[rows] += curvature_product(scorer, supervision.future, vectors[rows])
    return Sketch(vectors, outcomes, futures)
