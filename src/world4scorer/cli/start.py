"""Commands of `Start`: demo, doctor, completion."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import tyro

from world4scorer.cli.arguments import Folder, OptionalFolder
from world4scorer.cli.exit_codes import INPUT_ERROR, INTERRUPTED, require_torch

Shell = Annotated[Literal["bash", "zsh", "fish"], tyro.conf.Positional]


def demo(out: Folder = Path("out/demo"), preset: Literal["quick", "tiny"] = "quick") -> int:
    """Run the whole pipeline: make a city, train, evaluate, study, report.

    Takes about a quarter of an hour on two cores. Each stage is a `w4s` command, which is printed. Can be interrupted
    and run again: what is finished is kept.

    Example: w4s demo

    Args:
        out: Folder of all results, 1.4 GB.
        preset: `quick` for meaningful numbers; `tiny` to test the pipeline in minutes.
    """
    require_torch("w4s demo")
    from world4scorer.cli.demo.run import run_stages
    from world4scorer.cli.demo.stages import DemoFolder, stages
    from world4scorer.cli.demo.summary import Summary

    todo = stages(preset)
    try:
        ledger = run_stages(todo, out, preset)
    except KeyboardInterrupt:  # the stage has printed that it was interrupted
        print("stopped; run the same command again to resume", file=sys.stderr)
        return INTERRUPTED
    summary = Summary.read(todo, ledger)
    summary.save(out)
    print(f"\n{summary.text()}\n\n{summary.where(DemoFolder(out))}")
    return 0


def doctor(store: OptionalFolder = None) -> int:
    """Check this installation: versions, threads, a numerical self-test.

    Compares rollouts and scores of a bundled log with those of the official implementation.

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
    """Print the shell completion script.

    Example: w4s completion bash > ~/.local/share/bash-completion/completions/w4s

    Args:
        shell: Shell to print it for.
    """
    from world4scorer.cli.completion import script

    print(script(shell), end="")
    return 0
