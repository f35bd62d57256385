"""Commands of `Start`: demo, doctor, completion."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import tyro

from world4scorer.cli.arguments import OptionalFolder
from world4scorer.cli.exit_codes import INPUT_ERROR, INTERRUPTED, UsageError, require_torch

Shell = Annotated[Literal["bash", "zsh", "fish"], tyro.conf.Positional]


def demo(out: OptionalFolder = None, preset: Literal["quick", "tiny"] = "quick", ready: bool = False) -> int:
    """Run the whole pipeline: make a city, train, evaluate, study, report.

    Takes about a quarter of an hour on two cores. Each stage is a `w4s` command, which is printed. Can be interrupted
    and run again: what is finished is kept.

    With --ready in two minutes: the planner that comes with the package instead of training, the smallest city, its
    evaluation, a film, the explorer and the report.

    Example: w4s demo

    Args:
        out: Folder of all results, 1.4 GB; out/demo unless given, with --ready out/ready.
        preset: `quick` for meaningful numbers; `tiny` to test the pipeline in minutes.
        ready: Train nothing, and show what the bundled planner does.
    """
    require_torch("w4s demo")
    from world4scorer.cli.demo.ready_stages import SUBJECT, ready_stages
    from world4scorer.cli.demo.run import run_stages
    from world4scorer.cli.demo.stages import DemoFolder, stages
    from world4scorer.cli.demo.summary import Summary

    if ready and preset != "quick":
        raise UsageError("--preset: --ready has a city of its own")
    todo = ready_stages() if ready else stages(preset)
    folder = DemoFolder(out or Path("out/ready"), SUBJECT) if ready else DemoFolder(out or Path("out/demo"))
    try:
        ledger = run_stages(todo, folder.out, "ready" if ready else preset)
    except KeyboardInterrupt:  # the stage has printed that it was interrupted
        print("stopped; run the same command again to resume", file=sys.stderr)
        return INTERRUPTED
    summary = Summary.read(todo, ledger, folder)
    summary.save(folder.out)
    print(f"\n{summary.text()}\n\n{summary.where(folder)}")
    return 0


def doctor(store: OptionalFolder = None, city: bool = False) -> int:
    """Check this installation: versions, threads, a numerical self-test.

    Compares rollouts and scores of a bundled log with those of the official implementation. Compiles the kernels that
    are not compiled yet.

    Example: w4s doctor

    Args:
        store: Also read a whole scene store and compare its checksums.
        city: Check the embedded world instead: make a city of one log, in a temporary folder, and prepare its scenes.
    """
    from world4scorer.cli.doctor import examine, examine_city, examine_store

    findings = examine_city() if city else examine()
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
