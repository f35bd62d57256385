from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.golden import COMPACT
from world4scorer.city.world.config import CityConfig, preset
from world4scorer.city.world.make import make_city

LONGEST = "test_readme.py"
"""A file stays in one process, so the longest one must not come last."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name != LONGEST)


@pytest.fixture(autouse=True)
def keep_denormals() -> Iterator[None]:
    """Training flushes denormal numbers to zero for the whole process, which other tests would notice."""
    yield
    if "torch" in sys.modules:
        sys.modules["torch"].set_flush_denormal(False)


@pytest.fixture(scope="session")
def compact_folder() -> Path:
    return COMPACT / "outcomes"


if TYPE_CHECKING:
    from tests.support.small_training import TrainingSet


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


@pytest.fixture(scope="session")
def training_set(city: Path, tmp_path_factory: pytest.TempPathFactory) -> TrainingSet:
    """The tiny city, ready for training: stores, samples, bank, future targets. Needs torch."""
    from tests.support.small_training import prepare_training_set

    return prepare_training_set(city, tmp_path_factory.mktemp("training"))
