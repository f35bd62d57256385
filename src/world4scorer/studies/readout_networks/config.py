"""How readout networks are made and trained."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final

from world4scorer.studies.shared.options import ReadoutOptions

FORMAT: Final = "world4scorer-readouts-1"


@dataclass(frozen=True)
class ReadoutConfig:
    """Settings of CondGrid, the diffusion and the city's decoder, which share pairs, seed and batch."""

    pairs: int = 6000
    """Current and future views of training scenes."""
    condgrid_steps: int = 2000
    diffusion_steps: int = 2400
    decoder_steps: int = 500
    """Of training."""
    batch: int = 16
    """Pairs of a step."""
    decoder_batch: int = 16
    """Images of a step."""
    width: int = 128
    layers: int = 4
    heads: int = 4
    """Of the transformer of CondGrid, and of that of the diffusion."""
    decoder_width: int = 128
    decoder_layers: int = 2
    decoder_maps: int = 8
    """Of the decoder, which smooths the seams of patches with convolutions over so many maps."""
    decoder_noise: float = 0.3
    """Most noise on grids in the decoder's training, in spreads of a channel: it will draw grids that nobody saw."""
    bf16_products: bool = True
    """Multiply in bfloat16 in training: less than two thirds of the time on processors that can."""
    learning_rate: float = 2e-3
    warm_up: float = 0.05
    """Share of the steps in which the learning rate rises; then it falls as a cosine."""
    weight_decay: float = 0.02
    clip: float = 1.0
    """Largest norm of a gradient."""
    scale_noise: float = 0.15
    """Spread of the logarithm of a vector's length in training."""
    direction_noise: float = 0.5
    """Most noise that is added to a vector, in its own length; how much is drawn evenly from 0 on."""
    vector_dropout: float = 0.1
    """Share of pairs that are trained without vector."""
    cosine_weight: float = 1.0
    mse_weight: float = 1.0
    change_weight: float = 0.5
    """Of CondGrid's losses: cosine of tokens, squared error, direction of the change."""
    noise_steps: int = 1000
    """Of the diffusion's schedule."""
    seed: int = 17
    checkpoint_every: int = 250
    """Steps between checkpoints."""

    @classmethod
    def of_options(cls, options: ReadoutOptions) -> ReadoutConfig:
        """Configuration of the study's options; steps that are None keep their defaults."""
        names = ("condgrid_steps", "diffusion_steps", "decoder_steps")
        steps = {name: value for name in names if (value := getattr(options, name)) is not None}
        return cls(pairs=options.pairs, seed=options.seed, **steps)

    def __post_init__(self) -> None:
        counts = (
            "pairs", "condgrid_steps", "diffusion_steps", "decoder_steps", "batch", "decoder_batch", "width", "layers",
            "heads", "decoder_width", "decoder_layers", "decoder_maps", "noise_steps", "checkpoint_every",
        )  # fmt: skip
        for name in counts:
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: {getattr(self, name)}; at least 1")
        for name in ("width", "decoder_width"):
            if getattr(self, name) % self.heads:
                raise ValueError(f"heads: {self.heads} does not divide {name}, {getattr(self, name)}")
        if not 0 <= self.vector_dropout < 1 or not 0 <= self.warm_up < 1:
            raise ValueError("vector_dropout and warm_up: from 0 to below 1")
        if min(self.scale_noise, self.direction_noise, self.decoder_noise, self.weight_decay) < 0:
            raise ValueError("scale_noise, direction_noise, decoder_noise and weight_decay: not below 0")
        if not (self.learning_rate > 0 and self.clip > 0):
            raise ValueError("learning_rate and clip: above 0")

    def of_network(self, name: str) -> dict[str, Any]:
        """What one of the networks depends on, as plain values."""
        values = {key: value for key, value in asdict(self).items() if key not in _NOT_OF[name]}
        return {"format": FORMAT, **values}


_DECODER: Final = ("decoder_steps", "decoder_batch", "decoder_width", "decoder_layers", "decoder_maps", "decoder_noise")
_LOSSES: Final = ("cosine_weight", "mse_weight", "change_weight")
_NOISE: Final = ("scale_noise", "direction_noise", "vector_dropout")
_NOT_OF: Final = {
    "condgrid": ("checkpoint_every", "diffusion_steps", "noise_steps", *_DECODER),
    "diffusion": ("checkpoint_every", "condgrid_steps", *_LOSSES, *_DECODER),
    "decoder": (
        "checkpoint_every", "condgrid_steps", "diffusion_steps", "noise_steps", "batch", "width", "layers",
        *_LOSSES, *_NOISE,
    ),
}  # fmt: skip
"""Fields that a network does not depend on."""
