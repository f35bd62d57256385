"""The bank of one scene: propose, label, choose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.outcomes.v1 import label
from world4scorer.engine.scene.scene import Scene
from world4scorer.planner.bank.choice import find_distinct, has_enough, select_candidates
from world4scorer.planner.bank.config import BankConfig
from world4scorer.planner.bank.perturbations import Proposals


class Proposer(Protocol):
    """Source of a bank's candidates. Must be picklable for worker processes."""

    def propose(self, scene: Scene, round_number: int) -> Proposals | None:
        """Candidates for a scene; None where there are none, or no more in this round."""
        ...


@dataclass(frozen=True, eq=False)
class SceneBank:
    """The chosen candidates of a scene."""

    plans: NDArray[np.float32]
    """(n, 8, 3), n at most 64"""
    labels: NDArray[np.float32]
    """(n, 7) in the order of `V1_COLUMNS`"""
    family: NDArray[np.int8]
    """(n,)"""


def build_scene_bank(scene: Scene, proposer: Proposer, config: BankConfig) -> SceneBank:
    """Bank of one scene, in several rounds while either kind is short."""
    plans = np.zeros((0, 8, 3), np.float32)
    labels, family = np.zeros((0, 7)), np.zeros(0, np.int8)
    kept = np.zeros(0, np.bool_)
    for round_number in range(config.rounds):
        proposals = proposer.propose(scene, round_number)
        if proposals is None:
            break
        plans = np.concatenate([plans, proposals.plans])
        family = np.concatenate([family, proposals.family])
        labels = np.concatenate([labels, label(scene, proposals.plans).table])
        kept = find_distinct(plans, config)
        if has_enough(labels, kept, config):
            break
    chosen = select_candidates(labels, family, kept, config)
    return SceneBank(plans[chosen], labels[chosen].astype(np.float32), family[chosen])
