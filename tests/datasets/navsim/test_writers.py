"""What we write, read back; and prepared as if it were the original."""

from __future__ import annotations

import pickle
import pickletools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.images import write_image
from tests.support.navsim_golden import NavsimGolden
from world4scorer.datasets.navsim.annotations import Annotations
from world4scorer.datasets.navsim.city_map import CityMap
from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.datasets.navsim.frames import LogFrame
from world4scorer.datasets.navsim.log_writer import FrameRecord, write_log
from world4scorer.datasets.navsim.logs import Log, read_log
from world4scorer.datasets.navsim.pickles import load_restricted
from world4scorer.datasets.prepare.scene_builder import build_scene


def record(frame: LogFrame) -> FrameRecord:
    """What a frame says, to be written again."""
    return FrameRecord(
        token=frame.token,
        time_us=frame.time_us,
        scene_name="scene",
        scene_token=frame.scene_token,
        map_location=frame.map_location,
        ego_pose=frame.ego_pose,
        velocity=frame.velocity,
        acceleration=frame.acceleration,
        command=int(np.argmax(frame.command)),
        roadblock_ids=frame.roadblock_ids,
        traffic_lights=frame.traffic_lights,
        annotations=frame.annotations or Annotations.none(),
        cameras=tuple(frame.cameras.values()),
    )


@pytest.fixture
def rewritten(logs: list[Log], tmp_path: Path) -> Log:
    path = tmp_path / f"{logs[0].name}.pkl"
    write_log(path, "0123456789abcdef", [record(frame) for frame in logs[0].frames])
    return read_log(path)


def test_logs_survive_writing(logs: list[Log], rewritten: Log) -> None:
    assert rewritten.name == logs[0].name and len(rewritten.frames) == len(logs[0].frames)
    for before, after in zip(logs[0].frames, rewritten.frames, strict=True):
        assert (after.token, after.time_us, after.log_name) == (before.token, before.time_us, before.log_name)
        assert (after.roadblock_ids, after.traffic_lights) == (before.roadblock_ids, before.traffic_lights)
        np.testing.assert_allclose(after.ego_pose, before.ego_pose, rtol=0, atol=1e-9)
        np.testing.assert_array_equal(after.velocity, before.velocity)
        np.testing.assert_array_equal(after.command, before.command)
        np.testing.assert_allclose(after.global_boxes, before.global_boxes, rtol=0, atol=1e-9)
        assert after.cameras["CAM_L1"].path == before.cameras["CAM_L1"].path


def test_every_field_of_the_format_is_written(compact: NavsimGolden, logs: list[Log], rewritten: Log) -> None:
    original, written = load_restricted(logs[0].path)[5], load_restricted(rewritten.path)[5]
    assert set(written) == set(original)
    for name, value in original.items():
        assert isinstance(written[name], type(value)), name
        if isinstance(value, np.ndarray):
            assert written[name].shape == value.shape and written[name].dtype == value.dtype, name
    for part in ("anns", "cams"):
        assert set(written[part]) == set(original[part])
    assert set(written["cams"]["CAM_F0"]) == set(original["cams"]["CAM_F0"])
    assert (written["sample_prev"], written["sample_next"]) == (original["sample_prev"], original["sample_next"])
    assert pickle.loads(rewritten.path.read_bytes())  # needs nothing but numpy


def test_written_logs_give_the_same_scenes(logs: list[Log], rewritten: Log, city: CityMap) -> None:
    before, after = (build_scene(log.frames[4:18], city) for log in (logs[0], rewritten))
    assert after.route_lane_ids == before.route_lane_ids and after.tracks.ids == before.tracks.ids
    np.testing.assert_allclose(after.reference, before.reference, rtol=0, atol=1e-6)
    np.testing.assert_allclose(after.tracks.boxes, before.tracks.boxes, rtol=0, atol=1e-6)


def test_written_logs_name_what_numpy_1_and_2_know(rewritten: Log) -> None:
    names = {argument for code, argument, _ in pickletools.genops(rewritten.path.read_bytes()) if code.name == "GLOBAL"}
    assert "numpy.core.multiarray _reconstruct" in names and not any("numpy._core" in str(name) for name in names)


def test_images_survive_writing(logs: list[Log], tmp_path: Path) -> None:
    camera = logs[0].frames[0].cameras["CAM_F0"]
    image = np.full((36, 64, 3), 120, np.uint8)
    image[:, 32:] = 200
    write_image(tmp_path, camera.path, image)
    found = camera.load(tmp_path)
    assert found.shape == image.shape
    assert np.abs(found.astype(int) - image).mean() < 2


def test_logs_that_cannot_be_written(logs: list[Log], tmp_path: Path) -> None:
    path = tmp_path / "log.pkl"
    records = [record(frame) for frame in logs[0].frames[:2]]
    for bad in ([], [records[1], records[0]], [records[0], replace(records[0], token="again")]):
        with pytest.raises(DatasetError) as error:
            write_log(path, "0" * 16, bad)
        assert str(path) in str(error.value)
    assert not list(tmp_path.iterdir())
