"""Two drivers, route by route."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.route_records import crashed, record
from world4scorer.driving.closed_loop.drive_config import DriveError
from world4scorer.driving.closed_loop.measurements import measure_speed
from world4scorer.driving.results.paired import compare_pair
from world4scorer.evaluation.leaderboard.infractions import Infraction


def write(folder: Path, records: list, **about: object) -> Path:
    folder.mkdir(parents=True)
    (folder.parent / "about.json").write_text(json.dumps({"routes": 4, "weights": str(folder), **about}))
    for number, one in enumerate(records):
        (folder / f"r{number}.json").write_text(json.dumps(one.to_json()))
    return folder


BLOCKED = record("0", "signal_1", "Failed - Agent got blocked", 50.0, **{Infraction.BLOCKED: ["stood"]})
PERFECT = [record(str(number), "pedestrian_1") for number in range(1, 4)]


def test_a_change_and_its_interval(tmp_path: Path) -> None:
    before = write(tmp_path / "before" / "framewise", [BLOCKED, *PERFECT])
    after = write(tmp_path / "after" / "framewise", [replace(BLOCKED, **vars(record("0", "signal_1"))), *PERFECT])
    finding = compare_pair(before, after)
    change = finding.numbers["changes"]["driving_score"]
    assert (change["first"]["value"], change["second"]["value"]) == (pytest.approx(0.875), pytest.approx(1.0))
    assert change["change"]["value"] == pytest.approx(0.125) and change["change"]["low"] == 0.0
    assert finding.numbers["changes"]["blocked"]["change"]["value"] == pytest.approx(-0.25)
    assert finding.numbers["abilities"]["Traffic_Signs"]["change"]["value"] == pytest.approx(0.5)
    assert finding.numbers["abilities"]["Emergency_Brake"]["routes"] == 3
    assert [row[0] for row in finding.tables[0].rows][:2] == ["Driving Score", "Success Rate [%]"]


def test_crashes_are_left_out_and_others_refused(tmp_path: Path) -> None:
    before = write(tmp_path / "before" / "framewise", [BLOCKED, *PERFECT])
    after = write(tmp_path / "after" / "framewise", [crashed("0"), *PERFECT])
    assert compare_pair(before, after).numbers["routes"] == 3
    other = write(tmp_path / "other" / "framewise", PERFECT, routes=5)
    with pytest.raises(DriveError, match="drives of another routes; only drives on the same routes"):
        compare_pair(before, other)
    with pytest.raises(DriveError, match="not the drives of one driver"):
        compare_pair(before, tmp_path / "nothing")


def test_speeds_by_hand() -> None:
    found = measure_speed([0.0, 0.05, 10.0, 20.0])
    assert (found.standing, found.moving, found.most, found.speeding) == (0.5, 15.0, 20.0, 0.25)
    assert measure_speed([0.0]).moving == 0.0
