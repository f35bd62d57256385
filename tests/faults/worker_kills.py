"""Work of several processes is killed: all of them, the first one alone, or a single other one. At times of the clock,
so that a seed repeats what is attempted, and a failure only as far as the machine does.

What must hold: workers end with the first process; the first process goes on without a worker and ends well; the same
command afterwards ends with the same files, byte for byte.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.faults.attack import Result
from tests.faults.work import content, same

CASES: Final = 6
"""Of a seed: two of each kind."""
TARGETS: Final = ("group", "main", "worker")
ROOT: Final = Path(__file__).resolve().parents[2]
TIMEOUT: Final = 180.0
"""Seconds after which a command hangs."""
ORPHANS_END: Final = 60.0
"""Seconds within which workers end that have lost their first process."""
EARLIEST: Final = 0.3
"""Share of an undisturbed run before which there is hardly anything to kill but the interpreter's start."""


def start(folder: Path) -> subprocess.Popen[bytes]:
    """The command, in a group of its own."""
    command = [sys.executable, "-m", "tests.faults.pool_work", str(folder)]
    return subprocess.Popen(
        command, cwd=ROOT, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


@cache
def undisturbed() -> tuple[float, dict[str, str]]:
    """Seconds that the work takes, and its files."""
    with TemporaryDirectory() as folder:
        begin = time.monotonic()
        assert start(Path(folder) / "out").wait(TIMEOUT) == 0
        return time.monotonic() - begin, content(Path(folder) / "out")


def worker_kills(seed: int, folder: Path, cases: int = CASES) -> Result:
    """Kills at any time, of each kind in turn; what had ended before is not counted."""
    rng = random.Random(seed)
    count, failures = 0, []
    for number in range(cases):
        target, out = TARGETS[number % len(TARGETS)], folder / str(number)
        killed, wrong = _killed(target, rng.uniform(EARLIEST, 1.0) * undisturbed()[0], rng.random(), out)
        count += killed
        if wrong:
            failures.append(f"case {number}, {target}: {wrong}")
        shutil.rmtree(out, ignore_errors=True)
    return Result(count, tuple(failures))


def _killed(target: str, after: float, which: float, out: Path) -> tuple[bool, str]:
    """Whether something was killed, and what is wrong; `which` of the workers, those that start others among them."""
    process = start(out)
    time.sleep(after)
    workers = _members(process.pid, without=process.pid)
    if process.poll() is not None or (target == "worker" and not workers):
        process.wait(TIMEOUT)
        return False, same(content(out), undisturbed()[1])
    killed = True
    if target == "group":
        os.killpg(process.pid, signal.SIGKILL)
    else:
        try:
            os.kill(process.pid if target == "main" else workers[int(which * len(workers))], signal.SIGKILL)
        except ProcessLookupError:
            killed = False  # it has just ended by itself
    try:
        code = process.wait(TIMEOUT)
        if target == "worker" and code:
            return True, f"ended with {code}"
        deadline = time.monotonic() + ORPHANS_END
        while left := _members(process.pid, without=process.pid):
            if time.monotonic() > deadline:
                return True, f"{len(left)} processes did not end"
            time.sleep(0.01)
        if target != "worker" and start(out).wait(TIMEOUT):
            return True, "cannot be resumed"
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return True, "hangs"
    return killed, same(content(out), undisturbed()[1])


def _members(group: int, without: int) -> list[int]:
    """Living processes of a group."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, member_of = path.read_text().rpartition(")")[2].split()[:3]
        except OSError:  # ended in between
            continue
        if int(member_of) == group and state != "Z" and int(path.parent.name) != without:
            found.append(int(path.parent.name))
    return sorted(found)
