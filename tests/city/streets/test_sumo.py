from __future__ import annotations

import importlib.util
import os

import pytest

from world4scorer.city.streets import sumo
from world4scorer.city.streets.errors import CityError


def test_a_missing_system_library_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sumo, "SYSTEM_LIBRARIES", {"libc.so.6": "libc6", "libnowhere.so.3": "libnowhere3"})
    assert sumo.missing_libraries() == {"libnowhere.so.3": "libnowhere3"}
    with pytest.raises(CityError, match=r"libnowhere\.so\.3.*apt-get install libnowhere3$"):
        sumo.load_sumo()


def test_without_the_wheels_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    sumo.sumo_home.cache_clear()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(CityError, match=r"world4scorer\[city\]"):
        sumo.sumo_home()
    with pytest.raises(CityError, match=r"libsumo.*world4scorer\[city\]"):
        sumo.load_sumo()


def test_loading_leaves_the_environment_alone(sumo: None) -> None:
    from world4scorer.city.streets.sumo import load_sumo

    before = dict(os.environ)
    load_sumo()
    assert dict(os.environ) == before
