"""A planner's plans for both stages of a two-stage split: in every frame the one of highest v2 utility."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import torch

from world4scorer.datasets.prepare.samples import Samples
from world4scorer.datasets.prepare.synthetic_samples import synthetic_samples
from world4scorer.engine.scene.geometry import Floats
from world4scorer.evaluation.pools.choices import framewise
from world4scorer.evaluation.pools.make import ask_planner
from world4scorer.evaluation.pools.planner_source import PlannerSource
from world4scorer.evaluation.two_stage.groups import StageGroup, first_stage_tokens, second_stage_tokens
from world4scorer.planner.model.config import EGO_NUMBERS
from world4scorer.planner.planner import Planner
from world4scorer.planner.training.pools import pool_batches

CHUNK: Final = 256
"""Second-stage pickles read at a time."""

Plans = dict[str, Floats]


def plans_of_planner(
    source: PlannerSource, groups: Sequence[StageGroup], scenes: Path, sensors: Path, device: str = "cpu"
) -> tuple[Plans, Plans]:
    """Plans (8, 3) by token for the first and for the second stage.

    `scenes` is the folder of the second-stage pickles, which are read a few at a time, `sensors` that of their images.
    Second-stage scenes whose pickle is missing have no plan.
    """
    planner = source.load().to(device)
    recorded = source.samples()
    if recorded.ego_status.shape[1] > EGO_NUMBERS:
        raise ValueError(f"{source.planner}: takes a route point, which second-stage scenes do not have")
    wanted = [recorded.index_of[token] for token in first_stage_tokens(list(groups)) if token in recorded.index_of]
    first = dict(_choices(planner, recorded.at(wanted)))
    second: Plans = {}
    there = [token for token in second_stage_tokens(list(groups)) if (scenes / f"{token}.pkl").is_file()]
    for start in range(0, len(there), CHUNK):
        second |= dict(_choices(planner, synthetic_samples(scenes, sensors, there[start : start + CHUNK])))
    return first, second


@torch.no_grad()
def _choices(planner: Planner, samples: Samples) -> Iterator[tuple[str, Floats]]:
    for batch in pool_batches(samples, planner):
        found = ask_planner(planner, batch)
        chosen = framewise(found.utility("v2").float().cpu().numpy())
        plans = found.plans.float().cpu().numpy().astype(np.float64)
        yield from ((token, plans[row, chosen[row]]) for row, token in enumerate(batch.tokens))
