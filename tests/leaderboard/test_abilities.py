from __future__ import annotations

import json
import math

import pytest

from route_records import crashed, record
from world4scorer.leaderboard.abilities import ABILITIES, abilities, mean_ability, read_abilities


def test_all_scenarios_of_the_benchmark():
    """44 types, five routes each: 45 ask for overtaking, 80 for merging, 60 for braking, 10 for giving way."""
    assert len({kind for kinds in ABILITIES.values() for kind in kinds}) == 44
    assert [5 * len(set(kinds)) for kinds in ABILITIES.values()] == [45, 80, 60, 10, 90]


def test_by_hand():
    """A scenario of two abilities counts for both; crashed routes and unknown scenarios for none."""
    records = [
        record("1", "Accident_2"),
        record("2", "VehiclesDooropenTwoWays_1", status="Completed", collisions_vehicle=["a"]),
        record("3", "PedestrianCrossing_1"),
        record("4", "InvadingTurn_5", status="Failed - Agent got blocked", completion=10),
        record("5", "EnterActorFlow_3"),
        record("6", "SomethingElse_1"),
        crashed("7", "Accident_3"),
    ]
    found = abilities(records)
    assert [(one.name, one.successes, one.routes) for one in found] == [
        ("Overtaking", 1, 2),
        ("Merging", 1, 1),
        ("Emergency_Brake", 1, 1),
        ("Give_Way", 0, 1),
        ("Traffic_Signs", 2, 2),
    ]
    assert mean_ability(found) == pytest.approx((0.5 + 1 + 1 + 0 + 1) / 5)
    assert math.isnan(mean_ability(abilities(records[:1])))


def test_own_abilities(tmp_path):
    path = tmp_path / "own.json"
    path.write_text(json.dumps({"Parking": ["ParkingCutIn", "ParkingExit"]}))
    (found,) = abilities([record("1", "ParkingExit_1")], read_abilities(path))
    assert (found.name, found.share) == ("Parking", 1)
    for content in ("", "[]", "{}", '{"a": []}', '{"a": [4]}'):
        path.write_text(content)
        with pytest.raises(ValueError, match=r"own\.json: "):
            read_abilities(path)
