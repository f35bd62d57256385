"""Client of the planner server, for programs with this package; the CARLA agent has its own.

>>> with PlannerClient("127.0.0.1:4747", "my simulator") as client:
...     client.begin("route 7", points, nodes, node_options, {"keep_commands": True})
...     client.decide(images, time=0.0, pose=pose, velocity=(5.0, 0.0), acceleration=(0.0, 0.0)).arrays["plan"]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from world4scorer.driving.serving.address import Address
from world4scorer.driving.serving.protocol import Message, MessageKind, MessageReader, send

ANSWER_TIMEOUT: Final = 60.0
"""Timeout of answers [s]."""


class ServerError(ValueError):
    """Error reported by the server."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code: str = code
        """See `protocol.Code`."""


class PlannerClient:
    """A connection to a planner server."""

    def __init__(self, address: str | Address, name: str, seconds: float = ANSWER_TIMEOUT) -> None:
        """Connect and say hello; `seconds` is the timeout of answers."""
        where = address if isinstance(address, Address) else Address.parse(address)
        self._seconds = seconds
        self._connection = where.connect(seconds)
        self._reader = MessageReader(self._connection)
        try:
            self.server: Mapping[str, Any] = self.ask(Message(MessageKind.HELLO, {"client": name})).fields
            """Description of the server and its planner."""
        except BaseException:
            self.close()
            raise

    def begin(
        self,
        name: str,
        route: ArrayLike | None = None,
        nodes: ArrayLike | None = None,
        node_options: Sequence[int] = (),
        options: Mapping[str, Any] | None = None,
        rig: Mapping[str, NDArray[np.float64]] | None = None,
    ) -> Message:
        """Begin a drive.

        Args:
            name: Name of the drive.
            route: (n, 2) points about 1 m apart.
            nodes: (m, 2) route points with driving commands.
            node_options: CARLA's `RoadOption` of each node.
            options: Overrides of the server's `AgentOptions`.
            rig: `intrinsics`, `rotation` and `translation` of `CameraCalibration`, unless Bench2Drive's.
        """
        arrays: dict[str, NDArray[Any]] = dict(rig or {})
        if route is not None:
            arrays["route"] = np.asarray(route, np.float64)
        if nodes is not None:
            arrays |= {"nodes": np.asarray(nodes, np.float64), "node_options": np.asarray(node_options, np.int32)}
        return self.ask(Message(MessageKind.BEGIN, {"name": name, "options": dict(options or {})}, arrays))

    def decide(self, images: Sequence[NDArray[np.uint8]], **fields: Any) -> Message:
        """Ask for a plan.

        Args:
            images: Images of the server's cameras, in its order, (h, w, 3) RGB or (h, w, 4) BGRA.
            fields: `time`, `pose`, `velocity`, `acceleration`; `command` unless the drive keeps commands;
                optionally `yaw_rate`, `steering`, `pool`.
        """
        channels = "BGRA" if images[0].shape[-1] == 4 else "RGB"
        arrays = dict(zip(self.server["cameras"], images, strict=True))
        return self.ask(Message(MessageKind.DECIDE, {"channels": channels, **fields}, arrays))

    def end(self) -> Message:
        """End the drive."""
        return self.ask(Message(MessageKind.END))

    def ask(self, request: Message) -> Message:
        """Send a request and wait for its answer; raises ServerError."""
        send(self._connection, request, self._seconds)
        answer = self._reader.read(self._seconds, self._seconds)
        if answer is None:
            raise ServerError("gone", "the server closed the connection")
        if answer.kind is MessageKind.ERROR:
            raise ServerError(str(answer.fields.get("code")), str(answer.fields.get("error")))
        return answer

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def __enter__(self) -> PlannerClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
