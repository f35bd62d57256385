"""Long work is stopped at every step of its writing, finds its disk full, another process or another clock.

What must hold: the same call afterwards ends with the same files, byte for byte, and nothing else is left; a step that
fails is an error that names a file; of two processes, both end with the files or one is refused.
"""

from __future__ import annotations

import atexit
import random
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Final
from unittest.mock import patch

from tests.faults.attack import TIMEOUT, Ended, Result, in_child
from tests.faults.injection import Fault, Injection, injected
from tests.faults.work import LEDGERS, WORK, content, load_kernels, make_inputs, same

KILLS: Final = (Fault.KILL, Fault.KILL_AFTER, Fault.TORN)
ERRORS: Final = (Fault.ENOSPC, Fault.EIO, Fault.EROFS)
CASES: Final = 20
"""Of a seed."""
MAX_KILLS: Final = 3
"""In a row, before work is let to end."""
FAILING: Final = 1 / 3
"""Of the cases of a command, those that fail and are not killed."""
JUMPS: Final = (-86_400.0 * 365, -3600.0, 3600.0, 86_400.0 * 3650)
"""Seconds by which the clock jumps."""

ALL_WORK: Final = {**WORK, **LEDGERS}
"""With the commands, once they are needed: importing them takes seconds."""


@cache
def inputs() -> Path:
    """Folder with what the work reads, made once."""
    folder = Path(mkdtemp(prefix="w4s-faults-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)  # children end without
    load_kernels()
    made = in_child(lambda: make_inputs(folder) and None)
    assert not made.error and not made.died, made
    return folder


@cache
def command_inputs() -> Path:
    """The same with what the commands read, in about a minute."""
    from tests.faults.command_work import COMMANDS, make_command_inputs

    folder = inputs()
    made = in_child(lambda: make_command_inputs(folder), timeout=20 * TIMEOUT)
    assert not made.error and not made.died, made
    ALL_WORK.update(COMMANDS)
    return folder


@cache
def expected(name: str) -> tuple[int, dict[str, str]]:
    """Steps of some work that nothing disturbs, and its files."""
    if name not in ALL_WORK:
        command_inputs()
    out = inputs() / "expected" / name
    out.parent.mkdir(exist_ok=True)

    def undisturbed() -> int:
        with injected(Injection(out)) as counted:
            ALL_WORK[name](inputs(), out)
        return counted.steps

    ended = in_child(undisturbed)
    assert ended.value, ended
    return ended.value, content(out)


def kills(seed: int, folder: Path) -> Result:
    """Killed once or several times, then resumed."""
    return _cases(seed, folder, _killed)


def disk_faults(seed: int, folder: Path) -> Result:
    """A step fails once, then resumed."""
    return _cases(seed, folder, _failed)


def clocks(seed: int, folder: Path) -> Result:
    """Killed, then resumed at another time."""
    return _cases(seed, folder, _at_another_time, cases=4)


def two_processes(seed: int, folder: Path) -> Result:
    """Two processes on one folder at the same time."""
    return _cases(seed, folder, _together, cases=2)


def commands(seed: int, folder: Path) -> Result:
    """One command of `command_work`, killed once or several times or failing at a step, then resumed."""
    command_inputs()
    slow = [name for name in ALL_WORK if name not in WORK and name not in LEDGERS]
    rng = random.Random(seed)
    name = slow[seed % len(slow)]
    count, wrong = (_failed if rng.random() < FAILING else _killed)(rng, name, folder / "out")
    return Result(count, (f"{name}: {wrong}",) if wrong else ())


def every_step(name: str, fault: Fault, folder: Path) -> Result:
    """All steps of some work, one after the other: not drawn."""
    steps, _ = expected(name)
    failures = []
    for at in range(1, steps + 1):
        ended = _disturbed(name, folder, fault, at)
        wrong = _resumed(name, folder) if ended.killed or not fault.kills else f"not killed: {ended}"
        if wrong:
            failures.append(f"{name}, {fault.value}, step {at}: {wrong}")
        shutil.rmtree(folder, ignore_errors=True)
    return Result(steps, tuple(failures))


_Case = Callable[[random.Random, str, Path], tuple[int, str]]
"""Returns the number of faults, and what is wrong."""


def _cases(seed: int, folder: Path, case: _Case, cases: int = CASES) -> Result:
    rng = random.Random(seed)
    count, failures = 0, []
    for number in range(cases):
        name = rng.choice(list(WORK))
        out = folder / str(number)
        faults, wrong = case(rng, name, out)
        count += faults
        if wrong:
            failures.append(f"case {number}, {name}: {wrong}")
        shutil.rmtree(out, ignore_errors=True)
    return Result(count, tuple(failures))


def _killed(rng: random.Random, name: str, out: Path) -> tuple[int, str]:
    steps, _ = expected(name)
    done = 0
    for _ in range(rng.randint(1, MAX_KILLS)):
        ended = _disturbed(name, out, rng.choice(KILLS), rng.randint(1, steps))
        if ended.error:
            return done, ended.error
        done += ended.killed
        if not ended.killed:  # resumed work has fewer steps
            break
    return done, _resumed(name, out)


def _failed(rng: random.Random, name: str, out: Path) -> tuple[int, str]:
    steps, _ = expected(name)
    fault = rng.choice(ERRORS)
    ended = _disturbed(name, out, fault, rng.randint(1, steps))
    if ended.died or ended.error.startswith("unexpected"):
        return 1, f"{fault.value}: {ended.died or ended.error}"
    if ended.error and str(out) not in ended.error:
        return 1, f"{fault.value}: {ended.error!r} names no file"
    return 1, _resumed(name, out)


def _at_another_time(rng: random.Random, name: str, out: Path) -> tuple[int, str]:
    steps, _ = expected(name)
    _disturbed(name, out, Fault.KILL, rng.randint(1, steps))
    jump, plain = rng.choice(JUMPS), time.time

    def resume() -> None:
        with patch.object(time, "time", lambda: plain() + jump):
            ALL_WORK[name](inputs(), out)

    return 1, _compared(name, out, in_child(resume))


def _together(rng: random.Random, name: str, out: Path) -> tuple[int, str]:
    def both() -> list[str]:
        """What each of two children says; forked from threads of a child, so that threads are not in their way."""
        with ThreadPoolExecutor(2) as threads:
            ended = list(threads.map(lambda _: in_child(lambda: ALL_WORK[name](inputs(), out)), range(2)))
        return [one.error or one.died for one in ended]

    ended = in_child(both)
    said = ended.value if ended.value is not None else [ended.error or ended.died]
    odd = [one for one in said if one and "another run is" not in one]
    return 1, "; ".join(odd) or _resumed(name, out)


def _disturbed(name: str, out: Path, fault: Fault, at: int) -> Ended:
    def work() -> None:
        with injected(Injection(out, fault, at)):
            ALL_WORK[name](inputs(), out)

    return in_child(work)


def _resumed(name: str, out: Path) -> str:
    return _compared(name, out, in_child(lambda: ALL_WORK[name](inputs(), out)))


def _compared(name: str, out: Path, ended: Ended) -> str:
    """What is wrong with work that ended, and its files."""
    return ended.error or ended.died or same(content(out), expected(name)[1])
