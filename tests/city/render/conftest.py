from __future__ import annotations

import pytest

from tests.support.tiny_town import bare_world, tiny_town
from world4scorer.city.render.cameras import CameraRig
from world4scorer.city.render.renderer import Renderer, StaticWorld
from world4scorer.city.streets.street_map import StreetMap


@pytest.fixture(scope="session")
def streets() -> StreetMap:
    return tiny_town()


@pytest.fixture(scope="session")
def world(streets) -> StaticWorld:
    return StaticWorld.build(streets, seed=1)


@pytest.fixture(scope="session")
def bare(streets) -> Renderer:
    """Only the ground and actors."""
    return Renderer(bare_world(streets), CameraRig.default())
