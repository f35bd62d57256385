"""Settings of teaching a forecast."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, Final

FORMAT: Final = "world4scorer-forecast-pretraining-1"
"""Format identifier of saved configurations."""


@dataclass(frozen=True)
class ForecastConfig:
    """Everything that a run depends on except scenes and encoder."""

    steps: int = 4000
    batch: int = 16
    """Scenes per step."""
    learning_rate: float = 2e-3
    """At its peak."""
    warm_up: float = 0.02
    """Share of the steps in which the learning rate rises; then it falls to zero as a cosine."""
    weight_decay: float = 0.02
    clip: float = 5.0
    """Largest norm of the gradient."""
    occupied_weight: float = 3.0
    """Weight of occupied cells relative to free ones."""
    single_frame: float = 0.1
    """Share of scenes that are forecast from one frame, as at the beginning of a drive."""
    mirror: bool = True
    """Whether left and right are exchanged in half of the steps."""
    bf16: bool | None = None
    """Whether convolutions multiply in bfloat16; unless given, where the processor can."""
    validate_every: int = 500
    """Steps between measurements on the validation split."""
    validation_scenes: int = 500
    """Scenes of a measurement, evenly taken."""
    seed: int = 0
    checkpoint_every: int = 250
    """Steps."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type == "int" and value < (0 if field.name == "seed" else 1):
                raise ValueError(f"{field.name}: {value} is too small")
            if field.type == "float" and not value >= 0:
                raise ValueError(f"{field.name}: {value} must not be negative")
        if not (self.learning_rate > 0 and self.warm_up < 1 and self.clip > 0 and self.single_frame <= 1):
            raise ValueError("learning_rate and clip must be positive, warm_up below 1, single_frame at most 1")

    def to_json(self) -> dict[str, Any]:
        """Plain values for a report."""
        return {"format": FORMAT, **asdict(self)}
