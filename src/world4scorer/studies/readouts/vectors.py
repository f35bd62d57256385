"""What a planner predicts to be seen: vectors g(z) of executed, selected and other plans.

Executed plans are asked alone, as in training; plans of a pool together with their pool, as in use.

Shapes: K scenes, N plans of a pool, E features.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from world4scorer.datasets.prepare.samples import Samples
from world4scorer.evaluation.pools.scored import ScoredPools
from world4scorer.planner.planner import Planner
from world4scorer.planner.targets.future_targets import FutureTargets
from world4scorer.planner.training.pools import pool_batches
from world4scorer.planner.training.run_files import read_run
from world4scorer.studies.shared.view_features import view_features


class Predicted(NamedTuple):
    """Of some scenes."""

    executed: Tensor
    """(K, E)"""
    asked: Tensor
    """(K, Q, E) of the plans asked for"""
    states: Tensor
    """(K, Q, D) that these were read from"""


def observed(run: Path, encoder: str, split: str | None = None) -> FutureTargets:
    """What is seen two seconds later in a run's validation split, or another, in the space that its targets have."""
    _, data = read_run(run, split)
    assert data.targets is not None
    learnt = FutureTargets.open(data.targets)
    found = view_features(run, data, encoder, learnt.notes.pooling, "future", "val")
    return found.centred(learnt.mean()) if learnt.notes.centre else found


def predicted(
    planner: Planner, samples: Samples, pools: ScoredPools, indices: NDArray[np.int64], plans: NDArray[np.int64]
) -> Predicted:
    """Vectors of the driven plans, and of plans (K, Q) of the pools, at some indices of the pools (K,)."""
    executed, asked, read = [], [], []
    number = 0
    for batch in pool_batches(samples.at([samples.index_of[pools.tokens[index]] for index in indices]), planner):
        rows = slice(number, number + len(batch.tokens))
        image = batch.image
        driven = torch.from_numpy(pools.human_plan[indices[rows]].astype(np.float32))[:, None]
        alone = planner.score(image, batch.ego_status, driven, batch.cameras).states[:, 0]
        pool = torch.from_numpy(pools.plans[indices[rows]].astype(np.float32))
        states = planner.score(image, batch.ego_status, pool, batch.cameras).states
        chosen = states[torch.arange(len(states))[:, None], torch.from_numpy(plans[rows])]
        executed.append(planner.readout(alone).float())
        asked.append(planner.readout(chosen).float())
        read.append(chosen.float())
        number += len(batch.tokens)
    return Predicted(torch.cat(executed), torch.cat(asked), torch.cat(read))
