"""Presets of the study."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from world4scorer.cube.collect import CollectConfig
from world4scorer.cube.episodes import EpisodeConfig
from world4scorer.cube.evaluate import EvaluateConfig, Player
from world4scorer.cube.model.inverse_dynamics import InverseConfig
from world4scorer.cube.model.lewm import LewmConfig
from world4scorer.cube.model.search import Search
from world4scorer.cube.model.train_world_model import WorldModelConfig
from world4scorer.cube.train_head import HeadConfig
from world4scorer.cube.tune import DEFAULT_WEIGHTS, TUNING_SEEDS


@dataclass(frozen=True)
class Preset:
    """Configuration of the whole study; the defaults are the published protocol."""

    episodes: EpisodeConfig = field(default_factory=lambda: EpisodeConfig(expert=10_000, noisy=2_000, pictures=224))
    world_model: WorldModelConfig = field(default_factory=WorldModelConfig)
    collect: CollectConfig = field(default_factory=CollectConfig)
    head: HeadConfig = field(default_factory=HeadConfig)
    path_head: HeadConfig = field(default_factory=lambda: HeadConfig(sees="path"))
    inverse: InverseConfig = field(default_factory=InverseConfig)
    tuning: EvaluateConfig = field(default_factory=lambda: EvaluateConfig(seeds=TUNING_SEEDS))
    weights: tuple[float, ...] = DEFAULT_WEIGHTS
    evaluate: EvaluateConfig = field(default_factory=EvaluateConfig)


PAPER: Final = Preset(
    evaluate=EvaluateConfig(players=tuple(player for player in Player if player is not Player.INVERSE))
)
"""The published protocol: for a machine with a GPU, or days. Without inverse dynamics, which need the pictures that a
released model does without."""

_STATE_MODEL: Final = LewmConfig(
    sees="state",
    encoder_width=256,
    encoder_depth=3,
    latent=64,
    context=5,
    depth=3,
    heads=4,
    head_width=32,
    mlp=256,
    dropout=0.0,
)

_BOUNDED: Final = Search(bounded=True)

CPU: Final = Preset(
    episodes=EpisodeConfig(expert=2000, noisy=3000),
    world_model=WorldModelConfig(sizes=_STATE_MODEL, steps=30_000, rate=1e-3, directions=32),
    collect=CollectConfig(windows=120, labelled=40, every=3, probe=8, unsolved_only=True, search=_BOUNDED),
    inverse=InverseConfig(steps=6000),
    weights=(0.3, 1.0, 3.0),
    tuning=EvaluateConfig(seeds=TUNING_SEEDS, search=_BOUNDED),
    evaluate=EvaluateConfig(
        search=_BOUNDED,
        icem=replace(_BOUNDED, colour=2.0, kept=9, momentum=0.1),
        simulator_search=Search(candidates=60, elites=10, iterations=4, bounded=True),
    ),
)
"""Up to two hours on two cores: a model of states instead of pictures; labels of 40 candidates in every third iteration
where the cube moves; three weights; a small budget for the search in the simulator. Seeds, windows and budget of what
is compared are as published."""

_SMALL: Final = Search(candidates=16, elites=4, iterations=2, bounded=True)

SMOKE: Final = Preset(
    episodes=EpisodeConfig(expert=8, noisy=2, steps=60),
    world_model=WorldModelConfig(
        sizes=LewmConfig(
            sees="state",
            encoder_width=16,
            encoder_depth=1,
            latent=8,
            context=5,
            depth=1,
            heads=2,
            head_width=4,
            mlp=16,
            dropout=0.0,
        ),
        steps=20,
        batch=16,
        directions=16,
    ),
    collect=CollectConfig(seeds=(100, 101), windows=4, labelled=8, search=_SMALL),
    head=HeadConfig(epochs=3),
    path_head=HeadConfig(sees="path", epochs=3),
    inverse=InverseConfig(width=16, steps=20, batch=16),
    tuning=EvaluateConfig(seeds=(200,), windows=2, search=_SMALL),
    weights=(0.3,),
    evaluate=EvaluateConfig(
        seeds=(42,),
        windows=2,
        search=_SMALL,
        icem=replace(_SMALL, colour=2.0, kept=1, momentum=0.1),
        simulator_search=Search(candidates=8, elites=2, iterations=1, bounded=True),
        players=tuple(Player),
    ),
)
"""A minute: shows that everything works, and nothing else."""

PRESETS: Final = {"smoke": SMOKE, "cpu": CPU, "paper": PAPER}
