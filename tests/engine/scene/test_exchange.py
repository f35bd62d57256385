from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import world4scorer as w4s
from tests.support.scene_factory import make_frame
from world4scorer.engine.scene import SceneError, read_exchange, write_exchange


@pytest.fixture
def fields(tmp_path, compact_folder):
    with np.load(compact_folder / "pub_s23_cross.npz", allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def save(path, fields, **changes):
    kept = {name: value for name, value in (fields | changes).items() if value is not None}
    np.savez(path, **kept)
    return path


def test_round_trip_of_made_up_scenes(tmp_path):
    for seed in range(5):
        frame = make_frame(seed)
        write_exchange(tmp_path / "x.npz", [frame])
        (again,) = read_exchange(tmp_path / "x.npz")
        np.testing.assert_array_equal(again.plans, frame.plans)
        np.testing.assert_array_equal(again.utilities, frame.utilities)
        assert again.scene.token == frame.scene.token and again.scene.lights.on_route.tolist() is not None
        np.testing.assert_array_equal(
            w4s.epdms(again.scene, again.plans).table, w4s.epdms(frame.scene, frame.plans).table
        )
        np.testing.assert_array_equal(
            w4s.label(again.scene, again.plans).table, w4s.label(frame.scene, frame.plans).table
        )


@pytest.mark.parametrize("stem", ["pub_log3_scurve", "pub_log4_cross", "pub_s32_roundabout"])
def test_round_trip_of_logs(tmp_path, compact_folder, stem):
    frames = read_exchange(compact_folder / f"{stem}.npz")
    write_exchange(tmp_path / "x.npz", frames)
    for before, after in zip(frames, read_exchange(tmp_path / "x.npz"), strict=True):
        for name in ("time_us", "token", "log_name", "route_lane_ids"):
            assert getattr(before.scene, name) == getattr(after.scene, name)
        for name in ("ego_state", "centerline", "reference", "past_states", "past_time_us", "human_future"):
            np.testing.assert_array_equal(getattr(before.scene, name), getattr(after.scene, name))
        np.testing.assert_array_equal(before.scene.map.vertices, after.scene.map.vertices)
        np.testing.assert_array_equal(before.scene.tracks.valid, after.scene.tracks.valid)
        valid = before.scene.tracks.valid
        np.testing.assert_array_equal(before.scene.tracks.boxes[valid], after.scene.tracks.boxes[valid])
        np.testing.assert_array_equal(before.scene.lights.status, after.scene.lights.status)
        assert before.previous_plan == after.previous_plan


def test_optional_fields_may_be_missing_and_unknown_ones_present(tmp_path, fields):
    optional = ("utilities", "prev_plan_index", "human_future", "past_states", "past_time_us", "tl_status", "origin")
    meta = json.loads(str(fields["meta_json"]))
    del meta["tl_connector_ids"], meta["tokens"], meta["log_name"]
    path = save(
        tmp_path / "bare.npz",
        fields,
        **dict.fromkeys(optional),
        meta_json=np.array(json.dumps(meta)),
        something_else=np.zeros(3),
    )
    (frame,) = read_exchange(path)
    assert frame.utilities is None and frame.previous_plan is None and frame.scene.human_future is None
    assert frame.scene.token == "bare_f00" and frame.scene.log_name == "bare"
    assert np.isfinite(w4s.epdms(frame.scene, frame.plans).table).all()


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"ego_state": None}, "field 'ego_state' is missing"),
        ({"meta_json": np.array("{")}, "meta_json: not JSON"),
        ({"meta_json": np.array("[]")}, "meta_json: expected a JSON object"),
        ({"meta_json": np.array("{}")}, "'agent_ids' must be a list"),
        ({"frame_k": np.array([3])}, "frame 0 needs grid columns 3..53 of 51"),
        ({"ego_state": np.full((1, 11), np.nan)}, "pub_s23_cross_f00.*ego_state: value at"),
        ({"candidates": np.full((1, 4, 8, 3), np.inf)}, "plans of pub_s23_cross_f00: plan 0"),
        ({"candidates": np.zeros((2, 4, 8, 3))}, r"candidates: shape \(2, 4, 8, 3\) does not begin with the 1 frames"),
        ({"candidates": np.array(3.0)}, "candidates: shape"),
        ({"time_us": np.zeros(0, int)}, "time_us: the file holds no frame"),
        ({"tl_status": np.array(2)}, "tl_status: expected shape"),
        ({"prev_plan_index": np.array([np.nan])}, "prev_plan_index: holds values"),
        ({"agent_type": np.full(15, 256)}, "tracks.type: holds values"),
        ({"past_time_us": np.array([[0, 1, 2, 10**12]])}, "past_time_us: spans 1e.06 s"),
        ({"utilities": np.zeros((1, 3))}, r"utilities of pub_s23_cross_f00: expected shape \(64\)"),
        ({"tl_status": np.zeros((1, 51))}, "tl_status: 1 rows for"),
        ({"ring_poly": np.zeros(3, int)}, "map.ring_offsets: expected shape"),
    ],
)
def test_bad_files_are_named(tmp_path, fields, changes, says):
    path = save(tmp_path / "bad.npz", fields, **changes)
    with pytest.raises(SceneError, match=f"(?s)bad.npz: .*{says}"):
        read_exchange(path)


def test_unknown_layer(tmp_path, fields):
    meta = json.loads(str(fields["meta_json"]))
    meta["poly_layers"][4] = "SIDEWALK"
    with pytest.raises(SceneError, match=r"unknown layer 'SIDEWALK'.*known: LANE"):
        read_exchange(save(tmp_path / "x.npz", fields, meta_json=np.array(json.dumps(meta))))


def test_files_that_are_no_exchange_files(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.npz: no such file"):
        read_exchange(tmp_path / "none.npz")
    for name, content in (("text.npz", b"hello"), ("empty.npz", b""), ("cut.npz", b"PK\x03\x04 cut off")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(SceneError, match=f"{name}: not a readable exchange file"):
            read_exchange(tmp_path / name)
    np.savez(tmp_path / "pickled.npz", meta_json=np.array([{"a": 1}], dtype=object))
    with pytest.raises(SceneError, match=r"pickled.npz: not a readable exchange file"):
        read_exchange(tmp_path / "pickled.npz")


def test_truncated_file(tmp_path, compact_folder):
    whole = (compact_folder / "pub_s23_cross.npz").read_bytes()
    for share in (0.3, 0.9, 0.999):
        (tmp_path / "cut.npz").write_bytes(whole[: int(len(whole) * share)])
        with pytest.raises(SceneError, match=r"cut\.npz: not a readable exchange file"):
            read_exchange(tmp_path / "cut.npz")


def test_writer_refuses_what_the_format_cannot_hold(tmp_path):
    frame, other = make_frame(0), make_frame(1)
    with pytest.raises(SceneError, match="different maps; write one file per frame"):
        write_exchange(tmp_path / "x.npz", [frame, other])
    with pytest.raises(SceneError, match="no frames"):
        write_exchange(tmp_path / "x.npz", [])
    with pytest.raises(SceneError, match="utilities: given for some frames only"):
        write_exchange(tmp_path / "x.npz", [frame, replace(frame, utilities=None)])
    with pytest.raises(SceneError, match="separate v2 tracks"):
        write_exchange(tmp_path / "x.npz", [replace(frame, scene=replace(frame.scene, tracks_v2=frame.scene.tracks))])
    with pytest.raises(SceneError, match="separate v2 tracks"):
        later = replace(frame.scene, tracks_v2=frame.scene.tracks)
        write_exchange(tmp_path / "x.npz", [frame, replace(frame, scene=later)])
    layers = frame.scene.map.layer.copy()
    layers[0] = 15
    with pytest.raises(SceneError, match="different maps"):
        other = replace(frame.scene, map=replace(frame.scene.map, layer=layers))
        write_exchange(tmp_path / "x.npz", [frame, replace(frame, scene=other)])
    tracks = frame.scene.tracks
    with pytest.raises(SceneError, match="41 steps of traffic; a file holds 51"):
        short = replace(tracks, boxes=tracks.boxes[:, :41], valid=tracks.valid[:, :41])
        write_exchange(tmp_path / "x.npz", [replace(frame, scene=replace(frame.scene, tracks=short))])
    with pytest.raises(SceneError, match="reference: frames of one file must have it in one shape"):
        other = replace(frame.scene, reference=frame.scene.reference[:45])
        write_exchange(tmp_path / "x.npz", [frame, replace(frame, scene=other)])
    assert not list(tmp_path.iterdir())


def test_numbers_as_names(tmp_path, fields):
    """Ids may be numbers in the JSON; they mean the same as text."""
    meta = json.loads(str(fields["meta_json"]))
    meta["route_lane_ids"] = [int(name) for name in meta["route_lane_ids"]]
    (numbered,) = read_exchange(save(tmp_path / "x.npz", fields, meta_json=np.array(json.dumps(meta))))
    (plain,) = read_exchange(save(tmp_path / "y.npz", fields))
    assert plain.scene.lights.on_route.any()
    np.testing.assert_array_equal(numbered.scene.lights.on_route, plain.scene.lights.on_route)
