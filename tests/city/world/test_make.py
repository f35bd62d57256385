"""Made cities: layout, physics, determinism, going on after an interruption."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely

from tests.support.navsim_golden import unpack_compact
from world4scorer.city.streets.errors import CityError
from world4scorer.city.streets.places import PLACES
from world4scorer.city.streets.street_map import read_streets
from world4scorer.city.world import make as module
from world4scorer.city.world.commands import RouteReader
from world4scorer.city.world.config import CityConfig, Share
from world4scorer.city.world.make import make_city, make_traffic
from world4scorer.city.world.manifest import (
    find_log,
    read_config,
    read_manifest,
    read_simulation,
)
from world4scorer.city.world.segments import FUTURE_FRAMES, PAST_FRAMES
from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.datasets.navsim.frames import COMMANDS
from world4scorer.datasets.navsim.logs import Log, log_paths, read_log
from world4scorer.datasets.navsim.map_reader import read_city_map
from world4scorer.datasets.navsim.map_writer import complete_maps
from world4scorer.datasets.navsim.pickles import load_restricted
from world4scorer.datasets.navsim.splits import find_split
from world4scorer.datasets.prepare.check_data import check_data
from world4scorer.engine.scene.geometry import wrap
from world4scorer.engine.scene.indices import TrackType
from world4scorer.engine.scene.vehicle import REAR_AXLE_TO_CENTRE
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.executors import choose_executor
from world4scorer.jobs.files import hold_lock

COMFORTABLE = 4.0
"""m/s^2"""


def files(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def logs(root: Path) -> Iterator[tuple[str, Log]]:
    for data_split in ("trainval", "test"):
        if DataFolder(root).logs(data_split).is_dir():
            for path in log_paths(DataFolder(root).logs(data_split)):
                yield data_split, read_log(path)


def test_splits_list_frames_that_have_a_past_a_future_and_images(city: Path, tiny: CityConfig) -> None:
    for name in ("city_train", "city_val"):
        split = find_split(name, city)
        assert split.filter.log_names and split.filter.tokens
        assert (split.filter.num_history_frames, split.filter.num_future_frames) == (4, 10)
        listed = set(split.filter.tokens)
        for log_name in split.filter.log_names:
            frames = read_log(DataFolder(city).log(split.data_split, log_name)).frames
            mine = [index for index, frame in enumerate(frames) if frame.token in listed]
            assert mine and min(mine) >= PAST_FRAMES and max(mine) < len(frames) - FUTURE_FRAMES
            listed -= {frames[index].token for index in mine}
            for frame in frames:
                for camera in tiny.cameras:
                    image = frame.cameras[camera].load(DataFolder(city).sensors(split.data_split))
                    assert image.shape == (tiny.height, tiny.width, 3) and image.std() > 5
        assert not listed
    places = [set(split["places"]) for split in read_manifest(city)["splits"].values()]
    assert not places[0] & places[1]


def test_traffic_that_was_stopped_is_resumed(
    sumo: None, tiny: CityConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = replace(tiny, shares=tiny.shares[:1])

    def stop(*arguments: Any, **named: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(module, "write_map", stop)
        make_traffic(config, tmp_path)
    assert not read_manifest(tmp_path)["complete"]
    make_traffic(config, tmp_path)
    assert read_manifest(tmp_path)["complete"]


def test_our_own_check_finds_nothing_missing(city: Path) -> None:
    report = check_data(city, find_split("city_train", city), choose_executor("serial"), images=True)
    assert report.can_score and not report.missing_inputs and not report.missing_targets and not report.gaps


def test_frames_have_the_fields_and_types_of_the_golden_logs(city: Path, tmp_path: Path) -> None:
    golden = unpack_compact(tmp_path)
    theirs = load_restricted(next((golden.dataset / "navsim_logs" / "test").glob("*.pkl")))[3]
    for path in log_paths(DataFolder(city).logs("trainval")):
        for frame in load_restricted(path):
            assert_same_kind(frame, theirs, path.stem)
            assert len(frame["token"]) == 16 and int(frame["token"], 16) >= 0
            assert set(frame["cams"]) == set(theirs["cams"])


def assert_same_kind(mine: Any, theirs: Any, where: str) -> None:
    if isinstance(theirs, dict):
        assert set(theirs) <= set(mine), where
        for key, value in theirs.items():
            assert_same_kind(mine[key], value, f"{where}.{key}")
    elif isinstance(theirs, np.ndarray):
        assert isinstance(mine, np.ndarray) and mine.dtype.kind == theirs.dtype.kind, where
        assert mine.ndim == theirs.ndim and mine.shape[1:] == theirs.shape[1:], where
    elif theirs is not None and mine is not None:
        assert type(mine) is type(theirs), where


def test_routes_and_lights_are_in_the_map(city: Path) -> None:
    for _, log in logs(city):
        streets = read_city_map(DataFolder(city).maps, log.frames[0].map_location)
        lights = set()
        for frame in log.frames:
            assert frame.roadblock_ids and all(block in streets.block_index for block in frame.roadblock_ids)
            lights |= {connector for connector, _ in frame.traffic_lights}
        assert lights <= set(streets.lane_index)


def test_the_ego_moves_like_a_car(city: Path) -> None:
    for _, log in logs(city):
        poses = np.array([frame.ego_pose for frame in log.frames])
        velocity = np.array([frame.velocity for frame in log.frames])
        times = np.array([frame.time_us for frame in log.frames])
        assert (np.diff(times) == 500_000).all()
        step = np.linalg.norm(np.diff(poses[:, :2], axis=0), axis=1)
        mean = 0.5 * (velocity[1:, 0] + velocity[:-1, 0])
        assert np.abs(step / 0.5 - mean).max() < 0.5
        turn = np.abs(wrap(np.diff(poses[:, 2])))
        assert turn.max() < 0.5
        assert (velocity[:, 0] >= 0).all() and (velocity[:, 1] == 0).all()
        assert np.abs(np.array([frame.acceleration for frame in log.frames])).max() < COMFORTABLE


def test_road_users_move_without_jumps_and_stay_on_their_ground(city: Path) -> None:
    for _, log in logs(city):
        streets = read_city_map(DataFolder(city).maps, log.frames[0].map_location)
        road = shapely.union_all(drivable(streets))
        before: dict[str, tuple[np.ndarray, float]] = {}
        outside = total = 0
        for frame in log.frames:
            seen = frame.annotations
            assert seen is not None
            cosine, sine = np.cos(frame.ego_pose[2]), np.sin(frame.ego_pose[2])
            place = frame.ego_pose[:2] + seen.boxes[:, :2] @ np.array([[cosine, sine], [-sine, cosine]])
            heading = seen.boxes[:, 6] + frame.ego_pose[2]
            now = dict(zip(seen.track_tokens, zip(place, heading, strict=True), strict=True))
            speed = dict(zip(seen.track_tokens, np.linalg.norm(seen.velocity, axis=1), strict=True))
            kind = dict(zip(seen.track_tokens, seen.type, strict=True))
            for token, (there, angle) in now.items():
                if token in before and kind[token] != TrackType.PEDESTRIAN:
                    moved = np.linalg.norm(there - before[token][0])
                    assert moved < 0.5 * speed[token] + 2.5, f"{log.name}: {token} jumps"
                    most = 0.8 if kind[token] == TrackType.VEHICLE else 1.4
                    assert abs(wrap(angle - before[token][1])) < most, f"{log.name}: {token} spins"
            before = now
            cars = seen.type == TrackType.VEHICLE
            total += cars.sum()
            outside += (~shapely.contains_xy(road, place[cars])).sum()
            centre = frame.ego_pose[:2] + REAR_AXLE_TO_CENTRE * np.array([cosine, sine])
            assert shapely.contains_xy(road, *centre)
        assert total and outside <= 0.02 * total


def drivable(streets: Any) -> list[Any]:
    return [*streets.block_polygons, *streets.intersections]


def test_commands_follow_from_the_route_and_the_pose_alone(city: Path) -> None:
    """Neither the past nor the future of the ego is needed to give every command of a decision again.

    In the history before the first decision, the rear axle may not have reached the log's route yet.
    """
    commands = set()
    manifest = read_manifest(city)
    for name in manifest["simulations"]:
        entry = read_simulation(city, name)
        streets = read_streets(DataFolder(city).city_network(PLACES[entry.place].network.name))
        routes = RouteReader(streets)
        for log in entry.logs:
            for frame in read_log(DataFolder(city).log(entry.data_split, log.name)).frames[PAST_FRAMES:]:
                pose = frame.ego_pose - np.append(streets.offset, 0.0)
                expected = routes.command_at(tuple(log.route), pose)
                assert int(np.argmax(frame.command)) == expected
                commands.add(COMMANDS[expected])
    assert "forward" in commands


def test_same_bytes_on_two_processes_but_for_perturbed_scenes(city: Path, tiny: CityConfig, tmp_path: Path) -> None:
    """Perturbed training scenes are added; every log and image, and the validation split, stays as it was."""
    again = tmp_path / "again"
    make_city(replace(tiny, perturbed=0.2), again, workers=2)
    before, after = files(city), files(again)
    assert {name for name in before if after.get(name) != before[name]} == {
        "city/city.json",
        "city/simulations/ingolstadt_000.json",
        "config/train_test_split/scene_filter/city_train.yaml",
    }
    added = after.keys() - before.keys()
    assert len(added) > 20 and all("_shifted" in name for name in added)
    tokens = set(find_split("city_train", again).filter.tokens or ())
    assert tokens > set(find_split("city_train", city).filter.tokens or ())
    for path in (path for path in log_paths(DataFolder(again).logs("trainval")) if "_shifted" in path.stem):
        log = read_log(path)
        assert len(log.frames) == PAST_FRAMES + 1 + FUTURE_FRAMES and log.frames[PAST_FRAMES].token in tokens
        for frame in log.frames:
            sensors = DataFolder(again).sensors("trainval")
            assert all((sensors / frame.cameras[name].path).is_file() for name in tiny.cameras)


def test_another_seed_is_another_city(city: Path, tiny: CityConfig, tmp_path: Path) -> None:
    share = replace(tiny.shares[0], decisions=5)
    found = {}
    for seed in (0, 1):
        make_city(replace(tiny, seed=seed, shares=(share,)), tmp_path / str(seed), workers=1)
        found[seed] = {frame.token for _, log in logs(tmp_path / str(seed)) for frame in log.frames}
    tokens = {frame.token for _, log in logs(city) for frame in log.frames}
    assert found[0] <= tokens  # the most worthwhile log is taken first
    assert found[1] and not found[1] & tokens


def test_lost_images_are_drawn_again(city: Path, tiny: CityConfig, tmp_path: Path) -> None:
    root = tmp_path / "city"
    shutil.copytree(city, root)
    next((root / "sensor_blobs" / "trainval").rglob("CAM_B0/*.jpg")).unlink()
    stray = root / "navsim_logs" / "trainval" / ".half.pkl.0123.tmp"  # as a killed process leaves it
    stray.write_bytes(b"half")
    make_city(tiny, root, workers=1)
    assert files(root) == files(city)


def test_a_second_run_in_the_same_folder_is_refused(city: Path, tiny: CityConfig) -> None:
    with (
        hold_lock(city / module.LOCK, ValueError("unused")),
        pytest.raises(CityError, match="another run is making this city"),
    ):
        make_city(tiny, city)


def test_a_torn_map_index_is_named(tiny: CityConfig, city: Path, tmp_path: Path) -> None:
    index = tmp_path / "nuplan-maps-v1.0.json"
    index.write_text('{"de-ing')
    with pytest.raises(DatasetError, match=r"nuplan-maps-v1\.0\.json.*delete it"):
        complete_maps(tmp_path)


def test_a_finished_city_is_not_made_again(city: Path, tiny: CityConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "as_executor", None)  # all work needs one
    assert make_city(tiny, city) == read_manifest(city)


def test_an_interrupted_city_goes_on_and_ends_the_same(city: Path, tiny: CityConfig, tmp_path: Path) -> None:
    root = tmp_path / "city"
    done = list(logs(city))
    real = module.LogRenderer.render_log
    rendered = []

    def dies_after_the_first(self: module.LogRenderer, task: module.RenderTask) -> int:
        if rendered:
            raise KeyboardInterrupt
        rendered.append(task)
        return real(self, task)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module.LogRenderer, "render_log", dies_after_the_first)
        with pytest.raises(KeyboardInterrupt):
            make_city(tiny, root, workers=1)
    assert len(done) > 1 and len(list(logs(root))) == 1
    assert not read_manifest(root)["complete"]
    first = DataFolder(root).log("trainval", rendered[0].plan.name)
    before = first.stat().st_mtime_ns
    make_city(tiny, root, workers=1)
    assert first.stat().st_mtime_ns == before
    assert files(root) == files(city)


def test_other_settings_and_foreign_folders_are_refused(city: Path, tiny: CityConfig, tmp_path: Path) -> None:
    with pytest.raises(CityError, match=r"other settings \(seed: 0, now 5; .*height: \d+, now 64\)"):
        make_city(replace(tiny, seed=5, height=64), city)
    (tmp_path / "navsim_logs").mkdir()
    with pytest.raises(CityError, match="no city"):
        make_city(tiny, tmp_path)
    with pytest.raises(CityError, match="no such file"):
        read_manifest(tmp_path)


def test_maps_under_names_that_the_devkit_knows(sumo: None, tiny: CityConfig, tmp_path: Path) -> None:
    share = replace(tiny.shares[0], decisions=5)
    manifest = make_city(replace(tiny, shares=(share,), devkit_maps=True), tmp_path, workers=1)
    assert manifest["locations"] == {"ingolstadt": "us-pa-pittsburgh-hazelwood"}
    index = json.loads((tmp_path / "maps" / "nuplan-maps-v1.0.json").read_text())
    assert set(index) == {"sg-one-north", "us-ma-boston", "us-nv-las-vegas-strip", "us-pa-pittsburgh-hazelwood"}
    log = next(log for _, log in logs(tmp_path))
    assert log.frames[0].map_location == "us-pa-pittsburgh-hazelwood"
    assert len(read_city_map(tmp_path / "maps", "us-pa-pittsburgh-hazelwood").lane_index) > 50


def test_notes_of_a_city_can_be_read_back(city: Path, tiny: CityConfig) -> None:
    manifest = read_manifest(city)
    assert read_config(manifest) == tiny
    entry = read_simulation(city, manifest["simulations"][0])
    simulation, log = find_log(city, entry.logs[0].name)
    assert simulation == entry and log.tokens and log.situations["frames"] == len(log.tokens)
    with pytest.raises(CityError, match="no log 'nothing'"):
        find_log(city, "nothing")


def test_damaged_notes_are_named(city: Path, tmp_path: Path) -> None:
    path = DataFolder(tmp_path).city_simulation("x")
    path.parent.mkdir(parents=True)
    for text in ("{", "[]", '{"logs": [{}]}'):
        path.write_text(text)
        with pytest.raises(CityError, match=r"x\.json"):
            read_simulation(tmp_path, "x")


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        ((Share("a", "test", "atlantis", 1, 5),), "atlantis"),
        ((Share("a", "test", "ingolstadt", 1, 5), Share("b", "test", "ingolstadt", 1, 5)), "disjoint"),
    ],
)
def test_impossible_configurations_are_refused(shares: tuple[Share, ...], message: str) -> None:
    with pytest.raises(CityError, match=message):
        CityConfig(shares=shares)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"height": 4}, "at least 16 x 16"),
        ({"width": 100_000}, "at most 4096"),
        ({"seed": -1}, "seed -1"),
        ({"seed": 3_000_000}, "seed 3000000"),
        ({"cameras": ("CAM_X",)}, "CAM_X"),
        ({"duration": -1.0}, "positive"),
        ({"shares": ()}, "needs at least one"),
        ({"shares": (Share("a", "../x", "ingolstadt", 1, 5),)}, "plain name"),
        ({"shares": (Share("a", "test", "ingolstadt", 0, 5),)}, "0 simulations"),
    ],
)
def test_impossible_values_are_refused(tiny: CityConfig, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(CityError, match=message):
        replace(tiny, **changes)
