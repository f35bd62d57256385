"""Address of a planner server: a loopback port, or a Unix socket with mode 0600."""

from __future__ import annotations

import os
import re
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from world4scorer.jobs.files import check_folder, hold_lock

LOOPBACK: Final = "127.0.0.1"
"""Only host to listen on: there is no authentication."""
DEFAULT_PORT: Final = 4747
BACKLOG: Final = 16
"""Pending connections of the listening socket."""
OWNER_ONLY_UMASK: Final = 0o177
"""umask for a socket with mode 0600."""


@dataclass(frozen=True)
class Address:
    """A port of this machine, or the path of a Unix socket."""

    port: int = DEFAULT_PORT
    """0 for any free port."""
    path: Path | None = None

    def __str__(self) -> str:
        return f"{LOOPBACK}:{self.port}" if self.path is None else f"unix:{self.path}"

    @classmethod
    def parse(cls, text: str) -> Address:
        """Parse 127.0.0.1:PORT or unix:PATH."""
        if text.startswith("unix:") and len(text) > len("unix:"):
            return cls(path=Path(text.removeprefix("unix:")))
        found = re.fullmatch(r"(?:127\.0\.0\.1|localhost):([0-9]{1,5})", text)
        if found is None or not 0 < int(found[1]) < 2**16:
            raise ValueError(f"{text}: not an address; {LOOPBACK}:PORT or unix:PATH is needed")
        return cls(port=int(found[1]))

    def connect(self, seconds: float) -> socket.socket:
        """Connect; raises OSError."""
        if self.path is None:
            connection = socket.create_connection((LOOPBACK, self.port), seconds)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.settimeout(seconds)
            connection.connect(str(self.path))
        except OSError:
            connection.close()
            raise
        return connection


@contextmanager
def listening(address: Address) -> Iterator[tuple[socket.socket, Address]]:
    """Listening socket and its actual address; a Unix socket is removed at the end."""
    if address.path is None:
        with socket.socket() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # reuse a port at once
            try:
                listener.bind((LOOPBACK, address.port))
            except (OSError, OverflowError) as error:
                reason = error.strerror if isinstance(error, OSError) else "no such port"
                raise ValueError(f"--port {address.port}: {reason}; choose another, or 0 for any") from error
            listener.listen(BACKLOG)
            yield listener, Address(listener.getsockname()[1])
        return
    path = address.path
    check_folder(path.parent)
    taken = ValueError(f"{path}: a server is there already; end it, or choose another path")
    with hold_lock(path.with_name(f".{path.name}.lock"), taken), socket.socket(socket.AF_UNIX) as listener:
        _remove_stale(path, taken)
        before = os.umask(OWNER_ONLY_UMASK)
        try:
            listener.bind(str(path))
        except OSError as error:
            raise ValueError(f"{path}: {error.strerror or error}; a short path on a local disk is needed") from error
        finally:
            os.umask(before)
        try:
            listener.listen(BACKLOG)
            yield listener, address
        finally:
            path.unlink(missing_ok=True)


def _remove_stale(path: Path, taken: ValueError) -> None:
    """Remove the socket of a dead server; raises for anything else."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise ValueError(f"{path}: is there and no socket; choose another path")
    with suppress(ConnectionRefusedError):
        Address(path=path).connect(1.0).close()
        raise taken
    path.unlink()
