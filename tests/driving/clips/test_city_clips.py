"""Clips of the city, and the whole way from them to a planner that takes a route point, by the commands."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from tests.support.route_follower import serving
from tests.support.small_training import SMALL
from world4scorer import cli
from world4scorer.city.world.manifest import read_manifest, read_simulation
from world4scorer.datasets.navsim.cameras import VIEWS
from world4scorer.datasets.navsim.logs import read_log
from world4scorer.driving.bench2drive.config import with_route_point
from world4scorer.driving.clips.city_clips import make_city_clips
from world4scorer.driving.clips.clip import find_clips, image_name, read_clip
from world4scorer.driving.clips.errors import ClipError
from world4scorer.driving.clips.prepared import PreparedClips
from world4scorer.driving.closed_loop.planner_agent import AgentOptions
from world4scorer.driving.serving.agent_file import CONFIG, copy_agent
from world4scorer.driving.serving.start import load_served_planner
from world4scorer.engine.outcomes.results import V1_COLUMNS
from world4scorer.engine.scene.geometry import relative_poses
from world4scorer.engine.scene.indices import TrackType
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.executors import SerialExecutor
from world4scorer.planner.planner import Planner
from world4scorer.planner.training.config import OptimiserConfig
from world4scorer.planner.training.losses import bench2drive
from world4scorer.planner.training.run_files import read_history

SECONDS = 8
SMALL_B2D = replace(
    SMALL,
    model=with_route_point(SMALL.model),
    losses=bench2drive(),
    optimiser=OptimiserConfig(learning_rate=1e-3, clip=5.0),
    epochs=1,
    batch=4,
)


@pytest.fixture(scope="module")
def clips(city: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("b2d") / "clips"
    words = f"b2d city-clips --data {city} --out {out} --clips 3 --seconds {SECONDS} --workers 1"
    assert cli.main(words.split()) == 0
    return out


@pytest.fixture(scope="module")
def prepared(clips: Path) -> Path:
    out = clips.with_name("prepared")
    words = f"b2d prepare {clips} --maps {clips}/maps --out {out} --every 3 --executor serial"
    assert cli.main(words.split()) == 0
    return out


def first_log(city):
    entry = read_simulation(city, read_manifest(city)["simulations"][0])
    log = min(entry.logs, key=lambda log: log.first_step)
    return read_log(DataFolder(city).log(entry.data_split, log.name))


def test_clips_tell_what_the_log_tells(city, clips):
    log, clip = first_log(city), read_clip(find_clips(clips)[0][0])
    assert clip.town == "TownIngolstadt" and len(clip) == 10 * SECONDS + 1
    logged = np.array([frame.ego_pose for frame in log.frames[3 : 4 + 2 * SECONDS]])
    np.testing.assert_allclose(clip.poses[::5, :2], logged[:, :2], atol=1e-6)
    np.testing.assert_allclose(np.angle(np.exp(1j * (clip.poses[::5, 2] - logged[:, 2]))), 0, atol=1e-9)
    np.testing.assert_allclose(clip.velocity[::5, 0], [frame.velocity[0] for frame in log.frames[3 : 4 + 2 * SECONDS]])
    np.testing.assert_allclose(clip.acceleration[0], log.frames[3].acceleration, atol=1e-6)
    # Between frames the car does not jump.
    steps = np.linalg.norm(np.diff(clip.poses[:, :2], axis=0), axis=1)
    np.testing.assert_allclose(steps, 0.1 * (clip.velocity[1:, 0] + clip.velocity[:-1, 0]) / 2, atol=0.05)


def test_other_options_need_another_folder(city, clips, tmp_path, capsys):
    """The same again keeps everything; clips of another length or split, or fewer of them, are not mixed with these."""
    line = f"b2d city-clips --data {city} --out {clips} --workers 1"
    before = {path: path.stat().st_mtime_ns for path in clips.rglob("anno/*.gz")}
    assert cli.main(f"{line} --clips 3 --seconds {SECONDS}".split()) == 0
    assert {path: path.stat().st_mtime_ns for path in clips.rglob("anno/*.gz")} == before
    capsys.readouterr()
    for options, told in (
        ("--clips 3 --seconds 5", f"seconds: {SECONDS}.0, now 5.0"),
        ("--clips 3", f"seconds: {SECONDS}.0, now null"),
        (f"--clips 3 --seconds {SECONDS} --split city_val", 'split: "city_train", now "city_val"'),
        (f"--clips 2 --seconds {SECONDS}", "this folder is for 3 clips, more than 2"),
    ):
        assert cli.main(f"{line} {options}".split()) == 1
        said = capsys.readouterr().err
        assert told in said and "city-clips.json: " in said and "choose another folder" in said
    assert {path: path.stat().st_mtime_ns for path in clips.rglob("anno/*.gz")} == before


def test_more_clips_may_follow(city, tmp_path):
    make = partial(make_city_clips, city, tmp_path, seconds=0.5, executor=SerialExecutor())
    (first,) = make(clips=1)
    before = (first / "anno" / "00000.json.gz").stat().st_mtime_ns
    assert [path.is_dir() for path in make(clips=2)] == [True, True]
    assert (first / "anno" / "00000.json.gz").stat().st_mtime_ns == before
    (tmp_path / "city-clips.json").unlink()
    with pytest.raises(ClipError, match="says how they were made"):
        make(clips=2)
    (tmp_path / "city-clips.json").write_text("{")
    with pytest.raises(ClipError, match="cannot be read as JSON"):
        make(clips=2)


def test_boxes_are_those_of_the_log(city, clips):
    frame, clip = first_log(city).frames[3], read_clip(find_clips(clips)[0][0])
    users = frame.annotations
    moving = np.isin(users.type, [TrackType.VEHICLE, TrackType.BICYCLE, TrackType.PEDESTRIAN])
    expected = users.boxes[moving]
    found = clip.boxes_at(0)
    seen = relative_poses(found[:, :3], clip.poses[0])
    order, other = np.lexsort(np.round(seen[:, :2].T, 3)), np.lexsort(np.round(expected[:, :2].T, 3))
    np.testing.assert_allclose(seen[order, :2], expected[other, :2], atol=1e-3)
    np.testing.assert_allclose(2 * found[order, 3:5], expected[other, 3:5], atol=1e-6)


def test_cameras_and_images(city, clips):
    log, clip = first_log(city), read_clip(find_clips(clips)[0][0])
    for number, name in enumerate(VIEWS):
        camera = log.frames[3].cameras[name]
        np.testing.assert_allclose(clip.cameras.rotation[number], camera.rotation, atol=1e-9)
        np.testing.assert_allclose(clip.cameras.translation[number], camera.translation, atol=1e-9)
        np.testing.assert_allclose(clip.cameras.intrinsics[number], camera.intrinsics)
        with Image.open(clip.folder / image_name(number, 0)) as image:
            assert image.size == tuple(clip.cameras.image_size)


def test_the_route_leads_where_the_ego_goes(prepared):
    clips = PreparedClips.open(prepared)
    for name in clips.clips:
        clip = clips[name]
        away = np.linalg.norm(clip.poses[:, None, :2] - clip.route[None], axis=2).min(1)
        assert away.max() < 6.0  # a lane aside, at most
        assert (clip.route_points[:, 0] > 0).mean() > 0.9


def test_the_expert_drives_well(prepared):
    clips = PreparedClips.open(prepared)
    tokens = [f"{name}/{frame:05d}" for name in clips.clips for frame in clips[name].moments]
    table = np.array([clips.label(token, clips.expert_motion(token)[1][None])[0] for token in tokens])
    means = dict(zip(V1_COLUMNS, table.mean(0), strict=True))
    assert means["NC"] == means["C"] == 1 and means["EP"] == pytest.approx(1) and means["DAC"] > 0.97


def in_another_process(*lines: list[object]) -> None:
    """Run commands one after the other; training changes how its process computes."""
    words = [[str(word) for word in line] for line in lines]
    code = f"import sys; from world4scorer import cli; sys.exit(any(cli.main(line) for line in {words!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def runs(prepared: Path) -> Path:
    """The folder of two runs: one blind to the route, one that began with it and takes one clip for its own drive."""
    folder = prepared.with_name("runs")
    folder.mkdir()
    assert cli.main(f"b2d vocab {prepared} --out {folder}/v.npz --shapes 12".split()) == 0
    (folder / "settings.json").write_text(SMALL_B2D.to_json())
    common = ["--vocab", folder / "v.npz", "--settings", folder / "settings.json", "--target-encoder", "city"]
    common += ["--accelerator", "cpu", "--threads", "1", "--validation", "0.3"]
    train = ["b2d", "train", prepared, *common]
    own = sorted(PreparedClips.open(prepared).clips)[0]
    in_another_process(
        [*train, "--out", folder / "blind", "--route-blind"],
        [*train, "--out", folder / "run", "--from-planner", folder / "blind" / "planner", "--own", own],
    )
    return folder


def test_distances_of_the_route_point(prepared, capsys):
    assert cli.main(f"b2d scan {prepared}".split()) == 0
    assert "| 20 m |" in capsys.readouterr().out


def test_the_whole_way(runs):
    blind, routed = (Planner.from_pretrained(runs / name / "planner") for name in ("blind", "run"))
    assert blind.config.ego_numbers == 11 and routed.config.ego_numbers == 13
    weights = routed.network.ego_encoder.weight
    assert weights[:, 11:].ne(0).any() and not torch.equal(weights[:, :11], blind.network.ego_encoder.weight)
    before, after = blind.network.heads.components, routed.network.heads.components
    assert torch.equal(
        before["driving_direction_compliance"][0].weight, after["driving_direction_compliance"][0].weight
    )
    assert not torch.equal(before["ego_progress"][0].weight, after["ego_progress"][0].weight)
    for run in ("blind", "run"):
        last = read_history(runs / run)[-1]
        for name in ("train/imitation", "train/score", "train/bank", "train/future", "val/score"):
            assert np.isfinite(last[name])
        total = (
            last["train/imitation"] + 0.5 * last["train/score"] + 0.5 * last["train/bank"] + 0.1 * last["train/future"]
        )
        assert last["train/total"] == pytest.approx(total, rel=1e-5)


def test_the_agent_drives_by_it(clips, runs, tmp_path):
    """The last link: the run is served, and CARLA's agent asks it for plans with the images of a clip."""
    pytest.importorskip("carla")
    from tests.support.leaderboard_stand_in import Car, Provider, installed, left_turn

    clip = read_clip(find_clips(clips)[0][0])
    pictures = [np.asarray(Image.open(clip.folder / image_name(camera, 0)).convert("RGB")) for camera in range(4)]
    said: list[str] = []
    with serving(load_served_planner(runs / "run", AgentOptions()), said=said) as where, installed() as module:
        copy_agent(tmp_path, {"server": str(where)})
        images = {
            name: (0, np.dstack([picture[..., ::-1], np.full(picture.shape[:2], 255, np.uint8)]))
            for (name, *_), picture in zip(module.CAMERAS, pictures, strict=True)
        }
        plan = left_turn()
        car = Provider.hero = Car(plan[0][0])
        agent = module.World4ScorerAgent("127.0.0.1", 2000)
        agent.set_global_plan([None] * len(plan), plan)
        agent.setup(f"{tmp_path / CONFIG}+Route")
        for tick in range(40):
            car.drive(agent.run_step(images, 0.05 * tick))
            assert agent._plan is not None and agent._plan.tick == tick - tick % 10
        agent.destroy()
    assert said[0].endswith("drive 'Route' begun, 121 m") and "ended, 4 decisions" in said[1]
    with pytest.raises(ValueError, match="benchmark v2"):
        load_served_planner(runs / "blind", AgentOptions("v2"))
