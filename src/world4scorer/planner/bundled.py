"""Planners that come with the package, by name. Needs no torch."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from world4scorer.jobs.model_folder import ModelFolder
from world4scorer.planner.hub import cached_folder

_WEIGHTS: Final = Path(__file__).parent / "weights"
BUNDLED_PLANNERS: Final = {"city": _WEIGHTS / "city_planner", "city-driver": _WEIGHTS / "city_driver"}
"""Folders by name; docs/model-card.md describes them."""


def planner_folder(source: str | os.PathLike[str]) -> Path:
    """The folder of a bundled planner (its name), or the path as it is; a planner's folder of that name comes first.

    A repository (user/repo) that the local hub cache has is its folder there; nothing is downloaded.
    """
    path, bundled = Path(source), BUNDLED_PLANNERS.get(str(source))
    if bundled is not None and not ModelFolder(path).exists:
        return bundled
    return cached_folder(source) or path
