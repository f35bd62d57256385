"""Plans by token from files: pickled dicts (read without executing code) and .npz archives.

An archive holds either `tokens` (n,) and `plans` (n, K, 8, 3), or an array (K, 8, 3) under each token's name.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.datasets.navsim.pools import read_pools
from world4scorer.engine.scene.plan import as_plans
from world4scorer.jobs.array_files import open_archive

PICKLES: Final = (".pkl", ".pickle")


class PlanFileError(ValueError):
    """An unusable file of plans; the message names it."""


def read_plans(path: str | os.PathLike[str]) -> dict[str, NDArray[np.float32]]:
    """Plans (K, 8, 3) by token."""
    path = Path(path)
    if not path.exists():
        raise PlanFileError(f"{path}: no such file")
    if path.suffix in PICKLES:
        return {token: pool.plans.astype(np.float32) for token, pool in read_pools(path).items()}
    if path.suffix == ".npz":
        return _read_archive(path)
    raise PlanFileError(f"{path}: plans are read from {', '.join(PICKLES)} and .npz files")


def _read_archive(path: Path) -> dict[str, NDArray[np.float32]]:
    found: dict[str, NDArray[np.float32]] = {}
    if not zipfile.is_zipfile(path):
        raise PlanFileError(f"{path}: no .npz archive, or cut short")
    try:
        with open_archive(path) as archive:
            for token, plans in _entries(archive):
                if token in found:
                    raise ValueError(f"token {token!r} appears more than once")
                found[token] = as_plans(plans, token).astype(np.float32)
    except (ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise PlanFileError(f"{path}: {error}") from error
    return found


def _entries(archive: Any) -> Iterator[tuple[str, NDArray[Any]]]:
    if "tokens" not in archive:
        for name in archive.files:
            yield name, archive[name]
        return
    tokens, plans = archive["tokens"], archive["plans"]
    if tokens.ndim != 1 or len(tokens) != len(plans):
        raise ValueError(f"{tokens.shape} tokens for plans of shape {plans.shape}")
    for token, pool in zip(tokens, plans, strict=True):
        yield token.decode() if isinstance(token, bytes) else str(token), pool
