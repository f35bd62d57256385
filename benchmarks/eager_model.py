"""The network written down the plain way, for `benchmarks/model.py` to compare with. Not part of the package.

What a straightforward implementation does: query, key and value by three products, attention as a softmax of a matrix
that is written out, adapters beside their layers, every token through every block, one camera after the other, always
float32. Parameters have the names of `world4scorer.planner.model.Network`, so that it loads the same weights.

Shapes: B scenes, N plans, T poses, L tokens, S keys, D width.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from world4scorer.planner.model import COMPONENTS, ModelConfig


class Linear(nn.Linear):
    """With an adapter beside it, if there is one."""

    def __init__(self, inputs: int, outputs: int, rank: int = 0) -> None:
        super().__init__(inputs, outputs)
        self.rank = rank
        if rank:
            self.down = nn.Linear(inputs, rank, bias=False)
            self.up = nn.Linear(rank, outputs, bias=False)

    def forward(self, input: Tensor) -> Tensor:
        """Layer plus adapter."""
        result = super().forward(input)
        return result + self.up(self.down(input)) if self.rank else result


def attend(query_BLD: Tensor, key_BSD: Tensor, value_BSD: Tensor, heads: int) -> Tensor:
    """Softmax attention with its matrix written out (B, L, D)."""
    query, key, value = (part.unflatten(-1, (heads, -1)).transpose(1, 2) for part in (query_BLD, key_BSD, value_BSD))
    weights = torch.softmax(query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1]), -1)
    return (weights @ value).transpose(1, 2).flatten(2)


class VitAttention(nn.Module):
    """Self-attention of a ViT block."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        width, self.heads = config.vit_width, config.vit_heads
        self.q_proj = Linear(width, width, config.lora_rank)
        self.k_proj = Linear(width, width)
        self.v_proj = Linear(width, width, config.lora_rank)
        self.o_proj = Linear(width, width)

    def forward(self, tokens: Tensor) -> Tensor:
        """Tokens after attention."""
        return self.o_proj(attend(self.q_proj(tokens), self.k_proj(tokens), self.v_proj(tokens), self.heads))


class LayerScale(nn.Module):
    """A factor for each feature."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.lambda1 = nn.Parameter(torch.ones(width))

    def forward(self, tokens: Tensor) -> Tensor:
        """Scaled tokens."""
        return tokens * self.lambda1


class VitBlock(nn.Module):
    """Attention and MLP, each with norm and scale."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        width = config.vit_width
        self.norm1 = nn.LayerNorm(width, eps=1e-6)
        self.attention = VitAttention(config)
        self.layer_scale1 = LayerScale(width)
        self.norm2 = nn.LayerNorm(width, eps=1e-6)
        self.mlp = nn.ModuleDict(
            {"fc1": Linear(width, config.vit_mlp_ratio * width), "fc2": Linear(config.vit_mlp_ratio * width, width)}
        )
        self.layer_scale2 = LayerScale(width)

    def forward(self, tokens: Tensor) -> Tensor:
        """Tokens after the block."""
        tokens = tokens + self.layer_scale1(self.attention(self.norm1(tokens)))
        hidden = nn.functional.gelu(self.mlp["fc1"](self.norm2(tokens)))
        return tokens + self.layer_scale2(self.mlp["fc2"](hidden))


class Vit(nn.Module):
    """Images of one camera to features of its scene queries."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        width, (rows, columns) = config.vit_width, config.grid
        self.patches = nn.Conv2d(3, width, config.patch, stride=config.patch)
        self.positions = nn.Parameter(torch.zeros(1, rows * columns, width))
        self.class_token = nn.Parameter(torch.zeros(1, 1, width))
        self.register_tokens = nn.Parameter(torch.zeros(1, config.registers, width))
        self.blocks = nn.ModuleList(VitBlock(config) for _ in range(config.vit_layers))
        self.norm = nn.LayerNorm(width, eps=1e-6)

    def forward(self, image_B3HW: Tensor, queries_1QV: Tensor) -> Tensor:
        """Features of all tokens, those of the queries first."""
        scenes = len(image_B3HW)
        patches = self.patches(image_B3HW).flatten(2).transpose(1, 2) + self.positions
        first = [part.expand(scenes, -1, -1) for part in (queries_1QV, self.class_token, self.register_tokens)]
        tokens = torch.cat([*first, patches], 1)
        for block in self.blocks:
            tokens = block(tokens)
        return self.norm(tokens)


class Encoder(nn.Module):
    """One camera after the other."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.scene_queries = nn.Parameter(torch.zeros(1, config.cameras, config.scene_queries, config.vit_width))
        self.vit = Vit(config)
        self.neck = Linear(config.vit_width, config.width)

    def forward(self, image_BC3HW: Tensor) -> Tensor:
        """Scene tokens (B, S, D)."""
        views = []
        for camera in range(self.config.cameras):
            features = self.vit(image_BC3HW[:, camera], self.scene_queries[:, camera])
            views.append(self.neck(features[:, : self.config.scene_queries]))
        return torch.cat(views, 1)


class Attention(nn.Module):
    """Of a decoder block."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.in_weight = nn.Parameter(torch.zeros(3 * width, width))
        self.in_bias = nn.Parameter(torch.zeros(3 * width))
        self.out = Linear(width, width)

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        """What each query gathers."""
        weights, biases = self.in_weight.chunk(3), self.in_bias.chunk(3)
        q, k, v = (nn.functional.linear(x, w, b) for x, w, b in zip((query, key, key), weights, biases, strict=True))
        return self.out(attend(q, k, v, self.heads))


class DecoderBlock(nn.Module):
    """Self-attention, cross-attention, MLP."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        width, hidden = config.width, config.decoder_mlp_ratio * config.width
        self.self_norm, self.query_norm, self.scene_norm, self.mlp_norm = (nn.LayerNorm(width) for _ in range(4))
        self.self_attention = Attention(width, config.heads)
        self.cross_attention = Attention(width, config.heads)
        self.mlp = nn.Sequential(Linear(width, hidden), nn.GELU(), Linear(hidden, width))
        self.dropout = nn.Dropout(config.dropout)
        self.drop_path = config.drop_path

    def branch(self, tokens: Tensor) -> Tensor:
        """Dropout and stochastic depth."""
        tokens = self.dropout(tokens)
        if not self.training:
            return tokens
        kept = torch.rand(len(tokens), 1, 1) >= self.drop_path
        return tokens * kept / (1 - self.drop_path)

    def forward(self, queries: Tensor, scene: Tensor) -> Tensor:
        """Queries after the block."""
        own = self.self_norm(queries)
        queries = queries + self.branch(self.self_attention(own, own))
        queries = queries + self.branch(self.cross_attention(self.query_norm(queries), self.scene_norm(scene)))
        return queries + self.branch(self.mlp(self.mlp_norm(queries)))


class Decoder(nn.Module):
    """Blocks in a row."""

    def __init__(self, config: ModelConfig, layers: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(DecoderBlock(config) for _ in range(layers))

    def forward(self, queries: Tensor, scene: Tensor) -> Tensor:
        """Queries after all blocks."""
        for block in self.blocks:
            queries = block(queries, scene)
        return queries


class EagerModel(nn.Module):
    """The whole network; `load_state_dict` takes that of a `Network` without plan sampling."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        width, hidden, numbers = config.width, config.feed_forward, config.plan_numbers
        self.config = config
        self.encoder = Encoder(config)
        self.ego_encoder = Linear(config.ego_numbers, width)
        norms = [nn.LayerNorm(hidden), nn.LayerNorm(hidden)]
        layers = [Linear(width, hidden), norms[0], nn.ReLU(), Linear(hidden, hidden), norms[1], nn.ReLU()]
        head = nn.ModuleDict({"layers": nn.Sequential(*layers), "poses": Linear(hidden, numbers)})
        self.generator = nn.ModuleDict({"decoder": Decoder(config, config.generator_layers), "head": head})
        self.generator.queries = nn.Parameter(torch.zeros(config.proposals, width))
        encoder = nn.Sequential(Linear(numbers, hidden), nn.ReLU(), Linear(hidden, width))
        self.action_encoder = nn.ModuleDict({"layers": encoder})
        norm = nn.LayerNorm(width) if config.predictor_norm else nn.Identity()
        self.predictor = nn.ModuleDict({"decoder": Decoder(config, config.predictor_layers), "norm": norm})
        heads = {name: nn.Sequential(Linear(width, hidden), nn.ReLU(), Linear(hidden, 1)) for name in COMPONENTS}
        self.heads = nn.ModuleDict({"components": nn.ModuleDict(heads)})
        if config.readout:
            self.readout = Linear(width, config.future_width)
        vit = self.encoder.vit
        vit.requires_grad_(config.train_vit)
        for name, parameter in vit.named_parameters():
            if ".down." in name or ".up." in name:
                parameter.requires_grad_(True)

    def propose(self, scene: Tensor, ego: Tensor) -> Tensor:
        """Plans (B, N, T, 3)."""
        queries = self.generator["decoder"](self.generator.queries + ego[:, None], scene)
        head = self.generator["head"]
        return head["poses"](head["layers"](queries)).unflatten(-1, (-1, 3))

    def predict(self, plans: Tensor, scene: Tensor) -> Tensor:
        """States (B, N, D)."""
        queries = self.action_encoder["layers"](plans.detach().flatten(2))
        return self.predictor["norm"](self.predictor["decoder"](queries, scene))

    def score(self, states: Tensor, ego: Tensor) -> Tensor:
        """Logits (B, N, 6), one head after the other."""
        features = states + ego[:, None]
        return torch.cat([self.heads["components"][name](features) for name in COMPONENTS], -1)

    def forward(self, image: Tensor, ego_status: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Plans, states, logits."""
        scene, ego = self.encoder(image), self.ego_encoder(ego_status)
        plans = self.propose(scene, ego)
        states = self.predict(plans, scene)
        return plans, states, self.score(states, ego)
