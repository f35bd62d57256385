"""Planners that come with the package, by name. Needs no torch."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from world4scorer.jobs.model_folder import ModelFolder

BUNDLED_PLANNERS: Final = {"city": Path(__file__).parent / "weights" / "city_planner"}
"""Folders by name; docs/model-card.md describes them."""


def planner_folder(source: str | os.PathLike[str]) -> Path:
    """The folder of a bundled planner (its name), or the path as it is; a planner's folder of that name comes first."""
    path, bundled = Path(source), BUNDLED_PLANNERS.get(str(source))
    return path if bundled is None or ModelFolder(path).exists else bundled
