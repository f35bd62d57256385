"""Plan generator: learned queries, conditioned on the ego's state, decoded into poses.

Shapes: B scenes, N plans, T poses, S scene tokens, D width.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from world4scorer.planner.model.anchors import CONTROLS, integrate
from world4scorer.planner.model.config import POSE_NUMBERS, ModelConfig
from world4scorer.planner.model.decoder import Decoder
from world4scorer.planner.model.encoded import Ego, SceneFeatures
from world4scorer.planner.model.map_sampling import Maps
from world4scorer.planner.model.route_reading import outside_corridor
from world4scorer.planner.model.scorer import plan_motion
from world4scorer.planner.model.vocabulary import Screen, choose_different

CONTROL_SCALE: Final = (1.0, 0.2)
"""Scale of the head's output: acceleration [m/s^2], yaw rate [rad/s]."""
CORRECTION: Final = (0.3, 0.02)
"""Largest change of a manoeuvre that was chosen for the scene: acceleration [m/s^2], yaw rate [rad/s]. Imitation pulls
one plan of a pool; what it does to the others, which nothing holds, must not lead them off the road."""
CORRIDOR_LOSS: Final = 1.0
"""Logit of the screen that a manoeuvre loses for each metre outside the corridor around a route, on average."""


class TrajectoryHead(nn.Module):
    """Feature to some numbers for each pose of a plan."""

    def __init__(self, config: ModelConfig, numbers: int) -> None:
        super().__init__()
        hidden = config.feed_forward
        self.numbers = numbers
        self.layers = nn.Sequential(
            nn.Linear(config.width, hidden),
            nn.LayerNorm(hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.LayerNorm(hidden),
            nn.ReLU(),
        )
        self.poses = nn.Linear(hidden, config.poses * numbers)

    def forward(self, features_BND: Tensor) -> Tensor:
        """(B, N, T, numbers), float32 whatever the model's precision: bfloat16 has steps of 25 cm at 40 m."""
        hidden = self.layers(features_BND)
        device = hidden.device.type
        with torch.autocast(device, enabled=False) if torch.amp.is_autocast_available(device) else nullcontext():
            numbers = functional.linear(hidden.float(), self.poses.weight.float(), self.poses.bias.float())
        poses: Tensor = numbers.unflatten(-1, (-1, self.numbers))
        return poses


class Generator(nn.Module):
    """Proposal queries plus the encoded ego state, a decoder, a head."""

    anchors: Tensor | None

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.queries = nn.Parameter(torch.empty(config.proposals, config.width))
        nn.init.normal_(self.queries)
        self.decoder = Decoder(config, config.generator_layers)
        self.head = TrajectoryHead(config, CONTROLS if config.anchors else POSE_NUMBERS)
        self.register_buffer("anchors", None)
        if config.anchors:
            self.register_buffer("anchors", torch.zeros(config.proposals, config.poses, CONTROLS))
            nn.init.zeros_(self.head.poses.weight)
            nn.init.zeros_(self.head.poses.bias)

    def forward(self, scene: SceneFeatures, ego: Ego) -> Tensor:
        """Plans (B, N, T, 3); those with anchors begin with the ego's speed."""
        queries_BND = self.queries + ego.encoded[:, None]
        decoded: Tensor = self.head(self.decoder(queries_BND, scene.tokens))
        if self.anchors is None:
            return decoded
        controls = self.anchors.float() + decoded * decoded.new_tensor(CONTROL_SCALE)
        return integrate(ego.speed.float(), controls)


class VocabularyGenerator(Generator):
    """Manoeuvres of a vocabulary, chosen by what maps say of them, and corrected."""

    anchors: Tensor

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.proposals = config.proposals
        self.register_buffer("anchors", torch.zeros(config.vocabulary, config.poses, CONTROLS))
        self.screen = Screen(config)
        self.embed = nn.Linear(2 * config.plan_numbers, config.width)

    def manoeuvres(self, speed_B: Tensor) -> Tensor:
        """All plans (B, K, T, 3) of the vocabulary, from speeds [m/s]."""
        return integrate(speed_B.float(), self.anchors.float().expand(len(speed_B), -1, -1, -1))

    def forward(self, scene: SceneFeatures, ego: Ego) -> Tensor:
        """Plans (B, N, T, 3): manoeuvres that stay in the corridor, if there is one, come first."""
        assert isinstance(scene.readable, Maps)
        with torch.no_grad():
            every = self.manoeuvres(ego.speed)
            worth = self.screen(every, scene.readable, ego.encoded, ego.route)
            if ego.corridor is not None:
                worth = worth - CORRIDOR_LOSS * outside_corridor(every, ego.corridor)
            chosen = choose_different(worth, every, self.proposals)
            plans = every.gather(1, chosen[..., None, None].expand(-1, -1, *every.shape[2:]))
        queries_BND = self.queries + self.embed(plan_motion(plans).flatten(2)) + ego.encoded[:, None]
        decoded: Tensor = self.head(self.decoder(queries_BND, scene.tokens))
        controls = self.anchors.float()[chosen] + decoded.tanh() * decoded.new_tensor(CORRECTION)
        return integrate(ego.speed.float(), controls)
