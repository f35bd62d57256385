"""`w4s b2d`: from result files to tables."""

from __future__ import annotations

import csv
import json

import pytest

from tests.support.route_records import crashed, record
from world4scorer import cli
from world4scorer.evaluation.leaderboard.infractions import slower_than_others
from world4scorer.evaluation.leaderboard.records import read_results, write_results


def w4s(line):
    return cli.main(line.split())


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Two runs over four of five routes: 100, 60, 35 and a crash; and how one of them moved."""
    routes = "".join(f'<route id="{number}" town="Town12"/>' for number in range(1, 6))
    (tmp_path / "five.xml").write_text(f"<routes>{routes}</routes>")
    slow = [slower_than_others(50), slower_than_others(70)]
    write_results(tmp_path / "gpu0.json", [record("1", name="one", min_speed_infractions=slow), crashed("4")])
    hit = record("2", "Accident_1", status="Completed", collisions_vehicle=["a"])
    late = record("3", status="Failed - Agent timed out", completion=50.0, scenario_timeouts=["a"])
    write_results(tmp_path / "gpu1.json", [hit, late])
    tick = {"acceleration": [1, 0, 0], "angular_velocity": [0, 0, 2], "forward_vector": [1, 0, 0]}
    tick |= {"right_vector": [0, 1, 0]}
    (tmp_path / "metrics" / "one").mkdir(parents=True)
    (tmp_path / "metrics" / "one" / "metric_info.json").write_text(json.dumps({str(i): tick for i in range(40)}))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_results(here, capsys):
    line = "b2d results gpu0.json gpu1.json --routes five.xml --metrics metrics --out out --draws 500"
    assert w4s(line) == 0
    said = capsys.readouterr().out
    assert "| Driving Score | 39.00 [" in said and "set: five.xml (5 routes" in said
    assert "Made by `w4s b2d results gpu0.json gpu1.json --routes five.xml" in said
    # Remarks stand apart from the table above them, and together.
    assert "|\n\n- Without a record, counted as 0: 1 of the routes: 5.\n- Crashed, to be driven again: 4.\n- " in said
    numbers = json.loads((here / "out" / "results.json").read_text())["numbers"]
    assert numbers["driving_score"]["value"] == pytest.approx(0.39)
    assert numbers["driving_score"]["low"] < 0.39 < numbers["driving_score"]["high"]
    assert numbers["success_rate"]["value"] == 0.2 and numbers["completion"]["value"] == pytest.approx(0.5)
    assert numbers["efficiency"]["value"] == pytest.approx(0.6)
    assert numbers["smoothness"]["value"] == 0  # 2 deg/s against 0.95 rad/s
    assert (numbers["crashed"], numbers["missing"]) == (["4"], ["5"])
    assert numbers["ability_counts"]["Emergency_Brake"] == [1, 2] and numbers["abilities"]["Merging"] is None
    assert numbers["kilometres"] == pytest.approx(0.5)
    assert numbers["infractions_per_km"]["collisions_vehicle"]["value"] == pytest.approx(2)
    rows = list(csv.DictReader((here / "out" / "routes.csv").open()))
    assert [row["score"] for row in rows] == ["100.0", "60.0", "35.0", "0.0"]
    assert rows[0]["efficiency"] == "60.0" and rows[1]["efficiency"] == rows[1]["smoothness"] == ""
    assert len(read_results(here / "out" / "merged.json")) == 4
    assert w4s("b2d results out/merged.json gpu0.json gpu1.json --routes 5") == 0


def test_corrected_smoothness(here, capsys):
    assert w4s("b2d results gpu0.json --metrics metrics --corrected --out out --draws 9") == 0
    found = json.loads((here / "out" / "results.json").read_text())
    assert found["numbers"]["smoothness"]["value"] == 1 and found["numbers"]["missing"] is None
    assert "220 routes, by number only" in found["data"]
    assert any("corrected units, 0.1 s" in remark for remark in found["remarks"])


def test_the_loop_of_a_broken_run(here, capsys):
    assert w4s("b2d results gpu0.json gpu1.json --routes five.xml --missing") == 0
    assert capsys.readouterr().out.split() == ["4", "5"]
    assert w4s("b2d routes five.xml --out parts --done gpu0.json gpu1.json") == 0
    assert capsys.readouterr().out == "parts/routes_0.xml: 2 routes\n"
    write_results(here / "gpu2.json", [record("5"), record("4")])
    assert w4s("b2d routes five.xml --out parts --done gpu0.json gpu1.json gpu2.json") == 0
    assert capsys.readouterr().out == "five.xml: all 5 routes are finished\n"
    assert w4s("b2d results gpu0.json gpu1.json gpu2.json --routes five.xml --missing") == 0
    assert capsys.readouterr().out.split() == []


def test_metrics_of_nobody(here, capsys):
    assert w4s("b2d results gpu1.json --metrics metrics") == 1
    assert "metrics: no SAVE_NAME/metric_info.json of any record in it" in capsys.readouterr().err


def test_what_is_left_out_is_told(here, capsys):
    speeds = [slower_than_others(value) for value in (50, float("nan"), float("inf"))]
    write_results(here / "odd.json", [record("1", "Dragon_1", min_speed_infractions=speeds)])
    assert w4s("b2d results odd.json --routes five.xml --draws 50") == 0
    said = capsys.readouterr().out
    assert "| efficiency [%] | 50.0 [" in said
    assert "- Speeds that are no finite numbers, left out of efficiency: 2, on routes 1." in said
    assert "- Scenario types that belong to no ability: Dragon (1 route)." in said
