"""The n-th step of writing below a folder fails: the process dies, the disk is full, broken or read-only.

Steps are what the kernel is asked for: creating a file, a write (after Python's buffer), fsync, rename, mkdir, unlink.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from pathlib import Path
from typing import Any
from unittest.mock import patch


class Fault(Enum):
    """What happens at the step."""

    KILL = "killed before it"
    KILL_AFTER = "killed after it"
    TORN = "killed with half of it done"
    ENOSPC = "no space left"
    EIO = "input/output error"
    EROFS = "read-only file system"

    @property
    def kills(self) -> bool:
        """Whether the process ends."""
        return self in (Fault.KILL, Fault.KILL_AFTER, Fault.TORN)


class Injection:
    """Counts steps, and fails at one of them."""

    def __init__(self, folder: Path, fault: Fault | None = None, at: int = 0) -> None:
        self.folder, self.fault, self.at = os.fspath(folder), fault, at
        self.steps = 0

    def concerns(self, path: Any) -> bool:
        """Whether steps on a path are counted."""
        return isinstance(path, str | os.PathLike) and os.fspath(path).startswith(self.folder)

    def step(self, act: Callable[[], Any], path: Any = None, half: Callable[[], Any] | None = None) -> Any:
        """Do a step, or what is to happen instead; errors name a path where the kernel is given one."""
        self.steps += 1
        if self.fault is None or self.steps != self.at:
            return act()
        if not self.fault.kills:
            code = getattr(errno, self.fault.name)
            raise OSError(code, os.strerror(code), path)
        if self.fault is Fault.TORN and half is not None:
            half()
        elif self.fault is Fault.KILL_AFTER:
            with suppress(OSError):
                act()
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("still alive")


class _File(io.FileIO):
    """A file whose writes are steps."""

    injection: Injection

    def write(self, content: Any) -> int:
        plain = super().write
        with memoryview(content) as view:
            whole = view.cast("B")
            count: int = self.injection.step(lambda: plain(whole), half=lambda: plain(whole[: len(whole) // 2]))
        return count


@contextmanager
def injected(injection: Injection) -> Iterator[Injection]:
    """Count steps of this process, and fail at one."""
    plain_open = builtins.open

    def opened(path: Any, mode: str = "r", buffering: int = -1, *rest: Any, **named: Any) -> Any:
        if not (set(mode) & set("wax+")) or not injection.concerns(path):
            return plain_open(path, mode, buffering, *rest, **named)
        raw = injection.step(lambda: _File(path, mode.replace("b", "").replace("t", "")), path)
        raw.injection = injection
        if buffering == 0:
            return raw
        stream: Any = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
        return stream if "b" in mode else io.TextIOWrapper(stream, *rest, **named)

    def counted(plain: Callable[..., Any], always: bool = False) -> Callable[..., Any]:
        def call(path: Any, *rest: Any, **named: Any) -> Any:
            if always or (injection.concerns(path) and named.get("dir_fd") is None):
                return injection.step(lambda: plain(path, *rest, **named), None if always else path)
            return plain(path, *rest, **named)

        return call

    calls = {name: counted(getattr(os, name)) for name in ("replace", "rename", "mkdir", "unlink", "rmdir")}
    calls["fsync"] = counted(os.fsync, always=True)
    with patch.multiple(os, **calls), patch.object(builtins, "open", opened), patch.object(io, "open", opened):
        yield injection
