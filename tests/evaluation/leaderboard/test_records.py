from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from world4scorer.evaluation.leaderboard.infractions import Infraction, outside_lanes, percentage, share_outside
from world4scorer.evaluation.leaderboard.records import RouteRecord, read_results, write_results

RECORD = {
    "index": 4,
    "route_id": "RouteScenario_1711_rep0",
    "scenario_name": "ParkingCutIn_1",
    "weather_id": 2,
    "save_name": "RouteScenario_1711_rep0_Town12_ParkingCutIn_1_2_05_09",
    "status": "Completed",
    "num_infractions": 2,
    "infractions": {
        "collisions_layout": [],
        "collisions_vehicle": ["Agent collided against object with type=vehicle.audi.tt and id=9 at (x=1, y=2, z=3)"],
        "min_speed_infractions": ["Average speed is 62.5% of the surrounding traffic's one"],
        "outside_route_lanes": [],
    },
    "scores": {"score_route": 100, "score_penalty": 0.6, "score_composed": 60.0},
    "meta": {"route_length": 148.5, "duration_game": 18.9, "duration_system": 122.25, "reached": True},
}
"""As the leaderboard writes it, with a field of the record and one of `meta` that we do not know."""


def test_a_record_is_read():
    record = RouteRecord.from_json(RECORD)
    assert (record.route, record.scenario, record.status) == ("1711", "ParkingCutIn", "Completed")
    assert (record.scores.completion, record.scores.penalty, record.scores.composed) == (100, 0.6, 60)
    assert record.kilometres == pytest.approx(0.1485)
    assert len(record.messages(Infraction.VEHICLE_COLLISION)) == 1 and record.messages(Infraction.RED_LIGHT) == ()
    assert record.meta == {"reached": True} and record.other == {"index": 4, "num_infractions": 2}
    assert not record.crashed


def test_what_was_read_is_written_again(tmp_path):
    assert RouteRecord.from_json(RECORD).to_json() == RECORD
    write_results(tmp_path / "out.json", [RouteRecord.from_json(RECORD)], {"driving score": 0.3})
    assert read_results(tmp_path / "out.json") == (RouteRecord.from_json(RECORD),)
    content = json.loads((tmp_path / "out.json").read_text())
    assert content["_checkpoint"]["records"] == [RECORD] and content["driving score"] == 0.3


texts = st.text(max_size=8)
unknown = st.dictionaries(texts.map(lambda name: f"x_{name}"), st.integers() | texts | st.lists(texts), max_size=3)


@settings(deadline=None)
@given(
    infractions=st.dictionaries(st.sampled_from(list(map(str, Infraction))) | texts, st.lists(texts, max_size=2)),
    scores=st.none()
    | st.fixed_dictionaries(
        {
            "score_route": st.floats(0, 100),
            "score_penalty": st.floats(0, 1),
            "score_composed": st.floats(0, 100),
        }
    ),
    meta=unknown,
    other=unknown,
    status=texts,
)
def test_nothing_is_lost(infractions, scores, meta, other, status):
    content = {"route_id": "r", "status": status, "infractions": infractions, "scores": scores or {}, "meta": meta}
    content |= other
    assert RouteRecord.from_json(json.loads(json.dumps(content))).to_json() == content


@pytest.mark.parametrize(
    "status",
    [
        "Started",
        "Failed - Agent couldn't be set up",
        "Failed - Simulation crashed",
        "Failed - Agent crashed",
        "Failed - Agent's sensors were invalid",
    ],
)
def test_crashes(status):
    assert RouteRecord.from_json(RECORD | {"status": status}).crashed


@pytest.mark.parametrize(
    "status", ["Perfect", "Failed - Agent got blocked", "Failed - Agent deviated from the route", "Failed"]
)
def test_a_bad_drive_is_no_crash(status):
    assert not RouteRecord.from_json(RECORD | {"status": status}).crashed
    assert RouteRecord.from_json({**RECORD, "status": status, "scores": {}}).crashed


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"status": None}, "RouteScenario_1711_rep0: status: None"),
        ({"infractions": {"red_light": "yes"}}, "red_light is 'yes'; want a list of messages"),
        ({"infractions": None}, "infractions: None"),
        ({"scores": {"score_route": 100}}, "no score_penalty"),
        ({"scores": {"score_route": 130, "score_penalty": 1, "score_composed": 100}}, "completion 130"),
        ({"scores": {"score_route": float("nan"), "score_penalty": 1, "score_composed": 1}}, "score_route: nan"),
        ({"meta": {"route_length": "long"}}, "route_length: 'long'"),
        ({"route_id": 4}, "route_id 4"),
    ],
)
def test_broken_records_are_named(tmp_path, change, said):
    path = tmp_path / "gpu0.json"
    path.write_text(json.dumps({"_checkpoint": {"records": [RECORD | change]}}))
    with pytest.raises(ValueError, match=said) as caught:
        read_results(path)
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"_checkpoint": []}', '{"_checkpoint": {"records": 4}}', "\xff"])
def test_broken_files_are_named(tmp_path, text):
    path = tmp_path / "gpu0.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ValueError, match=r"gpu0\.json: .*result file of the leaderboard"):
        read_results(path)


def test_percentages_in_messages():
    assert percentage("Average speed is 62.35% of the surrounding traffic's one") == 62.35
    assert percentage("Agent went outside for about 3.1 meters (4 % of the completed route)") == 4
    assert share_outside(outside_lanes(12.0, 0.125)) == 0.125
    with pytest.raises(ValueError, match="no percentage"):
        percentage("Agent went outside")
    with pytest.raises(ValueError, match="not from 0 % to 100 %"):
        share_outside("140%")
