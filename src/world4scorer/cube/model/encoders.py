"""Encoders of a world model: features of one observation."""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor, nn

OBSERVED_INDICES: Final = (12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 26, 27)
"""Indices into OGBench's 28 values: effector position and yaw, gripper opening and contact, cube position and yaw.
Joint angles and the cube's quaternion are redundant; velocities would have to match at the goal, too."""


class StateEncoder(nn.Module):
    """An MLP over state observations; the cube's yaw is taken modulo a quarter turn."""

    def __init__(self, width: int, depth: int) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Linear(len(OBSERVED_INDICES) + 3, width), nn.SiLU()]
        for _ in range(depth - 1):
            layers += [nn.Linear(width, width), nn.SiLU()]
        self.layers = nn.Sequential(*layers)

    def forward(self, observations: Tensor) -> Tensor:
        """(samples, 28) to (samples, width)."""
        seen = observations[:, OBSERVED_INDICES]
        effector, rest, cube, cosine, sine = seen[:, :3], seen[:, 3:7], seen[:, 7:10], seen[:, 10:11], seen[:, 11:]
        double = (cosine**2 - sine**2, 2 * cosine * sine)
        quarter = (double[0] ** 2 - double[1] ** 2, 2 * double[0] * double[1])
        out: Tensor = self.layers(torch.cat([effector, rest, cube, *quarter, 4 * (cube - effector)], 1))
        return out


class PictureEncoder(nn.Module):
    """A vision transformer over camera images; its class token is the feature."""

    def __init__(self, image: int, patch: int, width: int, depth: int, heads: int) -> None:
        super().__init__()
        from transformers import ViTConfig, ViTModel

        sizes = ViTConfig(
            hidden_size=width,
            num_hidden_layers=depth,
            num_attention_heads=heads,
            intermediate_size=4 * width,
            image_size=image,
            patch_size=patch,
        )
        self.layers = ViTModel(sizes, add_pooling_layer=False)

    def forward(self, pictures: Tensor) -> Tensor:
        """(samples, 3, side, side) to (samples, width)."""
        out: Tensor = self.layers(pictures).last_hidden_state[:, 0]
        return out
