"""Flags that commands of studies share, and how a command is told again. Light: every `w4s study` reads it."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final


@dataclass(frozen=True)
class StudyOptions:
    """What every study of pools takes."""

    out: Path | None = None
    """Folder of the finding; SOURCE/studies unless given."""
    store: Path | None = None
    """Scene store of the pools, if it is not where they say."""
    draws: int = 10_000
    """Of the bootstrap over logs."""


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
    out: Path | None = None
    """Folder of the finding; RUN/studies unless given."""
    draws: int = 10_000
    """Of the bootstrap over logs."""


USUAL: Final = StudyOptions()
REPEATED: Final = StudyOptions(draws=100_000)
"""Of the study of interventions, as in the paper."""
AS_THE_RUN: Final = TrainingOptions()
AS_IN_THE_PAPER: Final = TrainingOptions(scenes=512, epochs=60)
"""Of the study of label pairing."""

UNTOLD: Final = ("out", "store", "accelerator", "devices", "threads")
"""What findings do not depend on."""


def told(verb: Callable[..., int], name: str, source: Path, given: Mapping[str, Any]) -> str:
    """The command line that leads to a finding: what differs from the defaults, paths by their names."""
    words = ["w4s", "study", name, source.resolve().name]
    for flag, parameter in inspect.signature(verb).parameters.items():
        if flag in given:
            words += _words(flag, given[flag], parameter.default)
    return shlex.join(words)


def _words(flag: str, value: Any, usual: Any) -> list[str]:
    if isinstance(value, StudyOptions | TrainingOptions):
        parts = (field.name for field in fields(value) if field.name not in UNTOLD)
        return [word for part in parts for word in _words(part, getattr(value, part), getattr(usual, part))]
    if value == usual:
        return []
    values = value if isinstance(value, tuple) else (value,)
    return [f"--{flag.replace('_', '-')}", *(_short(one) for one in values)]


def _short(value: Any) -> str:
    """A path, or LABEL=PATH, without where it lies."""
    label, equals, path = str(value).rpartition("=")
    return f"{label}{equals}{Path(path).name}" if isinstance(value, str | Path) else str(value)
