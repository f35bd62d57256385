"""Whose predictions are compared: planners with their own readouts, fitted readers, and controls without a planner.

Shapes: S scenes, K plans of each, E features, R training scenes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.scene.indices import PLAN_INTERVAL, PLAN_POSES
from world4scorer.jobs.run_folder import RunFolder
from world4scorer.planner.planner import Planner
from world4scorer.planner.training.config import TrainConfig
from world4scorer.planner.training.run_files import read_run
from world4scorer.studies.counterfactual import ridge
from world4scorer.studies.counterfactual.branched_scenes import BranchedScenes
from world4scorer.studies.counterfactual.states import PlanPredictions, predict_plans
from world4scorer.studies.shared.bank_states import untrained
from world4scorer.studies.shared.variants import Variant, train_variants

Floats = NDArray[np.float64]

WHOLE: Final = "whole"
NO_FUTURE: Final = "no future"
NO_OUTCOMES: Final = "no outcomes"
UNTRAINED: Final = "untrained"
PLAIN: Final = "view and plan"
"""A reader of the current view and the plan's numbers: no planner at all."""
PERSISTENCE: Final = "view now"
OWN: Final = "own readout"
OWN_AMONG: Final = "own readout, whole pool"
READER: Final = "reader"
LOCAL_READER: Final = "reader of logs here"
"""What the reader of branches is compared with: it learns in the same part of town, from executed plans alone."""
BEST_READER: Final = "reader of branches"
LOOK_POSE: Final = round(2.0 / PLAN_INTERVAL) - 1
"""Pose of a plan after two seconds."""

AUXILIARY: Final = (
    Variant("future", lambda config: replace(config, auxiliary_target="future")),
    Variant("none", lambda config: replace(config, auxiliary_target="none")),
)
"""They share the folders of the study of auxiliary targets."""


def without_outcomes(config: TrainConfig) -> TrainConfig:
    """Only imitation and the future are learned."""
    return replace(config, losses=replace(config.losses, score=0.0, bank=0.0))


def row(how: str, whose: str) -> str:
    """Name of predictions made in one way from one planner."""
    return f"{whose}: {how}"


def train_models(run: Path, options: Any) -> dict[str, tuple[Path, ...]]:
    """Folders of the planners, one for each seed; what is missing is trained."""
    found = train_variants(run, "auxiliary-target", AUXILIARY, options)
    only = train_variants(run, "counterfactual", [Variant("no-outcomes", without_outcomes)], options)
    return {WHOLE: found["future"], NO_FUTURE: found["none"], NO_OUTCOMES: only["no-outcomes"]}


def predictions(
    scenes: BranchedScenes, folders: Mapping[str, Sequence[Path]], show: bool = False
) -> dict[str, list[Floats]]:
    """Predicted features (S, K, E) by row, one for each seed."""
    found: dict[str, list[Floats]] = {}
    for whose, runs in folders.items():
        for folder in runs:
            planner = Planner.from_pretrained(RunFolder(folder).planner)
            predicted = predict_plans(planner, scenes.samples, scenes.pool, scenes.chosen, scenes.train, show)
            _add(found, scenes, predicted, whose, whose != NO_FUTURE)
    for folder in folders[WHOLE]:
        config, _ = read_run(folder)
        start = untrained(config, scenes.train)
        _add(
            found,
            scenes,
            predict_plans(start, scenes.samples, scenes.pool, scenes.chosen, scenes.train, show),
            UNTRAINED,
            False,
        )
    plain = _plain_rows(scenes)
    seeds = len(folders[WHOLE])
    return found | {name: [one] * seeds for name, one in plain.items()}


def _add(
    found: dict[str, list[Floats]], scenes: BranchedScenes, predicted: PlanPredictions, whose: str, reads: bool
) -> None:
    if reads and predicted.readout_alone is not None and predicted.readout_among is not None:
        found.setdefault(row(OWN, whose), []).append(predicted.readout_alone.astype(np.float64))
        found.setdefault(row(OWN_AMONG, whose), []).append(predicted.readout_among.astype(np.float64))
    reader = ridge.fit(predicted.executed, scenes.train_future, scenes.train.log_names)
    found.setdefault(row(READER, whose), []).append(reader(predicted.alone))
    local = ridge.across_groups(predicted.logged, scenes.logged, scenes.log_names, asked=predicted.alone)
    found.setdefault(row(LOCAL_READER, whose), []).append(local)
    best = ridge.across_groups(predicted.alone, scenes.true, scenes.log_names)
    found.setdefault(row(BEST_READER, whose), []).append(best)


def _plain_rows(scenes: BranchedScenes) -> dict[str, Floats]:
    """Predictions without a planner."""
    taken = scenes.pool[np.arange(len(scenes))[:, None], scenes.chosen]
    branched = plan_inputs(np.repeat(scenes.now[:, None], taken.shape[1], 1), taken)
    executed = plan_inputs(scenes.train_now, scenes.train.future[:, :PLAN_POSES])
    logged = plan_inputs(scenes.now, scenes.samples.future[:, :PLAN_POSES])
    reader = ridge.fit(executed, scenes.train_future, scenes.train.log_names)
    return {
        row(READER, PLAIN): reader(branched),
        row(LOCAL_READER, PLAIN): ridge.across_groups(logged, scenes.logged, scenes.log_names, asked=branched),
        row(BEST_READER, PLAIN): ridge.across_groups(branched, scenes.true, scenes.log_names),
        PERSISTENCE: np.repeat(scenes.now[:, None], taken.shape[1], 1),
    }


def plan_inputs(now: Any, plans: Any) -> Floats:
    """Inputs (..., 4 E + 24): the view (..., E), the plan (..., 8, 3), and the view times the pose after 2 s."""
    view, numbers = np.asarray(now, np.float64), np.asarray(plans, np.float64)
    pose = numbers[..., LOOK_POSE, :]
    mixed = (view[..., :, None] * pose[..., None, :]).reshape(*view.shape[:-1], -1)
    return np.concatenate([view, numbers.reshape(*numbers.shape[:-2], -1), mixed], axis=-1)
