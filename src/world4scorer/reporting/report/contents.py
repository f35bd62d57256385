"""What the folder of a training run, or a folder of pools, knows: read once, for the report."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from world4scorer.drawing.curves import TRAINING, VALIDATION, Curves
from world4scorer.drawing.finding import Finding
from world4scorer.evaluation.pools.open import planners_of_run, pools_of_run, pools_of_weights
from world4scorer.evaluation.pools.pool_files import PoolError, digest_of_planner, is_pools
from world4scorer.evaluation.pools.scored import ScoredPools
from world4scorer.jobs.run_folder import RunFolder, Weights
from world4scorer.studies.registry import STUDIES as ORDER

if TYPE_CHECKING:
    from world4scorer.planner.training.config import TrainConfig
    from world4scorer.planner.training.run import TrainData

NEEDED: Final = ("epoch", "step", "seconds", "val/oracle", "val/random", *(key for key, _, _ in VALIDATION))
"""What every validation tells."""


@dataclass(frozen=True, eq=False)
class Training:
    """The training part of a run."""

    config: TrainConfig
    data: TrainData
    curves: Curves
    """The history is empty before the first validation."""


@dataclass(frozen=True, eq=False)
class Contents:
    """All that a report tells. What is not there is None or empty."""

    name: str
    """Of the folder."""
    training: Training | None
    """None for a folder of pools."""
    evaluation: Finding | None
    studies: tuple[Finding, ...]
    pools: ScoredPools | None
    pools_name: str
    """Where the pools lie, within the folder."""
    other_pools: tuple[str, ...]
    """Folders of pools that are not shown."""
    warnings: Mapping[str, str] = field(default_factory=dict)
    """By name of a finding: that it belongs to other weights than the rest of the page."""
    explorer: str = ""
    """Where the explorer's file lies, as seen from the page; empty where there is none."""


def read_contents(
    source: Path, split: str | None = None, store: Path | None = None, weights: Weights = "best"
) -> Contents:
    """Read a folder; `split` says which pools of a run, those of its validation split unless given.

    Pools are those of the best planner unless others are asked for, or there are only those of the last.
    """
    run = RunFolder(source)
    evaluation = run.evaluation_file
    found = Finding.load(evaluation) if evaluation.is_file() else None
    studies = load_findings(run.studies)
    name = source.resolve().name
    if is_pools(source):
        if split is not None:
            raise ValueError(f"--split {split}: {source} is a folder of pools, which has only one")
        return Contents(name, None, found, studies, ScoredPools.open(source, store), name, ())
    training = _training(run)
    there, known = pools_of_run(source), planners_of_run(source)
    folder = _shown(source, there, split, weights)
    pools = None if folder is None else ScoredPools.open(folder, store)
    if pools is not None and pools.weights not in known:
        raise PoolError(f"{folder}: made by a former planner of this run; delete that folder")
    subject = digest_of_planner(run.finished_planner(weights)) if pools is None else pools.weights
    warnings = {}
    findings = [(run.study_file(study.name), study) for study in studies]
    for path, finding in [*findings, *([] if found is None else [(evaluation, found)])]:
        if finding.weights not in ("", *known):
            raise ValueError(f"{path}: about a former planner of this run; make it again, or delete it")
        if finding.weights not in ("", subject):
            warnings[finding.name] = (
                f"Other weights: this was measured with the {known[finding.weights]} weights of the run, the rest of "
                f"the page with the {known[subject]} ones."
            )
    others = tuple(one.name for one in there if one != folder)
    shown = "" if folder is None else f"{run.all_pools.name}/{folder.name}"
    return Contents(name, training, found, studies, pools, shown, others, warnings)


def _shown(source: Path, there: Sequence[Path], split: str | None, weights: Weights) -> Path | None:
    """The folder of pools to show: of the split, by the weights asked for if they have pools; None without pools."""
    run = RunFolder(source)
    wanted = split or run.validation_split()
    own = (pools_of_weights(source, wanted, weights), run.pools(wanted))
    found = next((folder for folder in own if folder in there), None)
    if found is None and split is not None:
        raise PoolError(f"{own[0]}: no pools there; make them: w4s pools {source} --split {split}")
    return found or next(iter(there), None)


def load_findings(folder: Path) -> tuple[Finding, ...]:
    """All findings of a folder: the studies in the paper's order, then others by name."""
    order = list(ORDER)

    def rank(path: Path) -> tuple[int, str]:
        return (order.index(path.stem) if path.stem in order else len(order)), path.stem

    return tuple(Finding.load(path) for path in sorted(folder.glob("*.json"), key=rank))


def _training(run: RunFolder) -> Training:
    if not run.root.is_dir():
        raise ValueError(f"{run.root}: no such folder; `w4s train` makes the folder of a run")
    if not run.exists:
        raise ValueError(
            f"{run.root}: neither a training run nor a folder of pools (`w4s train` and `w4s pools` make them)"
        )
    from world4scorer.planner.training.run_files import read_history, read_losses, read_run

    config, data = read_run(run.root)
    run.finished_planner()
    history: tuple[dict[str, float], ...] = ()
    if run.history_file.is_file():
        history = read_history(run.root)
        _check(history, run.history_file)
    wanted = {key for key, _ in TRAINING}
    losses: dict[str, Any] = read_losses(run.root) if run.tensorboard.is_dir() else {}
    return Training(config, data, Curves(history, {key: losses[key] for key in losses if key in wanted}))


def _check(history: tuple[Any, ...], path: Path) -> None:
    for number, line in enumerate(history, 1):
        lacking = [key for key in NEEDED if not isinstance(line, dict) or not isinstance(line.get(key), int | float)]
        if lacking:
            raise ValueError(f"{path}: line {number} lacks {lacking[0]!r}; not the history of a training run")


def as_text(training: Training) -> str:
    """The whole configuration, and the names of the data without where they lie."""
    data = {
        name: value.name if isinstance(value, Path) else value
        for name, value in vars(training.data).items()
        if value is not None
    }
    config = json.loads(training.config.to_json())
    config["vit_weights"] = Path(config["vit_weights"]).name
    return json.dumps(config, indent=2) + "\n" + json.dumps({"data": data}, indent=2) + "\n"
