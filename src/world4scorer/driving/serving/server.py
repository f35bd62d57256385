"""Planner server: one thread per client; the model handles one request at a time.

Idle, slow or faulty clients affect only their own connection.
"""

from __future__ import annotations

import logging
import select
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from world4scorer.driving.serving.fields import RequestError
from world4scorer.driving.serving.protocol import (
    HELLO_LIMITS,
    ErrorCode,
    Message,
    MessageKind,
    MessageReader,
    ProtocolError,
    send,
)
from world4scorer.driving.serving.session import NO_LOG, ServedPlanner, Session

logger = logging.getLogger(__name__)

HELLO_TIMEOUT: Final = 10.0
"""Timeout of a client's hello [s]; later messages have none."""
LINGER_TIMEOUT: Final = 1.0
"""How long a connection lingers after an error message [s]; closing it at once would lose the message."""
SHUTDOWN_TIMEOUT: Final = 5.0
"""How long a running request is awaited at shutdown [s]."""
MAX_CLIENTS: Final = 16
MAX_REFUSALS: Final = 64
"""Excess clients that are refused with a message at the same time; others are closed at once."""


class PlannerServer:
    """Serves a planner on a listening socket until `stop`."""

    def __init__(
        self,
        served: ServedPlanner,
        listener: socket.socket,
        log: Callable[[str], None] = NO_LOG,
        max_clients: int = MAX_CLIENTS,
        hello_timeout: float = HELLO_TIMEOUT,
    ) -> None:
        self._served = served
        self._listener = listener
        self._log = log
        self._max_clients = max_clients
        self._hello_timeout = hello_timeout
        self._clients: dict[socket.socket, threading.Thread] = {}
        self._lock = threading.Lock()
        self._refusals = threading.BoundedSemaphore(MAX_REFUSALS)
        self._waker, self._woken = socket.socketpair()

    def run(self) -> None:
        """Accept clients until `stop` or an exception such as Ctrl-C; then close all connections."""
        try:
            while self._woken not in select.select([self._listener, self._woken], [], [])[0]:
                try:
                    connection, _ = self._listener.accept()
                except OSError as error:  # client gone, or too many open files: temporary
                    self._log(f"a client could not be taken: {error}")
                    time.sleep(0.1)
                    continue
                self._take(connection)
        finally:
            self._hang_up()

    def stop(self) -> None:
        """End `run`; from any thread."""
        self._waker.send(b"x")

    def _take(self, connection: socket.socket) -> None:
        with suppress(OSError):  # a Unix socket has no such option
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._lock:
            busy = len(self._clients) >= self._max_clients
            if not busy:
                thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
                self._clients[connection] = thread
                thread.start()
        if busy and self._refusals.acquire(blocking=False):
            threading.Thread(target=self._refuse, args=(connection,), daemon=True).start()
        elif busy:
            connection.close()

    def _refuse(self, connection: socket.socket) -> None:
        """Runs in its own thread, since it waits until the client has read the message."""
        try:
            _send_and_close(connection, _error("busy", f"{self._max_clients} clients are here already; try later"))
        finally:
            self._refusals.release()
            connection.close()

    def _serve(self, connection: socket.socket) -> None:
        session = Session(self._served, self._log)
        try:
            self._exchange(connection, session)
        except ProtocolError as error:
            self._log(f"closed a connection: {error}")
            _send_and_close(connection, _error(error.code, str(error)))
        except OSError:
            pass  # the client is gone or does not read
        except Exception as error:  # server fault; other clients are still served
            logger.exception("connection closed after a server error")
            _send_and_close(connection, _error("internal", f"{type(error).__name__}: {error}; see the server's output"))
        finally:
            session.close()
            with self._lock:
                self._clients.pop(connection, None)
            connection.close()

    def _exchange(self, connection: socket.socket, session: Session) -> None:
        reader = MessageReader(connection, HELLO_LIMITS)
        while True:
            try:
                hello = () if session.greeted else (self._hello_timeout, self._hello_timeout)
                frame = reader.read(*hello)
            except TimeoutError:
                raise ProtocolError(f"hello: did not come within {self._hello_timeout:g} s") from None
            if frame is None:
                return
            try:
                answer = session.answer(frame)
            except ValueError as error:
                answer = _error("request", str(error))
                if not isinstance(error, RequestError):
                    self._log(f"a request was refused: {error}")
            if session.greeted:
                reader.limits = self._served.limits
            send(connection, answer)

    def _hang_up(self) -> None:
        with self._lock:
            clients = dict(self._clients)
        for connection in clients:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        until = time.monotonic() + SHUTDOWN_TIMEOUT
        for thread in clients.values():
            thread.join(max(0.0, until - time.monotonic()))
        self._waker.close()
        self._woken.close()


def _error(code: ErrorCode, message: str) -> Message:
    return Message(MessageKind.ERROR, {"code": code, "error": message})


def _send_and_close(connection: socket.socket, frame: Message) -> None:
    with suppress(OSError):
        send(connection, frame, LINGER_TIMEOUT)
        connection.shutdown(socket.SHUT_WR)
        until = time.monotonic() + LINGER_TIMEOUT
        while (left := until - time.monotonic()) > 0:
            connection.settimeout(left)
            if not connection.recv(2**16):
                break
