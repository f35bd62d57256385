"""Frame files hold what pools and scenes hold, within the stated units; what is finished is kept."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.scenes import make_plans, make_scene
from tests.support.stored_pools import LOGS, store_pools
from world4scorer.cli.run import main
from world4scorer.datasets.store import SceneStore
from world4scorer.drawing.ego_frame import EgoFrame
from world4scorer.engine.outcomes.results import V1_COLUMNS, V2_COLUMNS, epdms_of_table
from world4scorer.engine.outcomes.v1 import pdms
from world4scorer.engine.outcomes.v2 import epdms
from world4scorer.engine.scene.indices import Box, Layer, State
from world4scorer.evaluation.pools.choices import continued, framewise, inertial
from world4scorer.evaluation.pools.scored import ScoredPools
from world4scorer.reporting.explorer.record import PlannerScores, frame_record
from world4scorer.reporting.explorer.rounding import ANGLE, LENGTH, SCORE, UNITS, UTILITY


@pytest.fixture(scope="module")
def pools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = store_pools(tmp_path_factory.mktemp("explorer"))
    assert main(["frames", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def scored(pools: Path) -> ScoredPools:
    return ScoredPools.open(pools)


def read(pools: Path, token: str) -> dict[str, Any]:
    frame: dict[str, Any] = json.loads((pools / "frames" / f"{token}.json").read_bytes())
    return frame


def poses(numbers: Any) -> np.ndarray:
    """(..., n, 3) in metres and radians."""
    found = np.array(numbers, float)
    return found.reshape(*found.shape[:-1], -1, 3) * [LENGTH, LENGTH, ANGLE]


def close(found: Any, expected: Any, unit: float) -> None:
    np.testing.assert_allclose(found, expected, atol=0.5 * unit + 1e-9)


def turned(angle: Any) -> Any:
    return np.arctan2(np.sin(angle), np.cos(angle))


def test_a_frame_equals_pools_and_simulator(pools: Path, scored: ScoredPools) -> None:
    for place in (0, 3, 7):
        token = scored.tokens[place]
        frame = read(pools, token)
        assert (frame["format"], frame["units"], frame["token"]) == ("world4scorer-frame-1", UNITS, token)
        assert (frame["log_name"], frame["time_us"]) == (scored.log_names[place], scored.time_us[place])
        close(poses(frame["plans"])[..., :2], scored.plans[place, ..., :2], LENGTH)
        close(poses(frame["plans"])[..., 2], scored.plans[place, ..., 2], ANGLE)
        close(np.array(frame["utility_v1"]) * UTILITY, scored.utility_v1[place], UTILITY)
        close(np.array(frame["utility_v2"]) * UTILITY, scored.utility_v2[place], UTILITY)
        assert frame["logits"] is None and frame["cameras"] is None
        for column, name in enumerate(V1_COLUMNS):
            close(np.array(frame["outcomes"]["v1"][name]) * SCORE, scored.v1[place, :, column], SCORE)
        raw = frame["outcomes"]["v2_raw"] or frame["outcomes"]["v2"]
        for column, name in enumerate(V2_COLUMNS[:-1]):
            close(np.array(frame["outcomes"]["v2"][name]) * SCORE, scored.v2[place, :, column], SCORE)
            close(np.array(raw[name]) * SCORE, scored.v2_raw[place, :, column], SCORE)
        close(np.array(frame["outcomes"]["v2"]["EPDMS"]) * SCORE, epdms_of_table(scored.v2[place]), SCORE)


def test_rollouts_and_causes(pools: Path, scored: ScoredPools) -> None:
    store = SceneStore(scored.about["store"])
    seen = 0
    for place in (0, 7):
        scene, frame = store[scored.tokens[place]], read(pools, scored.tokens[place])
        ego = EgoFrame.of(scene)
        for version, outcome in (("v1", pdms(scene, scored.plans[place])), ("v2", epdms(scene, scored.plans[place]))):
            rollouts = poses(frame["rollouts"])
            close(rollouts[..., :2], ego.local(outcome.rollouts[..., :2]), LENGTH)
            close(turned(rollouts[..., 2] - outcome.rollouts[..., 2] + ego.heading), 0.0, ANGLE)
            for name, cause in outcome.causes.items():
                told = frame["causes"][version][name]
                assert [plan for plan, _, _ in told] == np.flatnonzero(cause.violated).tolist()
                for plan, step, index in told:
                    assert step == cause.step[plan]
                    assert index == (cause.index[plan] if cause.names else -1)
                seen += len(told)
    assert seen > 10


def test_surroundings(pools: Path, scored: ScoredPools) -> None:
    scene = SceneStore(scored.about["store"])[scored.tokens[6]]
    frame, ego = read(pools, scene.token), EgoFrame.of(scene)
    close(frame["ego"]["pose"][:2], scene.ego_state[:2], LENGTH)
    close(np.array(frame["ego"]["velocity"]) * LENGTH, scene.ego_state[[State.VELOCITY_X, State.VELOCITY_Y]], LENGTH)
    told = {(layer, one["id"]): one for layer, kept in frame["map"].items() for one in kept}
    assert told
    for polygon, (name, layer) in enumerate(zip(scene.map.ids, scene.map.layer, strict=True)):
        rings = [ego.local(ring) for ring in scene.map.rings(polygon)]
        one = told.get((Layer(int(layer)).name.lower(), name))
        if np.abs(rings[0]).max() < 100:
            assert one is not None
        if one is not None:
            assert one.get("route", False) == scene.on_route[polygon]
            for found, ring in zip(one["rings"], rings, strict=True):
                close(np.reshape(found, (-1, 2)) * LENGTH, ring, LENGTH)
    for row, track in enumerate(frame["tracks"]):
        steps = [step for first, last in track["steps"] for step in range(first, last + 1)]
        assert steps == np.flatnonzero(scene.tracks.valid[row, :41]).tolist() and track["id"] == scene.tracks.ids[row]
        boxes = scene.tracks.boxes[row, steps]
        found = np.broadcast_to(poses(track["poses"]), (len(steps), 3))
        close(found[:, :2], ego.local(boxes[:, :2]), LENGTH)
        close(turned(found[:, 2] - boxes[:, Box.HEADING] + ego.heading), 0.0, ANGLE)
        close(np.array(track["size"]) * LENGTH, boxes[0, [Box.LENGTH, Box.WIDTH]], LENGTH)
    close(poses(frame["human"])[:, :2], scene.human_future[:, :2], LENGTH)
    close(poses(frame["reference"])[:, :2], ego.local(scene.reference[:41, :2]), LENGTH)
    assert len(frame["lights"]) == len(scene.lights.polygon)


def test_choices_and_index(pools: Path, scored: ScoredPools) -> None:
    index = json.loads((pools / "frames" / "index.json").read_bytes())
    assert index["format"] == "world4scorer-frames-1" and index["frames"] == len(scored)
    assert [log["name"] for log in index["logs"]] == list(LOGS)
    listed = [frame for log in index["logs"] for frame in log["frames"]]
    assert [frame["token"] for frame in listed] == list(scored.tokens)
    selections = {"framewise": framewise(scored.utility_v2), "reranked": inertial(scored, scored.utility_v2)}
    for name, chosen in selections.items():
        scores, comfort = scored.epdms(chosen), continued(scored, chosen)
        for place, line in enumerate(listed):
            frame = read(pools, line["token"])
            assert frame["choices"] == line["choices"] and line["choices"][name] == chosen[place]
            assert frame["choices"]["v1"] == framewise(scored.utility_v1)[place]
            close(line["epdms"][name] * SCORE, scores[place], SCORE)
            assert ("EC" in line["reasons"][name]) == (comfort[place] == 0)
            row = scored.v2[place, chosen[place]]
            assert ("DAC" in line["reasons"][name]) == (row[V2_COLUMNS.index("DAC")] < 1)
            before = scored.previous[place]
            if before < 0:
                assert frame["continues"] is None
            else:
                assert frame["continues"][name] == scored.continues[place, :, chosen[before]].astype(int).tolist()


def test_finished_frames_are_kept_and_broken_ones_made_again(pools: Path, tmp_path: Path, capsys: Any) -> None:
    folder = tmp_path / "pools"
    shutil.copytree(pools, folder)
    frames = sorted(path for path in (folder / "frames").glob("*.json") if path.name != "index.json")
    before = {path: path.read_bytes() for path in frames}
    frames[0].unlink()
    frames[1].write_bytes(before[frames[1]][:-10])
    stamp = frames[2].stat().st_mtime_ns
    assert main(["frames", str(folder)]) == 0
    printed = capsys.readouterr().out
    assert ": 2 frames written" in printed and f"{len(frames) - 2} were there already" in printed
    assert {path: path.read_bytes() for path in frames} == before and frames[2].stat().st_mtime_ns == stamp


def test_frames_of_other_pools_are_made_anew(pools: Path, tmp_path: Path) -> None:
    out = tmp_path / "frames"
    others = store_pools(tmp_path / "others", frames=4, seed=5)
    assert main(["frames", str(others), "--out", str(out)]) == 0
    first = json.loads((out / "index.json").read_bytes())["made_with"]
    assert main(["frames", str(pools), "--out", str(out)]) == 0
    index = json.loads((out / "index.json").read_bytes())
    assert index["made_with"] != first
    assert len(list(out.glob("*.json"))) == 1 + index["frames"]


def test_a_folder_with_other_files_is_left_alone(pools: Path, tmp_path: Path, capsys: Any) -> None:
    for name, message in (("package.json", "not a frame"), ("index.json", "not an index of frames")):
        folder = tmp_path / name.removesuffix(".json")
        folder.mkdir()
        (folder / name).write_text('{"format":"another"}')
        assert main(["frames", str(pools), "--out", str(folder)]) == 1
        assert f"{name}: {message}" in capsys.readouterr().err
        assert (folder / name).read_text() == '{"format":"another"}'


def test_logits_cameras_and_second_tracks() -> None:
    scene = make_scene(3)
    plans = make_plans(scene, 4)
    logits = np.linspace(-9, 9, 24).reshape(4, 6)
    scores = PlannerScores(plans, logits, np.arange(4.0), np.arange(4.0), {"framewise": 3}, {"framewise": 0.5}, None)
    frame = frame_record(scene, scores, {"CAM_F0": "sensor_blobs/mini/x.jpg"})
    close(np.array(list(frame["logits"].values())).T * UTILITY, logits, UTILITY)
    assert list(frame["logits"]) == ["NC", "DAC", "DDC", "TTC", "EP", "C"]
    assert frame["cameras"] == {"CAM_F0": "sensor_blobs/mini/x.jpg"}
    if scene.tracks_v2 is not None:
        assert len(frame["tracks_v2"]) == len(scene.tracks_v2.ids)
    json.dumps(frame, allow_nan=False)


def test_what_is_no_run_is_refused(tmp_path: Path, capsys: Any) -> None:
    assert main(["frames", str(tmp_path)]) == 1
    assert "neither a training run nor a folder of pools" in capsys.readouterr().err
