"""Where golden data lie: compact copies in this repository, the full sets where `W4S_GOLDEN` says."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).parents[2]
COMPACT = ROOT / "tests" / "golden"
FULL = Path(os.environ["W4S_GOLDEN"]) if "W4S_GOLDEN" in os.environ else None
"""Folder with `outcomes` and `navsim` in full, if there is one; `.ci/run` sets the variable where it can."""


def outcome_files() -> list[Path]:
    """Scenes with the official scorers' results: the full set where it is known, else the compact one."""
    return sorted((COMPACT / "outcomes" if FULL is None else FULL / "outcomes" / "scenes").glob("*.npz"))
