"""A preconditioner for mu I + C from a few products with C: randomised Nystroem.

C is tested on random vectors; where its eigenvalues fall fast, as those of Gauss-Newton curvatures do, the products
already show its large ones. The preconditioner treats these as known and all others as equal to the smallest of them.
The method is that of Frangella, Tropp and Udell (Randomized Nystroem Preconditioning, 2023), written anew. A diagonal
preconditioner was tried too, and cut iterations far less.

Shapes: P unknowns, Q test vectors, K vectors.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Nystrom:
    """Approximate large eigenvalues of C with their vectors."""

    basis: Tensor
    """(Q, P) orthonormal rows"""
    values: Tensor
    """(Q,) eigenvalues, largest first"""

    @classmethod
    def of(cls, tests_QP: Tensor, products_QP: Tensor) -> Nystrom:
        """From test vectors and C times each of them."""
        core = (tests_QP @ products_QP.T).double()
        values, vectors = torch.linalg.eigh((core + core.T) / 2)
        # Where C has fewer eigenvalues that are not 0 than there are tests, the others are rounding.
        kept = values > len(values) * torch.finfo(products_QP.dtype).eps * values[-1]
        root = vectors[:, kept] / values[kept].sqrt()
        # C is near B^T B with B = root^T products (Q, P). B's singular vectors, found without squaring B, are C's
        # eigenvectors.
        across, small = torch.linalg.qr((root.T.to(products_QP.dtype) @ products_QP).T)
        mixed, sizes, _ = torch.linalg.svd(small.double())
        return cls((across @ mixed.to(across.dtype)).T, sizes.square())

    def inverse(self, vectors_KP: Tensor, mu: float) -> Tensor:
        """The preconditioner of mu I + C applied to each vector, up to a factor."""
        inside = vectors_KP @ self.basis.T
        scale = (self.values[-1] + mu) / (self.values + mu) - 1.0
        return vectors_KP + (inside * scale.to(inside.dtype)) @ self.basis
