"""What tells one planner, or one set of plans, from another."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from world4scorer.jobs.model_folder import ModelFolder


def digest_of_planner(planner: Path) -> str:
    """Digest of a planner's folder, or of a file of weights."""
    files = ModelFolder(planner).files if planner.is_dir() else (planner,)
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def digest_of_tokens(tokens: Iterable[str]) -> str:
    """The same for the same frames, in whatever order."""
    return hashlib.sha256("\n".join(sorted(tokens)).encode()).hexdigest()


def digest_of_plans(plans: Mapping[str, NDArray[Any]]) -> str:
    """Digest of plans (N, 8, 3) by token."""
    digest = hashlib.sha256()
    for token in sorted(plans):
        digest.update(token.encode() + b"\0" + np.ascontiguousarray(plans[token], np.float32).tobytes())
    return digest.hexdigest()
