"""Training configuration and presets."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

import torch

from world4scorer.datasets.navsim.cameras import VIEWS
from world4scorer.jobs.files import parse_json
from world4scorer.planner.model import config as models
from world4scorer.planner.model.config import EGO_CHOICES, ModelConfig
from world4scorer.planner.training.augmentation import AugmentationConfig
from world4scorer.planner.training.dataset import BankDraw
from world4scorer.planner.training.grid_mask import GridMaskConfig
from world4scorer.planner.training.losses import LossConfig

FORMAT: Final = "world4scorer-training-1"

AuxiliaryTarget = Literal["none", "current", "future"]
Permuted = Literal["none", "bank", "all"]
Precision = Literal["fp32", "bf16", "fp16", "bf16-products", "bf16-vit"]


@dataclass(frozen=True)
class OptimiserConfig:
    """AdamW, linear warm-up, cosine to zero. The defaults are the paper's."""

    learning_rate: float = 2e-4
    """Peak value for a batch of `reference_batch`; scaled by sqrt(batch / `reference_batch`)."""
    reference_batch: int = 64
    """Batch for which the learning rate is given."""
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8
    weight_decay: float = 0.01
    warm_up: float = 0.1
    """Share of the steps in which the learning rate rises."""
    clip: float = 0.0
    """Gradient norm limit; 0 for none."""


@dataclass(frozen=True)
class TrainConfig:
    """Everything that the weights depend on except the data. The defaults are the paper's."""

    model: ModelConfig = field(default_factory=ModelConfig)
    losses: LossConfig = field(default_factory=LossConfig)
    optimiser: OptimiserConfig = field(default_factory=OptimiserConfig)
    bank_draw: BankDraw = field(default_factory=BankDraw)
    grid_mask: GridMaskConfig = field(default_factory=GridMaskConfig)
    """GridMask; off with a probability of 0."""
    augmentation: AugmentationConfig = field(default_factory=AugmentationConfig)
    epochs: int = 25
    batch: int = 64
    """Scenes per step, over all devices."""
    scenes: int = 0
    """Number of training scenes, drawn by seed; 0 for all."""
    seed: int = 3
    """Seed of weights, order, dropout and draws."""
    auxiliary_target: AuxiliaryTarget = "future"
    """View that the executed plan's state predicts: none, the current one (a control), or the one 2 s ahead."""
    permuted_labels: Permuted = "none"
    """A control: labels shuffled among the plans of each scene, of the bank alone or of all."""
    vit_weights: str = ""
    """Initial weights of the encoder: `city` for a dense one; for a ViT `city-masked`, a file or folder of DINOv2
    weights, or "" for random weights."""
    from_planner: str = ""
    """Planner folder with initial weights of the whole network; it may lack the route point."""
    precision: Precision = "fp32"
    """Precision of computation; parameters are float32. `bf16-products`: matrix products of large layers alone;
    `bf16-vit`: those of the ViT."""

    def __post_init__(self) -> None:
        for name in ("epochs", "batch"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: {getattr(self, name)}; at least 1")
        if self.model.ego_numbers not in EGO_CHOICES:
            raise ValueError(
                f"model.ego_numbers: {self.model.ego_numbers}; 11, or 13 with a route point, or 21 with four more"
            )
        if self.augmentation.mirror and self.model.cameras != len(VIEWS):
            raise ValueError(f"mirror: needs all {len(VIEWS)} cameras, so that left and right can change places")
        varied = self.augmentation.mirror or self.augmentation.light or self.grid_mask.probability
        if self.model.frozen_encoder and varied:
            raise ValueError(
                "augmentation, grid_mask: features of a frozen encoder are cached; set mirror, light and the "
                "probability of grid_mask to 0"
            )
        if self.scenes < 0:
            raise ValueError(f"scenes: {self.scenes}; not below 0")
        if self.auxiliary_target != "none" and self.losses.future and not self.model.readout:
            raise ValueError("auxiliary_target: a model without readout has none; set it to 'none'")

    @property
    def peak_learning_rate(self) -> float:
        """Peak learning rate for the batch in use."""
        return float(self.optimiser.learning_rate * (self.batch / self.optimiser.reference_batch) ** 0.5)

    @property
    def loss_weights(self) -> LossConfig:
        """The losses, without that of the future where there is no auxiliary target."""
        return replace(self.losses, future=0.0) if self.auxiliary_target == "none" else self.losses

    def to_json(self) -> str:
        """The configuration as text."""
        return json.dumps({"format": FORMAT, **dataclasses.asdict(self)}, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes, where: str) -> TrainConfig:
        """Read what `to_json` wrote; `where` names the file in errors."""
        raw = parse_json(
            text.encode() if isinstance(text, str) else text,
            where,
            remedy="copy it again, or train again in another folder",
        )
        if raw.pop("format", None) != FORMAT:
            raise ValueError(f"{where}: not the configuration of a training run ({FORMAT!r} expected as 'format')")
        parts: dict[str, Any] = {
            "model": ModelConfig,
            "losses": LossConfig,
            "optimiser": OptimiserConfig,
            "bank_draw": BankDraw,
            "grid_mask": GridMaskConfig,
            "augmentation": AugmentationConfig,
        }
        try:
            built = {name: kind(**raw.pop(name)) for name, kind in parts.items() if name in raw}
            optimiser = built.get("optimiser")
            if optimiser is not None:
                built["optimiser"] = replace(optimiser, betas=tuple(optimiser.betas))
            return cls(**built, **raw)
        except TypeError as error:
            raise ValueError(f"{where}: {error}") from error


def paper() -> TrainConfig:
    """As in the paper: four devices with 16 scenes each, 25 epochs."""
    return TrainConfig()


def baseline() -> TrainConfig:
    """The score-only baseline: a decoder that only scores, no future, no bank."""
    return TrainConfig(model=models.baseline(), losses=LossConfig(future=0.0, bank=0.0), auxiliary_target="none")


def city() -> TrainConfig:
    """A small planner for the embedded city around its frozen encoder, in minutes on two cores.

    Where the processor has bfloat16 instructions they are used, which changes weights by rounding.
    """
    return TrainConfig(
        model=models.city(),
        optimiser=OptimiserConfig(learning_rate=2.8e-3, clip=1.0),
        grid_mask=GridMaskConfig(probability=0.0),
        epochs=5,
        batch=32,
        vit_weights="city",
        precision="bf16-products" if torch.cpu._is_avx512_bf16_supported() else "fp32",
    )


def city_vit() -> TrainConfig:
    """The same with a small ViT that is trained from nothing."""
    return replace(
        city(),
        model=models.city_vit(),
        optimiser=OptimiserConfig(learning_rate=1.4e-3, clip=1.0),
        epochs=4,
        vit_weights="",
        precision="bf16-vit" if torch.cpu._is_avx512_bf16_supported() else "fp32",
    )


PRESETS: Final = {"paper": paper, "baseline": baseline, "city": city, "city-vit": city_vit}
