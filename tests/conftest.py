from __future__ import annotations

import sys
from pathlib import Path

import pytest

from world4scorer.city.world.config import CityConfig, preset
from world4scorer.city.world.make import make_city

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

COMPACT = HERE / "golden" / "outcomes"
FULL = HERE.parents[1] / "shared" / "golden" / "outcomes" / "scenes"


def golden_files() -> list[Path]:
    """The full golden set where it lies beside the checkout, else the compact one."""
    return sorted((FULL if FULL.is_dir() else COMPACT).glob("*.npz"))


@pytest.fixture(scope="session")
def compact_folder() -> Path:
    return COMPACT


@pytest.fixture(scope="session")
def sumo() -> None:
    """Skips where the system lacks what SUMO's library is linked against."""
    from world4scorer.city.streets.errors import CityError
    from world4scorer.city.streets.sumo import load_sumo

    try:
        load_sumo()
    except CityError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def tiny() -> CityConfig:
    return preset("tiny")


@pytest.fixture(scope="session")
def city(sumo: None, tiny: CityConfig, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A city of a few small logs, made in this process."""
    root = tmp_path_factory.mktemp("city")
    make_city(tiny, root, workers=1)
    return root
