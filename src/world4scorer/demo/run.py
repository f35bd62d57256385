"""Run the demonstration: stage after stage, each as a command of its own, with the time left."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from world4scorer.demo.ledger import Ledger, command_of
from world4scorer.demo.pace import Pace, in_words
from world4scorer.demo.stages import Stage
from world4scorer.scene.files import only_one

LOGS: Final = "logs"

Run = Callable[[Stage, Path], int]
"""Carries out a stage, with what it prints going to a file; returns the exit code."""


class StageFailed(ValueError):
    """A stage did not end well; what was finished before is kept."""


def run_stages(stages: Sequence[Stage], out: Path, run: Run | None = None) -> Ledger:
    """Run what is not finished; returns the ledger, with the time of every stage."""
    run = run or as_process
    out.mkdir(parents=True, exist_ok=True)
    refusal = ValueError(f"{out}: another demonstration is running there; wait for it, or stop it first")
    with only_one(out / ".lock", refusal):
        ledger, pace = Ledger(out), Pace()
        still = [stage for stage in stages if not ledger.is_finished(stage)]
        print(_opening(stages, still, pace.left(still)), flush=True)
        for number, stage in enumerate(stages, 1):
            mark = f"[{number:2d}/{len(stages)}] {stage.name}"
            if ledger.is_finished(stage):
                print(f"{mark}: finished before", flush=True)
                continue
            print(f"{mark}: {stage.title}\n        {command_of(stage)}", flush=True)
            ledger.begin(stage, stages)
            began = time.monotonic()
            _carry_out(stage, out / LOGS / f"{stage.name.replace(' ', '-')}.txt", run)
            seconds = time.monotonic() - began
            ledger.finish(stage, seconds)
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


def _carry_out(stage: Stage, log: Path, run: Run) -> None:
    log.parent.mkdir(exist_ok=True)
    code = run(stage, log)
    if code == 0 and not stage.made.exists():
        raise StageFailed(f"{stage.name}: ended without {stage.made}; see {log}")
    if code != 0:
        raise StageFailed(
            f"{stage.name}: failed with exit code {code}, for the reason above (printed before it: {log}); "
            "once that is mended the same command goes on from here"
        )


def _opening(stages: Sequence[Stage], still: Sequence[Stage], seconds: float) -> str:
    if not still:
        return f"World4Scorer, from streets to findings: all {len(stages)} stages are finished."
    return (
        f"World4Scorer, from streets to findings: {len(still)} of {len(stages)} stages to do, about "
        f"{in_words(seconds)} on two cores. Stop it at any time; the same command goes on."
    )
