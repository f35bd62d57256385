"""Settings of pretraining with dense labels."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, Final

FORMAT: Final = "world4scorer-dense-pretraining-1"
"""Format identifier of saved configurations."""


@dataclass(frozen=True)
class DensePretrainConfig:
    """Everything that a run depends on except the views."""

    steps: int = 10_000
    batch: int = 8
    """Frames per step, each with all its cameras."""
    learning_rate: float = 2e-3
    """At its peak."""
    warm_up: float = 0.01
    """Share of the steps in which the learning rate rises; then it falls to zero as a cosine."""
    weight_decay: float = 0.01
    clip: float = 5.0
    """Largest norm of the gradient."""
    drivable: float = 1.0
    """Weight of the loss of drivable cells of the map."""
    lane: float = 0.5
    """Weight of the loss of lanes."""
    crosswalk: float = 0.3
    """Weight of the loss of crosswalks."""
    vehicle: float = 1.0
    """Weight of the loss of vehicles."""
    person: float = 0.5
    """Weight of the loss of pedestrians and bicycles."""
    red: float = 0.3
    """Weight of the loss of lane ends with a red signal."""
    boundary: float = 0.3
    """Weight of the loss of lane edges."""
    direction: float = 0.3
    """Weight of the squared error of lane directions."""
    pixel_classes: float = 0.2
    """Weight of the loss of the semantic classes of pixels."""
    pixel_depth: float = 0.3
    """Weight of the error of log depths of pixels."""
    near_weight: float = 3.0
    """Weight of map cells near the ego, relative to farther ones."""
    near_distance: float = 32.0
    """Largest distance of near cells [m]."""
    unseen_weight: float = 0.05
    """Weight of map cells whose ground no camera sees, relative to others; hidden road users count nothing."""
    mirror: bool = True
    """Mirror half of the frames."""
    gain: float = 0.27
    """Largest change of the brightness of a frame, as a natural logarithm."""
    gamma: float = 0.29
    """Largest change of its gamma, as a natural logarithm."""
    tint: float = 0.07
    """Largest change of the brightness of each colour, as a natural logarithm."""
    contrast: float = 0.05
    """Weight of matching frames with themselves in another weather; 0 leaves it out."""
    temperature: float = 0.1
    """Of that task."""
    queue: int = 120
    """Earlier frames that a frame must be told from in that task."""
    validate_every: int = 1000
    """Steps between measurements on the validation split."""
    validation_frames: int = 250
    """Frames of a measurement, evenly taken."""
    seed: int = 0
    checkpoint_every: int = 250
    """Steps."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            least = 0 if field.name in ("seed", "queue", "validation_frames") else 1
            if field.type == "int" and value < least:
                raise ValueError(f"{field.name}: {value} is too small")
            if field.type == "float" and not value >= 0:
                raise ValueError(f"{field.name}: {value} must not be negative")
        if not (self.learning_rate > 0 and self.warm_up < 1 and self.clip > 0 and self.temperature > 0):
            raise ValueError("learning_rate, clip and temperature must be positive, warm_up below 1")

    def to_json(self) -> dict[str, Any]:
        """Plain values for a report."""
        return {"format": FORMAT, **asdict(self)}
