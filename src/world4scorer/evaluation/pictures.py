"""A picture of one moment, and its outcome in words."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from world4scorer.evaluation.submission import Metric
from world4scorer.navsim.submissions import Submission
from world4scorer.outcomes.results import V1Outcome, V2Outcome
from world4scorer.outcomes.v1 import pdms
from world4scorer.outcomes.v2 import epdms
from world4scorer.scene.scene import Scene
from world4scorer.store import SceneStore
from world4scorer.view.birdseye import draw_scene, save


def draw_token(store: SceneStore, token: str, submission: Submission | None, metric: Metric, out: Path) -> list[str]:
    """Draw a scene with the submission's plan, else with what the human drove; return a description in lines."""
    scene = store[token]
    plan = scene.human_future
    if submission is not None:
        plans = submission.plans if token in submission.plans else submission.second_stage
        if token not in plans:
            raise ValueError(f"token {token!r}: the submission has no plan for it")
        plan = plans[token]
    if plan is None:
        save(draw_scene(scene), out)
        return [f"{out}: scene without a plan (nobody drove here; give a submission)"]
    outcome = _judge(scene, plan, metric)
    save(draw_scene(scene, plan[None], outcome), out)
    return [
        f"{out}: {'submission' if submission is not None else 'human'}, {metric} {float(outcome.score[0]):.4f}",
        *(f"  {name} {cause.of(0)}" for name, cause in outcome.causes.items() if cause.violated[0]),
    ]


def _judge(scene: Scene, plan: np.ndarray, metric: Metric) -> V1Outcome | V2Outcome:
    if metric == "pdms-v1.1":
        return pdms(scene, plan[None])
    return epdms(scene, plan[None], version="pre151" if metric == "epdms-pre151" else "v2.2")
