"""Sheets of CARLA's records: small ones, written as the leaderboard and agents write them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image

from tests.support.route_records import crashed, record
from world4scorer.cli.run import main
from world4scorer.driving.bench2drive.route_sheets import CarlaDrives, read_path, read_waypoints
from world4scorer.driving.sheets.draw import COMPARED_FRAMES, FRAMES, draw_sheet
from world4scorer.evaluation.leaderboard.infractions import Infraction
from world4scorer.evaluation.leaderboard.records import write_results

TICKS = 1200
HIT = "Agent collided against object with type=vehicle.audi.tt and id=7 at (x=30.0, y=-1.5, z=0.2)"
SLOW = "Average speed is 40.00% of the surrounding traffic's one"
OUTSIDE = "Agent went outside its route lanes for about 3.000 meters (2.00% of the completed route)"
ROUTES = ("11", "12", "13")


def write_save(folder, images=True, speed=0.05):
    """A drive along CARLA's x at y = -2, `speed` metres a tick."""
    folder.mkdir(parents=True)
    ticks = {str(tick): {"location": [speed * tick, -2.0, 0.3]} for tick in range(1, TICKS)}
    ticks["0"] = {}
    (folder / "metric_info.json").write_text(json.dumps(ticks))
    if images:
        (folder / "rgb_front").mkdir()
        for number in range(TICKS // 10):
            Image.new("RGB", (32, 18), (number, 0, 0)).save(folder / "rgb_front" / f"{number:04d}.png")


@pytest.fixture(scope="module")
def drives(tmp_path_factory):
    """Records of two drivers, their saves, and the routes."""
    root = tmp_path_factory.mktemp("carla")
    points = "".join(f'<position x="{x}" y="-2.0" z="0.0"/>' for x in (0, 30, 60))
    routes = "".join(f'<route id="{route}" town="Town05"><waypoints>{points}</waypoints></route>' for route in ROUTES)
    (root / "routes.xml").write_text(f"<routes>{routes}</routes>")
    ours = [record("11", "ParkingCutIn_1", name="a"), record("12", "HighwayExit_2", name="b"), crashed("13")]
    theirs = [
        record("11", "ParkingCutIn_1", "Failed - Agent got blocked", 50.0, name="c", collisions_vehicle=[HIT],
               min_speed_infractions=[SLOW], outside_route_lanes=[OUTSIDE]),
    ]  # fmt: skip
    for name, records in (("ours", ours), ("theirs", theirs)):
        write_results(root / f"{name}.json", records)
    for save, images in (("a", True), ("b", False)):
        write_save(root / "ours" / save, images)
    write_save(root / "theirs" / "c")
    return root


def opened(root, name="ours"):
    return CarlaDrives.open(name, [root / f"{name}.json"], root / name, root / "routes.xml")


def test_a_drive_from_its_files(drives):
    drive = opened(drives, "theirs").sheet_drive("11")
    np.testing.assert_allclose(drive.route, [(0, 2), (30, 2), (60, 2)])  # y points left
    assert drive.duration == pytest.approx(0.05 * (TICKS - 2)) and drive.path[0] == pytest.approx([0.05, 2.0])
    (fault,) = drive.faults  # slowness is none, and one message tells no place
    assert fault.kind == Infraction.VEHICLE_COLLISION and fault.place == (30.0, 1.5)
    assert fault.time == pytest.approx(0.05 * (600 - 1))
    assert drive.frame_at(10.2)[0, 0, 0] == 20 and drive.frame_at(0.0)[0, 0, 0] == 0


def test_sheets(drives):
    compared = draw_sheet([opened(drives, name).sheet_drive("11") for name in ("ours", "theirs")], compared=True)
    columns = COMPARED_FRAMES + 1
    assert len(compared.axes) == 3 * columns and all(axis.images for axis in compared.axes[:COMPARED_FRAMES])
    assert compared.axes[2 * columns].get_ylabel() == "theirs\nvehicle collision"
    blind = draw_sheet([opened(drives).sheet_drive("12")])
    assert [axis.texts[0].get_text() for axis in blind.axes[:FRAMES]] == ["no camera"] * FRAMES


def test_the_best_route_of_each_scenario(drives):
    assert opened(drives).best_by_scenario() == ["11", "12"]


def test_command(drives, tmp_path, capsys):
    words = ["b2d", "sheets", str(drives / "ours.json"), "--routes", str(drives / "routes.xml")]
    words += ["--saves", str(drives / "ours"), "--out", str(tmp_path)]
    assert main(words) == 0
    other = ["--against", str(drives / "theirs.json"), "--against-saves", str(drives / "theirs")]
    assert main([*words, "--sheets", "11", *other]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"scenarios.png", "11.png"}
    assert main([*words, *other[:2]]) != 0 and "give both or neither" in capsys.readouterr().err
    assert main([*words, "--sheets", "13"]) != 0 and "no finished drive" in capsys.readouterr().err
    assert main([*words, "--sheets", "99"]) != 0 and "route 99" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{", "not an agent's metric file"),
        ('{"0": {"location": [1, 2, 3]}}', "1 ticks"),
        ('{"0": {"x": 1}}', "location"),
    ],
)
def test_wrong_metric_files(tmp_path, content, told):
    (tmp_path / "metric_info.json").write_text(content)
    with pytest.raises(ValueError, match=told):
        read_path(tmp_path / "metric_info.json")


def test_wrong_inputs(drives, tmp_path):
    with pytest.raises(ValueError, match="no such folder"):
        CarlaDrives.open("ours", [drives / "ours.json"], tmp_path / "none", drives / "routes.xml")
    with pytest.raises(ValueError, match="0 waypoints"):
        read_waypoints(drives / "routes.xml", "14")
    empty = CarlaDrives.open("ours", [drives / "ours.json"], tmp_path, drives / "routes.xml")
    with pytest.raises(ValueError, match=r"route 11: no .*metric_info\.json"):
        empty.sheet_drive("11")
    assert empty.best_by_scenario() == []
