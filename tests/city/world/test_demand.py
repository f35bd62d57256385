from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from world4scorer.city.streets.errors import CityError
from world4scorer.city.streets.places import PLACES
from world4scorer.city.streets.street_map import LaneUse, StreetMap
from world4scorer.city.world.demand import demand_text

PLACE = PLACES["ingolstadt"]


def test_same_seed_same_trips(ingolstadt: StreetMap) -> None:
    text = demand_text(ingolstadt, PLACE, seed=3, duration=100.0)
    assert demand_text(ingolstadt, PLACE, seed=3, duration=100.0) == text
    assert demand_text(ingolstadt, PLACE, seed=4, duration=100.0) != text


def test_trips_are_in_order_and_on_streets_of_their_kind(ingolstadt: StreetMap) -> None:
    root = ElementTree.fromstring(demand_text(ingolstadt, PLACE, seed=1, duration=100.0))
    driving = {lane.edge for lane in ingolstadt.lanes.values() if lane.use is LaneUse.DRIVE}
    walking = {lane.edge for lane in ingolstadt.lanes.values() if lane.use is LaneUse.WALK}
    trips, walks = root.findall("trip"), root.findall("person/walk")
    assert len(trips) > PLACE.vehicles and len(walks) > PLACE.pedestrians / 2
    assert {trip.get("from") for trip in trips} | {trip.get("to") for trip in trips} <= driving
    assert {walk.get("from") for walk in walks} | {walk.get("to") for walk in walks} <= walking
    departures = [float(item.get("depart", "nan")) for item in root if item.tag in ("trip", "person")]
    assert np.all(np.diff(departures) >= 0) and departures[-1] <= 100.0
    types = {kind.get("id") for kind in root.findall("vType")}
    assert {trip.get("type") for trip in trips} <= types


def test_a_place_without_streets_is_refused(ingolstadt: StreetMap) -> None:
    with pytest.raises(CityError, match="no lanes for cars"):
        demand_text(ingolstadt, replace(PLACE, area=(0.0, 0.0, 10.0, 10.0)), seed=1, duration=10.0)
