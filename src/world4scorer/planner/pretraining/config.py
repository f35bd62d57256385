"""Settings of pretraining."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

FORMAT: Final = "world4scorer-pretraining-1"
"""Format identifier of saved configurations."""


@dataclass(frozen=True)
class PretrainConfig:
    """Everything that a run depends on except the images."""

    steps: int = 5500
    batch: int = 32
    """Views per step."""
    visible: int = 21
    """Patches of a view that the encoder sees, of 84 in the city: 75 % are masked."""
    visible_before: int = 0
    """Patches of the same camera's view half a second before that the encoder sees too; 0 leaves that view out."""
    predicted: int = 21
    """Masked patches per view that are predicted; more cost more."""
    decoder_width: int = 96
    decoder_layers: int = 2
    decoder_heads: int = 3
    normalise_patches: bool = False
    """Predict patches with their own mean and spread taken out, instead of plain pixels."""
    jitter: float = 0.0
    """How much the light of what the encoder sees is changed: spread of the gain (as a logarithm) and of the shift.
    What is to be predicted keeps its own."""
    normalise_views: bool = False
    """Predict pixels with the mean and spread of each colour in the view taken out: weather need not be known."""
    group: int = 1
    """Frames of one log and one camera that are drawn together."""
    contrast: float = 0.0
    """Weight of the second task: telling the views of a group apart by the mean of their features; 0 leaves it out."""
    temperature: float = 0.1
    """Of the second task."""
    flip: bool = True
    """Mirror half of the views."""
    learning_rate: float = 1e-3
    """At its peak."""
    warm_up: float = 0.05
    """Share of the steps in which the learning rate rises; then it falls to zero as a cosine."""
    weight_decay: float = 0.05
    clip: float = 1.0
    """Largest norm of the gradient."""
    seed: int = 0
    checkpoint_every: int = 250
    """Steps."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            least = 0 if field.name in ("visible_before", "seed") else 1
            if field.type == "int" and value < least:
                raise ValueError(f"{field.name}: {value} is too small")
        if self.batch % self.group or (self.contrast and self.group < 2):
            raise ValueError(f"group: {self.group} must divide the batch, {self.batch}, and be 2 at least for contrast")
        if self.jitter < 0 or self.contrast < 0 or self.temperature <= 0:
            raise ValueError("jitter and contrast must not be negative, temperature must be positive")
        if self.decoder_width % self.decoder_heads:
            raise ValueError(f"decoder_heads: {self.decoder_heads} does not divide the width, {self.decoder_width}")
        if not (self.learning_rate > 0 and 0 <= self.warm_up < 1 and self.weight_decay >= 0 and self.clip > 0):
            raise ValueError("learning_rate and clip must be positive, warm_up from 0 to below 1, weight_decay >= 0")

    def check_patches(self, patches: int) -> None:
        """Raise a ValueError unless so many patches can be divided into visible and predicted ones."""
        needed = self.visible * (2 if self.contrast else 1)
        if needed + self.predicted > patches or self.visible_before > patches:
            raise ValueError(
                f"visible {self.visible}, predicted {self.predicted}, visible_before {self.visible_before}: a view has "
                f"{patches} patches"
            )

    def to_json(self) -> dict[str, Any]:
        """Plain values for a report."""
        return {"format": FORMAT, **asdict(self)}

    def to_text(self) -> str:
        """The configuration as text."""
        return json.dumps(self.to_json(), indent=2) + "\n"
