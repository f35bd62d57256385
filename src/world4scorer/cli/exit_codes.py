"""Exit codes of `w4s`, the same for every command, and checks before a command begins its work."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

INPUT_ERROR: Final = 1
"""An input cannot be used; the message names it."""
USAGE_ERROR: Final = 2
"""The command line is wrong: an unknown command or option, or options that exclude each other."""
INTERRUPTED: Final = 130
"""Ctrl-C, as in shells."""
PIPE_CLOSED: Final = 141
"""The reader of the output is gone (`w4s ... | head`), as in shells. No message."""
TERMINATED: Final = 143
"""SIGTERM, as in shells."""


class UsageError(ValueError):
    """Options that exclude or require each other, whatever the files contain."""


def require_torch(command: str) -> None:
    """Raise a ValueError that says how to install what a command lacks."""
    for name in ("torch", "transformers", "safetensors", "lightning", "tensorboard"):
        if find_spec(name) is None:
            raise ValueError(f"{command} needs {name}: pip install 'world4scorer[train]'")


def require_city(command: str) -> None:
    """Raise a ValueError that says how to install the traffic that a command lacks."""
    for name in ("libsumo", "sumo", "sumolib"):
        if find_spec(name) is None:
            raise ValueError(f"{command} needs SUMO ({name}): pip install 'world4scorer[city]'")


def require_device(device: str) -> None:
    """Raise a ValueError for a device that torch does not have here."""
    import torch

    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(f"--device {device}: {str(error).splitlines()[0]}") from error
