"""Dumps of a planner's plan pools: a pickled dict by token, read without executing code.

Each value is an array of plans (N, 8, 3), or a dict that holds it together with other arrays such as utilities.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.datasets.navsim.devkit_classes import DEVKIT_NAMES, Trajectory
from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.datasets.navsim.pickles import load_restricted
from world4scorer.engine.scene.checks import SceneError, as_array
from world4scorer.engine.scene.plan import as_plans
from world4scorer.jobs.names import safe_name

PLAN_KEYS: Final = ("plans", "proposals", "trajectories", "trajectory", "poses")
"""Names under which a dict may hold the plans; the first that is there counts. Dumps that hold the chosen plan beside
the pool call it `trajectory`, so `proposals` goes before it."""
UTILITY_KEYS: Final = ("utilities", "scores", "score", "logits")
"""Names under which it may hold the planner's own score of each plan."""

SUBMISSION_KEYS: Final = ("predictions", "first_stage_predictions")
"""Under which submissions of either version hold their plans."""
NO_POOLS: Final = "a submission, which has one plan per scene and no pools; score it"


@dataclass(frozen=True, eq=False)
class PlanPool:
    """The plans of one decision."""

    plans: NDArray[np.float64]
    """(N, 8, 3)"""
    utilities: NDArray[np.float64] | None = None
    """(N,)"""
    others: Mapping[str, Any] = field(default_factory=dict)
    """Other entries of the dump for this token."""


def read_pools(path: str | os.PathLike[str]) -> dict[str, PlanPool]:
    """Read a dump, token -> pool."""
    path = Path(path)
    content = load_restricted(path, DEVKIT_NAMES)
    if not isinstance(content, dict):
        raise DatasetError(f"{path}: holds a {type(content).__name__}; a pool dump is a dict by token")
    if any(key in content for key in SUBMISSION_KEYS):
        raise DatasetError(f"{path}: {NO_POOLS}: w4s evaluate {path} --store STORE --out OUT")
    named = {safe_name(f"{path}: token", str(token), DatasetError): value for token, value in content.items()}
    return {token: _pool(path, token, value) for token, value in named.items()}


def _pool(path: Path, token: str, value: Any) -> PlanPool:
    if isinstance(value, Trajectory):
        value = value.poses
    if not isinstance(value, dict):
        return PlanPool(_plans(path, token, value))
    key = next((name for name in PLAN_KEYS if name in value), None)
    if key is None:
        raise DatasetError(
            f"{path}: {token!r} holds {sorted(map(str, value))}; plans are looked for under {', '.join(PLAN_KEYS)}"
        )
    plans = _plans(path, token, value[key])
    others = {str(name): entry for name, entry in value.items() if name != key}
    for name in UTILITY_KEYS:
        if name in others and np.shape(others[name]) == (len(plans),):
            return PlanPool(plans, as_array(f"{path}: {name} of {token}", others.pop(name), np.float64, ("N",)), others)
    return PlanPool(plans, None, others)


def _plans(path: Path, token: str, value: Any) -> NDArray[np.float64]:
    try:
        poses = np.asarray(value)
        return as_plans(poses[None] if poses.ndim == 2 else poses, token)
    except (SceneError, TypeError) as error:
        raise DatasetError(f"{path}: {error}") from error
