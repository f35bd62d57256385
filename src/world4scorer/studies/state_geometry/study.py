"""Do plans with the same outcome have states near each other? (appendix C.3)

Bank plans of some training scenes are given to the planner, those of a scene in one call. Asked is which of a plan's
five nearest neighbours share its outcome: nearest by state, by trajectory, and after outcomes have been shuffled
within the scene. Beside the planner stand the same network before training, and one whose predictor is random.

Shapes: S scenes, K plans of each, T poses, D numbers of a state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.drawing.finding import Finding
from world4scorer.evaluation.pools.planner_source import PlannerSource
from world4scorer.evaluation.pools.scored import weights_words
from world4scorer.evaluation.scores.bootstrap import Interval, LogBootstrap, plain
from world4scorer.evaluation.scores.paper import paper
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.run_folder import Weights
from world4scorer.planner.bank import CandidateBank, make_bank
from world4scorer.planner.bank.candidate_bank import is_finished
from world4scorer.planner.training.run import subsample
from world4scorer.planner.training.run_files import read_run
from world4scorer.studies.shared.bank_states import (
    BankScenes,
    Drawing,
    Outcome,
    draw_scenes,
    states_of,
    untrained,
    with_random_predictor,
)
from world4scorer.studies.shared.spectrum import effective_rank, rank_of_singular_values, variances, within_share
from world4scorer.studies.state_geometry.figure import draw_agreement, draw_states
from world4scorer.studies.state_geometry.neighbours import agreement, agreement_by_chance, nearest, shuffled_agreement
from world4scorer.studies.state_geometry.tables import remarks, tables

Floats = NDArray[np.float64]

NAME: Final = "state-geometry"
NEIGHBOURS: Final = 5
SHUFFLES: Final = 200
SIDEWAYS: Final = 4.0
"""How much more a metre to the side counts in another measure of trajectories: it leads off the road sooner."""
OWN: Final = "states"
UNTRAINED: Final = "untrained"
RANDOM: Final = "random_predictor"


@dataclass(frozen=True)
class Spread:
    """Where states lie."""

    rank_singular_values: float
    """Effective rank of all states of all scenes, less their mean."""
    rank_variances: float
    within_scenes: Interval
    """Share of the variance."""


@dataclass(frozen=True, eq=False)
class StateGeometry:
    """What is measured of states."""

    scenes: BankScenes
    states: Mapping[str, NDArray[np.float32]]
    """(S, K, D) by planner: `OWN`, `UNTRAINED`, `RANDOM`."""
    draws: int
    seed: int

    @cached_property
    def bootstrap(self) -> LogBootstrap:
        """Draws of logs."""
        return LogBootstrap(self.scenes.samples.log_names, self.draws)

    @cached_property
    def outcome(self) -> NDArray[np.int64]:
        """(S, K)"""
        return self.scenes.outcome

    def trajectories(self, sideways: float = 1.0) -> Floats:
        """(S, K, 2 T) positions of plans [m], what lies to the side `sideways` times as far."""
        plans = self.scenes.plans
        return np.asarray((plans[..., :2] * np.array([1.0, sideways])).reshape(*plans.shape[:2], -1))

    @cached_property
    def shuffled(self) -> Floats:
        """(repeats, S) agreement of the planner's states with outcomes shuffled in each scene."""
        near = nearest(self.states[OWN], NEIGHBOURS)
        return shuffled_agreement(near, self.outcome, SHUFFLES, self.seed)

    @cached_property
    def agreements(self) -> dict[str, Floats]:
        """(S,) by what is near: states of each planner, trajectories in two measures; `chance`: shuffling, exactly."""
        vectors = {**self.states, "trajectories": self.trajectories(), "widened": self.trajectories(SIDEWAYS)}
        found = {name: agreement(nearest(some, NEIGHBOURS), self.outcome) for name, some in vectors.items()}
        return {**found, "chance": agreement_by_chance(self.outcome)}

    def mean(self, name: str) -> Interval:
        """Over scenes."""
        return self.bootstrap.mean(self.agreements[name])

    def gain(self, name: str, over: str) -> Interval:
        """How much more agreement one has than another, paired by scene."""
        return self.bootstrap.mean(self.agreements[name] - self.agreements[over])

    def above(self, name: str, over: str) -> tuple[int, int]:
        """In how many scenes one has more agreement than another, and in how many as much."""
        gain = self.agreements[name] - self.agreements[over]
        equal = np.isclose(gain, 0.0, atol=1e-12)
        return int(((gain > 0) & ~equal).sum()), int(equal.sum())

    @cached_property
    def spreads(self) -> dict[str, Spread]:
        """By planner."""
        return {name: self._spread(states) for name, states in self.states.items()}

    def _spread(self, states: NDArray[np.float32]) -> Spread:
        scenes, plans = states.shape[:2]
        flat = states.reshape(scenes * plans, -1)
        by_plan = LogBootstrap(np.repeat(self.scenes.samples.log_names, plans).tolist(), self.draws)
        share = within_share(by_plan, flat, np.repeat(np.arange(scenes), plans))
        squared = variances(flat)
        return Spread(rank_of_singular_values(squared), effective_rank(squared), share)

    @cached_property
    def groups(self) -> NDArray[np.int64]:
        """(S, 3) plans of each outcome."""
        return np.stack([(self.outcome == one).sum(1) for one in Outcome], axis=1)


def state_geometry(
    run: Path,
    drawing: Drawing | None = None,
    draws: int = 10_000,
    split: str | None = None,
    weights: Weights = "best",
) -> Finding:
    """Draw scenes and ask the run's planner, and those it is compared with, for states of their bank plans.

    Scenes are those of the training split, or of another, whose bank is made if it is missing.
    """
    drawing = drawing or Drawing()
    config, data = read_run(run)
    source = PlannerSource.find(run, split=split, weights=weights)
    if split is None:
        source = replace(source, data=data.data, split=data.split, store=data.store)
    bank = _bank(source, data.bank if split is None else None)
    samples = source.samples() if split else subsample(source.samples(), config)
    scenes = draw_scenes(samples, bank, drawing)
    own, start = source.load(), untrained(config, samples)
    planners = {OWN: own, UNTRAINED: start, RANDOM: with_random_predictor(own, start)}
    states = {name: states_of(planner, scenes) for name, planner in planners.items()}
    found = StateGeometry(scenes, states, draws, drawing.seed)
    return describe(found, drawing, source.describe())


def _bank(source: PlannerSource, own: Path | None) -> CandidateBank:
    """The bank of the source's split; made if it is missing."""
    folder = own or DataFolder(source.data).bank(source.split)
    if not is_finished(folder):
        make_bank(source.store, folder, show_progress=True)
    return CandidateBank.open(folder)


def describe(found: StateGeometry, drawing: Drawing, about: Mapping[str, Any]) -> Finding:
    """The finding on states; `about` tells the planner and the split."""
    reported = paper("state_geometry")
    scenes, plans, width = found.states[OWN].shape
    return Finding(
        name=NAME,
        title="What is near a state",
        question="Do plans of a scene whose predicted states are near each other share their outcome?",
        data=(
            f"{scenes} scenes of {drawing.logs} logs of {about['split']}, {drawing.scenes_per_log} of each, with "
            f"{plans} bank plans each; planner: {about['planner']}{weights_words(about)}, states of {width} numbers."
        ),
        weights=about["weights"],
        numbers=_numbers(found, drawing),
        tables=tables(found, reported),
        remarks=remarks(found, reported),
        paper=reported,
        figure=draw_states(found, reported),
        pictures={"agreement": draw_agreement(found, reported)},
    )


def _numbers(found: StateGeometry, drawing: Drawing) -> dict[str, Any]:
    compared = [name for name in found.agreements if name != "chance"]
    others = [(name, over) for name in compared for over in ("trajectories", "chance") if name != over]
    others += [(OWN, UNTRAINED), (OWN, RANDOM), (OWN, "widened")]
    shuffled = found.shuffled.mean(1)
    return {
        "drawing": asdict(drawing),
        "neighbours": NEIGHBOURS,
        "draws": found.draws,
        "plans_by_outcome": {one.name.lower(): int(found.groups[:, one].sum()) for one in Outcome},
        "scenes_with_one_outcome": int(((found.groups > 0).sum(1) == 1).sum()),
        "agreement": {name: plain(found.mean(name)) for name in found.agreements},
        "shuffles": {
            "repeats": len(shuffled),
            "mean": float(shuffled.mean()),
            "lowest": float(shuffled.min()),
            "highest": float(shuffled.max()),
        },
        "gain": {f"{name}_over_{over}": plain(found.gain(name, over)) for name, over in others},
        "scenes_above": {
            f"{name}_over_{over}": dict(zip(("above", "equal"), found.above(name, over), strict=True))
            for name, over in others
        },
        "by_scene": {name: [round(float(one), 6) for one in values] for name, values in found.agreements.items()},
        "tokens": list(found.scenes.samples.tokens),
        "spread": {
            name: {
                "effective_rank_singular_values": one.rank_singular_values,
                "effective_rank_variances": one.rank_variances,
                "within_scenes": plain(one.within_scenes),
            }
            for name, one in found.spreads.items()
        },
    }
