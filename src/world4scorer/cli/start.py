"""Commands of `Start`: demo, doctor, completion."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import tyro

from world4scorer.cli.arguments import Folder, OptionalFolder
from world4scorer.cli.exit_codes import INPUT_ERROR, INTERRUPTED
from world4scorer.cli.requirements import require_torch

Shell = Annotated[Literal["bash", "zsh", "fish"], tyro.conf.Positional]


def demo(out: Folder = Path("out/demo"), preset: Literal["quick", "tiny"] = "quick") -> int:
    """Go the whole way: make a city, train, evaluate, study, report.

    On two cores, about a quarter of an hour. Each stage is a command that is shown and could be typed. May be stopped
    and run again: what is finished is kept.

    Example: w4s demo

    Args:
        out: Folder of everything that is made, 1.4 GB.
        preset: `quick` for numbers that mean something; `tiny` to see that it works, in minutes.
    """
    require_torch("w4s demo")
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


def doctor(store: OptionalFolder = None) -> int:
    """Check this installation: versions, threads, a numerical self-test.

    Rollouts and scores of a bundled log are compared with the values that the official implementation gave for it.

    Example: w4s doctor

    Args:
        store: Also read a whole scene store and compare its checksums.
    """
    from world4scorer.cli.doctor import examine, examine_store

    findings = examine()
    if store is not None:
        findings.append(examine_store(store))
    for finding in findings:
        print(f"{'ok  ' if finding.sound else 'BAD '} {finding.topic:22s} {finding.text}")
    bad = [finding for finding in findings if not finding.sound]
    for finding in bad:
        print(f"w4s: {finding.topic}: {finding.text}", file=sys.stderr)
    return INPUT_ERROR if bad else 0


def completion(shell: Shell, /) -> int:
    """Print a script that completes these commands in a shell.

    Example: w4s completion bash > ~/.local/share/bash-completion/completions/w4s

    Args:
        shell: For which shell.
    """
    from world4scorer.cli.completion import script

    print(script(shell), end="")
    return 0
