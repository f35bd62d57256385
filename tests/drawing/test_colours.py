"""Colours that must be told apart, seen with each kind of colour blindness."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from world4scorer.drawing import style
from world4scorer.engine.scene.indices import TrackType

# Complete colour blindness after Machado, Oliveira and Fernandes (2009), for linear RGB.
VISIONS = {
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
# OKLab (Ottosson 2020): linear RGB to cone responses, their cube roots to lightness and two hues.
CONES = [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566],
         [0.0883024619, 0.2817188376, 0.6299787005]]  # fmt: skip
HUES = [[0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660]]  # fmt: skip

LINE_APART, TRAFFIC_ON_STREET, TRAFFIC_APART, AREA_APART = 0.12, 0.10, 0.08, 0.06
"""Distances in OKLab, where 0.02 is just noticeable side by side. Thin lines need more than areas."""

WAYS = {
    "choice": style.EGO,
    "plan asked for": style.INK,
    "human": style.HUMAN,
    "reference": style.REFERENCE,
    "fault": style.FAULT,
}
WIDE = (style.CHOICE, style.FRAMEWISE, style.REFUSED, style.REFERENCE_LINE)
RAMP = {f"plan {place}": colour for place, colour in enumerate(style.utility_colours(np.arange(64)))}
STREETS = {"road": style.ROAD, "junction": style.JUNCTION, "ground": style.GROUND}
TRAFFIC = {
    "vehicle": style.TRACK_FILL[TrackType.VEHICLE],
    "bicycle": style.TRACK_FILL[TrackType.BICYCLE],
    "pedestrian": style.TRACK_FILL[TrackType.PEDESTRIAN],
    "object": style.TRACK_FILL[TrackType.BARRIER],
}


def seen(colour: str, vision: str) -> np.ndarray:
    channels = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return np.array(HUES) @ np.cbrt(np.array(CONES) @ np.clip(np.array(VISIONS[vision]) @ linear, 0, 1))


def apart(one: str, other: str, vision: str) -> float:
    return float(np.linalg.norm(seen(one, vision) - seen(other, vision)))


def test_the_measure_itself() -> None:
    assert apart("#000000", "#ffffff", "normal") == pytest.approx(1.0, abs=1e-4)
    red, green = "#c0392b", "#5a7d1e"
    assert apart(red, green, "normal") > 2 * apart(red, green, "deuteranopia")  # the classic pair
    assert all(np.sum(matrix, axis=1) == pytest.approx(1.0, abs=1e-5) for matrix in VISIONS.values())  # grey stays


@pytest.mark.parametrize("vision", VISIONS)
class TestColours:
    def test_ways_differ_from_each_other(self, vision: str) -> None:
        for one, other in combinations(WAYS, 2):
            assert apart(WAYS[one], WAYS[other], vision) > LINE_APART, (one, other)

    def test_ways_and_plans_stand_out_from_the_street(self, vision: str) -> None:
        for name, colour in (WAYS | RAMP).items():
            for street, under in (STREETS | {"route": style.ROUTE}).items():
                assert apart(colour, under, vision) > LINE_APART, (name, street)

    def test_utility_darkens_steadily(self, vision: str) -> None:
        lightness = [seen(colour, vision)[0] for colour in RAMP.values()]
        assert np.all(np.diff(lightness) < 0) and lightness[0] - lightness[-1] > 0.4
        assert max(-np.diff(lightness)) < 3 * np.mean(-np.diff(lightness))

    def test_the_choice_is_none_of_the_best_plans(self, vision: str) -> None:
        assert apart(style.EGO, style.UTILITY[-1], vision) > LINE_APART

    def test_the_route_is_seen(self, vision: str) -> None:
        assert all(apart(style.ROUTE, colour, vision) > AREA_APART for colour in STREETS.values())

    def test_traffic_differs(self, vision: str) -> None:
        for one, other in combinations(TRAFFIC, 2):
            assert apart(TRAFFIC[one], TRAFFIC[other], vision) > TRAFFIC_APART, (one, other)
        for name, street in ((name, street) for name in TRAFFIC for street in STREETS.values()):
            assert apart(TRAFFIC[name], street, vision) > TRAFFIC_ON_STREET, (name, street)


def test_thin_plans_differ_from_the_other_ways_in_their_line() -> None:
    """Somewhere between sand and violet the ramp comes near to every other colour."""
    assert all(stroke.width >= 2 * style.CANDIDATE.width and stroke.casing > 0 for stroke in WIDE)
    assert style.DRIVEN.dots > 0 and style.CANDIDATE.dots == style.CANDIDATE.casing == 0
    assert style.CHOICE.colour == style.FRAMEWISE.colour and style.CHOICE.dashes != style.FRAMEWISE.dashes


def test_shares_of_plans_beaten() -> None:
    assert style.utility_shares([3.0, -900.0, 3.1]).tolist() == [0.5, 0.0, 1.0]
    assert style.utility_shares([0.0, 0.0, 0.0, 1.0]).tolist() == [0, 0, 0, 1.0]
    assert style.utility_shares([5.0]).tolist() == [0.0]
    ends = style.utility_colours([2.0, 1.0])
    assert ends == [style.UTILITY[-1], style.UTILITY[0]]
