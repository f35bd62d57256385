"""World4Scorer: score driving plans that nobody executed.

>>> import world4scorer as w4s
>>> for frame in w4s.read_exchange("scene.npz"):
...     print(w4s.label(frame.scene, frame.plans).table)   # (N, 7)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Loaded on first use: the kernels' compiler takes half a second to import, and scripts often need only a part.
_HOME = {
    "Frame": "scene",
    "InertialReranker": "selection",
    "Planner": "model",
    "Scene": "scene",
    "SceneError": "scene",
    "epdms": "outcomes",
    "extended_comfort": "outcomes",
    "label": "outcomes",
    "label_batch": "outcomes",
    "pdms": "outcomes",
    "read_exchange": "scene",
    "roll_out": "rollout",
    "set_threads": "outcomes",
    "write_exchange": "scene",
}

_OF_TRAIN = ("torch", "transformers", "safetensors")
"""Packages of the extra `train` that a part needs."""

if TYPE_CHECKING:
    from world4scorer.model import Planner
    from world4scorer.outcomes import epdms, extended_comfort, label, label_batch, pdms, set_threads
    from world4scorer.rollout import roll_out
    from world4scorer.scene import Frame, Scene, SceneError, read_exchange, write_exchange
    from world4scorer.selection import InertialReranker

__all__ = [
    "Frame",
    "InertialReranker",
    "Planner",
    "Scene",
    "SceneError",
    "__version__",
    "epdms",
    "extended_comfort",
    "label",
    "label_batch",
    "pdms",
    "read_exchange",
    "roll_out",
    "set_threads",
    "write_exchange",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'world4scorer' has no attribute {name!r}")
    try:
        value = getattr(import_module(f"world4scorer.{_HOME[name]}"), name)
    except ModuleNotFoundError as error:
        if error.name not in _OF_TRAIN:
            raise
        raise ImportError(f"{name} needs {error.name}: pip install 'world4scorer[train]'", name=error.name) from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
