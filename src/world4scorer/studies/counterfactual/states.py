"""States and readouts that planners predict for branched plans, and for executed plans of training scenes.

Shapes: S scenes, N plans of a pool, K branched ones, T poses, D width, E features.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from world4scorer.datasets.prepare.samples import Samples
from world4scorer.engine.scene.indices import PLAN_POSES
from world4scorer.jobs.progress import ProgressBar
from world4scorer.planner.model.encoded import Ego, SceneFeatures
from world4scorer.planner.model.plan_sampling import Cameras
from world4scorer.planner.planner import Planner
from world4scorer.planner.training.pools import pool_batches

Floats = NDArray[np.float32]


class PlanPredictions(NamedTuple):
    """Predictions of one planner."""

    alone: Floats
    """(S, K, D) states of branched plans, each asked about by itself, as the executed plan is in training"""
    logged: Floats
    """(S, D) of the logged plans of the same scenes, by themselves"""
    executed: Floats
    """(R, D) of the logged plans of training scenes, by themselves"""
    readout_alone: Floats | None
    """(S, K, E) what the planner's own readout says, None where it has none"""
    readout_among: Floats | None
    """(S, K, E) when the whole pool is asked about together, as the planner does"""


class _EncodedBatch(NamedTuple):
    scene: SceneFeatures
    ego: Ego
    cameras: Cameras
    rows: slice


def predict_plans(
    planner: Planner, samples: Samples, pool: Floats, chosen: NDArray[np.int64], train: Samples, show: bool = False
) -> PlanPredictions:
    """Ask a planner about pools (S, N, T, 3), of which `chosen` (S, K) were branched, and about training scenes."""
    indices = np.arange(len(chosen))[:, None]
    alone, among, logged, executed = [], [], [], []
    with ProgressBar("states", "scenes", len(samples) + len(train), show) as progress:
        for encoded in _encoded(planner, samples):
            here = torch.from_numpy(np.ascontiguousarray(pool[indices, chosen][encoded.rows]))
            apart = [_states(planner, plan[:, None], encoded) for plan in here.unbind(1)]
            alone.append(torch.cat(apart, 1))
            logged.append(_executed(planner, samples, encoded))
            together = _states(planner, torch.from_numpy(pool[encoded.rows]), encoded)
            index = torch.from_numpy(chosen[encoded.rows])[..., None].expand(-1, -1, together.shape[-1])
            among.append(together.gather(1, index))
            progress.advance(len(here))
        for encoded in _encoded(planner, train):
            executed.append(_executed(planner, train, encoded))
            progress.advance(len(executed[-1]))
    one, whole = torch.cat(alone), torch.cat(among)
    own = planner.config.readout
    return PlanPredictions(
        alone=one.float().numpy(),
        logged=torch.cat(logged).float().numpy(),
        executed=torch.cat(executed).float().numpy(),
        readout_alone=planner.readout(one).float().numpy() if own else None,
        readout_among=planner.readout(whole).float().numpy() if own else None,
    )


def _executed(planner: Planner, samples: Samples, encoded: _EncodedBatch) -> Tensor:
    """(B, D) of the plans that were driven, by themselves."""
    driven = torch.from_numpy(samples.future[encoded.rows, None, :PLAN_POSES]).float()
    return _states(planner, driven, encoded)[:, 0]


@torch.no_grad()
def _states(planner: Planner, plans: Tensor, encoded: _EncodedBatch) -> Tensor:
    """(B, n, D) of plans that are asked about together."""
    return planner.network.predict(plans, encoded.scene, encoded.ego, encoded.cameras)


@torch.no_grad()
def _encoded(planner: Planner, samples: Samples) -> Iterator[_EncodedBatch]:
    """Scenes are encoded once for all questions about them."""
    start = 0
    for batch in pool_batches(samples, planner):
        scene = planner.network.encode(batch.image)
        rows = slice(start, start + len(batch.tokens))
        start = rows.stop
        yield _EncodedBatch(scene, planner.network.encode_ego(batch.ego_status), batch.cameras, rows)
