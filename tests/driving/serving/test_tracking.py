"""The agent's controllers by hand-computed cases, and its file as an older Python sees it."""

from __future__ import annotations

import ast
import json
import math
import sys

import numpy as np
import pytest

from world4scorer import cli
from world4scorer.driving.clips.ego_car import REAR_AXLE_TO_CENTRE
from world4scorer.driving.clips.rig import IMAGE_SIZE, MOUNTS
from world4scorer.driving.serving import protocol
from world4scorer.driving.serving.agent_file import DEFAULT_OPTIONS, SOURCE
from world4scorer.driving.serving.session import CAMERAS

STRAIGHT = np.column_stack([2.0 * np.arange(1, 9), np.zeros(8), np.zeros(8)])
"""4 m/s."""


@pytest.fixture(scope="module")
def module():
    pytest.importorskip("carla")
    from tests.support.leaderboard_stand_in import installed

    with installed() as loaded:
        yield loaded


def moving(module, speed, pose=(0.0, 0.0, 0.0)):
    return module.Motion(np.array(pose), speed, np.zeros(2), 0.0)


def test_pid(module):
    pid = module.Pid((2.0, 10.0, 100.0))
    assert pid.step(1.0) == 2.0
    assert pid.step(3.0) == pytest.approx(2 * 3 + 10 * 2 + 100 * 2)
    for _ in range(39):
        last = pid.step(0.0)
    assert last == pytest.approx(10 * 3 / 40)  # the 1 has left the window of 40, the 3 is its oldest
    assert pid.step(0.0) == 0.0


def test_the_aim_is_where_the_plan_leaves_the_circle(module):
    line = np.array([[-2.0, 1.0], [1.0, 1.0], [1.0, 20.0]])
    np.testing.assert_allclose(module.aim_point(line, 4.0), [1.0, math.sqrt(15)], atol=0.1)
    np.testing.assert_allclose(module.aim_point(line, 100.0), [1.0, 20.0])
    np.testing.assert_allclose(module.aim_point(np.zeros((3, 2)), 4.0), [4.0, 0.0])


def test_a_plan_stays_where_it_is(module):
    """Made at (10, 5) looking north, 4 m/s; seen 2 m further on by a car that has turned to the west."""
    plan = module.Plan(STRAIGHT, np.array([10.0, 5.0, math.pi / 2]), tick=0)
    np.testing.assert_allclose(plan.points[[0, 1, 8]], [[10, 5], [10, 7], [10, 21]], atol=1e-9)
    seen = plan.in_frame_of(np.array([10.0, 7.0, math.pi]))
    np.testing.assert_allclose(seen[[0, 1, 2, 8, 9]], [[0, 2], [0, 0], [0, -2], [0, -14], [0, -34]], atol=1e-9)
    assert plan.advance(0.25, np.array([10.0, 6.0, math.pi / 2])) == pytest.approx(2.0)
    assert plan.advance(0.25, np.array([10.0, 6.0, math.pi])) == pytest.approx(0.0, abs=1e-9)
    assert plan.advance(3.75, np.array([10.0, 6.0, math.pi / 2])) == pytest.approx(1.0)  # it ends after 4 s


def test_throttle_and_brake(module):
    """Desired: 4 m/s. The error is clipped to 0.25 m/s, so that throttle starts with 5 * 0.25, clipped to 0.75."""
    plan = module.Plan(STRAIGHT, np.zeros(3), tick=0)
    cases = {0.0: (0.75, 0.0), 3.9: (0.5, 0.0), 4.0: (0.0, 0.0), 4.39: (0.0, 0.0), 4.41: (0.0, 1.0)}
    for speed, (throttle, brake) in cases.items():
        control = module.Tracker().control(plan, 0, moving(module, speed))
        assert (control.throttle, control.brake, control.steer) == pytest.approx((throttle, brake, 0.0), abs=1e-6)


def test_a_plan_that_stands_brakes(module):
    for speed, braking in ((0.14, 1.0), (0.16, 0.0)):
        plan = module.Plan(STRAIGHT * [speed / 4, 1, 1], np.zeros(3), tick=0)
        control = module.Tracker().control(plan, 0, moving(module, 0.0))
        assert control.brake == braking and control.steer == pytest.approx(0.0, abs=1e-6)


def test_steering(module):
    """To the left is negative in CARLA. 4 m ahead, above 6.5 m/s 10 m; the first tick is proportional alone."""
    left = np.column_stack([np.zeros(8), 2.0 * np.arange(1, 9), np.full(8, math.pi / 2)])
    plan = module.Plan(left, np.zeros(3), tick=0)
    assert module.Tracker().control(plan, 0, moving(module, 0.0)).steer == -1.0  # -1.25 clipped
    slanted = STRAIGHT + np.array([0.0, 1.0, 0.0]) * STRAIGHT[:, :1] * math.tan(0.1)
    slanted[:, 2] = 0.1
    plan = module.Plan(slanted, np.zeros(3), tick=0)
    expected = -1.25 * 0.1 / (math.pi / 2)
    assert module.Tracker().control(plan, 0, moving(module, 0.0)).steer == pytest.approx(expected, abs=1e-4)
    bent = np.column_stack([STRAIGHT[:, 0], np.where(STRAIGHT[:, 0] > 5, 3.0, 0.0), np.zeros(8)])
    plan = module.Plan(bent, np.zeros(3), tick=0)
    assert module.Tracker().control(plan, 0, moving(module, 6.4)).steer == pytest.approx(0.0, abs=1e-6)
    assert module.Tracker().control(plan, 0, moving(module, 6.6)).steer == pytest.approx(
        -1.25 * math.asin(0.3) / (math.pi / 2), abs=0.01
    )


def test_creeping(module):
    """12 s, then 60 ticks, then 40 ticks of pause, again and again while the car does not move."""
    creep = module.Creep()
    due = [creep.is_due(0.0) for _ in range(240 + 100 + 100)]
    assert due == [False] * 240 + ([True] * 60 + [False] * 40) * 2
    creep.reset()
    due = [creep.is_due(0.0 if tick < 250 else 1.0) for tick in range(400)]
    assert due == [False] * 240 + [True] * 60 + [False] * 100
    moved = [creep.is_due(0.0) for _ in range(240 + 1)]
    assert moved == [False] * 240 + [True]


def test_places_along_a_line_that_comes_back(module):
    line = module.Line([(0, 0), (1, 0), (2, 0), (2, 1), (1, 0), (0, 0)])
    places = line.distances_of(np.array([[0.0, 0.0], [2.0, 1.0], [1.0, 0.0]]))
    np.testing.assert_allclose(places, [0.0, 3.0, 3.0 + math.sqrt(2)])
    assert [line.point_before(place) for place in (0.0, 2.5, 3.0, 99.0)] == [0, 2, 3, 4]


def test_the_file_is_for_python_3_7():
    tree = ast.parse(SOURCE.read_text(), feature_version=(3, 7))
    imported = set()
    for node in ast.walk(tree):
        assert not isinstance(node, ast.NamedExpr | ast.Match)
        if isinstance(node, ast.arguments):
            assert not node.posonlyargs
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            imported.add(node.module.split(".")[0])
        if isinstance(node, ast.Attribute):  # what newer versions brought
            assert node.attr not in ("removeprefix", "removesuffix", "prod") or ast.unparse(node.value) == "np"
    allowed = set(sys.stdlib_module_names) | {"numpy", "carla", "leaderboard", "srunner"}
    assert imported <= allowed


def constants() -> dict[str, object]:
    """What the agent's file says in plain numbers and texts, without running it."""
    found: dict[str, object] = {}
    for node in ast.parse(SOURCE.read_text()).body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        names = [part.id for part in target.elts] if isinstance(target, ast.Tuple) else [getattr(target, "id", None)]
        try:
            value = ast.literal_eval(node.value)
        except (AttributeError, ValueError):
            continue
        found.update(zip(names, value if len(names) > 1 else [value], strict=True))
    return found


def test_what_the_file_repeats_is_what_the_package_says():
    """The file can import nothing of ours."""
    said = constants()
    mounts = tuple((mount.x, mount.y, mount.z, mount.yaw, mount.fov) for mount in MOUNTS)
    assert said["CAMERAS"] == tuple((name, *mount) for name, mount in zip(CAMERAS, mounts, strict=True))
    assert said["REAR_AXLE"] == REAR_AXLE_TO_CENTRE
    assert (said["IMAGE_WIDTH"], said["IMAGE_HEIGHT"]) == IMAGE_SIZE
    assert said["DEFAULTS"]["options"] == DEFAULT_OPTIONS
    assert (said["MAGIC"], said["PROTOCOL"], said["DTYPES"]) == (protocol.MAGIC, protocol.VERSION, protocol.DTYPES)
    assert all(said[kind.name] == kind for kind in protocol.MessageKind)


def test_the_file_is_copied_out(tmp_path, capsys):
    out = tmp_path / "team_code"
    assert cli.main(["b2d", "agent", "--out", str(out), "--server", "unix:planner.sock"]) == 0
    assert (out / "world4scorer_agent.py").read_bytes() == SOURCE.read_bytes()
    written = json.loads((out / "world4scorer_agent.json").read_text())
    assert written == {"server": "unix:planner.sock", "options": {"keep_commands": True, "route": 4.0}}
    assert cli.main(["b2d", "agent", "--out", str(out), "--server", "unix:planner.sock"]) == 0
    (out / "world4scorer_agent.py").write_text("# mine")
    assert cli.main(["b2d", "agent", "--out", str(out)]) == 1
    assert "world4scorer_agent.py: is there and differs" in capsys.readouterr().err
    assert (out / "world4scorer_agent.py").read_text() == "# mine"
    assert cli.main(["b2d", "agent", "--out", str(out), "--overwrite"]) == 0
    assert cli.main(["b2d", "agent", "--out", str(out), "--server", "nowhere"]) == 1
