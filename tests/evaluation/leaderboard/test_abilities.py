from __future__ import annotations

import json

import pytest

from tests.support.route_records import crashed, record
from world4scorer.evaluation.leaderboard.abilities import (
    ABILITIES,
    OTHER_NAMES,
    asks_for,
    of_no_ability,
    read_abilities,
)
from world4scorer.evaluation.leaderboard.merge import Results
from world4scorer.evaluation.leaderboard.route_set import RouteSet
from world4scorer.evaluation.scores.route_results import measure, results_finding


def results_of(*records):
    return Results(RouteSet("some", len(records), tuple(record.route for record in records)), records)


def test_all_scenarios_of_the_benchmark():
    """44 types, five routes each: 45 ask for overtaking, 80 for merging, 60 for braking, 10 for giving way."""
    types = [kind for kinds in ABILITIES.values() for kind in kinds]
    assert len(set(types)) == 44 and not set(types) & set(OTHER_NAMES)
    assert [5 * len(set(kinds)) for kinds in ABILITIES.values()] == [45, 80, 60, 10, 95]


@pytest.mark.parametrize(
    ("scenario", "ability"),
    [
        ("SequentialLaneChange_1", "Merging"),
        ("LaneChange_1", "Merging"),
        ("T_Junction_2", "Traffic_Signs"),
        ("TJunction_2", "Traffic_Signs"),
        ("VehiclesDooropenTwoWays_1", "Overtaking"),
        ("BlockedIntersection_3", "Emergency_Brake"),
        ("BlockedIntersection_3", "Traffic_Signs"),
    ],
)
def test_spellings(scenario, ability):
    """A type has one spelling in records of the 220 routes and sometimes another in clips and tables."""
    assert asks_for(record("1", scenario), ABILITIES[ability])
    assert of_no_ability([record("1", scenario)]) == {}


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
    found = measure(results_of(*records), draws=50)
    assert found.ability_counts == {
        "Overtaking": (1, 2),
        "Merging": (1, 1),
        "Emergency_Brake": (1, 1),
        "Give_Way": (0, 1),
        "Traffic_Signs": (2, 2),
    }
    assert found.abilities["Overtaking"].value == 0.5
    assert found.mean_ability.value == pytest.approx((0.5 + 1 + 1 + 0 + 1) / 5)


def test_types_of_no_ability_are_named():
    records = [record("1", "Dragon_1"), record("2", "Dragon_2"), record("3", None), crashed("4", "Other_1")]
    finding = results_finding(results_of(*records), draws=50)
    assert finding.numbers["of_no_ability"] == {"": 1, "Dragon": 2}
    assert "Scenario types that belong to no ability: no name (1 route), Dragon (2 routes)." in finding.remarks
    assert not any("no ability" in remark for remark in results_finding(results_of(record()), draws=50).remarks)


def test_own_abilities(tmp_path):
    path = tmp_path / "own.json"
    path.write_text(json.dumps({"Parking": ["ParkingCutIn", "ParkingExit"], "Lanes": ["LaneChange"]}))
    records = record("1", "ParkingExit_1"), record("2", "SequentialLaneChange_1")
    assert measure(results_of(*records), abilities=read_abilities(path), draws=50).ability_counts == {
        "Parking": (1, 1),
        "Lanes": (1, 1),
    }
    for content in ("", "[]", "{}", '{"a": []}', '{"a": [4]}'):
        path.write_text(content)
        with pytest.raises(ValueError, match=r"own\.json: "):
            read_abilities(path)
