"""A drive becomes a log that is prepared like any other."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from world4scorer.city.streets.errors import CityError
from world4scorer.city.world.global_plan import CityRoutes
from world4scorer.city.world.manifest import find_log, read_drives, weather_of_log
from world4scorer.city.world.simulation import CitySimulation
from world4scorer.datasets.navsim.logs import read_log
from world4scorer.datasets.navsim.splits import find_split
from world4scorer.datasets.prepare.fill_store import prepare
from world4scorer.datasets.prepare.samples import Samples
from world4scorer.datasets.prepare.source import NavsimSource
from world4scorer.datasets.store import SceneStore
from world4scorer.driving.closed_loop.city_routes import CityRoute, find_routes
from world4scorer.driving.closed_loop.drive import DrivingWorld, drive_route
from world4scorer.driving.closed_loop.drive_config import DriveConfig, DriveError
from world4scorer.driving.closed_loop.drive_log import DriveLogWriter, Thinning
from world4scorer.driving.closed_loop.driver_spec import DriverSpec
from world4scorer.driving.closed_loop.drivers import ConstantVelocityDriver
from world4scorer.driving.closed_loop.run import FinishedDrives, drive_all
from world4scorer.engine.scene.geometry import relative_poses
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.executors import SerialExecutor

SPLIT = "own_drives"
CHOICES = [DriverSpec.parse("constant-velocity")]
CONFIG = {"split": "city_train", "routes": 1}


@pytest.fixture(scope="module")
def driven(city: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tiny city, for drives are written into it."""
    return Path(shutil.copytree(city, tmp_path_factory.mktemp("driven") / "city"))


@pytest.fixture(scope="module")
def drives(driven: Path) -> FinishedDrives:
    logs = DriveLogWriter(driven, SPLIT)
    return drive_all(DriveConfig(driven, **CONFIG), CHOICES, driven.parent / "drives", SerialExecutor(), logs=logs)


@pytest.fixture(scope="module")
def route(driven: Path) -> CityRoute:
    return find_routes(driven, "city_train", 1)[0]


def test_the_log_is_what_was_driven_and_seen(driven: Path, drives: FinishedDrives, route: CityRoute) -> None:
    (entry,) = read_drives(driven, SPLIT)
    log = read_log(DataFolder(driven).log(SPLIT, entry.name))
    with CitySimulation(driven) as running:
        again = drive_route(
            running, DrivingWorld(driven, route.place), route, ConstantVelocityDriver(), with_recording=True
        )
    assert again.recording is not None
    states = again.recording.states[::5]
    assert np.allclose([frame.ego_pose for frame in log.frames], states[:, :3], atol=1e-6)
    assert np.allclose([frame.velocity[0] for frame in log.frames], states[:, 3], atol=1e-4)
    assert {frame.driver for frame in log.frames} == {"constant-velocity"}
    for frame, images in zip(log.frames, again.recording.images, strict=False):
        for name, file in images.items():
            path = DataFolder(driven).sensors(SPLIT) / frame.cameras[name].path
            assert path.read_bytes() == file
    events = [[event.kind.value, event.time, *event.place] for event in again.recording.infractions]
    assert [list(infraction) for infraction in entry.infractions] == events
    assert entry.status == again.record.status == drives.records["constant-velocity"][0].status


def test_scenes_are_prepared_and_say_who_drove(driven: Path, drives: FinishedDrives, tmp_path: Path) -> None:
    split = find_split(SPLIT, driven)
    (entry,) = read_drives(driven, SPLIT)
    prepare(NavsimSource(driven, split, routes=CityRoutes(driven)), tmp_path, SerialExecutor(), show_progress=False)
    store, samples = SceneStore(tmp_path), Samples.of_split(driven, split, tmp_path, SerialExecutor())
    assert len(store) == len(samples) == len(entry.tokens) > 3
    log = read_log(DataFolder(driven).log(SPLIT, entry.name))
    row = {frame.token: index for index, frame in enumerate(log.frames)}
    for index, token in enumerate(samples.tokens):
        now = row[token]
        assert store.extras(token)["driver"] == "constant-velocity"
        poses = np.stack([frame.ego_pose for frame in log.frames[now : now + 11]])
        assert np.allclose(samples.future[index], relative_poses(poses[1:], poses[0]), atol=1e-6)
    assert samples.route_points is not None and np.isfinite(samples.route_points).all()


def test_drives_are_no_logs_to_start_from(driven: Path, drives: FinishedDrives, route: CityRoute) -> None:
    (entry,) = read_drives(driven, SPLIT)
    assert weather_of_log(driven, entry.name) == (route.place, route.start.weather_seed)
    with pytest.raises(CityError, match="is a drive, in traffic that reacted to it"):
        find_log(driven, entry.name)


def test_a_split_of_the_city_is_not_written_over(driven: Path) -> None:
    with pytest.raises(DriveError, match="has a split of that name"):
        DriveLogWriter(driven, "city_train")
    with pytest.raises(DriveError, match="plain name"):
        DriveLogWriter(driven, "a/b")


def test_drives_without_a_log_are_driven_again(driven: Path, drives: FinishedDrives, route: CityRoute) -> None:
    entry = DataFolder(driven).city_drive(SPLIT, read_drives(driven, SPLIT)[0].name)
    before = entry.read_bytes()
    entry.unlink()
    again = drive_all(
        DriveConfig(driven, **CONFIG), CHOICES, drives.folder, SerialExecutor(), logs=DriveLogWriter(driven, SPLIT)
    )
    assert entry.read_bytes() == before
    assert again.records["constant-velocity"][0].scores == drives.records["constant-velocity"][0].scores


def test_what_a_killed_drive_left_of_its_split_is_removed(driven: Path, drives: FinishedDrives) -> None:
    layout = DataFolder(driven)
    (entry,) = read_drives(driven, SPLIT)
    own = [
        *(layout.log(SPLIT, entry.name), layout.city_drive(SPLIT, entry.name)),
        *(layout.splits / f"{SPLIT}.yaml", layout.splits / "scene_filter" / f"{SPLIT}.yaml"),
    ]
    left = [path.with_name(f".{path.name}.0a1b2c3d.tmp") for path in own]
    others = layout.splits / ".another.yaml.0a1b2c3d.tmp"  # maybe another process is writing it
    images = layout.sensors(SPLIT) / ".lost.tmp" / "CAM_F0"
    images.mkdir(parents=True)
    for path in (*left, others):
        path.touch()
    logs = DriveLogWriter(driven, SPLIT)
    drive_all(DriveConfig(driven, **CONFIG), CHOICES, drives.folder, SerialExecutor(), logs=logs)
    assert not images.parent.exists() and not any(path.exists() for path in left) and others.exists()
    with logs.recording(), pytest.raises(DriveError, match="another run is recording drives of this split"):
        drive_all(DriveConfig(driven, **CONFIG), CHOICES, drives.folder, SerialExecutor(), logs=logs)


def test_thinning_by_hand() -> None:
    """Ten frames of driving, forty of standing, twenty of driving; 3 past and 10 future frames stay out."""
    speeds = np.array([5.0] * 10 + [0.0] * 40 + [5.0] * 20)
    found = Thinning(stride=2, wait=10.0, wait_stride=10).scenes(speeds)
    assert found.tolist() == [4, 6, 8, *range(10, 30, 2), 38, 48, 50, 52, 54, 56, 58]
    assert Thinning(stride=1, wait=100.0).scenes(speeds).tolist() == list(range(3, 60))
    with pytest.raises(ValueError, match="thinning"):
        Thinning(stride=0)
