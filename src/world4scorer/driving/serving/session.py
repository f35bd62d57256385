"""A client's session with the planner server: messages in, messages out, no sockets.

A client sends hello, then for each drive begin, any number of decide, and end. The state of a drive (progress, command,
last choice) belongs to the session; the model is shared and handles one request at a time.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import numpy as np

from world4scorer import __version__
from world4scorer.driving.clips.rig import CAMERA_FOLDERS, mounted_cameras
from world4scorer.driving.closed_loop.observation import CameraCalibration, Decision
from world4scorer.driving.closed_loop.planner_agent import AgentOptions, PlannerAgent, v2_error_message
from world4scorer.driving.serving.fields import RequestError
from world4scorer.driving.serving.protocol import VERSION, Limits, Message, MessageKind
from world4scorer.driving.serving.requests import BeginRequest, read_begin, read_decide, read_hello
from world4scorer.planner.planner import Planner

CAMERAS: Final = tuple(folder.removeprefix("rgb_") for folder in CAMERA_FOLDERS)
"""Image names in requests, in the planner's order."""
NO_LOG: Final[Callable[[str], None]] = lambda line: None  # noqa: E731


@dataclass(frozen=True, eq=False)
class ServedPlanner:
    """A planner shared by sessions."""

    planner: Planner
    name: str
    digest: str
    """SHA-256 of its files; empty without files."""
    options: AgentOptions = field(default_factory=AgentOptions)
    """Default options of drives."""
    fixed: bool = False
    """Refuse drives with other options."""
    knows_directions: bool = True
    """Whether driving direction compliance was trained, which v2 utility needs."""
    limits: Limits = field(default_factory=Limits)
    lock: threading.Lock = field(default_factory=threading.Lock)
    """Held during inference."""

    def __post_init__(self) -> None:
        self.check(self.options)

    def check(self, options: AgentOptions) -> None:
        """Raise a RequestError for options that the planner does not support."""
        if options.benchmark == "v2" and not self.knows_directions:
            raise RequestError(v2_error_message(self.name))

    @property
    def cameras(self) -> tuple[str, ...]:
        """Camera names, in the planner's order."""
        return CAMERAS[: self.planner.config.cameras]

    def describe(self) -> Mapping[str, Any]:
        """Content of the welcome message."""
        config = self.planner.config
        return {
            "protocol": VERSION,
            "server": f"world4scorer {__version__}",
            "planner": self.name,
            "digest": self.digest,
            "cameras": list(self.cameras),
            "image_height": config.image_height + config.crop_top,
            "image_width": config.image_width,
            "ego_numbers": config.ego_numbers,
            "options": asdict(self.options),
            "fixed": self.fixed,
            "limits": asdict(self.limits),
        }


@dataclass
class _Drive:
    name: str
    agent: PlannerAgent
    size: tuple[int, int] | None = None
    """Height and width of images, once known."""
    seconds: list[float] = field(default_factory=list)
    """Duration of each decision."""


def bench2drive_rig(height: int, width: int) -> CameraCalibration:
    """Calibration of Bench2Drive's cameras in ego axes, for images of a size [pixels]."""
    cameras = mounted_cameras(image_size=(width, height))
    return CameraCalibration(cameras.intrinsics, cameras.rotation, cameras.translation)


class Session:
    """Answers the messages of one client."""

    def __init__(self, served: ServedPlanner, log: Callable[[str], None] = NO_LOG) -> None:
        self._served = served
        self._log = log
        self._client = ""
        self._drive: _Drive | None = None

    @property
    def greeted(self) -> bool:
        """Whether the client has sent hello."""
        return bool(self._client)

    def answer(self, frame: Message) -> Message:
        """The answer to a request; raises RequestError or ValueError."""
        if frame.kind is MessageKind.HELLO:
            self._client = read_hello(frame)
            return Message(MessageKind.WELCOME, self._served.describe())
        if not self.greeted:
            raise RequestError("hello: must come first")
        if frame.kind is MessageKind.BEGIN:
            return self._begin(read_begin(frame, self._served.options, len(self._served.cameras)))
        if frame.kind is MessageKind.DECIDE:
            return self._decide(frame)
        if frame.kind is MessageKind.END:
            if self._drive is None:
                raise RequestError("end: no drive has begun")
            decisions = len(self._drive.seconds)
            self.close()
            return Message(MessageKind.ENDED, {"decisions": decisions})
        raise RequestError(f"{frame.kind.name.lower()}: is for servers to say")

    def close(self) -> None:
        """End the drive, if there is one."""
        if self._drive is None:
            return
        took = self._drive.seconds
        median = f", median {1e3 * statistics.median(took):.1f} ms" if took else ""
        self._log(f"{self._client}: drive {self._drive.name!r} ended, {len(took):,} decisions{median}")
        self._drive = None

    def _begin(self, begin: BeginRequest) -> Message:
        served = self._served
        if served.fixed and begin.options != served.options:
            raise RequestError(f"begin: the server decides by {served.options}; it was started with --fixed")
        served.check(begin.options)
        agent = PlannerAgent(served.planner, begin.options, begin.rig)
        agent.begin(begin.name, begin.route, begin.keeper)
        self.close()
        self._drive = _Drive(begin.name, agent)
        way = "no route" if begin.route is None else f"{begin.route.length:,.0f} m"
        self._log(f"{self._client}: drive {begin.name!r} begun, {way}")
        length = None if begin.route is None else begin.route.length
        return Message(MessageKind.BEGUN, {"options": asdict(begin.options), "route_length": length})

    def _decide(self, frame: Message) -> Message:
        start = time.perf_counter()
        drive = self._drive
        if drive is None:
            raise RequestError("decide: no drive has begun")
        request = read_decide(frame, self._served.cameras, drive.agent.options.keep_commands)
        size = (request.height, request.width)
        if drive.size is None:
            drive.size = size
            if drive.agent.rig is None:
                drive.agent.rig = bench2drive_rig(*size)
        elif drive.size != size:
            raise RequestError(f"decide: images of {size}, after {drive.size}; a drive keeps to one size")
        views = drive.agent.views(request.observation)  # outside of the lock, in parallel with other sessions
        with self._served.lock:
            decision = drive.agent.decide(request.observation, views)
        drive.seconds.append(time.perf_counter() - start)
        return _decision_message(decision, drive, request.pool)


def _decision_message(decision: Decision, drive: _Drive, pool: bool) -> Message:
    if not np.isfinite(decision.plan).all():
        raise ArithmeticError(f"drive {drive.name!r}: the planner's plan is not finite")
    point = decision.route_point
    fields = {
        "chosen": decision.chosen,
        "command": decision.command.tolist(),
        "route_point": None if point is None else point.tolist(),
        "travelled": drive.agent.travelled,
        "milliseconds": 1e3 * drive.seconds[-1],
    }
    arrays: dict[str, Any] = {"plan": decision.plan}
    if pool:
        arrays |= {"plans": decision.plans, "utility": decision.utility, "ranked": decision.ranked}
    return Message(MessageKind.DECISION, fields, arrays)
