"""What an attack is, and how its cases run: in forked children, which may be killed, crash or hang."""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

TIMEOUT: Final = 300.0
"""Seconds after which a child hangs; machines may be slow."""
MEMORY: Final = 3 << 30
"""Bytes of addresses that a reader may take beyond what it has: enough for any honest file of this size."""


@dataclass(frozen=True)
class Result:
    """Of the cases of one seed."""

    cases: int
    failures: tuple[str, ...] = ()
    compared: int = 0
    """Cases whose result was compared with another way to compute it."""


@dataclass(frozen=True)
class Attack:
    """An attack by name."""

    name: str
    unit: str
    """What its cases are, in the plural."""
    run: Callable[[int, Path], Result]
    """The cases of a seed, in an empty folder."""
    goal: int
    """Cases after which it has been tried enough."""


@dataclass(frozen=True)
class Ended:
    """How a child ended."""

    value: Any = None
    """What its function returned, if it did."""
    error: str = ""
    """What it raised: `Type: message`."""
    died: str = ""
    """Signal, exit code or time-out, if it did not end by itself."""

    @property
    def killed(self) -> bool:
        """Whether it was killed as by `kill -9`."""
        return self.died == signal.Signals.SIGKILL.name


def in_child(function: Callable[[], Any], timeout: float = TIMEOUT, *, limit_memory: bool = False) -> Ended:
    """Run a function, whose value is JSON, in a forked child; with `MEMORY` beyond what it has, if limited."""
    here, there = os.pipe()
    child = os.fork()
    if not child:
        os.close(here)
        if limit_memory:
            taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY, taken + MEMORY))
        _report(function, there)
    os.close(there)
    with os.fdopen(here, "rb") as answer:
        if not select.select([answer], [], [], timeout)[0]:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return Ended(died=f"hang of {timeout:g} s")
        content = answer.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code or not content:
        return Ended(died=signal.Signals(-code).name if code < 0 else f"exit code {code}")
    return Ended(**json.loads(content))


def _report(function: Callable[[], Any], answer: int) -> None:
    """Answer what a function returns or raises, and end this process without its parent's clean-up."""
    try:
        said: dict[str, Any] = {"value": function()}
    except (ValueError, OSError) as error:  # what users can cause
        said = {"error": f"{type(error).__name__}: {error}"}
    except BaseException:
        said = {"error": "unexpected " + traceback.format_exc()}
    finally:
        _write(answer, json.dumps(said).encode())
        os._exit(0)


_write = os.write  # before anything is injected
