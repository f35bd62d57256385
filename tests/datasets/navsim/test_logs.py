from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.navsim_golden import DATA_SPLIT, NavsimGolden
from world4scorer.datasets.navsim.agent_input import agent_input, future_poses, history_poses
from world4scorer.datasets.navsim.cameras import CAMERAS, Camera
from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.datasets.navsim.filters import Split, windows
from world4scorer.datasets.navsim.logs import Log, log_paths, read_log
from world4scorer.datasets.navsim.pickles import load_restricted
from world4scorer.jobs.data_folder import DataFolder

Frames = list[dict[str, Any]]


@pytest.fixture
def damaged(compact: NavsimGolden, tmp_path: Path) -> Callable[[Callable[[Frames], Any]], Path]:
    """Write a log with something changed."""

    def write(change: Callable[[Frames], Any]) -> Path:
        source = log_paths(DataFolder(compact.dataset).logs(DATA_SPLIT))[0]
        frames = load_restricted(source)
        changed = change(frames)
        path = tmp_path / source.name
        path.write_bytes(pickle.dumps(frames if changed is None else changed))
        return path

    return write


def test_agent_inputs(compact: NavsimGolden, logs: list[Log], split: Split) -> None:
    checked = 0
    for log in logs:
        for window in windows(log, split.filter):
            want = compact.inputs(window[3].token)
            if not want:
                continue
            found = agent_input(window)
            np.testing.assert_allclose(found.poses, want["ego_pose"], atol=1e-6)
            np.testing.assert_array_equal(found.velocities, want["ego_velocity"])
            np.testing.assert_array_equal(found.accelerations, want["ego_acceleration"])
            np.testing.assert_array_equal(found.commands, want["driving_command"])
            np.testing.assert_allclose(future_poses(window, 10), want["future_trajectory_10"], atol=1e-8)
            np.testing.assert_allclose(history_poses(window), want["history_trajectory"], atol=1e-8)
            checked += 1
    assert checked >= 10


def test_cameras(compact: NavsimGolden, logs: list[Log]) -> None:
    want, token = compact.cameras, compact.tokens[0]
    frame = next(frame for log in logs for frame in log.frames if frame.token == token)
    assert tuple(frame.cameras) == CAMERAS
    names = [str(name).upper() for name in want["cam_names"]]
    for camera in frame.cameras.values():
        row = names.index(camera.name)
        np.testing.assert_array_equal(camera.intrinsics, want["cam_intrinsics"][row])
        np.testing.assert_array_equal(camera.rotation, want["cam_sensor2lidar_rotation"][row])
        np.testing.assert_array_equal(camera.translation, want["cam_sensor2lidar_translation"][row])
        np.testing.assert_array_equal(camera.distortion, want["cam_distortion"][row])
        image = camera.load(DataFolder(compact.dataset).sensors(DATA_SPLIT))
        assert image.shape == (36, 64, 3) and image.dtype == np.uint8
        assert hashlib.sha1(image.tobytes()).hexdigest() == str(want["cam_pixel_sha1"][3][row])


def test_projection(logs: list[Log]) -> None:
    camera = logs[0].frames[0].cameras["CAM_F0"]
    ahead = camera.translation + np.array([[10.0, 0.0, 0.0], [10.0, 1.0, 0.0], [-5.0, 0.0, 0.0]])
    pixels, seen = camera.project(ahead)
    assert seen.tolist() == [True, True, False]
    np.testing.assert_allclose(pixels[0], camera.intrinsics[:2, 2])
    assert pixels[1, 0] < pixels[0, 0]  # left of the middle


def test_missing_image(compact: NavsimGolden, logs: list[Log], tmp_path: Path) -> None:
    camera = logs[0].frames[0].cameras["CAM_B0"]
    with pytest.raises(DatasetError, match="no such image") as error:
        camera.load(tmp_path)
    assert camera.path in str(error.value)
    (tmp_path / camera.path).parent.mkdir(parents=True)
    (tmp_path / camera.path).write_bytes(b"\xff\xd8 cut off")
    with pytest.raises(DatasetError, match="not a readable image"):
        camera.load(tmp_path)


def test_gaps_are_told(logs: list[Log]) -> None:
    assert [log.gaps for log in logs] == [(), (), (), (20,)]


def test_truncated_log(damaged: Any) -> None:
    path = damaged(lambda frames: None)
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(ValueError, match="truncated or damaged") as error:
        read_log(path)
    assert str(path) in str(error.value)


def test_frames_out_of_order(damaged: Any) -> None:
    path = damaged(lambda frames: [frames[1], frames[0], *frames[2:]])
    with pytest.raises(DatasetError, match="not after that of the frame before") as error:
        read_log(path)
    assert str(path) in str(error.value) and "frame 1" in str(error.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda frames: frames[7].pop("ego2global_rotation"), ["frame 7", "ego2global_rotation"]),
        (lambda frames: frames[2].update(ego_dynamic_state=[1.0, np.nan, 0, 0]), ["frame 2", "ego_dynamic_state"]),
        (lambda frames: frames[2].update(ego_dynamic_state="fast"), ["frame 2", "ego_dynamic_state"]),
        (lambda frames: frames[3]["anns"].pop("track_tokens"), ["frame 3", "track_tokens"]),
        (lambda frames: frames[3]["anns"].update(gt_names=["ufo"] * len(frames[3]["anns"]["gt_names"])), ["ufo"]),
        (lambda frames: frames[3]["anns"].update(track_tokens=[]), ["frame 3", "differ in length"]),
        (lambda frames: frames[3]["anns"].update(gt_boxes=np.zeros((2, 5))), ["gt_boxes", "(2, 5)"]),
        (lambda frames: frames[4].update(driving_command=np.zeros(3)), ["frame 4", "driving_command"]),
        (lambda frames: frames[4].update(traffic_lights=["red"]), ["frame 4", "traffic_lights"]),
        (lambda frames: frames.__setitem__(5, "frame"), ["frame 5", "str"]),
    ],
)
def test_bad_frames_are_named(damaged: Any, change: Callable[[Frames], Any], words: list[str]) -> None:
    def apply(frames: Frames) -> None:
        change(frames)

    path = damaged(apply)
    with pytest.raises(DatasetError) as error:
        read_log(path)
    for word in [str(path), *words]:
        assert word in str(error.value)


def test_logs_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "log.pkl"
    for content, word in (({"a": 1}, "dict"), ([], "no frames")):
        path.write_bytes(pickle.dumps(content))
        with pytest.raises(DatasetError, match=word):
            read_log(path)


def test_missing_annotations_and_cameras(damaged: Any) -> None:
    def strip(frames: Frames) -> None:
        frames[6]["anns"] = None
        del frames[6]["cams"]

    frame = read_log(damaged(strip)).frames[6]
    assert frame.annotations is None and frame.track_tokens == ()
    with pytest.raises(DatasetError, match="no annotations"):
        _ = frame.global_boxes
    with pytest.raises(DatasetError, match="cams"):
        _ = frame.cameras


def test_ego_boxes_are_no_obstacles(damaged: Any) -> None:
    def rename(frames: Frames) -> None:
        names = list(frames[0]["anns"]["gt_names"])
        frames[0]["anns"]["gt_names"] = np.array(["ego", *names[1:]])

    path = damaged(rename)
    before = len(load_restricted(path)[0]["anns"]["gt_names"])
    annotations = read_log(path).frames[0].annotations
    assert annotations is not None and len(annotations.boxes) == before - 1 == len(annotations.track_tokens)


def test_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="no such folder"):
        log_paths(DataFolder(tmp_path).logs("mini"))


@pytest.mark.parametrize("path", ["/etc/hostname", "../../other/CAM_F0/1.jpg", "log/../../x.jpg", "log/CAM_F0/1\0.jpg"])
def test_camera_paths_stay_below_the_sensor_folder(logs: list[Log], path: str) -> None:
    raw = logs[0].frames[0].raw["cams"]["CAM_F0"]
    with pytest.raises(DatasetError, match="leaves the sensor folder"):
        Camera.from_raw("CAM_F0", {**raw, "data_path": path}, "here")


def test_a_pipe_is_no_image(logs: list[Log], tmp_path: Path) -> None:
    camera = logs[0].frames[0].cameras["CAM_F0"]
    pipe = tmp_path / camera.path
    pipe.parent.mkdir(parents=True)
    os.mkfifo(pipe)
    with pytest.raises(DatasetError, match="not a regular file"):
        camera.load(tmp_path)
