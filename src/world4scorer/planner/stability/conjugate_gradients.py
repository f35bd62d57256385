"""Conjugate gradients for G x = c, several right-hand sides at once, with a bracket around c^T G^-1 c.

For any x with residual r = c - G x,

    c^T G^-1 c  =  c^T x + x^T r + r^T G^-1 r,

so c^T x + x^T r never exceeds what is sought, and misses at most |r|^2 / mu of it where G >= mu I. Iterations end when
that gap is small; the bracket is computed from a residual that is formed anew, so that it holds whatever rounding did.

Shapes: K right-hand sides, P unknowns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

Operator = Callable[[Tensor, Tensor], Tensor]
"""Vectors (K, P) and which right-hand sides they belong to (K,) to products (K, P)."""
Preconditioner = Callable[[Tensor], Tensor]
"""Vectors (K, P) to vectors (K, P); symmetric, positive definite."""

TOLERANCE: Final = 1e-5
"""Largest gap of the bracket, as a share of c^T G^-1 c."""
MAX_ITERATIONS: Final = 500
MAX_RESTARTS: Final = 3
"""Restarts if the recomputed residual exceeds the updated one."""


class NotConverged(ValueError):
    """Iterations that ended before the bracket was narrow enough."""


@dataclass(frozen=True, eq=False)
class Solution:
    """x for each right-hand side, and what is known of c^T G^-1 c."""

    x: Tensor
    """(K, P)"""
    lower: Tensor
    """(K,) float64"""
    upper: Tensor
    """(K,) float64"""
    residual: Tensor
    """(K,) |c - G x| / |c|, formed anew"""
    iterations: Tensor
    """(K,) products that each took, that of the check left out"""
    converged: Tensor
    """(K,) whether upper - lower is within the tolerance"""

    @property
    def value(self) -> Tensor:
        """(K,) the middle of the bracket."""
        return (self.lower + self.upper) / 2

    def checked(self) -> Solution:
        """Itself, or a NotConverged error."""
        if self.converged.all():
            return self
        share = ((self.upper - self.lower) / self.upper)[~self.converged].max().item()
        raise NotConverged(
            f"{int((~self.converged).sum())} of {len(self.x)} right-hand sides did not converge in "
            f"{int(self.iterations.max())} iterations (gap {share:.1e} of the value); "
            "allow more iterations, raise mu, or compute in float64"
        )


def solve(
    product: Operator,
    right_KP: Tensor,
    mu: float,
    preconditioner: Preconditioner | None = None,
    start_KP: Tensor | None = None,
    tolerance: float = TOLERANCE,
    max_iterations: int = MAX_ITERATIONS,
) -> Solution:
    """Solve for all right-hand sides, `mu` being a lower bound of G's eigenvalues; those that are done drop out."""
    every = torch.arange(len(right_KP), device=right_KP.device)
    x = torch.zeros_like(right_KP) if start_KP is None else start_KP.clone()
    residual = right_KP.clone() if start_KP is None else right_KP - product(x, every)
    iterations = torch.zeros(len(x), dtype=torch.long)
    left = every
    for _ in range(MAX_RESTARTS):
        used = _iterate(product, right_KP, x, residual, left, mu, preconditioner, tolerance, max_iterations)
        iterations[left] += used
        residual[left] = right_KP[left] - product(x[left], left)
        lower, upper = _bracket(right_KP, x, residual, mu)
        converged = upper - lower <= tolerance * upper
        left = every[~converged & (iterations < max_iterations)]
        if not len(left):
            break
    sizes = right_KP.double().norm(dim=1).clamp(min=torch.finfo(torch.float64).tiny)
    return Solution(x, lower, upper, residual.double().norm(dim=1) / sizes, iterations, converged)


def _iterate(
    product: Operator,
    right: Tensor,
    x: Tensor,
    residual: Tensor,
    left: Tensor,
    mu: float,
    preconditioner: Preconditioner | None,
    tolerance: float,
    most: int,
) -> Tensor:
    """Improve some rows of x and of the residual, in place; returns how many products each of them took."""
    used = torch.zeros(len(left), dtype=torch.long)
    at = torch.arange(len(left))
    r = residual[left]
    z = preconditioner(r) if preconditioner else r
    direction, steepness = z, _dot(r, z)
    for number in range(most + 1):
        lower, upper = _bracket(right[left[at]], x[left[at]], r, mu)
        going = upper - lower > 0.5 * tolerance * upper  # half: what rounding adds must fit in, too
        used[at[~going]] = number
        if not going.all():
            residual[left[at[~going]]] = r[~going]
            at, r, direction, steepness = at[going], r[going], direction[going], steepness[going]
        if not len(at) or number == most:
            used[at] = number
            residual[left[at]] = r
            break
        moved = product(direction, left[at])
        step = (steepness / _dot(direction, moved)).to(r.dtype)[:, None]
        x[left[at]] += step * direction
        r = r - step * moved
        z = preconditioner(r) if preconditioner else r
        new = _dot(r, z)
        direction = z + (new / steepness).to(r.dtype)[:, None] * direction
        steepness = new
    return used


def _bracket(right: Tensor, x: Tensor, residual: Tensor, mu: float) -> tuple[Tensor, Tensor]:
    """Bounds (K,) of c^T G^-1 c."""
    lower = _dot(right, x) + _dot(x, residual)
    return lower, lower + _dot(residual, residual) / mu


def _dot(a: Tensor, b: Tensor) -> Tensor:
    """(K,) in float64: sums over a million products would lose digits of float32."""
    return (a.double() * b.double()).sum(1)
