"""LeWM: an encoder, an action encoder, a causal predictor modulated by actions, and SIGReg.

Latents of frames one action block (5 steps) apart are predicted from earlier latents and actions. SIGReg prevents
collapse by keeping latents Gaussian along random directions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from world4scorer.cube.errors import CubeError
from world4scorer.cube.model.encoders import PictureEncoder, StateEncoder
from world4scorer.cube.simulator.cube_env import ACTION

ACTION_BLOCK: Final = 25
"""Values of an action block: five steps of five."""
BLOCK_STEPS: Final = ACTION_BLOCK // ACTION
"""Steps of an action block."""
SIGREG_POINTS: Final = 17
"""Points at which SIGReg compares characteristic functions, between 0 and 3."""


@dataclass(frozen=True)
class LewmConfig:
    """Sizes; the defaults are those of the published model, whose action encoder has a narrower input (10)."""

    sees: Literal["pixels", "state"] = "pixels"
    """Observation: camera images, or OGBench's state."""
    image: int = 224
    """Pixels of a picture's side."""
    patch: int = 14
    """Pixels of a patch's side."""
    encoder_width: int = 192
    """Width of the picture encoder, or of the state encoder's hidden layers."""
    encoder_depth: int = 12
    """Layers of the encoder."""
    encoder_heads: int = 3
    """Attention heads of the picture encoder."""
    latent: int = 192
    """Numbers of a latent."""
    context: int = 3
    """Frames that the predictor sees at most."""
    depth: int = 6
    """Layers of the predictor."""
    heads: int = 16
    """Its attention heads."""
    head_width: int = 64
    """Width of one of them."""
    mlp: int = 2048
    """Width of its MLPs, and of the two projectors'."""
    dropout: float = 0.1
    """Dropout of the predictor."""

    def __post_init__(self) -> None:
        if self.sees == "pixels" and self.image % self.patch:
            raise CubeError(f"pictures of {self.image} pixels cannot be cut into patches of {self.patch}")
        if self.context < 1 or self.latent < 2:
            raise CubeError("the predictor needs a frame to see and a latent of at least two numbers")


class Projector(nn.Module):
    """Two linear layers with batch normalisation in between."""

    def __init__(self, width: int, hidden: int, out: int) -> None:
        super().__init__()
        self.into = nn.Linear(width, hidden)
        self.norm = nn.BatchNorm1d(hidden)
        self.out = nn.Linear(hidden, out)

    def forward(self, values: Tensor) -> Tensor:
        """(…, width) to (…, out)."""
        hidden = self.into(values)
        hidden = self.norm(hidden.flatten(0, -2)).view_as(hidden)
        out: Tensor = self.out(functional.gelu(hidden))
        return out


class ActionEncoder(nn.Module):
    """Action blocks as conditions of the predictor."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.mix = nn.Linear(ACTION_BLOCK, ACTION_BLOCK)
        self.into = nn.Linear(ACTION_BLOCK, 4 * width)
        self.out = nn.Linear(4 * width, width)

    def forward(self, actions: Tensor) -> Tensor:
        """(…, 25) to (…, width)."""
        out: Tensor = self.out(functional.silu(self.into(self.mix(actions))))
        return out


KeyValueCache = tuple[Tensor, Tensor]
"""Keys and values (sequences, heads, frames, head width) of earlier frames."""


class ConditionedLayer(nn.Module):
    """A transformer layer with adaptive layer norm (AdaLN-zero)."""

    def __init__(self, width: int, config: LewmConfig) -> None:
        super().__init__()
        self.heads, self.drop = config.heads, config.dropout
        inner = config.heads * config.head_width
        self.modulation = nn.Linear(width, 6 * width)
        nn.init.zeros_(self.modulation.weight)
        nn.init.zeros_(self.modulation.bias)
        self.attention_norm = nn.LayerNorm(width)
        self.queries_keys_values = nn.Linear(width, 3 * inner, bias=False)
        self.attention_out = nn.Linear(inner, width)
        self.mlp = nn.Sequential(
            nn.LayerNorm(width),
            nn.Linear(width, config.mlp),
            nn.GELU(),
            nn.Dropout(config.dropout),
            nn.Linear(config.mlp, width),
            nn.Dropout(config.dropout),
        )

    def forward(
        self, frames: Tensor, conditions: Tensor, memory: KeyValueCache | None = None
    ) -> tuple[Tensor, KeyValueCache]:
        """Frames and conditions (sequences, frames, width); with a memory, they follow what it has seen."""
        shift_1, scale_1, gate_1, shift_2, scale_2, gate_2 = self.modulation(functional.silu(conditions)).chunk(6, -1)
        attended, memory = self._attend(_normalised(frames) * (1 + scale_1) + shift_1, memory)
        frames = frames + gate_1 * attended
        return frames + gate_2 * self.mlp(_normalised(frames) * (1 + scale_2) + shift_2), memory

    def _attend(self, frames: Tensor, memory: KeyValueCache | None) -> tuple[Tensor, KeyValueCache]:
        count, length, _ = frames.shape
        parts = self.queries_keys_values(self.attention_norm(frames)).view(count, length, 3, self.heads, -1)
        queries, keys, values = parts.permute(2, 0, 3, 1, 4)
        if memory is not None:
            keys, values = torch.cat([memory[0], keys], 2), torch.cat([memory[1], values], 2)
        dropped = self.drop if self.training else 0.0
        causal = memory is None
        attended = functional.scaled_dot_product_attention(queries, keys, values, dropout_p=dropped, is_causal=causal)
        out: Tensor = self.attention_out(attended.transpose(1, 2).reshape(count, length, -1))
        return functional.dropout(out, dropped), (keys, values)


class Predictor(nn.Module):
    """Next latents from latents and actions, causal."""

    def __init__(self, config: LewmConfig) -> None:
        super().__init__()
        width = config.latent
        self.places = nn.Parameter(torch.randn(config.context, width))
        self.layers = nn.ModuleList(ConditionedLayer(width, config) for _ in range(config.depth))
        self.norm = nn.LayerNorm(width)

    def forward(
        self, latents: Tensor, conditions: Tensor, memories: list[KeyValueCache] | None = None
    ) -> tuple[Tensor, list[KeyValueCache]]:
        """Latents and conditions (sequences, frames, latent); memories of the layers when earlier frames were seen."""
        seen = 0 if memories is None else memories[0][0].shape[2]
        frames = latents + self.places[seen : seen + latents.shape[1]]
        kept = []
        for index, layer in enumerate(self.layers):
            frames, memory = layer(frames, conditions, None if memories is None else memories[index])
            kept.append(memory)
        return self.norm(frames), kept


class Lewm(nn.Module):
    """The world model."""

    def __init__(self, config: LewmConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder = _encoder(config)
        self.projector = Projector(config.encoder_width, config.mlp, config.latent)
        self.action_encoder = ActionEncoder(config.latent)
        self.predictor = Predictor(config)
        self.predicted_projector = Projector(config.latent, config.mlp, config.latent)

    def encode(self, seen: Tensor) -> Tensor:
        """Latents (…, latent) of pictures (…, 3, image, image) or state observations (…, 28)."""
        lead = seen.shape[: -3 if self.config.sees == "pixels" else -1]
        features = self.encoder(seen.flatten(0, len(lead) - 1))
        latents: Tensor = self.projector(features)
        return latents.view(*lead, -1)

    def predict(self, latents: Tensor, actions: Tensor) -> Tensor:
        """Latents one block later (sequences, frames, latent), from actions (sequences, frames, 25)."""
        predicted: Tensor = self.predicted_projector(self.predictor(latents, self.action_encoder(actions))[0])
        return predicted

    def roll_out(self, start: Tensor, actions: Tensor) -> Tensor:
        """Roll out action sequences from each start; differentiable.

        Args:
            start: (starts, latent).
            actions: (starts, candidates, blocks, 25).

        Returns:
            Predicted latents (starts, candidates, blocks, latent).
        """
        starts, candidates, blocks, _ = actions.shape
        conditions = self.action_encoder(actions.flatten(0, 1))
        frames = [start.repeat_interleave(candidates, 0)]
        memories: list[KeyValueCache] | None = None
        for block in range(blocks):
            if block < self.config.context:
                here = slice(block, block + 1)
                hidden, memories = self.predictor(frames[-1][:, None], conditions[:, here], memories)
            else:  # the oldest frame leaves the context, which shifts all positions
                first = block + 1 - self.config.context
                hidden, _ = self.predictor(torch.stack(frames[first:], 1), conditions[:, first : block + 1])
            frames.append(self.predicted_projector(hidden[:, -1]))
        return torch.stack(frames[1:], 1).view(starts, candidates, blocks, -1)


class Sigreg(nn.Module):
    """Distance of latents to a standard Gaussian: Epps-Pulley statistic along random directions."""

    points: Tensor
    weights: Tensor

    def __init__(self, directions: int) -> None:
        super().__init__()
        self.directions = directions
        points = torch.linspace(0, 3, SIGREG_POINTS)
        weights = torch.full((SIGREG_POINTS,), 2 * 3 / (SIGREG_POINTS - 1))
        weights[[0, -1]] /= 2
        self.register_buffer("points", points, persistent=False)
        self.register_buffer("gaussian", torch.exp(-points.square() / 2), persistent=False)
        self.register_buffer("weights", weights * torch.exp(-points.square() / 2), persistent=False)

    gaussian: Tensor

    def forward(self, latents: Tensor) -> Tensor:
        """Latents (samples, frames, latent); samples are compared frame by frame."""
        drawn = torch.randn(latents.shape[-1], self.directions, device=latents.device)
        return self.along(drawn, latents)

    def along(self, directions: Tensor, latents: Tensor) -> Tensor:
        """The statistic along given directions (latent, directions), which are normalised."""
        angles = (latents @ (directions / directions.norm(dim=0)))[..., None] * self.points
        off = (angles.cos().mean(0) - self.gaussian).square() + angles.sin().mean(0).square()
        statistic: Tensor = (off @ self.weights).mean() * len(latents)
        return statistic


def _encoder(config: LewmConfig) -> nn.Module:
    if config.sees == "state":
        return StateEncoder(config.encoder_width, config.encoder_depth)
    return PictureEncoder(config.image, config.patch, config.encoder_width, config.encoder_depth, config.encoder_heads)


def _normalised(frames: Tensor) -> Tensor:
    return functional.layer_norm(frames, frames.shape[-1:], eps=1e-6)
