"""Checks that optional packages and devices are there, before a command begins its work."""

from __future__ import annotations

from importlib.util import find_spec


def require_torch(command: str) -> None:
    """Raise a ValueError that says how to install what a command lacks."""
    for name in ("torch", "transformers", "safetensors", "lightning", "tensorboard"):
        if find_spec(name) is None:
            raise ValueError(f"{command} needs {name}: pip install 'world4scorer[train]'")


def require_device(device: str) -> None:
    """Raise a ValueError for a device that torch does not have here."""
    import torch

    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(f"--device {device}: {str(error).splitlines()[0]}") from error
