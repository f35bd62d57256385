"""Whatever one client does, the others are served."""

from __future__ import annotations

import os
import re
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.route_follower import RouteFollower, serving
from world4scorer import cli
from world4scorer.driving.serving.address import Address, listening
from world4scorer.driving.serving.client import PlannerClient, ServerError
from world4scorer.driving.serving.protocol import HEADER, MAGIC, VERSION, Message, MessageKind, MessageReader, encode
from world4scorer.planner.model.config import city_vit
from world4scorer.planner.planner import Planner

LINE = np.column_stack([np.arange(60.0), np.zeros(60)])
STILL = {"pose": [0.0, 0.0, 0.0], "velocity": [0.0, 0.0], "acceleration": [0.0, 0.0], "command": 4}
IMAGES = [np.zeros((20, 40, 3), np.uint8)] * 4
HELLO = b"".join(encode(Message(MessageKind.HELLO, {"client": "fuzz"})))
BEGIN = b"".join(encode(Message(MessageKind.BEGIN, {"name": "fuzz"}, {"route": LINE})))
NOWHERE = b"".join(encode(Message(MessageKind.BEGIN, {"name": "nowhere"}, {"route": LINE[:0]})))


@contextmanager
def driving(where):
    """A client that drives; the block is given a function that lets it decide once more."""
    with PlannerClient(where, "good") as client:
        client.begin("good drive", LINE)
        decisions = 0

        def drive() -> None:
            nonlocal decisions
            decisions += 1
            client.decide(IMAGES, time=decisions / 2, **STILL)

        yield drive
        assert client.end().fields["decisions"] == decisions > 0


def told_to(where: Address, content: bytes) -> Message | None:
    """The last frame that the server sends to somebody who sends this and waits, before it hangs up."""
    with where.connect(5) as connection:
        connection.sendall(content)
        connection.shutdown(socket.SHUT_WR)
        reader, last = MessageReader(connection), None
        while (frame := reader.read(5)) is not None:
            last = frame
        return last


def header(kind: int, text: int, arrays: int, magic: bytes = MAGIC, version: int = VERSION) -> bytes:
    return HEADER.pack(magic, version, kind, text, arrays)


@pytest.mark.parametrize(
    ("content", "code", "told"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "frame", "socket of a planner server"),
        (header(1, 2, 0, version=7) + b"{}", "version", "protocol: 7 was spoken"),
        (header(1, 5000, 0) + 5000 * b" ", "frame", "at most 4,096"),
        (header(1, 10, 2**31), "frame", "at most 4,096"),
        (HELLO + header(3, 2**31, 0), "frame", "bytes of JSON"),
        (HELLO + header(3, 2, 2**31), "frame", "at most 67,108,864"),
        (HELLO + header(77, 2, 0) + b"{}", "frame", "kind 77"),
        (HELLO[:9], "frame", "closed before"),
        (HELLO + BEGIN[:200], "frame", "closed before its end"),
        (HELLO + header(3, 9, 0) + b'{"name": ', "frame", "JSON: "),
        (HELLO + header(3, 200, 0) + 200 * b"[", "frame", "inside each other"),
        (BEGIN, "frame", "arrays: a list of at most 0"),
        (b"".join(encode(Message(MessageKind.HELLO, {"client": 3}))), "request", "hello: client"),
        (HELLO + b"".join(encode(Message(MessageKind.DECIDE))), "request", "no drive has begun"),
        (HELLO + NOWHERE, "request", "route: 0 points that differ"),
    ],
)
def test_broken_clients_are_told_why(content, code, told):
    with serving() as where, driving(where) as drive:
        answer = told_to(where, content)
        assert answer is not None and answer.kind is MessageKind.ERROR
        assert answer.fields["code"] == code
        assert told in answer.fields["error"]
        drive()


@pytest.fixture(scope="module")
def busy_server():
    with serving() as where, driving(where) as drive:
        yield where, drive


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=64) | st.just(HELLO + BEGIN), st.lists(st.tuples(st.integers(0, 600), st.binary(max_size=4))))
def test_no_bytes_disturb_the_others(busy_server, content, changes):
    """Random bytes, and sound frames with some bytes exchanged."""
    where, drive = busy_server
    broken = bytearray(content)
    for place, change in changes:
        broken[place : place + len(change)] = change
    answer = told_to(where, bytes(broken))
    assert answer is None or answer.kind in (MessageKind.ERROR, MessageKind.WELCOME, MessageKind.BEGUN)
    drive()


def test_slow_and_idle_clients_do_not_block():
    with serving(hello_timeout=0.3) as where, where.connect(5) as silent, where.connect(5) as slow:
        slow.sendall(HELLO + BEGIN[:40])
        with driving(where) as drive:
            drive()
            frame = MessageReader(silent).read(5)
            assert frame is not None and "hello: did not come within 0.3 s" in frame.fields["error"]
            assert MessageReader(silent).read(5) is None
            drive()
        reader = MessageReader(slow)
        assert reader.read(5).kind is MessageKind.WELCOME
        slow.sendall(BEGIN[40:])  # slow, but not too slow
        assert reader.read(5).kind is MessageKind.BEGUN


def test_several_drive_at_once_and_the_model_works_for_one_at_a_time():
    planner = RouteFollower()
    working, most = 0, 0
    propose = planner.forward

    def watched(*given):
        nonlocal working, most
        working += 1
        most = max(most, working)
        time.sleep(0.01)
        try:
            return propose(*given)
        finally:
            working -= 1

    planner.forward = watched
    said: list[str] = []
    with serving(planner, said=said) as where:

        def go(number: int) -> None:
            with PlannerClient(where, f"client {number}") as client:
                client.begin(f"drive {number}", LINE)
                for moment in range(5):
                    pose = [10.0 * number, 0.0, 0.0]
                    answer = client.decide(IMAGES, time=moment / 2, **{**STILL, "pose": pose})
                    travelled.append((number, answer.fields["travelled"]))
                client.end()

        travelled: list[tuple[int, float]] = []
        threads = [threading.Thread(target=go, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert most == 1 and sorted(travelled) == [(n, 10.0 * n) for n in range(4) for _ in range(5)]
    assert sum("begun, 59 m" in line for line in said) == sum("ended, 5 decisions" in line for line in said) == 4


def test_too_many_clients():
    with serving(max_clients=1) as where, driving(where) as drive:
        for name in ("second", "third"):
            with pytest.raises(ServerError, match="1 clients are here already") as error:
                PlannerClient(where, name)
            assert error.value.code == "busy"
            drive()


def test_who_is_refused_reads_why_however_late():
    """What a client has sent lies unread when it is refused; hanging up at once would take the message away."""
    with serving(max_clients=1) as where, driving(where) as drive, where.connect(5) as late:
        late.sendall(HELLO)
        time.sleep(0.2)
        late.sendall(BEGIN)
        frame = MessageReader(late).read(5)
        assert frame is not None and frame.fields["code"] == "busy"
        drive()


def test_a_fault_of_the_planner_ends_one_connection(caplog):
    planner = RouteFollower()
    with serving(planner) as where:
        with PlannerClient(where, "first") as client:
            client.begin("drive", LINE)
            planner.forward = lambda *given: 1 / 0
            with pytest.raises(ServerError, match="ZeroDivisionError") as error:
                client.decide(IMAGES, time=0.0, **STILL)
            assert error.value.code == "internal"
        del planner.forward
        with driving(where) as drive:
            drive()
    assert "ZeroDivisionError" in caplog.text


def test_addresses():
    assert str(Address.parse("127.0.0.1:80")) == "127.0.0.1:80"
    assert str(Address.parse("unix:a b")) == "unix:a b"
    for wrong in ("", "unix:", "0.0.0.0:80", "127.0.0.1", "127.0.0.1:99999", "127.0.0.1:0", "example.org:80"):
        with pytest.raises(ValueError, match=r"127\.0\.0\.1:PORT or unix:PATH"):
            Address.parse(wrong)


def test_a_port_that_is_taken():
    with listening(Address(port=0)) as (_, where):
        assert where.port > 0
        with pytest.raises(ValueError, match=f"--port {where.port}: .*choose another"), listening(where):
            pass


def test_unix_sockets(tmp_path):
    path = tmp_path / "planner.sock"
    with socket.socket(socket.AF_UNIX) as died:
        died.bind(str(path))
    with serving(address=Address(path=path)) as where:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        with driving(where) as drive:
            drive()
        with pytest.raises(ValueError, match="a server is there already"), listening(where):
            pass
    assert not path.exists()
    path.write_text("mine")
    with pytest.raises(ValueError, match="no socket"), listening(Address(path=path)):
        pass
    assert path.read_text() == "mine"
    with pytest.raises(ValueError, match="a short path"), listening(Address(path=tmp_path / ("x" * 120))):
        pass


def test_the_socket_of_another_program_stays(tmp_path):
    path = tmp_path / "other.sock"
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))
        other.listen()
        with pytest.raises(ValueError, match="a server is there already"), listening(Address(path=path)):
            pass
        Address(path=path).connect(1).close()


@pytest.fixture(scope="module")
def planner_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run") / "planner"
    Planner(replace(city_vit(), vit_layers=1, predictor_layers=1)).save_pretrained(folder)
    return folder


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals there")
def test_the_command(planner_folder, tmp_path, capsys):
    """A real process with a real planner, which needs to know where the cameras are."""
    path = tmp_path / "planner.sock"
    words = ["serve", "--checkpoint", str(planner_folder.parent), "--socket", str(path), "--threads", "1"]
    process = subprocess.Popen(
        [sys.executable, "-m", "world4scorer", *words, "--inertial", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        ready = process.stdout.readline()
        assert ready.startswith(f"unix:{path}: serving {planner_folder.parent} (")
        assert ready.endswith("4 cameras of 196 x 112\n")
        with PlannerClient(f"unix:{path}", "test") as client:
            assert len(client.server["digest"]) == 64 and client.server["options"]["inertial"] == 1.0
            client.begin("one", LINE, options={"route": 4.0})
            plans = [client.decide(IMAGES, time=moment / 2, **STILL).arrays["plan"] for moment in range(2)]
            assert all(plan.shape == (8, 3) for plan in plans)
            assert cli.main(words) == 1
            assert "a server is there already" in capsys.readouterr().err
            process.send_signal(signal.SIGTERM)
            with pytest.raises((ServerError, OSError)):
                for moment in range(2, 1000):  # some may be decided before the signal arrives
                    client.decide(IMAGES, time=moment / 2, **STILL)
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 143 and err.endswith("w4s: terminated; finished work is kept\n")
    assert out.splitlines()[0] == "test: drive 'one' begun, 59 m"
    ended = re.fullmatch(r"test: drive 'one' ended, (\d+) decisions, median [\d.]+ ms", out.splitlines()[1])
    assert ended is not None and int(ended[1]) >= 2
    assert not os.path.lexists(path)
