"""The verb that goes the whole way: demo."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

from world4scorer.cli.arguments import Folder
from world4scorer.cli.exit_codes import INTERRUPTED
from world4scorer.cli.learn import needs_torch


def demo(out: Folder = Path("out/demo"), preset: Literal["quick", "tiny"] = "quick") -> int:
    """Go the whole way: make a city, train, evaluate, study, report.

    On two cores, about a quarter of an hour. Each stage is a command that is shown and could be typed. May be stopped
    and run again: what is finished is kept.

    Example: w4s demo

    Args:
        out: Folder of everything that is made, 1.4 GB.
        preset: `quick` for numbers that mean something; `tiny` to see that it works, in minutes.
    """
    needs_torch("w4s demo")
    from world4scorer.cli.demo.run import run_stages
    from world4scorer.cli.demo.stages import Places, stages
    from world4scorer.cli.demo.summary import Summary

    todo = stages(preset)
    try:
        ledger = run_stages(todo, out, preset)
    except KeyboardInterrupt:  # the stage has told that it was interrupted
        print("stopped; the same command goes on from here", file=sys.stderr)
        return INTERRUPTED
    summary = Summary.read(todo, ledger)
    summary.save(out)
    print(f"\n{summary.text()}\n\n{summary.where(Places(out))}")
    return 0
