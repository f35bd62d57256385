"""Bank plans of some training scenes, and the states that planners predict for them.

Shapes: S scenes, K plans of each, T poses, D width.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np
import torch
from numpy.typing import NDArray

from world4scorer.datasets.prepare.samples import Samples
from world4scorer.engine.outcomes.results import V1_COLUMNS
from world4scorer.planner.bank import CandidateBank
from world4scorer.planner.planner import Planner
from world4scorer.planner.training.config import TrainConfig
from world4scorer.planner.training.pools import pool_batches
from world4scorer.planner.training.run import make_network


class Outcome(IntEnum):
    """What becomes of a plan."""

    SAFE = 0
    """NC = DAC = 1"""
    COLLISION = 1
    """NC < 1, on the drivable area"""
    OFF_ROAD = 2
    """DAC = 0, with a collision or without, as the paper's figure colours it"""


@dataclass(frozen=True)
class Drawing:
    """Which scenes and plans are looked at; as in the paper unless said."""

    logs: int = 16
    scenes_per_log: int = 8
    plans: int = 64
    """Of the bank, in each scene."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("logs", "scenes_per_log", "plans"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: {getattr(self, name)}; at least 1")


@dataclass(frozen=True, eq=False)
class BankScenes:
    """Scenes with plans of their bank."""

    samples: Samples
    plans: NDArray[np.float32]
    """(S, K, T, 3)"""
    labels: NDArray[np.float32]
    """(S, K, 7) in the order of `V1_COLUMNS`"""

    @property
    def outcome(self) -> NDArray[np.int64]:
        """(S, K) of `Outcome`."""
        return outcome_of(self.labels)


def outcome_of(labels: NDArray[np.floating]) -> NDArray[np.int64]:
    """(...) of `Outcome`, from labels (..., 7)."""
    collides, leaves = (labels[..., V1_COLUMNS.index(name)] < 1 for name in ("NC", "DAC"))
    return np.where(leaves, Outcome.OFF_ROAD, np.where(collides, Outcome.COLLISION, Outcome.SAFE)).astype(np.int64)


def draw_scenes(samples: Samples, bank: CandidateBank, drawing: Drawing) -> BankScenes:
    """As many scenes of each of some logs, by seed, among those whose bank has enough plans; in the samples' order."""
    rng = np.random.default_rng(drawing.seed)
    enough = {token for token, count in zip(bank.tokens, bank.mask.sum(1), strict=True) if count >= drawing.plans}
    by_log: dict[str, list[int]] = {}
    for index, (token, log) in enumerate(zip(samples.tokens, samples.log_names, strict=True)):
        if token in enough:
            by_log.setdefault(log, []).append(index)
    fitting = [log for log in sorted(by_log) if len(by_log[log]) >= drawing.scenes_per_log]
    if len(fitting) < drawing.logs:
        raise ValueError(
            f"{bank.folder}: {len(fitting)} logs of the training split have {drawing.scenes_per_log} scenes with "
            f"{drawing.plans} bank plans; {drawing.logs} are asked for (--logs, --scenes-per-log, --plans)"
        )
    logs = rng.choice(fitting, drawing.logs, replace=False)
    indices = [int(index) for log in logs for index in rng.choice(by_log[log], drawing.scenes_per_log, replace=False)]
    chosen = samples.at(sorted(indices))
    rows = np.array([bank.rows[token] for token in chosen.tokens])
    kept = np.stack([np.sort(rng.choice(np.flatnonzero(bank.mask[row]), drawing.plans, replace=False)) for row in rows])
    return BankScenes(
        chosen, bank.candidates[rows[:, None], kept], bank.subscores[rows[:, None], kept].astype(np.float32)
    )


def states_of(planner: Planner, scenes: BankScenes) -> NDArray[np.float32]:
    """(S, K, D) the plans of a scene are predicted jointly, as in training."""
    states, start = [], 0
    for batch in pool_batches(scenes.samples, planner):
        plans = torch.from_numpy(scenes.plans[start : start + len(batch.tokens)])
        start += len(batch.tokens)
        states.append(planner.score(batch.image, batch.ego_status, plans, batch.cameras).states)
    return torch.cat(states).float().numpy()


def untrained(config: TrainConfig, samples: Samples) -> Planner:
    """The run's planner before its first step."""
    return Planner.from_network(make_network(replace(config, precision="fp32"), samples))


def with_random_predictor(planner: Planner, start: Planner) -> Planner:
    """A copy that sees scenes as the planner does, but turns plans into states as `start` does."""
    mixed = copy.deepcopy(planner)
    for name in ("action_encoder", "plan_sampling", "predictor"):
        setattr(mixed.network, name, getattr(start.network, name))
    return mixed
