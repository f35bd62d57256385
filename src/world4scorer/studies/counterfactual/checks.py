"""What the study of counterfactual futures needs, looked at before hours are spent on training and driving."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from world4scorer.city.streets.sumo import load_sumo
from world4scorer.city.world.manifest import read_manifest
from world4scorer.datasets.store import SceneStore
from world4scorer.evaluation.pools.planner_source import PlannerSource
from world4scorer.jobs.executors import Executor
from world4scorer.planner.targets.future_targets import FutureTargets
from world4scorer.planner.training.config import TrainConfig
from world4scorer.planner.training.run import TrainData
from world4scorer.planner.training.run_files import read_run
from world4scorer.studies.shared.options import BranchOptions
from world4scorer.studies.shared.view_features import own_encoder

LEAST_LOGS: Final = 2
"""Readers of branches are fitted to those of other logs."""
LEAST_PLANS: Final = 2
"""Minimum to compare one future with another."""


def check(run: Path, source: PlannerSource, options: BranchOptions) -> Executor:
    """Refuse what cannot be done; returns what drives."""
    config, data = read_run(run)
    most = config.model.proposals
    if options.scenes < LEAST_LOGS:
        raise ValueError(f"scenes: {options.scenes}; at least {LEAST_LOGS}, of different logs, are compared")
    if not LEAST_PLANS <= options.plans <= most:
        raise ValueError(f"plans: {options.plans}; pools have {most}, choose {LEAST_PLANS} to {most}")
    if options.draws < 1:
        raise ValueError(f"draws: {options.draws}; at least 1")
    executor = options.choose()
    read_manifest(source.data)  # says what to do where this is no city
    load_sumo()
    _check_targets(run, config, data)
    logs = SceneStore(source.store).logs
    if len(logs) < LEAST_LOGS:
        raise ValueError(f"{source.store}: {len(logs)} log; at least {LEAST_LOGS} are needed, prepare a larger split")
    return executor


def _check_targets(run: Path, config: TrainConfig, data: TrainData) -> None:
    if config.auxiliary_target != "future":
        raise ValueError(
            f"{run}: trained with --auxiliary-target {config.auxiliary_target}; needs one that predicts futures"
        )
    if data.targets is None or own_encoder(config, data)[0] is None:
        raise ValueError(f"{run}: has no future targets whose encoder is known, so no view can be compared with them")
    if FutureTargets.open(data.targets).notes.centre:
        raise ValueError(
            f"{data.targets}: made with --centre, so {run} predicts directions from their mean, which views of "
            "branches cannot be compared with; train on targets made without it"
        )
