"""Two score surfaces that supervision cannot tell apart, of the local model of one measured scene (the figure of 3.3).

The scene is the one whose critical budget grows most by futures, one whose choice moves before one whose choice stands.
The budget lies between its two critical budgets, the
one held by outcomes alone and the one held by futures too. Within it the parameters are moved as far as the loss allows
towards the choice, and as far towards its nearest rival: two surfaces of scores over the pool. Held by outcomes alone
they favour different plans; held by futures too, the same.

Shapes: N plans, P parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.func import jvp

from world4scorer.jobs.files import read_json, write_json
from world4scorer.planner.stability.radii import call_utilities, contrasts, radii
from world4scorer.planner.training.dataset import collate
from world4scorer.studies.stability.scenes import Measure, SceneRadii


@dataclass(frozen=True)
class ScoreSurfaces:
    """Scores of the plans of a scene at the trained parameters, and how they move."""

    token: str
    choice: int
    rival: int
    epsilon: float
    """Budget."""
    scores: tuple[float, ...]
    """(N,) J at the trained parameters"""
    out: tuple[float, ...]
    """(N,) change of J on the way to the choice, held by outcomes alone; on the way to the rival it is the opposite"""
    both: tuple[float, ...]
    """(N,) the same, held by outcomes and futures"""

    def surfaces(self, future: bool) -> np.ndarray[Any, np.dtype[np.float64]]:
        """(2, N) J of the plans, moved towards the choice and towards the rival."""
        scores, change = np.array(self.scores), np.array(self.both if future else self.out)
        return np.stack([scores + change, scores - change])


def pick_scene(scenes: Sequence[SceneRadii], moves: Sequence[bool]) -> int | None:
    """Index of a scene by the rule above, among those whose nearest rival is proven to have a smaller radius."""

    def rating(index: int) -> tuple[bool, float]:
        nearest = scenes[index].nearest
        return moves[index], nearest.critical / nearest.critical_out

    known = [index for index, scene in enumerate(scenes) if scene.nearest.smaller and scene.nearest.lead > 0]
    return max(known, key=rating, default=None)


def measure_surfaces(measure: Measure, picked: SceneRadii, plans_1NT3: Tensor) -> ScoreSurfaces:
    """Solve for the two steps of a picked scene and follow its scores along them, to first order."""
    scorer, pair = measure.scorer, picked.nearest
    batch = collate([measure.validation[measure.validation.samples.index_of[picked.token], 0]])
    call, _ = measure.calls(batch, plans_1NT3)
    c = contrasts(scorer, call, torch.tensor([picked.choice]), torch.tensor([pair.rival]))
    solved = radii(measure.geometry, c)
    epsilon = (pair.critical * pair.critical_out) ** 0.5
    changes = []
    for one in (solved.outcomes, solved.both):
        step = epsilon * one.x[0] / one.value[0].sqrt().to(scorer.dtype)
        moved = jvp(lambda theta: call_utilities(scorer, theta, call)[0], (scorer.theta,), (step,))
        changes.append(tuple(moved[1].double().tolist()))
    scores = tuple(moved[0].double().tolist())
    return ScoreSurfaces(picked.token, picked.choice, pair.rival, epsilon, scores, changes[0], changes[1])


def read_surfaces(path: Path, signature: str) -> ScoreSurfaces | None:
    """What was measured before, if everything it depends on is the same."""
    try:
        raw: dict[str, Any] = read_json(path)
        if raw.pop("signature") != signature:
            return None
        raw |= {name: tuple(raw[name]) for name in ("scores", "out", "both")}
        return ScoreSurfaces(**raw)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_surfaces(path: Path, signature: str, surfaces: ScoreSurfaces) -> None:
    """Keep surfaces."""
    write_json(path, {"signature": signature, **asdict(surfaces)}, None)
