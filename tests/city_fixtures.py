"""Fixtures around SUMO, shared by the tests of streets and of the city."""

from __future__ import annotations

from pathlib import Path

import pytest

from world4scorer.streets.errors import CityError
from world4scorer.streets.network import build_network
from world4scorer.streets.places import INGOLSTADT
from world4scorer.streets.street_map import StreetMap, read_streets
from world4scorer.streets.sumo import load_sumo


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
