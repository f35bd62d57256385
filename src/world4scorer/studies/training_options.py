"""How studies that train do so: flags of their commands. Light, since every `w4s study` reads it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final


@dataclass(frozen=True)
class TrainingOptions:
    """What the variants of a run share. What is not given is the run's own."""

    seeds: tuple[int, ...] = ()
    """Each variant is trained once for each seed; the run's own unless given."""
    epochs: int | None = None
    """Of each training."""
    scenes: int | None = None
    """Training scenes, drawn by seed; 0 for all."""
    target_encoder: str | None = None
    """What missing targets are made with, if the run's own do not say: `city`, a folder or a file."""
    accelerator: str = "auto"
    """What trains: cpu, gpu, auto."""
    devices: int = 1
    """Processes that train together; each draws what is random in a step for itself."""
    threads: int = 0
    """Threads per process that compute the model on CPUs; 0 shares the cores evenly."""

    def words(self, usual: TrainingOptions) -> list[str]:
        """The flags of a command line that differ from the usual ones."""
        found = []
        for field in fields(self):
            value = getattr(self, field.name)
            if value != getattr(usual, field.name):
                values = value if isinstance(value, tuple) else (value,)
                found += [f"--{field.name.replace('_', '-')}", *map(str, values)]
        return found


AS_THE_RUN: Final = TrainingOptions()
AS_IN_THE_PAPER: Final = TrainingOptions(scenes=512, epochs=60)
"""Of the study of label pairing."""
