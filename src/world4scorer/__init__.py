"""World4Scorer: score driving plans that nobody executed.

Most people need six names:

>>> from world4scorer import InertialReranker, Planner, Scene, epdms, label, pdms
>>>
>>> label(scene, plans).table           # (N, 7) training labels of plans (N, 8, 3) in a `Scene`
>>> pdms(scene, plans).score            # (N,) NAVSIM v1.1
>>> epdms(scene, plans).score           # (N,) NAVSIM v2.2
>>> epdms(scene, plans).causes["NC"].of(3)      # why plan 3 got a zero, such as "2.0 s: 3f0a07"
>>>
>>> reranker = InertialReranker(weight=1.0)
>>> reranker.choose(scene, plans, utilities)    # index of the plan to take, frame after frame
>>>
>>> planner = Planner.from_pretrained("runs/city/planner")      # needs the extra `train`
>>> planner(image, ego_status).choice("v2")     # (B,) index of the best plan of each scene

A `Scene` comes from `read_exchange(file)`, from `SceneStore(folder)[token]`, or from arrays of your own. Plans are
x forward [m], y left [m] and heading [rad] in the ego frame, every 0.5 s for 4 s.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

# Loaded on first use: the kernels' compiler takes half a second to import, and scripts often need only a part.
_HOME = {
    "Frame": "engine.scene",
    "InertialReranker": "engine.selection",
    "Judge": "engine.outcomes",
    "Planner": "planner.planner",
    "Scene": "engine.scene",
    "SceneError": "engine.scene",
    "SceneStore": "datasets.store",
    "V1Outcome": "engine.outcomes",
    "V2Outcome": "engine.outcomes",
    "epdms": "engine.outcomes",
    "extended_comfort": "engine.outcomes",
    "label": "engine.outcomes",
    "label_batch": "engine.outcomes",
    "pdms": "engine.outcomes",
    "read_exchange": "engine.scene",
    "roll_out": "engine.rollout",
    "set_threads": "engine.outcomes",
    "write_exchange": "engine.scene",
}

_OF_TRAIN = ("torch", "transformers", "safetensors")
"""Packages of the extra `train` that a part needs."""

if TYPE_CHECKING:
    from world4scorer.datasets.store import SceneStore
    from world4scorer.engine.outcomes import (
        Judge,
        V1Outcome,
        V2Outcome,
        epdms,
        extended_comfort,
        label,
        label_batch,
        pdms,
        set_threads,
    )
    from world4scorer.engine.rollout import roll_out
    from world4scorer.engine.scene import Frame, Scene, SceneError, read_exchange, write_exchange
    from world4scorer.engine.selection import InertialReranker
    from world4scorer.planner.planner import Planner

__all__ = [
    "Frame",
    "InertialReranker",
    "Judge",
    "Planner",
    "Scene",
    "SceneError",
    "SceneStore",
    "V1Outcome",
    "V2Outcome",
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
