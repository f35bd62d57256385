"""The pooled vector that steers a readout: perturbed and dropped in training, of one length afterwards.

Shapes: B pairs, E features.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from world4scorer.studies.readout_networks.config import ReadoutConfig


def perturbed(vector_BE: Tensor, config: ReadoutConfig, generator: torch.Generator) -> Tensor:
    """Vectors with another length and another direction: a prediction is neither as long nor as sure as what was seen.

    Length: times exp of normal noise. Direction: isotropic normal noise, whose expected length is a share of the
    vector's own that is drawn evenly from 0 to `direction_noise`.
    """
    count, features = vector_BE.shape
    scale = torch.exp(config.scale_noise * torch.randn(count, 1, generator=generator))
    share = config.direction_noise * torch.rand(count, 1, generator=generator)
    noise = torch.randn(count, features, generator=generator) / features**0.5
    moved: Tensor = scale * (vector_BE + share * vector_BE.norm(dim=1, keepdim=True) * noise)
    return moved


def kept(count: int, config: ReadoutConfig, generator: torch.Generator) -> Tensor:
    """(B,) which pairs keep their vector."""
    return torch.rand(count, generator=generator) >= config.vector_dropout


def of_length(vector: Tensor, length: float) -> Tensor:
    """Vectors (..., E) of that length, in their own direction."""
    return functional.normalize(vector, dim=-1) * length


def guided(without: Tensor, with_vector: Tensor, scale: float) -> Tensor:
    """Classifier-free guidance: from the answer without vector towards the one with it, and beyond it above scale 1."""
    return without + scale * (with_vector - without)
