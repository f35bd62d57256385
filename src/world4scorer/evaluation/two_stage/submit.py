"""Submissions of a planner's choices on a two-stage split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from world4scorer.datasets.store import SceneStore
from world4scorer.engine.scene.geometry import Floats
from world4scorer.evaluation.pools.choices import Selection
from world4scorer.evaluation.pools.planner_source import PlannerSource
from world4scorer.evaluation.scores.submit import ChosenPlans
from world4scorer.evaluation.two_stage.evaluate import evaluate_two_stage
from world4scorer.evaluation.two_stage.groups import StageGroup
from world4scorer.evaluation.two_stage.planner_plans import plans_of_planner
from world4scorer.evaluation.two_stage.submission import scores_of, submission_problems


def submit_two_stage(
    source: PlannerSource,
    groups: Sequence[StageGroup],
    scenes: Path,
    sensors: Path,
    selection: Selection,
    weight: float = 1.0,
) -> ChosenPlans:
    """The plans that a planner chooses in both stages, with the score to expect; `scenes`, `sensors`: second stage."""
    first, second = plans_of_planner(source, groups, scenes, sensors, selection, weight)
    problems = submission_problems(first, second, groups)
    if problems:
        raise ValueError(
            f"{source.split}: {'; '.join(problems)}; a submission needs every token once. Is {scenes} complete, "
            f"and {source.store} the store of the whole split?"
        )
    kept, later = _single_precision(first), _single_precision(second)
    scores = scores_of(evaluate_two_stage(SceneStore(source.store), kept, later, groups))
    used = weight if selection == "reranked" else 0.0
    return ChosenPlans("v2.2", selection, used, source.describe(), kept, scores, later)


def _single_precision(plans: Mapping[str, Floats]) -> dict[str, NDArray[np.float32]]:
    """Plans as a submission keeps them."""
    return {token: plan.astype(np.float32) for token, plan in plans.items()}
