"""Drives in a small city: the same again, kept, resumed, compared."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.small_training import SMALL
from world4scorer.city.streets.errors import CityError
from world4scorer.city.world.events import EventKind
from world4scorer.city.world.simulation import CitySimulation
from world4scorer.driving.closed_loop.city_routes import CityRoute, find_routes
from world4scorer.driving.closed_loop.drive import DrivingWorld, drive_route
from world4scorer.driving.closed_loop.drive_config import DriveConfig, DriveError
from world4scorer.driving.closed_loop.driver_spec import DriverSpec
from world4scorer.driving.closed_loop.drivers import ConstantVelocityDriver
from world4scorer.driving.closed_loop.recording import DriveRecording
from world4scorer.driving.closed_loop.repeat import check_repeated, repeat_drives
from world4scorer.driving.closed_loop.run import FinishedDrives, drive_all, write_driver_results
from world4scorer.driving.closed_loop.suites import ABILITIES
from world4scorer.driving.results.comparison import compare_drivers
from world4scorer.evaluation.leaderboard.records import read_results
from world4scorer.jobs.executors import SerialExecutor

SPLIT = "city_train"
DRIVERS = tuple(map(DriverSpec.parse, ("constant-velocity", "pdm-closed", "sumo")))


@pytest.fixture(scope="module")
def routes(city: Path) -> list[CityRoute]:
    return find_routes(city, SPLIT, 6)


@pytest.fixture(scope="module")
def drives(city: Path, tmp_path_factory: pytest.TempPathFactory) -> FinishedDrives:
    return drive_all(DriveConfig(city, SPLIT, 2), DRIVERS, tmp_path_factory.mktemp("drives"), SerialExecutor())


def test_routes_are_the_same_again(city: Path, routes: list[CityRoute]) -> None:
    again = find_routes(city, SPLIT, 6)
    assert [route.name for route in again] == [route.name for route in routes]
    assert all(np.array_equal(one.points, other.points) for one, other in zip(again, routes, strict=True))


def test_routes_are_of_several_kinds_and_lengths_that_make_sense(routes: list[CityRoute]) -> None:
    assert len(routes) == 6 and len({route.scenario for route in routes}) >= 4
    for route in routes:
        assert 110 <= route.route.length <= 262
        start = route.start.past[-1].pose
        assert len(route.options) == len(route.points) and len(route.start.past) == 4
        staged = route.scenario in list(EventKind)
        assert len(route.event_distances) == len(route.start.events) == staged
        assert all(40 < place < route.route.length - 20 for place in route.event_distances)
        assert np.isfinite(start).all()


def test_too_many_routes_or_an_unknown_split_are_an_error(city: Path) -> None:
    with pytest.raises(CityError, match="routes in the split 'city_train', 99 wanted"):
        find_routes(city, SPLIT, 99)
    with pytest.raises(CityError, match="no simulation of the split 'city_mars'"):
        find_routes(city, "city_mars", 1)


def test_privileged_drivers_reach_the_end(drives: FinishedDrives) -> None:
    for name in ("pdm-closed", "sumo"):
        for record in drives.records[name]:
            assert record.scores is not None and record.scores.completion == 100.0, (name, record)


def test_a_second_drive_is_the_same(city: Path, drives: FinishedDrives, routes: list[CityRoute]) -> None:
    route = next(route for route in routes if route.name == drives.routes[0].name)
    with CitySimulation(city) as running:
        again = drive_route(
            running, DrivingWorld(city, route.place), route, ConstantVelocityDriver(), with_recording=True
        )
    before = drives.records["constant-velocity"][0]
    assert (again.record.status, again.record.infractions, again.record.scores) == (
        before.status,
        before.infractions,
        before.scores,
    )
    assert again.recording is not None and again.recording.images[0].keys() == {"CAM_F0", "CAM_B0", "CAM_L0", "CAM_R0"}


def test_repeated_drives_are_compared(city: Path, drives: FinishedDrives) -> None:
    one = replace(drives, choices=drives.choices[:1])
    assert repeat_drives(DriveConfig(city, SPLIT, 2), one, 1) == 1
    record = drives.records["constant-velocity"][0]
    other = replace(record, status="Failed - otherwise")
    with pytest.raises(DriveError, match=r"ended in .*, but before in 'Failed - otherwise'; were the drives"):
        check_repeated(record, other, DRIVERS[0])


def test_recordings_come_back_from_disk(city: Path, routes: list[CityRoute], tmp_path: Path) -> None:
    route = routes[0]
    with CitySimulation(city) as running:
        kept = drive_route(
            running, DrivingWorld(city, route.place), route, ConstantVelocityDriver(), with_recording=True
        ).recording
    assert kept is not None
    kept.save(tmp_path / "drive.npz")
    again = DriveRecording.load(tmp_path / "drive.npz")
    for name, value in vars(kept).items():
        other = getattr(again, name)
        assert np.array_equal(other, value) if isinstance(value, np.ndarray) else other == value, name
    assert len(kept.states) == len(kept.signals) == kept.poses.shape[1]
    (tmp_path / "drive.npz").write_bytes(b"PK nonsense")
    with pytest.raises(ValueError, match="not a recording of a drive"):
        DriveRecording.load(tmp_path / "drive.npz")


def test_records_that_were_not_finished_are_swept(city: Path, drives: FinishedDrives) -> None:
    leftover = drives.folder / "sumo" / ".route.json.0a1b2c3d.tmp"
    leftover.touch()
    drive_all(DriveConfig(city, SPLIT, 2), DRIVERS, drives.folder, SerialExecutor())
    assert not leftover.exists()


def test_finished_drives_are_kept_and_missing_ones_driven(city: Path, drives: FinishedDrives) -> None:
    lost = drives.folder / "sumo" / f"{drives.routes[1].name}.json"
    kept = drives.folder / "sumo" / f"{drives.routes[0].name}.json"
    before, lost_text = kept.stat().st_mtime_ns, json.loads(lost.read_bytes())
    lost.unlink()
    again = drive_all(DriveConfig(city, SPLIT, 2), DRIVERS, drives.folder, SerialExecutor())
    assert kept.stat().st_mtime_ns == before
    new = json.loads(lost.read_bytes())
    for record in (new, lost_text):
        del record["meta"]["duration_system"], record["checksum"]
    assert new == lost_text and again.records.keys() == drives.records.keys()


def test_a_damaged_record_is_named(city: Path, drives: FinishedDrives) -> None:
    path = drives.folder / "sumo" / f"{drives.routes[0].name}.json"
    text = path.read_bytes()
    path.write_bytes(text[:50])
    try:
        with pytest.raises(DriveError, match=r"not the record of a drive .*; delete it"):
            drive_all(DriveConfig(city, SPLIT, 2), DRIVERS, drives.folder, SerialExecutor())
    finally:
        path.write_bytes(text)


def test_a_folder_holds_one_set_of_drives(city: Path, drives: FinishedDrives) -> None:
    with pytest.raises(DriveError, match=r"other settings \(routes: "):
        drive_all(DriveConfig(city, SPLIT, 3), DRIVERS, drives.folder, SerialExecutor())


@pytest.mark.parametrize(("name", "message"), [("inertial", "give --checkpoint"), ("ego-status", "training run")])
def test_some_drivers_need_more(city: Path, tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(DriveError, match=message):
        drive_all(DriveConfig(city, SPLIT, 1), [DriverSpec.parse(name)], tmp_path, SerialExecutor())


def test_a_planner_that_knows_nothing_of_directions_does_not_choose_by_v2(city: Path, tmp_path: Path) -> None:
    planner = tmp_path / "planner"
    planner.mkdir()
    (planner / "config.json").write_text(replace(SMALL.model, ego_numbers=13).to_json())
    with pytest.raises(DriveError, match=rf"benchmark v2: .* for which {planner} was not trained .*; use v1"):
        drive_all(
            DriveConfig(city, SPLIT, 1, planner=planner), [DriverSpec.parse("framewise", "v2")], tmp_path / "drives"
        )
    assert not (tmp_path / "drives").exists()


def test_the_table(drives: FinishedDrives) -> None:
    finding = compare_drivers(drives)
    found = finding.numbers["drivers"]
    scores = finding.numbers["scores"]["sumo"]
    assert found["sumo"]["driving_score"]["value"] == pytest.approx(np.mean(scores) / 100)
    assert [row[0] for row in finding.tables[0].rows] == [choice.label for choice in DRIVERS]
    assert finding.figure is not None
    speeds, ends = finding.numbers["speeds"]["sumo"], finding.numbers["ends"]["sumo"]
    assert 0 <= speeds["standing"] < 1 and 0 < speeds["moving"] <= speeds["most"] < 20
    assert ends["either"]["value"] == 0.0
    successes = {name: found["value"] for name, found in finding.numbers["abilities"]["sumo"].items()}
    scenarios = {route.scenario for route in drives.routes}
    assert successes.keys() == {"mean", *(name for name, kinds in ABILITIES.items() if scenarios & set(kinds))}
    json.dumps(finding.numbers, allow_nan=False)


def test_results_in_the_leaderboards_layout(drives: FinishedDrives) -> None:
    write_driver_results(drives)
    assert read_results(drives.folder / "sumo" / "results" / "results.json") == drives.records["sumo"]
