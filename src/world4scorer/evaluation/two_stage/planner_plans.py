"""A planner's plans for both stages of a two-stage split: framewise, or re-ranked within each pair of frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import torch

from world4scorer.datasets.prepare.samples import Samples
from world4scorer.datasets.prepare.synthetic_samples import synthetic_samples
from world4scorer.datasets.store import SceneStore
from world4scorer.engine.scene.geometry import Floats
from world4scorer.engine.selection.inertial import InertialReranker
from world4scorer.evaluation.pools.choices import Selection
from world4scorer.evaluation.pools.make import ask_planner
from world4scorer.evaluation.pools.planner_source import PlannerSource
from world4scorer.evaluation.two_stage.groups import StageGroup, first_stage_tokens, second_stage_tokens
from world4scorer.planner.model.config import EGO_NUMBERS
from world4scorer.planner.planner import Planner
from world4scorer.planner.training.pools import pool_batches

CHUNK: Final = 256
"""Second-stage pickles read at a time."""

Plans = dict[str, Floats]


class FramePool(NamedTuple):
    """A frame's plans, and what the planner thinks of them."""

    plans: Floats
    """(N, 8, 3)"""
    utility: Floats
    """(N,) v2 utility"""


def plans_of_planner(
    source: PlannerSource,
    groups: Sequence[StageGroup],
    scenes: Path,
    sensors: Path,
    selection: Selection = "framewise",
    weight: float = 1.0,
    device: str = "cpu",
) -> tuple[Plans, Plans]:
    """Plans (8, 3) by token for the first and for the second stage, chosen by v2 utility.

    `scenes` is the folder of the second-stage pickles, which are read a few at a time, `sensors` that of their images.
    Second-stage scenes whose pickle is missing have no plan. Re-ranked, the later frame of each pair prefers plans that
    continue the choice of the earlier one.
    """
    pools = _pools(source, groups, scenes, sensors, device)
    if selection == "framewise":
        chosen = {token: pool.plans[pool.utility.argmax()] for token, pool in pools.items()}
    else:
        chosen = dict(_reranked(pools, groups, SceneStore(source.store), weight))
    first, second = first_stage_tokens(list(groups)), second_stage_tokens(list(groups))
    return (
        {token: chosen[token] for token in first if token in chosen},
        {token: chosen[token] for token in second if token in chosen},
    )


def _pools(
    source: PlannerSource, groups: Sequence[StageGroup], scenes: Path, sensors: Path, device: str
) -> dict[str, FramePool]:
    planner = source.load().to(device)
    recorded = source.samples()
    if recorded.ego_status.shape[1] > EGO_NUMBERS:
        raise ValueError(f"{source.planner}: takes a route point, which second-stage scenes do not have")
    wanted = [recorded.index_of[token] for token in first_stage_tokens(list(groups)) if token in recorded.index_of]
    pools = dict(_asked(planner, recorded.at(wanted)))
    there = [token for token in second_stage_tokens(list(groups)) if (scenes / f"{token}.pkl").is_file()]
    for start in range(0, len(there), CHUNK):
        pools |= dict(_asked(planner, synthetic_samples(scenes, sensors, there[start : start + CHUNK])))
    return pools


@torch.no_grad()
def _asked(planner: Planner, samples: Samples) -> Iterator[tuple[str, FramePool]]:
    for batch in pool_batches(samples, planner):
        found = ask_planner(planner, batch)
        plans, utility = found.plans.double().cpu().numpy(), found.utility("v2").double().cpu().numpy()
        for token, *pool in zip(batch.tokens, plans, utility, strict=True):
            yield token, FramePool(*pool)


def _reranked(
    pools: Mapping[str, FramePool], groups: Sequence[StageGroup], store: SceneStore, weight: float
) -> Iterator[tuple[str, Floats]]:
    reranker = InertialReranker(weight)
    for now, previous in (pair for group in groups for pair in group.pairs):
        reranker.reset()
        for token in (previous, now):
            if token in pools and token in store:
                yield token, pools[token].plans[reranker.choose(store[token], *pools[token])]
