"""A digest of pictures of the tiny town, to be computed in several processes."""

from __future__ import annotations

import hashlib

import numpy as np

from tests.support.tiny_town import CAR, PERSON, some_actors, tiny_town
from world4scorer.city.render.cameras import CameraRig
from world4scorer.city.render.renderer import Renderer, StaticWorld
from world4scorer.city.render.weather import Weather


def digest() -> str:
    """SHA-256 of pictures and labels in three weathers."""
    renderer = Renderer(StaticWorld.build(tiny_town(), seed=1), CameraRig.default(), (60, 106))
    actors = some_actors((50.0, -0.6, 0.0, *CAR), (52.0, -3.2, 0.4, *PERSON), stride=0.3)
    total = hashlib.sha256()
    for seed in range(3):
        pose = np.array([38.0 + seed, -0.6, 0.05])
        drawn = renderer.draw(pose, actors, {"j": "ry"}, Weather.draw(seed), classes=True, depth=True)
        for array in (drawn.images, drawn.classes, drawn.depth, drawn.instances):
            total.update(array.tobytes())
    return total.hexdigest()
