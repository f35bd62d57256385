"""Do pictures show what they should, and the same in every process?"""

from __future__ import annotations

import hashlib
import subprocess
import sys

import numpy as np
import pytest

from tests.support.golden import ROOT
from tests.support.tiny_town import CAR, PERSON, bare_world, some_actors, tiny_town
from world4scorer.city.render.cameras import CameraRig
from world4scorer.city.render.renderer import Renderer
from world4scorer.city.render.weather import PRESETS, Weather, clear_noon, dusk, overcast, rain
from world4scorer.city.scenery.actors import Actors
from world4scorer.city.scenery.surface import SurfaceClass

EGO = np.array([40.0, -0.6, 0.0])
AHEAD = (50.0, -0.6, 0.0, *CAR)

HASH = """
from tests.support.render_digest import digest
print(digest())
"""


def test_two_processes_give_the_same_bytes():
    from tests.support.render_digest import digest

    other = subprocess.run([sys.executable, "-c", HASH], cwd=ROOT, capture_output=True, text=True, check=True)
    assert other.stdout.strip() == digest()


def test_the_same_call_gives_the_same_bytes_whatever_was_drawn_before(bare):
    fresh = Renderer(bare_world(tiny_town()), CameraRig.default())
    actors = some_actors(AHEAD)
    bare.draw(np.array([90.0, 5, 2.0]), Actors.empty(), {}, dusk())
    a, b = (r.draw(EGO, actors, {}, rain()).images for r in (bare, fresh))
    assert hashlib.sha256(a.tobytes()).digest() == hashlib.sha256(b.tobytes()).digest()


def test_brake_lights_and_indicators_show(bare):
    def red_and_green(**lights):
        drawn = bare.draw(EGO, some_actors(AHEAD, **lights), {}, overcast(), classes=True)
        car = drawn.images[0][drawn.instances[0] == 0].astype(int)
        return car, car[:, 0] - car[:, 2]

    (dark, _), (braking, _), (turning, amber) = (red_and_green(), red_and_green(brake=True), red_and_green(left=True))
    brighter = (braking[:, 0] - dark[:, 0]) > 30
    assert 4 <= brighter.sum() < 0.2 * len(dark)
    assert np.median(braking[brighter, 0] - braking[brighter, 1]) > 100
    assert ((turning - dark)[:, 0] > 20).sum() >= 1 and amber.max() > 80


def test_signals_light_their_lamps(world):
    renderer = Renderer(world, CameraRig.default(), (224, 400), cameras=("CAM_F0",))
    ego = np.array([35.0, -0.6, 0.0])

    def lamps(state):
        drawn = renderer.draw(ego, Actors.empty(), {"j": state}, overcast(), classes=True)
        return drawn.images[0][drawn.classes[0] == SurfaceClass.SIGNAL].astype(int)

    red, green, dark = lamps("rr"), lamps("GG"), lamps("OO")
    assert len(red) == len(green) > 5
    assert ((red[:, 0] > 200) & (red[:, 1] < 150)).any() and not ((green[:, 0] > 200) & (green[:, 1] < 150)).any()
    assert ((green[:, 1] > 200) & (green[:, 0] < 180)).any()
    assert dark.max() < 190


def test_a_car_casts_a_long_shadow_only_in_the_sun(bare):
    darkened = []
    for weather in (clear_noon(), overcast()):
        before = bare.draw(EGO, Actors.empty(), {}, weather).images[0].astype(int)
        drawn = bare.draw(EGO, some_actors(AHEAD), {}, weather, classes=True)
        darker = (before - drawn.images[0].astype(int)).min(-1) > 15
        darkened.append((darker & (drawn.instances[0] != 0)).sum())
    in_sun, below_clouds = darkened
    assert in_sun > 1.5 * below_clouds > 0  # without sun it is only dark below the car


def test_steps_move_the_legs(bare):
    row = (46.0, -0.6, 1.57, *PERSON)
    pictures = [bare.draw(EGO, some_actors(row, stride=s), {}, overcast()).images[0] for s in (0.0, 0.35, 1.4)]
    assert (pictures[0] != pictures[1]).any()
    assert (pictures[0] == pictures[2]).mean() > 0.999


def test_no_actors_far_actors_and_refused_shapes(bare):
    empty = bare.draw(EGO, Actors.empty(), {}, overcast()).images
    far = bare.draw(EGO, some_actors((5000.0, 0.0, 0.0, *CAR)), {}, overcast()).images
    assert (empty == far).all()
    with pytest.raises(ValueError, match="want"):
        Actors(*(np.zeros((2, 3)), np.zeros((1, 3)), *(np.zeros(2) for _ in range(6))))
    with pytest.raises(ValueError, match="ActorKind"):
        some_actors((0, 0, 0, 4, 2, 1.5, 99))
    assert some_actors(AHEAD, (90, 0, 0, *CAR)).near(50, 0, 5).tolist() == [0]


def test_weather_follows_its_seed():
    assert Weather.draw(3) == Weather.draw(3) != Weather.draw(4)
    names = {Weather.draw(seed).name for seed in range(60)}
    assert names == set(PRESETS)


def test_every_weather_looks_different(bare):
    means = np.array([bare.draw(EGO, Actors.empty(), {}, w).images.mean((0, 1, 2)) for w in PRESETS.values()])
    assert (np.abs(means[:, None] - means[None]).max(-1)[~np.eye(len(means), dtype=bool)] > 3).all()
    assert means.min() > 15 and means.max() < 240
