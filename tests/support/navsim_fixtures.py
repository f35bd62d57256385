"""Fixtures around the golden NAVSIM dataset, shared by the tests of `datasets`."""

from __future__ import annotations

import pytest

from tests.support.navsim_golden import DATA_SPLIT, LOCATION, NavsimGolden, full_golden, unpack_compact
from world4scorer.datasets.navsim.city_map import CityMap
from world4scorer.datasets.navsim.filters import Split, read_split
from world4scorer.datasets.navsim.logs import Log, log_paths, read_log
from world4scorer.datasets.navsim.map_reader import read_city_map
from world4scorer.jobs.data_folder import DataFolder


@pytest.fixture(scope="session")
def compact(tmp_path_factory: pytest.TempPathFactory) -> NavsimGolden:
    return unpack_compact(tmp_path_factory.mktemp("navsim"))


@pytest.fixture(scope="session", params=["compact", "full"])
def golden(request: pytest.FixtureRequest, compact: NavsimGolden) -> NavsimGolden:
    if request.param == "compact":
        return compact
    found = full_golden()
    if found is None:
        pytest.skip("the full golden set is not here (W4S_GOLDEN)")
    return found


@pytest.fixture(scope="session")
def city(compact: NavsimGolden) -> CityMap:
    return read_city_map(compact.dataset / "maps", LOCATION)


@pytest.fixture(scope="session")
def split(compact: NavsimGolden) -> Split:
    return read_split(compact.split_file)


@pytest.fixture(scope="session")
def logs(compact: NavsimGolden) -> list[Log]:
    return [read_log(path) for path in log_paths(DataFolder(compact.dataset).logs(DATA_SPLIT))]
