"""The planner in the NAVSIM devkit's process: Python 3.9 and NumPy 1.23 there, the planner behind a server."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from tests.support.route_follower import arc, serving
from world4scorer.datasets.navsim import agent, served_planner
from world4scorer.datasets.navsim.served_planner import ServedPlanner, ServerRefused, follows
from world4scorer.engine.scene.geometry import relative_poses
from world4scorer.planner.model.config import city
from world4scorer.planner.model.utility import COMPONENTS
from world4scorer.planner.planner import ScoredPlans

FILES = [Path(module.__file__) for module in (agent, served_planner)]
SOURCE = FILES[0].parents[3]


class TwoPlans(nn.Module):
    """Straight on, or a bend; what is better changes from frame to frame."""

    def __init__(self) -> None:
        super().__init__()
        self.config = replace(city(), proposals=2, plan_sampling=False, sampling_fine=0)
        self.weight = nn.Parameter(torch.zeros(1))
        self.status: list[np.ndarray] = []

    def forward(
        self, image: torch.Tensor, ego_status: torch.Tensor, cameras: object = None, corridor: object = None
    ) -> ScoredPlans:
        plans = torch.from_numpy(np.stack([arc(5.0, 0.0), arc(5.0, 0.08)]))[None].float()
        better = len(self.status) % 2
        self.status.append(ego_status[0].numpy().copy())
        quality = torch.tensor([[1.0 - better, float(better)]])
        return ScoredPlans(plans, torch.zeros(1, 2, 4), dict.fromkeys(COMPONENTS, quality))


def scenes(seed: int, frames: int = 9) -> list[SimpleNamespace]:
    """Scenes of a log as the devkit gives them: four ego states, the last of them now, and four cameras."""
    rng = np.random.default_rng(seed)
    poses = np.column_stack([2.5 * np.arange(frames) + 100.0 * seed, rng.normal(50, 1e-3, frames), np.zeros(frames)])
    motion = rng.normal([5.0, 0.0, 0.0, 0.0], 1e-3, (frames, 4)).astype(np.float32)
    command = np.eye(4, dtype=int)[rng.integers(0, 4, frames)]
    camera = SimpleNamespace(
        image=np.zeros((28, 56, 3), np.uint8),
        intrinsics=np.diag([50.0, 50.0, 1.0]),
        sensor2lidar_rotation=np.eye(3),
        sensor2lidar_translation=np.zeros(3),
    )
    cameras = SimpleNamespace(**dict.fromkeys(("cam_f0", "cam_b0", "cam_l0", "cam_r0"), camera))
    found = []
    for now in range(3, frames):
        past = range(now - 3, now + 1)
        local = relative_poses(poses[list(past)], poses[now]).astype(np.float32)
        states = [
            SimpleNamespace(
                ego_pose=pose, ego_velocity=motion[i, :2], ego_acceleration=motion[i, 2:], driving_command=command[i]
            )
            for pose, i in zip(local, past, strict=True)
        ]
        found.append(SimpleNamespace(ego_statuses=states, cameras=[cameras] * 4))
    return found


def test_scenes_that_follow_each_other_are_known():
    first, second = scenes(0), scenes(1)
    for before, after in pairwise(first):
        assert follows(before.ego_statuses, after.ego_statuses)
        assert not follows(after.ego_statuses, before.ego_statuses)
    assert not follows(first[0].ego_statuses, first[2].ego_statuses)
    assert not follows(first[-1].ego_statuses, second[0].ego_statuses) and not follows((), first[0].ego_statuses)
    moved = scenes(0)[1]
    moved.ego_statuses[-2].ego_pose = moved.ego_statuses[-2].ego_pose + np.float32(0.5)
    assert not follows(first[0].ego_statuses, moved.ego_statuses)


def test_choices_are_kept_along_a_log_and_forgotten_after_it():
    planner, said = TwoPlans(), []
    with serving(planner, said=said) as where:
        alone = ServedPlanner(str(where), options={"benchmark": "v2"})
        framewise = [alone.plan(scene) for scene in scenes(0)]
        again = ServedPlanner(str(where), options={"benchmark": "v2", "inertial": 100.0})
        reranked = [again.plan(scene) for scene in [*scenes(0), *scenes(1)]]
    straight, bent = arc(5.0, 0.0).astype(np.float32), arc(5.0, 0.08).astype(np.float32)
    for number, plan in enumerate(framewise):
        np.testing.assert_array_equal(plan, bent if number % 2 else straight)
    np.testing.assert_array_equal(reranked[:6], [straight] * 6)  # the first choice is kept
    assert len([line for line in said if "begun" in line]) == 3
    first = scenes(0)[0].ego_statuses[-1]
    np.testing.assert_array_equal(planner.status[0][3:5], first.ego_velocity)
    np.testing.assert_array_equal(planner.status[0][5:7], first.ego_acceleration)
    np.testing.assert_array_equal(planner.status[0][7:11], first.driving_command)


def test_what_is_wrong_is_said():
    with pytest.raises(ValueError, match="either server or checkpoint"):
        ServedPlanner("127.0.0.1:1", "run")
    with pytest.raises(ServerRefused, match=r"w4s serve --checkpoint RUN"):
        ServedPlanner("127.0.0.1:1").initialize()
    with pytest.raises(ServerRefused, match="did not start"):
        ServedPlanner(checkpoint="run", command=shutil.which("true") or "true").initialize()
    with serving(TwoPlans()) as where, pytest.raises(ServerRefused, match="cam_f0: no image"):
        scene = scenes(0)[0]
        scene.cameras[-1].cam_f0.image = None
        ServedPlanner(str(where)).plan(scene)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_files_are_of_python_3_9_and_import_numpy_alone(path: Path):
    tree = ast.parse(path.read_text(), feature_version=(3, 9))
    roots = {name.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    modules = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    own = {name for name in modules if name.startswith("world4scorer")}
    assert own <= {"world4scorer.datasets.navsim.served_planner"}
    assert roots | {name.split(".")[0] for name in modules} <= {*sys.stdlib_module_names, "numpy", "world4scorer"}
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    assert not any(keyword.arg == "strict" for call in calls for keyword in call.keywords)


def test_the_agent_is_imported_by_python_3_9():
    python = shutil.which("python3.9")
    check = "import numpy, world4scorer.datasets.navsim.agent as a; a.ServedPlanner('127.0.0.1:1'); print('imported')"
    environment = os.environ | {"PYTHONPATH": str(SOURCE)}
    words = [python or "python3.9", "-c", check]
    done = None if python is None else subprocess.run(words, env=environment, capture_output=True, text=True)
    if done is None or "No module named 'numpy'" in done.stderr or done.returncode == 127:
        pytest.skip("no Python 3.9 with NumPy here")
    assert done.stdout == "imported\n", done.stderr
