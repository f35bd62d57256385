from __future__ import annotations

from pathlib import Path

import pytest

from world4scorer.city.config import CityConfig, preset
from world4scorer.city.errors import CityError
from world4scorer.city.make import make_city
from world4scorer.city.network import build_network
from world4scorer.city.places import INGOLSTADT
from world4scorer.city.street_map import StreetMap, read_streets
from world4scorer.city.sumo import load_sumo


@pytest.fixture(scope="session")
def sumo() -> None:
    """Skips where the system lacks what SUMO's library is linked against."""
    try:
        load_sumo()
    except CityError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def ingolstadt_network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_network(INGOLSTADT, tmp_path_factory.mktemp("network") / "ingolstadt.net.xml")


@pytest.fixture(scope="session")
def ingolstadt(ingolstadt_network: Path) -> StreetMap:
    return read_streets(ingolstadt_network)


@pytest.fixture(scope="session")
def tiny() -> CityConfig:
    return preset("tiny")


@pytest.fixture(scope="session")
def city(sumo: None, tiny: CityConfig, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A city of three small logs, made in this process."""
    root = tmp_path_factory.mktemp("city")
    make_city(tiny, root, workers=1)
    return root
