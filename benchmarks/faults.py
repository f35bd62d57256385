"""Attack files, long work, readers and engine for a while, and count what held.

    python benchmarks/faults.py --fresh --workers 2              # until each has been tried enough; about 80 minutes
    python benchmarks/faults.py --attacks kills disk --minutes 10
    python benchmarks/faults.py --replay fuzz 17

Writes results/faults.json and results/faults.md. Counts grow from run to run: each goes on with seeds that were not
used yet, unless --fresh; a run that was stopped is resumed without it. With --workers, so many attacks run at a time,
each in a process of its own with the same seeds as alone. Failures are listed with the seed that repeats them. Exit
code 1 if there are any. Somebody who takes a failure from the list, as mended, says so in the field `note` of the
attack, which the table shows.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

os.environ.setdefault("NUMBA_NUM_THREADS", "1")  # children are forked, which threads do not survive
os.environ.setdefault("OMP_NUM_THREADS", "1")

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import tyro  # noqa: E402

from tests.faults.attacks import ATTACKS  # noqa: E402
from world4scorer import __version__  # noqa: E402
from world4scorer.jobs.files import atomic_write, hold_lock, read_json, write_json  # noqa: E402

FOLDER: Final = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""In memory where there is such a place: what is attacked is the order of steps, not the disk."""
KEPT_FAILURES: Final = 100
"""Of an attack, in the results."""


@dataclass(frozen=True)
class Options:
    """Options of the benchmark."""

    minutes: float | None = None
    """How long, shared evenly by the attacks; until each has been tried enough unless given."""
    attacks: tuple[str, ...] = tuple(ATTACKS)
    """Which."""
    replay: tuple[str, int] | None = None
    """Attack and seed of a failure: run once more, nothing is written."""
    workers: int = 1
    """How many attacks at a time."""
    fresh: bool = False
    """Forget former runs of these attacks."""
    out: Path = ROOT / "results" / "faults"


Entry = dict[str, Any]
"""Counts of an attack."""


def read_counts(file: Path) -> dict[str, Entry]:
    """Counts of former runs by attack."""
    return dict(read_json(file)["attacks"]) if file.is_file() else {}


def write_counts(file: Path, changed: dict[str, Entry | None]) -> None:
    """Put in, or take out, the counts of some attacks; those of others may be written by other processes meanwhile."""
    with hold_lock(file.with_name(f".{file.name}.lock")):
        known = read_counts(file) | changed
        kept = {name: entry for name in ATTACKS if (entry := known.get(name)) is not None}
        write_json(file, {"attacks": kept, "machine": platform.machine(), "version": __version__})


def run(name: str, minutes: float | None, file: Path) -> None:
    """Run an attack for a while, or until its goal, and add to its counts."""
    none = {"what": ATTACKS[name].unit, "seeds": 0, "cases": 0, "compared": 0, "failures": [], "seconds": 0.0}
    entry = read_counts(file).get(name, none)
    begin = time.monotonic()
    while entry["cases"] < ATTACKS[name].goal if minutes is None else time.monotonic() < begin + 60 * minutes:
        seed, start = entry["seeds"], time.monotonic()
        with tempfile.TemporaryDirectory(prefix="w4s-attack-", dir=FOLDER) as folder:
            found = ATTACKS[name].run(seed, Path(folder))
        entry["seeds"] += 1
        entry["cases"] += found.cases
        entry["compared"] += found.compared
        entry["seconds"] = round(entry["seconds"] + time.monotonic() - start, 1)
        entry["failures"] += [f"seed {seed}: {failure}" for failure in found.failures]
        del entry["failures"][KEPT_FAILURES:]
        write_counts(file, {name: entry})


def run_apart(names: Sequence[str], minutes: float | None, options: Options) -> None:
    """Run each attack in a process of its own, some at a time; the longest, which stand last, begin."""

    def start(name: str) -> None:
        words = [
            "--attacks",
            name,
            "--out",
            str(options.out),
            *(() if minutes is None else ("--minutes", str(minutes))),
        ]
        code = subprocess.run([sys.executable, __file__, *words], stdout=subprocess.DEVNULL, check=False).returncode
        if code not in (0, 1):  # failures that were counted are 1
            raise RuntimeError(f"{name}: ended with {code}, see above; the same command without --fresh resumes")

    with ThreadPoolExecutor(options.workers) as threads:
        list(threads.map(start, reversed(names)))


def compared(entry: Entry) -> str:
    """How many cases were compared with the readable version."""
    return f", {entry['compared']:,} of them compared with the readable version" if entry["compared"] else ""


def markdown(content: dict[str, Any]) -> str:
    """Lay the counts out as a table."""
    entries = content["attacks"].values()
    lines = [
        "# Faults",
        "",
        f"Made by `python benchmarks/faults.py` ({content['machine']}, world4scorer {content['version']}). Hours are "
        f"those of one process: {sum(e['seconds'] for e in entries) / 3600:.2f} in all. "
        "What must hold: [reliability](../docs/reliability.md).",
        "",
        "| | cases | failures | hours |",
        "|---|--:|--:|--:|",
    ]
    lines += [
        f"| {entry['what']}{compared(entry)} | {entry['cases']:,} | {len(entry['failures'])} "
        f"| {entry['seconds'] / 3600:.2f} |"
        for entry in entries
    ]
    failures = [f"- {name}, {failure}" for name, entry in content["attacks"].items() for failure in entry["failures"]]
    notes = [f"- {name}: {entry['note']}" for name, entry in content["attacks"].items() if "note" in entry]
    for title, rows in (("Failures", failures), ("Notes", notes)):
        lines += ["", f"{title}:", "", *rows] if rows else []
    return "\n".join(lines) + "\n"


def main(options: Options) -> int:
    """Run all attacks."""
    if options.replay is not None:
        name, seed = options.replay
        with tempfile.TemporaryDirectory(prefix="w4s-attack-") as folder:
            found = ATTACKS[name].run(seed, Path(folder))
        print(*found.failures, f"{found.cases} cases, {len(found.failures)} failures", sep="\n")
        return bool(found.failures)
    file = options.out.with_suffix(".json")
    write_counts(file, dict.fromkeys(options.attacks) if options.fresh else {})
    minutes = options.minutes and options.minutes * options.workers / len(options.attacks)
    if options.workers > 1:
        run_apart(options.attacks, minutes, options)
    else:
        for name in options.attacks:
            run(name, minutes, file)
    content = read_json(file)
    table = markdown(content)
    with atomic_write(options.out.with_suffix(".md")) as stream:
        stream.write(table.encode())
    print(table)
    return any(entry["failures"] for entry in content["attacks"].values())


if __name__ == "__main__":
    sys.exit(main(tyro.cli(Options)))
