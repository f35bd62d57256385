"""A small network, shared by the tests of streets and of the city."""

from __future__ import annotations

from pathlib import Path

import pytest

from world4scorer.city.streets.network import build_network
from world4scorer.city.streets.places import INGOLSTADT
from world4scorer.city.streets.street_map import StreetMap, read_streets


@pytest.fixture(scope="session")
def ingolstadt_network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_network(INGOLSTADT, tmp_path_factory.mktemp("network") / "ingolstadt.net.xml")


@pytest.fixture(scope="session")
def ingolstadt(ingolstadt_network: Path) -> StreetMap:
    return read_streets(ingolstadt_network)
