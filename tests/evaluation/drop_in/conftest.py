from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.metric_caches import write_caches
from tests.support.navsim_golden import NavsimGolden, unpack_compact

EVERY = 18
"""The compact golden set has all arrays of every ninth token; half of these are enough."""


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> NavsimGolden:
    return unpack_compact(tmp_path_factory.mktemp("navsim"))


@pytest.fixture(scope="module")
def tokens(golden: NavsimGolden) -> list[str]:
    return golden.tokens[::EVERY]


@pytest.fixture(scope="module")
def folders(golden: NavsimGolden, tokens: list[str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("caches")
    return {version: write_caches(golden, version, tokens, root / version) for version in ("v1", "v2")}
