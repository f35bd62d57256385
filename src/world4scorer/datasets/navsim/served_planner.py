"""A planner behind `w4s serve`, asked from the NAVSIM devkit's process.

Runs there, with Python 3.9 and NumPy 1.23, and imports nothing but these: the planner has a Python of its own. The
protocol is described in docs/agent.md. Beside `agent.py` it is all that the devkit's process needs; both files may be
copied out of the package.

The devkit tells neither log nor time with a scene. Scenes follow each other by half a second where the older three of
four ego states are the newer three of the scene before; then the server goes on with its drive, and with its last
choice. Any other scene begins a new one.
"""

from __future__ import annotations

import atexit
import json
import os
import socket
import struct
import subprocess
import time
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:  # annotations are not evaluated, so that they may be newer than the Python that runs this
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

MAGIC, PROTOCOL = b"W4SP", 1
HEADER = struct.Struct("<4sHHII")
HELLO, WELCOME, BEGIN, BEGUN, DECIDE, DECISION, ERROR = 1, 2, 3, 4, 5, 6, 100
DTYPES = {"int32": "<i4", "float32": "<f4", "float64": "<f8"}
"""Of arrays in answers."""

DEFAULT_SERVER = "127.0.0.1:4747"
START_SECONDS = 300.0
"""For which a server that was started here may load its planner."""
ANSWER_SECONDS = 60.0
FRAME_SECONDS = 0.5
"""Between the frames of a log."""
POSE_TOLERANCE = 1e-3
"""m and rad; ego poses of a scene are float32."""
CAMERAS = {"front": "cam_f0", "back": "cam_b0", "front_left": "cam_l0", "front_right": "cam_r0"}
"""The devkit's cameras by the server's names."""
NOW = 3
"""Index of the current frame among the devkit's four."""


class ServerRefused(RuntimeError):
    """The server refused a request, or is none."""


class ServedPlanner:
    """Asks a planner server for the plan of each scene; interface of `agent.Planner`."""

    def __init__(
        self,
        server: str | None = None,
        checkpoint: str | None = None,
        weights: str = "best",
        options: Mapping[str, Any] | None = None,
        command: str = "w4s",
    ) -> None:
        """Where the server is, or which planner to serve.

        Args:
            server: Address of a running `w4s serve`: HOST:PORT or unix:PATH; 127.0.0.1:4747 unless given.
            checkpoint: Instead, a training run or planner, for which a server is started.
            weights: Planner of a training run, best or last.
            options: How plans are chosen, where it is to differ from the server's: `benchmark` (v1, v2) and `inertial`
                (weight of re-ranking, 1 in the paper, 0 for framewise choices).
            command: Program that starts a server, of the Python that World4Scorer is installed in.
        """
        if server is not None and checkpoint is not None:
            raise ValueError("give either server or checkpoint: a running server, or the planner to start one for")
        self._address = DEFAULT_SERVER if server is None else server
        self._serve = None if checkpoint is None else [command, "serve", "--checkpoint", checkpoint]
        if self._serve is not None:
            self._serve += ["--weights", weights, "--port", "0", "--quiet"]
        self._options = dict(options or {})
        self._socket: socket.socket | None = None
        self._cameras: list[str] = []
        self._last: Sequence[Any] = ()
        """Ego states of the scene before."""
        self._time = 0.0
        self._pose: NDArray[np.float64] = np.zeros(3)
        self._drives = 0

    sensors = {name: [NOW] for name in CAMERAS.values()}  # noqa: RUF012
    """What the devkit loads: the current images."""

    def initialize(self) -> None:
        """Start the server, if one is to be started, and connect."""
        if self._socket is not None:
            return
        if self._serve is not None:
            self._address = start_server(self._serve)
        try:
            if self._address.startswith("unix:"):
                self._socket = socket.socket(socket.AF_UNIX)
                self._socket.connect(self._address[len("unix:") :])
            else:
                host, _, port = self._address.rpartition(":")
                self._socket = socket.create_connection((host, int(port)), ANSWER_SECONDS)
        except (OSError, ValueError) as error:
            self._socket = None
            raise ServerRefused(
                f"{self._address}: no planner server ({error}); start one: w4s serve --checkpoint RUN"
            ) from error
        welcome, _ = self._ask(HELLO, {"client": f"NAVSIM devkit, process {os.getpid()}"}, {}, WELCOME)
        self._cameras = [str(name) for name in welcome.get("cameras", [])]
        unknown = sorted(set(self._cameras) - set(CAMERAS))
        if unknown:
            raise ServerRefused(f"{self._address}: the planner needs cameras that NAVSIM does not have: {unknown}")

    def plan(self, agent_input: Any) -> NDArray[Any]:
        """Plan (8, 3) of a scene, chosen with regard to the scene before where this one follows it."""
        self.initialize()
        states, cameras = agent_input.ego_statuses, agent_input.cameras[-1]
        if follows(self._last, states):
            self._time += FRAME_SECONDS
            self._pose = _compose(self._pose, _inverse(np.asarray(states[-2].ego_pose, np.float64)))
        else:
            self._drives += 1
            self._time, self._pose = 0.0, np.zeros(3)
            begin = {"name": f"log {self._drives}", "options": self._options}
            self._ask(BEGIN, begin, self._calibration(cameras), BEGUN)
        self._last = states
        now = states[-1]
        request = {
            "time": self._time,
            "pose": self._pose.tolist(),
            "velocity": _numbers(now.ego_velocity),
            "acceleration": _numbers(now.ego_acceleration),
            "driving_command": _numbers(now.driving_command),
            "channels": "RGB",
        }
        images = {name: np.asarray(self._camera(cameras, name).image, np.uint8) for name in self._cameras}
        _, arrays = self._ask(DECIDE, request, images, DECISION)
        return arrays["plan"]

    def _calibration(self, cameras: Any) -> dict[str, NDArray[np.float64]]:
        fields = {"intrinsics": "intrinsics", "rotation": "sensor2lidar_rotation"}
        fields["translation"] = "sensor2lidar_translation"
        mounted = [self._camera(cameras, name) for name in self._cameras]
        return {
            name: np.stack([np.asarray(getattr(camera, field), np.float64) for camera in mounted])
            for name, field in fields.items()
        }

    def _camera(self, cameras: Any, name: str) -> Any:
        camera = getattr(cameras, CAMERAS[name])
        if camera.image is None:
            raise ServerRefused(f"{CAMERAS[name]}: no image; the sensor configuration must load it")
        return camera

    def _ask(
        self, kind: int, fields: dict[str, Any], arrays: Mapping[str, NDArray[Any]], wanted: int
    ) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Send a message and read the answer of the wanted kind."""
        assert self._socket is not None
        self._socket.settimeout(ANSWER_SECONDS)
        listed = [{"name": name, "dtype": a.dtype.name, "shape": list(a.shape)} for name, a in arrays.items()]
        content = b"".join(np.ascontiguousarray(array).tobytes() for array in arrays.values())
        text = json.dumps(dict(fields, arrays=listed), allow_nan=False).encode()
        self._socket.sendall(HEADER.pack(MAGIC, PROTOCOL, kind, len(text), len(content)) + text + content)
        magic, version, answered, text_bytes, array_bytes = HEADER.unpack(self._receive(HEADER.size))
        if magic != MAGIC or version != PROTOCOL:
            raise ServerRefused(f"{self._address}: no planner server of this release answers there")
        answer = json.loads(self._receive(text_bytes).decode())
        received = _arrays(answer.get("arrays", []), self._receive(array_bytes))
        if answered == ERROR:
            raise ServerRefused(f"{self._address}: {answer.get('error')}")
        if answered != wanted:
            raise ServerRefused(f"{self._address}: an answer of kind {answered} came, not {wanted}")
        return answer, received

    def _receive(self, size: int) -> bytes:
        assert self._socket is not None
        parts = []
        while size:
            part = self._socket.recv(min(size, 2**16))
            if not part:
                raise ServerRefused(f"{self._address}: the server closed the connection")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


def start_server(command: Sequence[str]) -> str:
    """Start a planner server that ends with this process; returns its address once it listens."""
    process = subprocess.Popen(list(command), stdout=subprocess.PIPE, universal_newlines=True)
    atexit.register(process.terminate)
    until = time.monotonic() + START_SECONDS
    assert process.stdout is not None
    line = process.stdout.readline()
    address, found, _ = line.partition(": serving ")
    if not found or time.monotonic() > until:
        process.terminate()
        raise ServerRefused(f"{' '.join(command)}: did not start ({line.strip() or 'see its error above'})")
    return address


def follows(before: Sequence[Any], states: Sequence[Any]) -> bool:
    """Whether the ego states of a scene are those of a scene before, half a second later."""
    if len(before) != len(states) or len(states) < 2:
        return False
    for old, new in zip(before[1:], states[:-1]):
        for field in ("ego_velocity", "ego_acceleration"):
            if not np.array_equal(getattr(old, field), getattr(new, field)):
                return False
    moved = [np.asarray(state.ego_pose, np.float64) for state in (before[-2], states[-3])] if len(states) > 2 else []
    if moved:  # the step between two shared frames, seen from each scene
        seen_now = _compose(_inverse(np.asarray(states[-2].ego_pose, np.float64)), moved[1])
        return bool(np.abs(seen_now - moved[0]).max() < POSE_TOLERANCE)
    return True


def _compose(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """The pose `second`, given in the frame of `first`, in the frame that `first` is given in."""
    cosine, sine = np.cos(first[2]), np.sin(first[2])
    x = first[0] + cosine * second[0] - sine * second[1]
    y = first[1] + sine * second[0] + cosine * second[1]
    heading = first[2] + second[2]
    return np.array([x, y, np.arctan2(np.sin(heading), np.cos(heading))])


def _inverse(pose: NDArray[np.float64]) -> NDArray[np.float64]:
    """The frame's origin as seen from a pose."""
    cosine, sine = np.cos(pose[2]), np.sin(pose[2])
    return np.array([-cosine * pose[0] - sine * pose[1], sine * pose[0] - cosine * pose[1], -pose[2]])


def _numbers(values: Any) -> list[float]:
    return [float(value) for value in values]


def _arrays(listed: Sequence[Mapping[str, Any]], content: bytes) -> dict[str, NDArray[Any]]:
    arrays, start = {}, 0
    for entry in listed:
        dtype = np.dtype(DTYPES[entry["dtype"]])
        count = int(np.prod(entry["shape"], dtype=np.int64))
        arrays[str(entry["name"])] = np.frombuffer(content, dtype, count, start).reshape(entry["shape"])
        start += count * dtype.itemsize
    return arrays
