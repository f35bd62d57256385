"""What the subcommands of `w4s study` share: their options as flags, their pools, where findings go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from world4scorer.cli.arguments import OptionalAddress, OptionalExecutor, OptionalPath, OptionalSplit, flags
from world4scorer.cli.command_line import command_line
from world4scorer.cli.data import prepare_missing_store
from world4scorer.cli.exit_codes import require_torch
from world4scorer.jobs.run_folder import RunFolder, Weights
from world4scorer.studies.shared.options import (
    BranchOptions,
    ReadoutOptions,
    RunOptions,
    StabilityOptions,
    StudyOptions,
    TrainingOptions,
)

if TYPE_CHECKING:
    from world4scorer.drawing.finding import Finding
    from world4scorer.evaluation.pools.scored import ScoredPools

StudyFlags = Annotated[StudyOptions, flags(StudyOptions, split=OptionalSplit)]
RunFlags = Annotated[RunOptions, flags(RunOptions, split=OptionalSplit)]
BranchFlags = Annotated[
    BranchOptions, flags(BranchOptions, split=OptionalSplit, executor=OptionalExecutor, ray_address=OptionalAddress)
]
StabilityFlags = Annotated[StabilityOptions, flags(StabilityOptions, split=OptionalSplit)]
ReadoutFlags = Annotated[ReadoutOptions, flags(ReadoutOptions, decoder=OptionalPath, split=OptionalSplit)]
TrainingFlags = Annotated[TrainingOptions, flags(TrainingOptions, split=OptionalSplit)]


def open_study_pools(source: Path, options: StudyOptions) -> ScoredPools:
    """The pools that a study is asked about."""
    from world4scorer.evaluation.pools.open import open_pools

    prepare_missing_store(source, options.split)
    return open_pools(source, options.store, split=options.split, weights=options.weights)


def save_finding(function: Callable[..., int], finding: Finding, source: Path, out: Path | None, **given: Any) -> int:
    """Write a finding with the command that made it, and print its tables; returns the exit code."""
    command = command_line(["w4s", "study", finding.name], function, source, given)
    asked = [value for value in given.values() if is_dataclass(value)]
    path = finding.save(finding_folder(source, *asked) if out is None else out, command)
    print(finding.markdown(command))
    print(f"written: {path}.json, .md, .png")
    return 0


def finding_folder(source: Path, *options: Any) -> Path:
    """Where the finding of a study goes: beside the run's others, or apart for another split or the last planner."""
    split = next((one.split for one in options if getattr(one, "split", None) is not None), None)
    weights: Weights = next((one.weights for one in options if hasattr(one, "weights")), "best")
    run = RunFolder(source)
    return run.results(run.studies, split, weights)


def require_torch_of_run(command: str, source: Path) -> None:
    """Of a run, its encoder is asked how much scenes change; a folder of pools has no images."""
    from world4scorer.evaluation.pools.pool_files import is_pools

    if RunFolder(source).exists and not is_pools(source):
        require_torch(f"{command} of a run (not of a folder of pools)")
