"""Packages that the base install does not bring, and the extra that does."""

from __future__ import annotations

from typing import Final

EXTRA_OF: Final = {
    "matplotlib": "pictures",
    "PIL": "pictures",
    "pyogrio": "maps",
    "pyproj": "maps",
    "torch": "train",
    "transformers": "train",
    "safetensors": "train",
    "lightning": "train",
    "tensorboard": "train",
    "libsumo": "city",
    "sumo": "city",
    "sumolib": "city",
    "av": "city",
    "gymnasium": "gym",
    "mujoco": "cube",
    "ogbench": "cube",
    "carla": "carla",
    "ray": "cluster",
}
"""Extra by package, as it is imported."""


class MissingExtra(ModuleNotFoundError):
    """A package of an extra is not installed; the message says how to install it."""


def how_to_install(error: ImportError, purpose: str, extra: str | None = None) -> str | None:
    """What to install where an import failed, in a line: `extra`, or that of the package; None if none brings it."""
    package = (error.name or "").partition(".")[0]
    if package not in EXTRA_OF:
        return None
    named = "Pillow" if package == "PIL" else package
    return f"{purpose} needs {named}: pip install 'world4scorer[{extra or EXTRA_OF[package]}]'"


def missing(error: ImportError, purpose: str, extra: str | None = None) -> ImportError:
    """The error to raise instead, which says what to install."""
    line = how_to_install(error, purpose, extra)
    return error if line is None else MissingExtra(line, name=error.name)
