from __future__ import annotations

from pathlib import Path

import pytest

from city_fixtures import ingolstadt, ingolstadt_network
from world4scorer.city.config import CityConfig, preset
from world4scorer.city.make import make_city

__all__ = ["ingolstadt", "ingolstadt_network"]


@pytest.fixture(scope="session")
def tiny() -> CityConfig:
    return preset("tiny")


@pytest.fixture(scope="session")
def city(sumo: None, tiny: CityConfig, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A city of a few small logs, made in this process."""
    root = tmp_path_factory.mktemp("city")
    make_city(tiny, root, workers=1)
    return root
