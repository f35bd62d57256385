"""Run the demo: each stage as a process of its own, with the remaining time."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from world4scorer.cli.demo.ledger import Ledger
from world4scorer.cli.demo.pace import Pace, in_words
from world4scorer.cli.demo.stages import DemoFolder, Preset, Stage
from world4scorer.jobs.files import read_json
from world4scorer.jobs.resumable import resumable

LOGS: Final = "logs"

Run = Callable[[Stage, Path], int]
"""Carries out a stage, with what it prints going to a file; returns the exit code."""


class StageFailed(ValueError):
    """A stage did not end well; what was finished before is kept."""


def run_stages(stages: Sequence[Stage], out: Path, preset: Preset, run: Run | None = None) -> Ledger:
    """Run what is not finished; returns the ledger, with the time of every stage."""
    run = run or as_process
    with resumable(out, "making this demo"):
        ledger, pace = Ledger(out, preset), Pace()
        still = [stage for stage in stages if not ledger.is_finished(stage)]
        if still:
            _check_place(out)
        for stage in stages:
            if stage not in still:
                pace.note(stage, ledger.seconds(stage) or stage.seconds)
        print(_opening(stages, still, pace.left(still)), flush=True)
        for number, stage in enumerate(stages, 1):
            mark = f"[{number:2d}/{len(stages)}] {stage.name}"
            if ledger.is_finished(stage):
                print(f"{mark}: finished before", flush=True)
                continue
            print(f"{mark}: {stage.title}\n        {stage.at(out).command}", flush=True)
            seconds = _carry_out(stage, stages, out, ledger, run)
            pace.note(stage, seconds)
            later = [stage for stage in stages[number:] if not ledger.is_finished(stage)]
            rest = f"; about {in_words(pace.left(later))} left" if later else ""
            print(f"        {in_words(seconds)}{rest}", flush=True)
    return ledger


def as_process(stage: Stage, log: Path) -> int:
    """Run a stage as `w4s` would be run; progress is seen, what it prints is kept."""
    with log.open("wb") as kept:
        # As a process, not a call: training starts itself anew for each device, and memory is given back.
        process = subprocess.Popen([sys.executable, "-m", "world4scorer", *stage.words], stdout=kept)
        try:
            return process.wait()
        except BaseException:
            process.terminate()
            process.wait()
            raise


def _carry_out(stage: Stage, stages: Sequence[Stage], out: Path, ledger: Ledger, run: Run) -> float:
    """Run a stage and note it; returns how long it took, stops included [s]."""
    log = out / LOGS / f"{stage.name.replace(' ', '-')}.txt"
    log.parent.mkdir(exist_ok=True)
    ledger.begin(stage)
    began = time.monotonic()
    try:
        code = run(stage.at(out), log)
        if code != 0:
            raise StageFailed(
                f"{stage.name}: {_ending(code)}, for the reason above (what it printed: {log}); after fixing it "
                "run the same command again to resume"
            )
        if not stage.at(out).made.exists():
            raise StageFailed(f"{stage.name}: ended without {stage.at(out).made}; see {log}")
    except BaseException:
        ledger.stop(stage, time.monotonic() - began)
        raise
    ledger.finish(stage, time.monotonic() - began, stages)
    return ledger.seconds(stage) or 0.0


def _ending(code: int) -> str:
    if code >= 0:
        return f"failed with exit code {code}"
    name = signal.Signals(-code).name
    return f"was killed by {name}" + (", often for lack of memory" if name == "SIGKILL" else "")


def _check_place(out: Path) -> None:
    """Runs and pools know where their data lie: a folder that was moved cannot be resumed."""
    notes = DemoFolder(out).run.data_file
    if not notes.is_file():
        return
    try:
        there = Path(read_json(notes, remedy=f"delete {notes.parent}, and the planner is trained again")["data"])
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{notes}: damaged ({error!r}); delete {notes.parent}, and the planner is trained again"
        ) from error
    if there != DemoFolder(out).city.root.resolve():
        raise ValueError(f"{out}: was created in {there.parent}; move it back there, or choose another --out")


def _opening(stages: Sequence[Stage], still: Sequence[Stage], seconds: float) -> str:
    if not still:
        return f"World4Scorer, from streets to findings: all {len(stages)} stages are finished."
    return (
        f"World4Scorer, from streets to findings: {len(still)} of {len(stages)} stages to do, about "
        f"{in_words(seconds)} on two cores. It can be interrupted at any time; the same command resumes."
    )
