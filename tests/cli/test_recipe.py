"""The NAVSIM recipe from a dataset to an upload, on the golden dataset and on the city: no test split in training."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.support.images import write_image
from tests.support.navsim_golden import unpack_compact
from tests.support.route_follower import serving
from tests.support.small_training import MACHINE, SMALL
from world4scorer import cli
from world4scorer.datasets.navsim.agent_input import agent_input
from world4scorer.datasets.navsim.cameras import VIEWS
from world4scorer.datasets.navsim.filters import Split, Window, read_split, windows
from world4scorer.datasets.navsim.logs import log_paths, read_log
from world4scorer.datasets.navsim.served_planner import NOW, ServedPlanner
from world4scorer.datasets.navsim.submissions import Plans, read_submission
from world4scorer.drawing.finding import Finding
from world4scorer.driving.closed_loop.planner_agent import AgentOptions
from world4scorer.driving.serving.start import load_served_planner
from world4scorer.evaluation.pools.pool_files import digest_of_planner
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.run_folder import RunFolder
from world4scorer.planner.training.run import TrainData, train

CONFIG = replace(SMALL, auxiliary_target="none", losses=replace(SMALL.losses, bank=0.0), batch=8)


@pytest.fixture(params=["golden", "city"])
def dataset(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, str]:
    """A dataset folder that may be written to, and the name of its training split."""
    if request.param == "golden":
        root = unpack_compact(tmp_path / "data").dataset
        layout, pixels = DataFolder(root), np.full((28, 56, 3), 90, np.uint8)
        for path in log_paths(layout.logs("test")):
            for frame in read_log(path).frames:
                for name in VIEWS:
                    write_image(layout.sensors("test"), frame.cameras[name].path, pixels)
        return root, "synth_mini"
    city: Path = request.getfixturevalue("city")
    root = tmp_path / "data"
    root.mkdir()
    for part in ("maps", "navsim_logs", "sensor_blobs"):
        (root / part).symlink_to(city / part)
    shutil.copytree(city / "config", root / "config")
    return root, "city_train"


def run(*words: object) -> None:
    assert cli.main([str(word) for word in words]) == 0, words


def devkit_input(window: Window, sensors: Path) -> SimpleNamespace:
    """A scene as the devkit gives it to agents: four ego states and cameras with their images."""
    past = agent_input(window)
    states = [
        SimpleNamespace(ego_pose=pose, ego_velocity=velocity, ego_acceleration=acceleration, driving_command=command)
        for pose, velocity, acceleration, command in zip(
            past.poses, past.velocities, past.accelerations, past.commands, strict=True
        )
    ]
    cameras = {
        name.lower(): SimpleNamespace(
            image=camera.load(sensors),
            intrinsics=camera.intrinsics,
            sensor2lidar_rotation=camera.rotation,
            sensor2lidar_translation=camera.translation,
        )
        for name, camera in window[NOW].cameras.items()
        if name in VIEWS
    }
    return SimpleNamespace(ego_statuses=states, cameras=[SimpleNamespace(**cameras)])


def check_devkit_agent(run: Path, data: Path, split: Split, plans: Plans) -> None:
    """In the devkit's process the same plans are chosen, re-ranked along a log, as in the submission."""
    layout, name = DataFolder(data), split.filter.log_names[0]
    log = read_log(layout.log(split.data_split, name))
    with serving(load_served_planner(run, AgentOptions("v2"))) as where:
        planner = ServedPlanner(str(where), options={"inertial": 1.0})
        for window in windows(log, split.filter, 6):
            plan = planner.plan(devkit_input(window, layout.sensors(split.data_split)))
            np.testing.assert_allclose(plan, plans[window[NOW].token], atol=1e-3)


def test_from_a_dataset_to_an_upload(dataset: tuple[Path, str], tmp_path: Path, capsys) -> None:
    data, name = dataset
    layout, folder = DataFolder(data), RunFolder(tmp_path / "run")
    run("split", name, "--data", data, "--validation", 0.3, "--workers", 1)
    parts = [f"{name}_train", f"{name}_val"]
    splits = [read_split(layout.splits / f"{part}.yaml") for part in parts]
    assert not set(splits[0].filter.log_names) & set(splits[1].filter.log_names)
    for part in parts:
        run("prepare", "--data", data, "--split", part, "--store", layout.store(part), "--executor", "serial")
    trained_on = TrainData(data, parts[0], layout.store(parts[0]), parts[1], layout.store(parts[1]))
    train(CONFIG, trained_on, folder.root, MACHINE)
    run("pools", folder.root)
    submission = tmp_path / "submission.pkl"
    run("submit", folder.root, "--split", name, "--out", submission, "--team-name", "us")  # prepares the whole split
    made = json.loads(submission.with_suffix(".json").read_text())
    assert (made["checkpoint"], made["weights"]) == ("best", digest_of_planner(folder.best_planner))
    check_devkit_agent(folder.root, data, splits[1], read_submission(submission).plans)
    run("submit", "--check", submission, "--store", layout.store(name))
    assert "ready to upload" in capsys.readouterr().out
    assert set(read_submission(submission).plans) == {
        token for part in splits for token in (part.filter.tokens or read_submission(submission).plans)
    }
    run("evaluate", folder.root, "--split", name, "--draws", 20)
    found = Finding.load(folder.evaluation / name / "evaluation.json")
    assert found.numbers["means"]["reranked_EPDMS"]["value"] == pytest.approx(made["expected"]["epdms-v2.2"])
    assert f"best weights {made['weights'][:12]}, chosen on {parts[1]}" in found.data
    run("evaluate", submission, "--metric", "epdms-v2.2", "--store", layout.store(name), "--out", tmp_path / "s.csv")
    printed = capsys.readouterr().out
    assert f"score                            {made['expected']['epdms-v2.2']:.4f}" in printed
