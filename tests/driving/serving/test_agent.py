"""The agent for CARLA's leaderboard, with CARLA's types and without a simulator."""

from __future__ import annotations

import io
import json
import math
import socket
import threading
import time
from contextlib import suppress
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

carla = pytest.importorskip("carla")

from tests.support.leaderboard_stand_in import Car, Provider, aside, installed, left_turn, pictures  # noqa: E402
from tests.support.route_follower import RouteFollower, serving  # noqa: E402
from world4scorer.driving.closed_loop.planner_agent import AgentOptions  # noqa: E402
from world4scorer.driving.serving.address import Address  # noqa: E402
from world4scorer.driving.serving.client import PlannerClient  # noqa: E402
from world4scorer.driving.serving.protocol import HEADER, MAGIC, VERSION  # noqa: E402

BY_UTILITY = {"keep_commands": True, "route": 0.0}
"""The route follower's best plan is its first; of its nine, the one that stands agrees best with a route."""
LEFT = 0
"""Place of the command in its one-hot vector."""


@pytest.fixture
def module(monkeypatch):
    with installed() as loaded:
        monkeypatch.setattr(loaded, "MIN_BACK_OFF", 0.01)
        monkeypatch.setattr(loaded, "MAX_BACK_OFF", 0.02)
        yield loaded


class Ride:
    """An agent, its car and the clock."""

    def __init__(self, module, folder, where, plan=None, **config):
        file = folder / "agent.json"
        file.write_text(json.dumps({"server": str(where), "metric_dir": str(folder / "metrics"), **config}))
        self.plan = left_turn() if plan is None else plan
        self.car = Provider.hero = Car(self.plan[0][0])
        self.images = pictures(module)
        self.time = 3.0
        self.agent = getattr(module, module.get_entry_point())("127.0.0.1", 2000, False)
        self.agent.set_global_plan([None] * len(self.plan), self.plan)
        self.agent.setup(f"{file}+RouteA+RouteB")

    def tick(self):
        control = self.agent.run_step(self.images, self.time)
        assert isinstance(control, carla.VehicleControl)
        self.car.drive(control)
        self.time += 0.05
        return control


def test_a_left_turn(module, tmp_path):
    planner = RouteFollower()
    with serving(planner) as where:
        ride = Ride(module, tmp_path, where, options=BY_UTILITY)
        speeds, away, places = [], [], []
        for tick in range(500):
            if tick % 10 == 0:
                places.append((ride.car.x, ride.car.y))
            ride.tick()
            speeds.append(ride.car.speed)
            away.append(aside(ride.car, ride.plan))
        ride.agent.destroy()
    assert max(away) < 2.0  # to drive to a point 20 m ahead cuts the corner
    assert 3.9 < max(speeds) < 4.4
    assert ride.car.y > 35 and abs(ride.car.x - 66.75) < 1.5 and abs(ride.car.heading - math.pi / 2) < 0.2
    # The turn is announced 35 m before its node and kept until the node is reached.
    turn = next(at.location for at, option in ride.plan if option.name == "LEFT")
    node_away = [math.hypot(x - turn.x, y + turn.y) for x, y in places]
    ahead = [x < turn.x for x, _ in places]
    expected = [near and 3 <= distance <= 35 for near, distance in zip(ahead, node_away, strict=True)]
    assert [command == LEFT for command in planner.commands] == expected and sum(expected) > 10


def test_metric_file(module, tmp_path):
    with serving() as where:
        ride = Ride(module, tmp_path, where)
        for number in range(120):
            ride.tick()
            if number == 99:
                written = json.loads((tmp_path / "metrics" / "RouteB" / "metric_info.json").read_text())
                assert list(written) == [str(tick) for tick in range(100)]
        ride.agent.destroy()
    file = tmp_path / "metrics" / "RouteB" / "metric_info.json"
    rows = json.loads(file.read_text())
    assert list(rows) == [str(tick) for tick in range(120)] and list(file.parent.iterdir()) == [file]
    assert {name: len(values) for name, values in rows["7"].items()} == dict.fromkeys(
        ("acceleration", "angular_velocity", "forward_vector", "right_vector", "location", "rotation"), 3
    )
    assert rows["0"]["forward_vector"] == pytest.approx([1, 0, 0], abs=1e-6)
    assert rows["0"]["right_vector"] == pytest.approx([0, 1, 0], abs=1e-6)
    assert rows["0"]["location"] == pytest.approx([1.0, 1.75, 0.0], abs=1e-6)


def test_metrics_at_ten_hertz_into_the_benchmarks_folder(module, tmp_path, monkeypatch):
    monkeypatch.setenv("SAVE_PATH", str(tmp_path / "saved"))
    with serving() as where:
        ride = Ride(module, tmp_path, where, metric_dir=None, metric_every=2)
        for _ in range(5):
            ride.tick()
        ride.agent.destroy()
    rows = json.loads((tmp_path / "saved" / "RouteB" / "metric_info.json").read_text())
    assert list(rows) == ["0", "2", "4"]


def test_images_of_the_front_camera(module, tmp_path):
    with serving() as where:
        ride = Ride(module, tmp_path, where, images=True)
        for _ in range(21):
            ride.tick()
        ride.agent.destroy()
    files = sorted((tmp_path / "metrics" / "RouteB" / "rgb_front").iterdir())
    assert [file.name for file in files] == ["0000.png", "0001.png", "0002.png"]
    image = np.random.default_rng(0).integers(0, 256, (5, 7, 3), np.uint8)
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(module.as_png(image)))), image)


def test_a_server_that_dies_and_returns(module, tmp_path, capsys):
    address = Address(path=tmp_path / "planner.sock")
    with serving(address=address):
        ride = Ride(module, tmp_path, address, options=BY_UTILITY)
        for _ in range(100):
            ride.tick()
    assert ride.car.speed > 3
    controls = [ride.tick() for _ in range(60)]
    assert all(control.brake == 1.0 and control.throttle == 0.0 for control in controls[10:])
    assert ride.car.speed == 0.0
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1 and f"no plan from {address}" in said[0] and "start `w4s serve` again" in said[0]
    stood, follower = ride.car.x, RouteFollower()
    time.sleep(0.05)  # longer than the back-off
    with serving(follower, address=address):
        for _ in range(200):
            ride.tick()
        ride.agent.destroy()
    assert "the server answers again" in capsys.readouterr().err
    assert 10 < stood < 25 and ride.car.x > stood + 25 and aside(ride.car, ride.plan) < 2.0
    assert follower.commands[0] == LEFT


def test_a_server_that_is_late(module, tmp_path, capsys):
    planner = RouteFollower()
    with serving(planner) as where:
        ride = Ride(module, tmp_path, where, request_seconds=0.2)
        for _ in range(60):
            ride.tick()
        planner.delay = 0.4
        while (late := ride.tick()).brake < 1.0:
            pass
        assert late.throttle == 0.0
        assert "timed out" in (said := capsys.readouterr().err) or "no answer within 0.2 s" in said
        planner.delay = 0.0
        while ride.tick().brake == 1.0:
            pass
        ride.agent.destroy()
    assert "answers again" in capsys.readouterr().err


def test_a_route_is_not_begun_anew_after_an_outage(module, tmp_path):
    """What lies behind is left out, so that neither place nor command jump back to it."""
    with serving() as where:
        ride = Ride(module, tmp_path, where)
        ride.agent._travelled = 90.0
        remaining = ride.agent._remaining_route()
        assert 89.0 < ride.agent._sent_from <= 90.0
        ride.agent.destroy()
    lengths = np.linalg.norm(np.diff([(at.location.x, at.location.y) for at, _ in ride.plan], axis=0), axis=1)
    left = lengths.sum() - 90.0
    kept = np.linalg.norm(np.diff(remaining["route"], axis=0), axis=1).sum()
    assert left <= kept <= left + 1.1
    assert remaining["node_options"].tolist() == [4]
    np.testing.assert_allclose(remaining["nodes"], [[66.75, -ride.plan[-1][0].location.y]], atol=0.01)


def test_two_outages(module, tmp_path):
    """What is sent each time is what is left of the whole route, though servers count from where they were told."""
    address, said = Address(path=tmp_path / "planner.sock"), []
    whole = np.array([(at.location.x, -at.location.y) for at, _ in left_turn()])
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(whole, axis=0), axis=1))])
    expected = []
    for number in range(3):
        with serving(address=address, said=said):
            if number == 0:
                ride = Ride(module, tmp_path, address, options=BY_UTILITY)
            here = np.linalg.norm(whole - (ride.car.x, ride.car.y), axis=1).argmin()
            expected.append(along[-1] - along[here])
            for _ in range(130):
                ride.tick()
        for _ in range(60):
            ride.tick()
        assert ride.car.speed == 0.0
        time.sleep(0.05)  # longer than the back-off
    ride.agent.destroy()
    lengths = [float(line.split("begun, ")[1].removesuffix(" m")) for line in said if "begun" in line]
    assert expected[0] - expected[1] > 15 and expected[1] - expected[2] > 15
    assert lengths == pytest.approx(expected, abs=8.0)  # the ego has rolled on since it was last decided for


def test_a_busy_server_is_waited_for(module, tmp_path):
    with serving(max_clients=1) as where:
        other = PlannerClient(where, "other")
        leaving = threading.Timer(0.3, other.close)
        leaving.start()
        ride = Ride(module, tmp_path, where)
        assert ride.tick().brake == 0.0
        leaving.join()
        with pytest.raises(RuntimeError, match=r"within 0\.1 s \(1 clients are here already"):
            Ride(module, tmp_path, where, setup_seconds=0.1)
        ride.agent.destroy()


def test_a_fixed_server(module, tmp_path):
    """What it was started with holds; an agent that wants otherwise is not set up."""
    asked = AgentOptions(route=4.0, keep_commands=True)
    with serving(options=asked, fixed=True) as where:
        for config in ({}, {"options": {}}):
            ride = Ride(module, tmp_path, where, **config)
            assert ride.tick().brake == 0.0
            ride.agent.destroy()
        with pytest.raises(RuntimeError, match=r"--fixed and chooses with other options \(inertial: 0\.0\)"):
            Ride(module, tmp_path, where, options={"inertial": 1.0})


def test_a_drive_without_commands_is_refused(module, tmp_path, capsys):
    with serving() as where:
        ride = Ride(module, tmp_path, where, options={"route": 4.0})
        assert ride.tick().brake == 1.0
        ride.agent.destroy()
    assert "'command' is missing, and this drive does not keep commands" in capsys.readouterr().err


def answering(content: bytes) -> tuple[threading.Thread, Address]:
    """Something that answers whoever comes with these bytes, whatever it is asked."""
    listener = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        with listener, listener.accept()[0] as connection:
            connection.recv(2**16)
            connection.sendall(content)
            with suppress(ConnectionError):
                connection.recv(2**16)

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    return thread, Address(port=listener.getsockname()[1])


def welcome(text: bytes, kind: int = 2, version: int = VERSION) -> bytes:
    return HEADER.pack(MAGIC, version, kind, len(text), 0) + text


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (welcome(b'{"arrays":[]}', version=2), "protocol 2, this agent 1; copy the agent"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "no planner server"),
        (welcome(b'{"arrays":[],"cameras":["roof"]}'), "cameras that this agent does not have: roof"),
        (welcome(b'{"arrays":[],"code":"frame","error":"too long"}', kind=100), "too long"),
        (welcome(b"[]"), "no object"),
        (welcome(b'{"arrays":[{"dtype":"object"}]}'), "arrays of the answer"),
        (welcome(b'{"arrays":[]}', kind=6), "kind 6 came, not 2"),
    ],
)
def test_servers_that_do_not_fit_are_refused_in_setup(module, tmp_path, content, told):
    thread, where = answering(content)
    with pytest.raises(RuntimeError, match=told):
        Ride(module, tmp_path, where)
    thread.join(5)


def test_no_server_in_setup(module, tmp_path):
    where = Address(path=tmp_path / "nobody.sock")
    with pytest.raises(RuntimeError, match=r"no planner server within 0\.1 s .*w4s serve"):
        Ride(module, tmp_path, where, setup_seconds=0.1)


def test_what_the_server_refuses_is_said(module, tmp_path, capsys):
    with serving() as where:
        ride = Ride(module, tmp_path, where, options={"inertia": 1.0})
        assert ride.tick().brake == 1.0
    assert "'inertia': no such field" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{", "not JSON"),
        ("[]", "an object is needed"),
        ('{"sever": "127.0.0.1:1"}', "no such setting: sever"),
        ('{"server": "somewhere"}', "127.0.0.1:PORT or unix:PATH"),
        ('{"server": "unix:"}', "127.0.0.1:PORT or unix:PATH"),
        ('{"server": 4747}', "127.0.0.1:PORT or unix:PATH"),
        ('{"request_seconds": 0}', "request_seconds: 0"),
        ('{"metric_every": 0.5}', "metric_every: 0.5"),
        ('{"creep": 1}', "creep: 1"),
        ('{"images": "yes"}', "images: 'yes'"),
        ('{"options": []}', "options: an object"),
        ('{"metric_dir": 3}', "metric_dir"),
    ],
)
def test_wrong_configurations(module, tmp_path, content, told):
    file = tmp_path / "agent.json"
    file.write_text(content)
    with pytest.raises(ValueError, match=told) as error:
        module.World4ScorerAgent("", 0).setup(f"{file}+RouteA")
    assert str(file) in str(error.value)


def test_a_missing_configuration(module, tmp_path):
    with pytest.raises(ValueError, match="No such file or directory; give the agent's JSON file"):
        module.World4ScorerAgent("", 0).setup(str(tmp_path / "none.json"))


def test_destroyed_before_it_was_set_up(module):
    module.World4ScorerAgent("", 0).destroy()


def test_cameras_are_those_of_the_rig(module):
    sensors = module.World4ScorerAgent("", 0).sensors()
    assert all(sensor["type"] == "sensor.camera.rgb" for sensor in sensors) and len(sensors) <= 8
    assert {(sensor["width"], sensor["height"]) for sensor in sensors} == {(1600, 900)}
    placed = tuple(tuple(sensor[name] for name in ("id", "x", "y", "z", "yaw", "fov")) for sensor in sensors)
    assert placed == module.CAMERAS and not any(sensor["roll"] or sensor["pitch"] for sensor in sensors)


def test_the_hero_is_looked_for(module, capsys):
    assert module.find_hero() is None
    others = [SimpleNamespace(attributes={"role_name": name}) for name in ("background", "hero")]
    Provider.world = SimpleNamespace(get_actors=lambda: SimpleNamespace(filter=lambda pattern: others))
    assert module.find_hero() is others[1]


def test_without_a_hero_it_brakes(module, tmp_path):
    with serving() as where:
        ride = Ride(module, tmp_path, where)
        Provider.hero = None
        assert ride.agent.run_step(ride.images, 0.0).brake == 1.0
        assert ride.agent.get_metric_info() == {}
        ride.agent.destroy()


def test_motion_is_right_handed(module):
    """A car at (3, -4) in our axes that looks to the north and turns to the left.

    Its rear axle lies 1.35 m to the south.
    """
    car = SimpleNamespace(
        get_transform=lambda: carla.Transform(carla.Location(x=3, y=4), carla.Rotation(yaw=-90)),
        get_velocity=lambda: carla.Vector3D(-0.5, -6.0, 0.0),
        get_acceleration=lambda: carla.Vector3D(-2.0, -1.0, 0.0),
        get_angular_velocity=lambda: carla.Vector3D(0.0, 0.0, -90.0),
    )
    motion = module.Motion.of(car)
    np.testing.assert_allclose(motion.pose, [3, -5.35, math.pi / 2], atol=1e-6)
    assert motion.speed == pytest.approx(6.0)
    np.testing.assert_allclose(motion.acceleration, [1.0, 2.0], atol=1e-6)
    assert motion.yaw_rate == pytest.approx(math.pi / 2)
