"""Second-stage scenes, pickled by classes that carry the names of the devkits."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path, PosixPath
from typing import Any

import numpy as np
import pytest

from tests.support.devkit_pickles import Devkit
from tests.support.navsim_golden import LOCATION, synthetic_frame
from world4scorer.datasets.navsim.city_map import CityMap
from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.datasets.navsim.frames import LogFrame
from world4scorer.datasets.navsim.logs import Log
from world4scorer.datasets.navsim.pickles import UnsafePickle, load_restricted
from world4scorer.datasets.navsim.synthetic import ALLOWED, read_synthetic_scene, tracked_objects
from world4scorer.datasets.prepare.scene_builder import build_scene
from world4scorer.engine.scene import TrackType


@pytest.fixture
def devkit() -> Iterator[Devkit]:
    kit = Devkit()
    yield kit
    kit.forget()


def agent(kit: Devkit, frame: LogFrame, row: int) -> Any:
    """A nuPlan object for one annotation of a frame, global."""
    assert frame.annotations is not None
    names = ("x", "y", "heading", "vx", "vy", "length", "width", "height")
    numbers = [*frame.global_boxes[row].tolist(), *frame.annotations.boxes[row, 3:6].tolist()]
    fields: dict[str, Any] = dict(zip(names, numbers, strict=True))
    tokens = {"token": "t", "track_token": frame.annotations.track_tokens[row]}
    return kit.tracked(int(frame.annotations.type[row]), fields | tokens)


def scene_pickle(kit: Devkit, frames: tuple[LogFrame, ...], later: tuple[LogFrame, ...]) -> dict[str, Any]:
    out = [synthetic_frame(frame) for frame in frames]
    out[3]["token"] = frames[3].token + "s"
    for entry, frame in zip(out, frames, strict=True):
        entry["camera_dict"] = {name.lower(): {} for name in frame.raw["cams"]}
        entry["camera_dict"]["cam_f0"] = frame.raw["cams"]["CAM_F0"] | {"data_path": PosixPath("a/b.jpg")}
    return {
        "scene_metadata": {
            "log_name": frames[0].log_name,
            "scene_token": frames[0].scene_token,
            "map_name": LOCATION,
            "initial_token": frames[3].token + "s",
            "num_history_frames": 4,
            "num_future_frames": 0,
            "corresponding_original_scene": "original",
            "corresponding_original_initial_token": frames[3].token,
        },
        "frames": out,
        "extended_traffic_light_data": [
            kit.lights([(int(lane), red) for lane, red in frame.traffic_lights]) for frame in later
        ],
        "extended_detections_tracks": [
            kit.detections([agent(kit, frame, row) for row in range(len(frame.track_tokens))]) for frame in later
        ],
    }


def test_scene_with_extended_traffic(devkit: Devkit, logs: list[Log], city: CityMap, tmp_path: Path) -> None:
    window = logs[0].frames[6:18]
    path = tmp_path / f"{window[3].token}s.pkl"
    path.write_bytes(pickle.dumps(scene_pickle(devkit, window[:4], window[4:])))
    devkit.forget()
    scene = read_synthetic_scene(path)
    assert scene.token == window[3].token + "s" and scene.original_token == window[3].token
    assert tuple(scene.frames[0].cameras) == ("CAM_F0",) and scene.frames[0].cameras["CAM_F0"].path == "a/b.jpg"
    assert scene.extended_tracks is not None and len(scene.extended_tracks) == 8
    boxes = tracked_objects(scene.extended_tracks[0])
    np.testing.assert_allclose(boxes.boxes[:, 0], window[4].global_boxes[:, 0])
    assert (boxes.type >= TrackType.VEHICLE).all()

    found, original = build_scene(scene.window(12), city), build_scene(window, city)
    assert found.human_future is None and original.human_future is not None
    assert found.tracks.ids == original.tracks.ids
    moving = found.tracks.type < TrackType.TRAFFIC_CONE
    np.testing.assert_allclose(found.tracks.boxes[moving], original.tracks.boxes[moving], rtol=0, atol=1e-8)
    np.testing.assert_allclose(found.reference, original.reference, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(found.lights.status, original.lights.status)
    with pytest.raises(DatasetError, match="13 are needed"):
        scene.window(13)


def test_hostile_and_odd_scenes(tmp_path: Path) -> None:
    path = tmp_path / "scene.pkl"
    path.write_bytes(b"cnuplan.common.actor_state.agent\nLoader\n)R.")
    with pytest.raises(UnsafePickle, match=r"nuplan.common.actor_state.agent.Loader"):
        read_synthetic_scene(path)
    path.write_bytes(pickle.dumps([1, 2]))
    with pytest.raises(DatasetError, match="no synthetic scene"):
        read_synthetic_scene(path)
    path.write_bytes(pickle.dumps({"scene_metadata": {}, "frames": []}))
    with pytest.raises(DatasetError, match="missing"):
        read_synthetic_scene(path)
    assert all(name.startswith(("nuplan", "navsim", "pathlib", "shapely")) for name, _ in ALLOWED)


@pytest.mark.parametrize("module", ["pathlib", "pathlib._local"])
def test_paths_of_any_python_are_text(module: str) -> None:
    """Python 3.13 pickles paths under another module."""
    pickled = f"c{module}\nPosixPath\n(S'maps'\nS'town'\ntR.".encode()
    assert load_restricted(pickled, ALLOWED) == "maps/town"
