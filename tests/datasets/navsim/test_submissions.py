from __future__ import annotations

import pickle
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from world4scorer.datasets.navsim import agent as agent_module
from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.datasets.navsim.pickles import UnsafePickle
from world4scorer.datasets.navsim.pools import read_pools
from world4scorer.datasets.navsim.submissions import read_submission, write_submission

PLAN = np.stack([np.arange(1, 9) * 2.5, np.linspace(0, 0.3, 8), np.linspace(0, 0.1, 8)], axis=1)

# Stand-ins with the shape of the devkits' classes; a plain `pickle.load` must restore these.
DEVKIT = """
import dataclasses, pickle, sys, types
import numpy as np

def module(name):
    parts = name.split(".")
    for i in range(1, len(parts) + 1):
        sys.modules.setdefault(".".join(parts[:i]), types.ModuleType(".".join(parts[:i])))
    return sys.modules[name]

@dataclasses.dataclass(frozen=True)
class TrajectorySampling:
    num_poses: int = None
    time_horizon: float = None
    interval_length: float = None

    def __post_init__(self):
        raise AssertionError("a pickle does not call this")

@dataclasses.dataclass
class Trajectory:
    poses: np.ndarray
    trajectory_sampling: TrajectorySampling

for cls, name in (
    (TrajectorySampling, "nuplan.planning.simulation.trajectory.trajectory_sampling"),
    (Trajectory, "navsim.common.dataclasses"),
):
    cls.__module__ = name
    setattr(module(name), cls.__name__, cls)
"""


def in_devkit(script: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", DEVKIT + script, *arguments], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_official_scripts_would_accept_what_we_write(tmp_path: Path) -> None:
    write_submission(tmp_path / "v1.pkl", {"a": PLAN, "b": 2 * PLAN}, version="v1.1", team_name="we")
    write_submission(tmp_path / "v2.pkl", {"a": PLAN}, version="v2.2", second_stage={"s" * 17: PLAN})
    output = in_devkit(
        """
v1 = pickle.load(open(sys.argv[1], "rb"))
assert list(v1) == ["team_name", "authors", "email", "institution", "country / region", "predictions"], list(v1)
(predictions,) = v1["predictions"]
assert list(predictions) == ["a", "b"]
plan = predictions["a"]
assert type(plan) is Trajectory and type(plan.trajectory_sampling) is TrajectorySampling
sampling = plan.trajectory_sampling
assert (sampling.num_poses, sampling.time_horizon, sampling.interval_length) == (8, 4.0, 0.5)
assert set(vars(sampling)) == {"num_poses", "time_horizon", "interval_length"}
assert plan.poses.dtype == np.float32 and plan.poses.shape == (8, 3)
print(plan.poses.tolist())
v2 = pickle.load(open(sys.argv[2], "rb"))
assert list(v2)[-2:] == ["first_stage_predictions", "second_stage_predictions"]
assert type(v2["second_stage_predictions"][0]["s" * 17]) is Trajectory
""",
        str(tmp_path / "v1.pkl"),
        str(tmp_path / "v2.pkl"),
    )
    np.testing.assert_array_equal(np.array(eval(output)), PLAN.astype(np.float32))


def test_pickle_names_only_what_numpy_1_and_the_devkits_know(tmp_path: Path) -> None:
    write_submission(tmp_path / "v1.pkl", {"a": PLAN}, version="v1.1")
    content = (tmp_path / "v1.pkl").read_bytes()
    assert b"numpy.core.multiarray" in content
    assert b"numpy._core" not in content and b"world4scorer" not in content


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_reads_what_the_devkits_write(tmp_path: Path, protocol: int) -> None:
    for name, script in {
        "v1.pkl": '{"team_name": "they", "predictions": [{"a": plan}]}',
        "v2.pkl": '{"first_stage_predictions": [{"a": plan}], "second_stage_predictions": [{"b": plan}]}',
    }.items():
        in_devkit(
            f"""
sampling = object.__new__(TrajectorySampling)
vars(sampling).update(num_poses=8, time_horizon=4, interval_length=0.5)
plan = Trajectory(np.arange(24, dtype=np.float32).reshape(8, 3), sampling)
pickle.dump({script}, open(sys.argv[1], "wb"), protocol={protocol})
""",
            str(tmp_path / name),
        )
    v1, v2 = read_submission(tmp_path / "v1.pkl"), read_submission(tmp_path / "v2.pkl")
    assert (v1.version, v2.version) == ("v1.1", "v2.2")
    assert v1.header == {"team_name": "they"}
    np.testing.assert_array_equal(v1.plans["a"], np.arange(24.0).reshape(8, 3))
    assert list(v2.plans) == ["a"] and list(v2.second_stage) == ["b"]


@given(
    plans=st.dictionaries(
        st.text("0123456789abcdef", min_size=16, max_size=17),
        hnp.arrays(np.float32, (8, 3), elements=st.floats(-200, 200, width=32)),
        max_size=4,
    )
)
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, plans: dict[str, Any]) -> None:
    path = tmp_path_factory.mktemp("submission") / "s.pkl"
    write_submission(path, plans, version="v2.2", second_stage=plans)
    found = read_submission(path)
    assert list(found.plans) == list(plans) == list(found.second_stage)
    for token, plan in plans.items():
        assert found.plans[token].astype(np.float32).tobytes() == plan.tobytes()


def pickled(path: Path, content: Any) -> Path:
    path.write_bytes(pickle.dumps(content))
    return path


def test_bad_submissions_are_named(tmp_path: Path) -> None:
    path = tmp_path / "bad.pkl"
    with pytest.raises(DatasetError, match=r"bad\.pkl: neither 'predictions'"):
        read_submission(pickled(path, {"team_name": "x"}))
    with pytest.raises(DatasetError, match=r"must be a list with one dict.*found 2 entries"):
        read_submission(pickled(path, {"predictions": [{}, {}]}))
    with pytest.raises(DatasetError, match="holds a list"):
        read_submission(pickled(path, [1]))
    with pytest.raises(DatasetError, match=r"bad\.pkl: plans of tok: expected shape"):
        read_submission(pickled(path, {"predictions": [{"tok": np.zeros((40, 3))}]}))
    with pytest.raises(DatasetError, match="plans of tok: plan 0, pose 2, x is nan"):
        plan = PLAN.copy()
        plan[2, 0] = np.nan
        read_submission(pickled(path, {"predictions": [{"tok": plan}]}))
    path.write_bytes(pickle.dumps({"predictions": [{}]})[:-3])
    with pytest.raises(ValueError, match=r"bad\.pkl: truncated or damaged"):
        read_submission(path)
    path.write_bytes(b"cos\nsystem\n(S'true'\ntR.")
    with pytest.raises(UnsafePickle, match=r"os\.system"):
        read_submission(path)


def test_other_sampling_is_refused(tmp_path: Path) -> None:
    in_devkit(
        """
sampling = object.__new__(TrajectorySampling)
vars(sampling).update(num_poses=40, time_horizon=4, interval_length=0.1)
pickle.dump({"predictions": [{"tok": Trajectory(np.zeros((40, 3)), sampling)}]}, open(sys.argv[1], "wb"))
""",
        str(tmp_path / "s.pkl"),
    )
    with pytest.raises(DatasetError, match=r"the plan of 'tok' has a pose every 0\.1 s"):
        read_submission(tmp_path / "s.pkl")


def test_plain_dict_is_a_submission(tmp_path: Path) -> None:
    found = read_submission(pickled(tmp_path / "plain.pkl", {"a": PLAN}))
    np.testing.assert_array_equal(found.plans["a"], PLAN)


def test_writer_refuses(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="one stage only"):
        write_submission(tmp_path / "s.pkl", {}, version="v1.1", second_stage={})
    with pytest.raises(ValueError, match="unknown version"):
        write_submission(tmp_path / "s.pkl", {}, version="v3")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="plans of tok"):
        write_submission(tmp_path / "s.pkl", {"tok": np.zeros((7, 3))}, version="v1.1")
    assert not list(tmp_path.iterdir())


def test_pools(tmp_path: Path) -> None:
    plans = np.stack([PLAN, 2 * PLAN])
    content = {
        "alone": PLAN,
        "many": plans,
        "scored": {"trajectories": plans, "scores": np.array([0.5, 0.25]), "sub_scores": np.zeros((2, 6))},
    }
    pools = read_pools(pickled(tmp_path / "pool.pkl", content))
    assert pools["alone"].plans.shape == (1, 8, 3) and pools["alone"].utilities is None
    np.testing.assert_array_equal(pools["many"].plans, plans)
    np.testing.assert_array_equal(pools["scored"].utilities, [0.5, 0.25])
    assert list(pools["scored"].others) == ["sub_scores"]
    with pytest.raises(DatasetError, match="plans are looked for under plans"):
        read_pools(pickled(tmp_path / "pool.pkl", {"tok": {"x": plans}}))
    with pytest.raises(DatasetError, match="pool dump is a dict"):
        read_pools(pickled(tmp_path / "pool.pkl", [plans]))


class StraightOn:
    sensors = {"cam_f0": [3]}  # noqa: RUF012

    def __init__(self) -> None:
        self.ready = False

    def initialize(self) -> None:
        self.ready = True

    def plan(self, agent_input: Any) -> Any:
        return PLAN * agent_input


@pytest.fixture
def devkit(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> types.ModuleType:
    """Stand-in modules with the devkit's names, of version 1 or 2."""
    with_sampling = request.param == 2

    class AgentV1:
        def __init__(self, requires_scene: bool = False) -> None:
            self.requires_scene = requires_scene

    class AgentV2:
        def __init__(self, trajectory_sampling: Any, requires_scene: bool = False) -> None:
            self.trajectory_sampling = trajectory_sampling

    contents: dict[str, dict[str, Any]] = {
        "navsim.agents.abstract_agent": {"AbstractAgent": AgentV2 if with_sampling else AgentV1},
        "navsim.common.dataclasses": {
            "Trajectory": lambda poses, sampling: types.SimpleNamespace(poses=poses, trajectory_sampling=sampling),
            "SensorConfig": lambda **sensors: sensors,
        },
        "nuplan.planning.simulation.trajectory.trajectory_sampling": {"TrajectorySampling": types.SimpleNamespace},
    }
    for name, content in contents.items():
        parts = name.split(".")
        for i in range(1, len(parts)):
            monkeypatch.setitem(sys.modules, ".".join(parts[:i]), types.ModuleType(".".join(parts[:i])))
        module = types.ModuleType(name)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)
    agent_module._agent_class.cache_clear()
    yield sys.modules["navsim"]
    agent_module._agent_class.cache_clear()


@pytest.mark.parametrize("devkit", [1, 2], indirect=True)
@pytest.mark.usefixtures("devkit")
def test_agent() -> None:
    from world4scorer.datasets.navsim.agent import World4ScorerAgent

    planner = StraightOn()
    agent = World4ScorerAgent(planner)
    agent.initialize()
    assert planner.ready and agent.name() == "world4scorer"
    sensors = agent.get_sensor_config()
    assert sensors["cam_f0"] == [3] and sensors["lidar_pc"] is False and len(sensors) == 9
    trajectory = agent.compute_trajectory(2.0)
    np.testing.assert_array_equal(trajectory.poses, (2 * PLAN).astype(np.float32))
    assert trajectory.trajectory_sampling.num_poses == 8
    with pytest.raises(ValueError, match="expected shape"):
        World4ScorerAgent(types.SimpleNamespace(plan=lambda _: np.zeros((3, 3)))).compute_trajectory(None)
    with pytest.raises(ValueError, match="unknown sensor 'radar'"):
        World4ScorerAgent(types.SimpleNamespace(sensors={"radar": True})).get_sensor_config()


def test_agent_without_the_devkit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "navsim", None)
    agent_module._agent_class.cache_clear()
    with pytest.raises(ImportError, match="NAVSIM devkit is not installed"):
        _ = agent_module.World4ScorerAgent
    with pytest.raises(AttributeError):
        _ = agent_module.Nothing


def test_planner_by_name() -> None:
    assert isinstance(agent_module.load_planner(f"{__name__}:StraightOn"), StraightOn)
    with pytest.raises(ValueError, match="not of the form"):
        agent_module.load_planner("planner")
    with pytest.raises(ValueError, match="cannot be imported"):
        agent_module.load_planner("nowhere.at.all:Planner")
