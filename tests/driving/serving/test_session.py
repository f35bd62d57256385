"""What a session answers, without sockets; the agent alone decides what a session tells."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.support.route_follower import CRUISE, RouteFollower, arc
from world4scorer.driving.closed_loop.observation import Observation
from world4scorer.driving.closed_loop.planner_agent import AgentOptions, PlannerAgent
from world4scorer.driving.serving.fields import RequestError
from world4scorer.driving.serving.protocol import Message, MessageKind
from world4scorer.driving.serving.requests import steering_angle
from world4scorer.driving.serving.session import ServedPlanner, Session, bench2drive_rig
from world4scorer.engine.routes.route import Route
from world4scorer.planner.training import config as training
from world4scorer.planner.training.losses import bench2drive, paper
from world4scorer.planner.training.run_files import has_direction_labels

BEND = np.column_stack([20 * np.sin(np.arange(0, 1.5, 0.05)), 20 - 20 * np.cos(np.arange(0, 1.5, 0.05))])
"""A left turn with a radius of 20 m."""
HELLO = Message(MessageKind.HELLO, {"client": "test"})
MOTION = {"time": 0.0, "pose": [0.0, 0.0, 0.0], "velocity": [4.0, 0.0], "acceleration": [0.0, 0.0]}
FOLLOW = {"channels": "RGB", "command": 4}


def images(height: int = 112, width: int = 196, channels: int = 3, count: int = 4) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    names = ("front", "back", "front_left", "front_right")[:count]
    return {name: rng.integers(0, 256, (height, width, channels), dtype=np.uint8) for name in names}


def begin(fields: dict[str, Any] | None = None, arrays: dict[str, Any] | None = None) -> Message:
    return Message(MessageKind.BEGIN, {"name": "drive", **(fields or {})}, {"route": BEND, **(arrays or {})})


def decide(arrays: dict[str, Any] | None = None, **changes: Any) -> Message:
    return Message(MessageKind.DECIDE, {**MOTION, **FOLLOW, **changes}, images() if arrays is None else arrays)


@pytest.fixture
def planner() -> RouteFollower:
    return RouteFollower()


@pytest.fixture
def session(planner: RouteFollower) -> Session:
    opened = Session(ServedPlanner(planner, "planner", "digest"))
    opened.answer(HELLO)
    return opened


def test_welcome():
    welcome = Session(ServedPlanner(RouteFollower(), "planner", "digest")).answer(HELLO)
    assert welcome.kind is MessageKind.WELCOME
    assert welcome.fields["cameras"] == ["front", "back", "front_left", "front_right"]
    assert (welcome.fields["image_height"], welcome.fields["image_width"]) == (112, 196)
    assert (welcome.fields["planner"], welcome.fields["digest"]) == ("planner", "digest")


def test_order_of_requests(session):
    with pytest.raises(RequestError, match="hello: must come first"):
        Session(ServedPlanner(RouteFollower(), "planner", "")).answer(begin())
    with pytest.raises(RequestError, match="no drive has begun"):
        session.answer(decide())
    with pytest.raises(RequestError, match="no drive has begun"):
        session.answer(Message(MessageKind.END))
    with pytest.raises(RequestError, match="is for servers"):
        session.answer(Message(MessageKind.WELCOME))


def test_a_decision(session):
    session.answer(begin())
    answer = session.answer(decide(pool=True))
    # The circle through the origin and a point on it that is 20 m away is the route itself.
    np.testing.assert_allclose(np.hypot(*answer.fields["route_point"]), 20.0)
    np.testing.assert_allclose(answer.arrays["plan"], arc(CRUISE, 1 / 20), atol=0.02)
    assert answer.fields["chosen"] == 0 and answer.fields["travelled"] == 0.0
    assert answer.arrays["plans"].shape == (9, 8, 3)
    assert answer.arrays["utility"].shape == answer.arrays["ranked"].shape == (9,)
    assert "plans" not in session.answer(decide(time=0.5)).arrays
    assert session.answer(Message(MessageKind.END)).fields == {"decisions": 2}


def test_the_same_as_the_pilot(session, planner):
    """Whatever the order of the channels, and with all of the selection."""
    asked = {"inertial": 1.0, "route": 4.0, "benchmark": "v2"}
    agent = PlannerAgent(RouteFollower(), AgentOptions(inertial=1.0, route=4.0, benchmark="v2"))
    agent.begin("drive", Route(BEND))
    taken = images()
    for channels, order in (("RGB", (0, 1, 2)), ("BGRA", (2, 1, 0, 0))):
        session.answer(begin({"options": asked}))
        for moment in range(3):
            pose = np.array([1.5 * moment, 0.1 * moment, 0.1])
            sent = {name: np.ascontiguousarray(image[..., order]) for name, image in taken.items()}
            motion = {"time": moment / 2, "pose": pose.tolist(), "yaw_rate": 0.2}
            answer = session.answer(decide(sent, channels=channels, pool=True, **motion))
            if channels == "RGB":
                observation = Observation(
                    moment / 2,
                    tuple(taken.values()),
                    pose,
                    np.array([4.0, 0.0]),
                    np.zeros(2),
                    np.array([0, 1, 0, 0], np.float32),
                    yaw_rate=0.2,
                    steering=float(np.arctan(3.089 * 0.2 / 4.0)),
                )
                decision = agent.decide(observation)
                assert answer.fields["chosen"] == decision.chosen
                np.testing.assert_array_equal(answer.arrays["ranked"], decision.ranked)
                np.testing.assert_array_equal(answer.arrays["plans"], decision.plans)
                np.testing.assert_array_equal(planner.views[0], agent.planner.views[0])
    np.testing.assert_array_equal(planner.views[0], agent.planner.views[0])


def test_commands_are_kept(session, planner):
    nodes = {"nodes": np.array([[0.0, 0.0], [15.0, 0.0]]), "node_options": np.array([4, 1], np.int32)}
    session.answer(begin({"options": {"keep_commands": True}}, nodes))
    untold = Message(MessageKind.DECIDE, {**MOTION, "channels": "RGB"}, images())
    assert session.answer(untold).fields["command"] == [1.0, 0.0, 0.0, 0.0]
    session.answer(begin())
    assert session.answer(decide(command=2)).fields["command"] == [0.0, 0.0, 1.0, 0.0]
    assert session.answer(decide(time=0.5)).fields["command"] == [0.0, 1.0, 0.0, 0.0]
    assert planner.commands == [0, 2, 1]


def test_a_drive_that_hears_of_no_turns_is_refused(session):
    session.answer(begin())
    with pytest.raises(RequestError, match="'command' is missing, and this drive does not keep commands"):
        session.answer(Message(MessageKind.DECIDE, {**MOTION, "channels": "RGB"}, images()))
    assert session.answer(decide()).kind is MessageKind.DECISION


def test_a_planner_that_knows_nothing_of_directions_is_not_asked():
    planner = RouteFollower()
    session = Session(ServedPlanner(planner, "b2d", "", knows_directions=False))
    session.answer(HELLO)
    with pytest.raises(RequestError, match=r"benchmark v2: .* for which b2d was not trained"):
        session.answer(begin({"options": {"benchmark": "v2"}}))
    session.answer(begin({"options": {"benchmark": "v1"}}))
    with pytest.raises(ValueError, match="use v1"):
        ServedPlanner(planner, "b2d", "", AgentOptions("v2"), knows_directions=False)


def test_the_run_says_whether_directions_were_trained(tmp_path):
    config = training.city()
    blind, routed = config.model, replace(config.model, ego_numbers=13)
    assert has_direction_labels(tmp_path / "planner", blind)
    assert not has_direction_labels(tmp_path / "planner", routed)
    (tmp_path / "data.json").write_text("{}")
    for losses in (paper(), bench2drive()):
        (tmp_path / "config.json").write_text(replace(config, losses=losses).to_json())
        for model in (blind, routed):
            assert has_direction_labels(tmp_path / "planner", model) == losses.driving_direction


def test_sessions_do_not_share_their_memory(planner):
    served = ServedPlanner(planner, "planner", "")
    first, second = Session(served), Session(served)
    for session in (first, second):
        session.answer(HELLO)
        session.answer(begin())
    assert first.answer(decide(pose=[19.0, 19.0, 1.5])).fields["travelled"] > 20
    assert second.answer(decide()).fields["travelled"] == 0.0


def test_fixed_options():
    session = Session(ServedPlanner(RouteFollower(), "planner", "", AgentOptions(route=4.0), fixed=True))
    session.answer(HELLO)
    assert session.answer(begin({"options": {"route": 4.0}})).fields["options"]["route"] == 4.0
    with pytest.raises(RequestError, match="--fixed"):
        session.answer(begin({"options": {"route": 1.0}}))


EYES = np.repeat(np.eye(3)[None], 4, 0)


@pytest.mark.parametrize(
    ("fields", "arrays", "told"),
    [
        ({"name": ""}, {}, "begin: name: a text"),
        ({"name": "a\nb"}, {}, "begin: name: a text"),
        ({"name": 3}, {}, "begin: name: a text"),
        ({"nmae": "x"}, {}, "begin: 'nmae': no such field"),
        ({}, {"rout": BEND}, "begin: 'rout': no such field"),
        ({"options": 3}, {}, "begin: options: an object"),
        ({"options": {"inertia": 1.0}}, {}, "begin: options: 'inertia': no such field"),
        ({"options": {"inertial": -1.0}}, {}, "inertial: a number from 0 to 100"),
        ({"options": {"inertial": True}}, {}, "inertial: a number"),
        ({"options": {"route": 1e9}}, {}, "route: a number from 0 to 100"),
        ({"options": {"corridor": -1.0}}, {}, "corridor: a number from 0 to 100"),
        ({"options": {"speed_limit": 1e3}}, {}, "speed_limit: a number from 0 to 100"),
        ({"options": {"route_rule": "shortest"}}, {}, "route_rule: one of published, equal-distance"),
        ({"options": {"benchmark": "v3"}}, {}, "benchmark: one of v1, v2"),
        ({"options": {"keep_commands": 1}}, {}, "true or false"),
        ({"options": {"keep_commands": True}}, {}, "no nodes of the route"),
        ({}, {"route": BEND[:0]}, "0 points that differ"),
        ({}, {"route": BEND[:1]}, "1 points that differ"),
        ({}, {"route": BEND[:, :1]}, "route: expected shape"),
        ({}, {"route": BEND.astype(np.float32)}, "an array of float64"),
        ({}, {"route": np.array([[0, 0], [np.nan, 1]])}, "finite"),
        ({}, {"route": np.array([[0.0, 0.0], [1e7, 0.0]])}, "10,000,000 m long"),
        ({}, {"nodes": BEND}, "'node_options' is missing"),
        ({}, {"nodes": BEND, "node_options": np.ones(2, np.int32)}, "30 nodes with 2 options"),
        ({}, {"nodes": BEND[:1], "node_options": np.full(1, 9, np.int32)}, "command 9: no road option"),
        ({}, {"intrinsics": EYES, "rotation": 2 * EYES, "translation": np.zeros((4, 3))}, "rotation: matrices"),
        ({}, {"intrinsics": 0 * EYES, "rotation": EYES, "translation": np.zeros((4, 3))}, "intrinsics: pinhole"),
        ({}, {"intrinsics": EYES, "rotation": EYES, "translation": np.zeros((3, 3))}, "translation: expected shape"),
    ],
)
def test_wrong_beginnings(session, fields, arrays, told):
    with pytest.raises(ValueError, match=told):
        session.answer(begin(fields, arrays))


def test_a_planner_that_needs_a_route(session):
    with pytest.raises(ValueError, match="no route"):
        session.answer(Message(MessageKind.BEGIN, {"name": "drive"}))


@pytest.mark.parametrize(
    ("arrays", "changes", "told"),
    [
        (None, {"time": "now"}, "decide: time: a number"),
        (None, {"time": 1e300}, "decide: time: a number"),
        (None, {"pose": [0.0, 0.0]}, "pose: a list of 3 numbers"),
        (None, {"pose": [0.0, 0.0, True]}, "pose: a list of 3 numbers"),
        (None, {"pose": [0.0, 0.0, 10**400]}, "pose: numbers of at most"),
        (None, {"velocity": None}, "velocity: a list of 2"),
        (None, {"steering": 3.0}, "steering: a number"),
        (None, {"command": 1.0}, "command: a whole number"),
        (None, {"command": 77}, "command 77: no road option"),
        (None, {"channels": "RGBA"}, "channels: one of RGB, BGRA"),
        (None, {"channels": "BGRA"}, "images have 3 channels; BGRA has 4"),
        (None, {"colour": 1}, "'colour': no such field"),
        (images(count=3), {}, "image 'front_right' is missing"),
        (images() | {"roof": images()["front"]}, {}, "'roof': no such field"),
        (images() | {"back": images(100)["back"]}, {}, "images of several shapes"),
        (images(4, 4), {}, "sides from 16 to 4096"),
        ({name: image.astype(np.float32) for name, image in images().items()}, {}, "bytes"),
        ({name: image[..., 0] for name, image in images().items()}, {}, "bytes"),
    ],
)
def test_wrong_moments(session, arrays, changes, told):
    session.answer(begin())
    with pytest.raises(RequestError, match=told):
        session.answer(decide(arrays, **changes))
    assert session.answer(decide(time=1.0)).kind is MessageKind.DECISION  # the drive goes on


def test_a_drive_keeps_to_one_size(session):
    session.answer(begin())
    session.answer(decide())
    with pytest.raises(RequestError, match="keeps to one size"):
        session.answer(decide(images(100, 100), time=0.5))


def test_time_goes_forward(session):
    session.answer(begin({"options": {"inertial": 1.0}}))
    session.answer(decide(time=2.0))
    with pytest.raises(ValueError, match="not later"):
        session.answer(decide(time=1.0))


def test_the_rig_sees_what_is_ahead():
    """A point 10 m in front of each camera is in the middle of its image; one to its left is left of it."""
    rig = bench2drive_rig(900, 1600)
    yaws = np.deg2rad([0.0, 180.0, 55.0, -55.0])  # counter-clockwise: the third looks to the front left
    for camera, yaw in enumerate(yaws):
        ahead, left = np.array([np.cos(yaw), np.sin(yaw), 0]), np.array([-np.sin(yaw), np.cos(yaw), 0])
        for aside, up in ((0.0, 0.0), (2.0, 0.0), (0.0, 1.0)):
            point = rig.translation[camera] + 10 * ahead + aside * left + [0, 0, up]
            seen = rig.intrinsics[camera] @ rig.rotation[camera].T @ (point - rig.translation[camera])
            fov = (70.0, 110.0, 70.0, 70.0)[camera]
            focal = 800 / np.tan(np.deg2rad(fov / 2))
            np.testing.assert_allclose(seen / seen[2], [800 - focal * aside / 10, 450 - focal * up / 10, 1])
    assert rig.translation[2] == pytest.approx([0.27 + 1.35, 0.55, 1.6])  # from the rear axle


def test_the_steering_angle_is_that_of_a_bicycle():
    assert steering_angle(5.0, 0.5) == pytest.approx(np.arctan(3.089 / 10.0))
    assert steering_angle(0.2, 0.5) == 0.0
