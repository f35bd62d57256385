"""The measurements behind the study of stability, scene by scene; what is finished is kept in files.

Radii are for epsilon = 1. Labels are added as if one more scene were supervised: sixteen plans with the weight that a
plan of their kind has in the loss, or one future.

Shapes: N plans, T poses, K pairs, P parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from world4scorer.datasets.store import SceneStore
from world4scorer.jobs.files import read_json, write_json
from world4scorer.planner.bank.config import BankConfig
from world4scorer.planner.bank.perturbations import Perturbations
from world4scorer.planner.bank.scene_bank import build_scene_bank
from world4scorer.planner.planner import Planner
from world4scorer.planner.stability.decisions import Rivals, nearest_rivals
from world4scorer.planner.stability.geometry import Geometry
from world4scorer.planner.stability.observations import WeightedReading
from world4scorer.planner.stability.radii import Radii, call_utilities, contrasts, radii
from world4scorer.planner.stability.shared_scorer import ScorerCall
from world4scorer.planner.stability.supervision import bank_outcomes, executed_future, generated_outcomes
from world4scorer.planner.training.dataset import Batch, PlanningDataset, collate
from world4scorer.planner.training.supervision import TrainedScenes

FURTHER_LABELS: Final = 16
"""Plans that are labelled in addition."""
WOODBURY: Final = 1e-3
"""Widest bracket of a reduction found in the space of futures, as a share of it; each product there is a system."""
PUSHES: Final = (0.5, 1.1)
"""Shares of the critical budget at which the scorer itself, not its linear model, is asked."""
GENERATED, BANK, FUTURE = "generated plans, same scene", "bank plans, same scene", "future, same scene"
OTHER_GENERATED, OTHER_BANK = "generated plans, another scene", "bank plans, another scene"
KINDS: Final = (GENERATED, BANK, FUTURE, OTHER_GENERATED, OTHER_BANK)


@dataclass(frozen=True)
class RivalRadii:
    """The choice against one rival."""

    rival: int
    drawn: bool
    """At random, rather than for being near"""
    lead: float
    out: float
    """rho_out"""
    both: float
    """rho_out+fut"""
    gap: float
    """Widest bracket of the two squared radii, as a share"""
    smaller: bool
    """The brackets do not touch"""
    foreseen: float
    """|A_F G_out^-1 c|"""
    iterations: int

    @property
    def critical(self) -> float:
        """Budget from which on the rival can take over, held by outcomes and futures."""
        return self.lead / self.both if self.both else float("inf")

    @property
    def critical_out(self) -> float:
        """The same, held by outcomes alone."""
        return self.lead / self.out if self.out else float("inf")


@dataclass(frozen=True)
class SceneRadii:
    """One scene."""

    token: str
    choice: int
    others: float
    """Budget below which no rival that was left out can take over"""
    pairs: tuple[RivalRadii, ...]
    flipped: tuple[bool, ...]
    """Whether the scorer chooses otherwise at each of `PUSHES`, pushed as the nearest rival needs it"""
    labels: dict[str, float]
    """Of the nearest rival: squared radius with further labels, as a share of that without"""
    scales: dict[str, tuple[float, float]]
    """Of the nearest rival: rho_out and rho_out+fut at other mu"""
    woodbury: float | None
    """Of the nearest rival: error of the reduction found in the space of futures, as a share of rho_out^2"""

    @property
    def nearest(self) -> RivalRadii:
        """The rival that takes over first."""
        return min(self.pairs, key=lambda pair: pair.critical)


class Measure:
    """Measures scenes of a validation split in one geometry."""

    def __init__(
        self,
        planner: Planner,
        geometry: Geometry,
        validation: PlanningDataset,
        store: SceneStore,
        trained: TrainedScenes,
        spare: Sequence[int],
        rivals: int,
        scales: Sequence[float],
    ) -> None:
        """`spare`: indices of training scenes that do not supervise, for labels of other scenes."""
        self.planner, self.geometry, self.validation, self.store = planner, geometry, validation, store
        self.trained, self.spare, self.rivals, self.scales = trained, spare, rivals, scales
        self.scorer = geometry.supervision.scorer

    def __call__(
        self, tokens: Sequence[str], plans_KNT3: Tensor, numbers: Sequence[int], detailed: bool, woodbury: bool
    ) -> list[SceneRadii]:
        """Some scenes with their pools; `numbers` seed what is drawn."""
        indices = [self.validation.samples.index_of[token] for token in tokens]
        batch = collate([self.validation[index, 0] for index in indices])
        calls, driven = self.calls(batch, plans_KNT3)
        rivals, gradients = [], []
        for row, number in enumerate(numbers):
            call = calls.at(slice(row, row + 1))
            found = nearest_rivals(self.scorer, call, self.geometry.mu, max(1, self.rivals - 1))
            drawn = self._drawn(call, found, number) if self.rivals > 1 else None
            rivals.append((found, drawn))
            gradients.append(found.contrasts if drawn is None else torch.cat([found.contrasts, drawn[1]]))
        solved = radii(self.geometry, torch.cat(gradients))
        ends = np.cumsum([len(part) for part in gradients])
        spans = [slice(end - len(part), end) for end, part in zip(ends, gradients, strict=True)]
        pairs = [_pairs(one, drawn, solved, span) for (one, drawn), span in zip(rivals, spans, strict=True)]
        nearest = [
            span.start + int(np.argmin([pair.critical for pair in own])) for own, span in zip(pairs, spans, strict=True)
        ]
        c = torch.cat(gradients)[nearest]
        labels: list[dict[str, float]] = [{} for _ in tokens]
        scales: list[dict[str, tuple[float, float]]] = [{} for _ in tokens]
        if detailed:
            before, start = solved.both.value[nearest], solved.both.x[nearest]
            more = [self._more(batch, calls, driven, row, number) for row, number in enumerate(numbers)]
            for kind in KINDS:
                there = [row for row, one in enumerate(more) if kind in one]
                if there:
                    rows = [[more[row][kind]] for row in there]
                    after = self.geometry.solve(c[there], True, start[there], rows).checked().value
                    for row, share in zip(there, (after / before[there]).tolist(), strict=True):
                        labels[row][kind] = share
            for mu in self.scales:
                other = radii(self.geometry.at(mu), c)
                for row, (out, both) in enumerate(zip(other.out.tolist(), other.out_future.tolist(), strict=True)):
                    scales[row][f"{mu:g}"] = out, both
        errors = self._woodbury(solved, nearest[:1]) if woodbury else []
        result = []
        for row, (token, (found, _)) in enumerate(zip(tokens, rivals, strict=True)):
            pushed = self._pushed(calls.at(slice(row, row + 1)), found.choice, solved, nearest[row], pairs[row])
            error = errors[row] if row < len(errors) else None
            result.append(
                SceneRadii(token, found.choice, found.others, pairs[row], pushed, labels[row], scales[row], error)
            )
        return result

    @torch.no_grad()
    def calls(self, batch: Batch, plans: Tensor) -> tuple[ScorerCall, ScorerCall]:
        """Of the pools, and of what was driven."""
        network = self.planner.network
        scene, ego = network.encode(batch.image), network.encode_ego(batch.ego_status)
        driven = self.scorer.call(batch.trajectory[:, None], scene, ego, batch.cameras)
        return self.scorer.call(plans, scene, ego, batch.cameras), driven

    def _drawn(self, call: ScorerCall, found: Rivals, number: int) -> tuple[int, Tensor, float] | None:
        """A further rival at random, with its contrast and how far it is behind."""
        known = {found.choice, *found.places.tolist()}
        left = [index for index in range(call.plans.shape[1]) if index not in known]
        if not left:
            return None
        index = int(np.random.default_rng((1, number)).choice(left))
        with torch.no_grad():
            worth = call_utilities(self.scorer, self.scorer.theta, call)[0].double()
        gradient = contrasts(self.scorer, call, torch.tensor([found.choice]), torch.tensor([index]))
        return index, gradient, float(worth[found.choice] - worth[index])

    def _more(
        self, batch: Batch, calls: ScorerCall, driven: ScorerCall, row: int, number: int
    ) -> dict[str, WeightedReading]:
        """Further labels, by kind."""
        scorer, weights, held = self.scorer, self.trained.weights, self.geometry.supervision
        rng = np.random.default_rng((2, number))
        one = slice(row, row + 1)
        found: dict[str, WeightedReading] = {}
        pairs = held.scenes * calls.plans.shape[1]
        if weights.score:
            found[GENERATED] = self._some(calls.at(one), weights.score, pairs, rng)
        scenes = self.trained.scenes(self.planner, [self.spare[number % len(self.spare)]])
        with torch.no_grad():
            scene, ego = self.planner.network.encode(scenes.image), self.planner.network.encode_ego(scenes.ego_status)
            proposed = self.planner.network.propose(scene, ego)
        if weights.score:
            found[OTHER_GENERATED] = self._some(
                scorer.call(proposed, scene, ego, scenes.cameras), weights.score, pairs, rng
            )
        if weights.bank:
            known = build_scene_bank(self.store[batch.tokens[row]], Perturbations(BankConfig()), BankConfig()).plans
            if len(known) >= FURTHER_LABELS:
                chosen = torch.from_numpy(known[rng.permutation(len(known))[:FURTHER_LABELS]])[None]
                found[BANK] = bank_outcomes(
                    scorer, self._again(batch, row, chosen), weights.bank, held.scenes * FURTHER_LABELS
                )
            if scenes.bank is not None and (scenes.bank_valid is None or bool(scenes.bank_valid[0])):
                call = scorer.call(scenes.bank, scene, ego, scenes.cameras)
                found[OTHER_BANK] = bank_outcomes(scorer, call, weights.bank, held.scenes * scenes.bank.shape[1])
        if held.future is not None:
            found[FUTURE] = executed_future(scorer, driven.at(one), len(held.future.call)).scaled(held.future_weight)
        return found

    def _some(self, call: ScorerCall, weight: float, pairs: int, rng: np.random.Generator) -> WeightedReading:
        """Outcomes of some plans of a call; the others are there, but have no labels."""
        count = call.plans.shape[1]
        whole = generated_outcomes(self.scorer, call, torch.ones(1, count, dtype=torch.bool), weight, pairs)
        labelled = torch.zeros(1, count, 1, dtype=self.scorer.dtype)
        labelled[0, torch.from_numpy(rng.permutation(count)[:FURTHER_LABELS])] = 1.0
        return WeightedReading(call, "logits", whole.weight * labelled)

    @torch.no_grad()
    def _again(self, batch: Batch, row: int, plans: Tensor) -> ScorerCall:
        """A call of other plans in the scene of a row."""
        network, one = self.planner.network, slice(row, row + 1)
        image = batch.image[one] if isinstance(batch.image, Tensor) else batch.image.at(one)
        scene, ego = network.encode(image), network.encode_ego(batch.ego_status[one])
        return self.scorer.call(plans, scene, ego, type(batch.cameras)(*(part[one] for part in batch.cameras)))

    def _woodbury(self, solved: Radii, rows: list[int]) -> list[float]:
        held = self.geometry.supervision
        if held.future is None:
            return []
        found = self.geometry.reduction(
            held.future, solved.outcomes.x[rows], False, held.future_weight, WOODBURY
        ).checked()
        error = (found.value - solved.reduction[rows]).abs() / solved.outcomes.value[rows]
        return [float(one) for one in error]

    @torch.no_grad()
    def _pushed(
        self, call: ScorerCall, choice: int, solved: Radii, row: int, pairs: tuple[RivalRadii, ...]
    ) -> tuple[bool, ...]:
        """Whether the scorer chooses otherwise when its parameters move as the nearest rival needs it."""
        critical = min(pair.critical for pair in pairs)
        worst = -solved.both.x[row] / solved.both.value[row].sqrt().to(self.scorer.dtype)
        moved = (call_utilities(self.scorer, self.scorer.theta + share * critical * worst, call)[0] for share in PUSHES)
        return tuple(int(worth.argmax()) != choice for worth in moved)


def _pairs(
    found: Rivals, drawn: tuple[int, Tensor, float] | None, solved: Radii, span: slice
) -> tuple[RivalRadii, ...]:
    indices, leads = found.places.tolist(), found.lead.tolist()
    kinds = [False] * len(indices) + [True] * (drawn is not None)
    if drawn is not None:
        indices, leads = [*indices, drawn[0]], [*leads, drawn[2]]
    gaps = [(one.upper - one.lower) / one.upper for one in (solved.outcomes, solved.both)]
    return tuple(
        RivalRadii(
            indices[k],
            kinds[k],
            leads[k],
            float(solved.out[row]),
            float(solved.out_future[row]),
            float(max(gap[row] for gap in gaps)),
            bool(solved.proven_smaller[row]),
            float(solved.foreseen[row]),
            int(solved.outcomes.iterations[row] + solved.both.iterations[row]),
        )
        for k, row in enumerate(range(span.start, span.stop))
    )


@dataclass(frozen=True)
class KeptScenes:
    """Measurements in a folder, one file per scene: an interrupted study resumes."""

    folder: Path
    signature: str
    """Of everything they depend on; others are measured again."""

    def read(self, token: str) -> SceneRadii | None:
        """What was measured in a scene, if it was."""
        path = self.folder / f"{token}.json"
        try:
            raw = read_json(path)
            if raw.pop("signature") != self.signature:
                return None
            raw["pairs"] = tuple(RivalRadii(**pair) for pair in raw["pairs"])
            raw["flipped"], raw["others"] = tuple(raw["flipped"]), float(raw["others"])
            return SceneRadii(**raw)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write(self, measured: SceneRadii) -> None:
        """Keep a scene."""
        content: dict[str, Any] = {"signature": self.signature, **asdict(measured)}
        content["others"] = str(measured.others)  # may be infinite, which JSON has no word for
        write_json(self.folder / f"{measured.token}.json", content, None)
