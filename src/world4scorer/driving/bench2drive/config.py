"""Training presets for clips."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from world4scorer.planner.model import config as models
from world4scorer.planner.model.config import EGO_NUMBERS, ROUTE_NUMBERS, ModelConfig
from world4scorer.planner.training import config as training
from world4scorer.planner.training.config import OptimiserConfig, TrainConfig
from world4scorer.planner.training.losses import bench2drive

BATCH_PER_DEVICE: Final = 24
LEARNING_RATE: Final = 7.5e-5
GRADIENT_CLIP: Final = 5.0
EPOCHS: Final = 15


def paper(devices: int = 1) -> TrainConfig:
    """As in the paper: 24 samples per device, 15 epochs, learning rate independent of the number of devices."""
    batch = BATCH_PER_DEVICE * devices
    return TrainConfig(
        model=with_route_point(models.paper()),
        losses=bench2drive(),
        optimiser=OptimiserConfig(learning_rate=LEARNING_RATE, reference_batch=batch, clip=GRADIENT_CLIP),
        epochs=EPOCHS,
        batch=batch,
        precision="bf16",
    )


def city(devices: int = 1) -> TrainConfig:
    """The city's small planner, for clips of the city: minutes on two cores."""
    base = training.city_vit()
    optimiser = replace(base.optimiser, clip=GRADIENT_CLIP)
    return replace(base, model=with_route_point(base.model), losses=bench2drive(), optimiser=optimiser)


def with_route_point(model: ModelConfig) -> ModelConfig:
    """A model that takes the route point."""
    return replace(model, ego_numbers=EGO_NUMBERS + ROUTE_NUMBERS)


def without_route_point(model: ModelConfig) -> ModelConfig:
    """A model without the route point."""
    return replace(model, ego_numbers=EGO_NUMBERS)


def changed(
    config: TrainConfig,
    *,
    route_blind: bool = False,
    from_planner: Path | None = None,
    batch: int | None = None,
    learning_rate: float | None = None,
    **fields: Any,
) -> TrainConfig:
    """The configuration with other settings; None leaves one as it is."""
    if route_blind:
        config = replace(config, model=without_route_point(config.model))
    fields["from_planner"] = None if from_planner is None else str(from_planner)
    config = replace(config, **{name: value for name, value in fields.items() if value is not None})
    return with_steps(config, batch, learning_rate)


def with_steps(config: TrainConfig, batch: int | None = None, learning_rate: float | None = None) -> TrainConfig:
    """Change batch or learning rate; the learning rate is not scaled with the batch."""
    if batch is None and learning_rate is None:
        return config
    rate = config.peak_learning_rate if learning_rate is None else learning_rate
    size = config.batch if batch is None else batch
    return replace(config, batch=size, optimiser=replace(config.optimiser, learning_rate=rate, reference_batch=size))


PRESETS: Final = {"paper": paper, "city": city}
