"""How firmly supervision holds the planner's choices, and what the futures add to it (Proposition 1, appendix C.4).

The scoring half of the trained planner is free to move as long as a quadratic model of its training loss rises by no
more than epsilon^2 / 2. How far can the lead of the chosen plan over a rival move then, to first order: held by outcome
labels alone, and by labels and futures? All is computed on the trained weights; nothing is trained.

Shapes: S scenes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from world4scorer.datasets.store import SceneStore
from world4scorer.drawing.finding import Finding
from world4scorer.evaluation.pools.choices import framewise
from world4scorer.evaluation.pools.open import open_pools
from world4scorer.evaluation.pools.planner_source import PlannerSource
from world4scorer.evaluation.pools.scored import ScoredPools
from world4scorer.jobs.executors import SerialExecutor
from world4scorer.jobs.resumable import resumable
from world4scorer.planner.planner import Planner
from world4scorer.planner.stability import Geometry
from world4scorer.planner.training.dataset import PlanningDataset, collate
from world4scorer.planner.training.supervision import TrainedScenes
from world4scorer.studies.shared.options import StabilityOptions
from world4scorer.studies.stability.figure import draw
from world4scorer.studies.stability.numbers import Measured, numbers_of
from world4scorer.studies.stability.scenes import KeptScenes, Measure, SceneRadii
from world4scorer.studies.stability.surface_figure import draw_surfaces
from world4scorer.studies.stability.surfaces import measure_surfaces, pick_scene, read_surfaces, write_surfaces
from world4scorer.studies.stability.tables import remarks, tables

NAME: Final = "stability"
ACTIVITY: Final = "measuring these scenes"
PARTS: Final = "stability_scenes"
"""Folder beside the finding, for scenes that are finished."""
SURFACES: Final = "surfaces.json"
"""File in that folder, of the scene whose score surfaces are drawn."""
MOVING: Final = 10.0
"""m that the choice of the scene leads away in four seconds, where there is such a scene."""
GROUP: Final = 4
"""Scenes that are solved together, and kept together."""
SPARE_SCENES: Final = 16
"""Training scenes that do not supervise, for labels of other scenes."""
TOLERANCE: Final = 1e-4
"""Widest bracket of a squared radius, as a share of it."""


NOT_SIGNED: Final = ("scenes", "other", "out", "draws", "split", "weights")
"""Options that measured scenes do not depend on, or that the digests of weights and frames stand for."""


def stability(run: Path, question: StabilityOptions, out: Path) -> Finding:
    """Measure radii of choices of a run; what is finished is kept below `out`."""
    _check(question)
    trained = TrainedScenes.of_run(run)
    pools = open_pools(run, split=question.split, weights=question.weights)
    source = PlannerSource.find(run, split=question.split, weights=question.weights)
    planner = source.load()
    chosen = _scenes(pools, question)
    tokens = [pools.tokens[index] for index in chosen]
    kept = KeptScenes(out / PARTS, _signature(pools, trained, question))
    validation, store = _validation(source, planner)
    indices = trained.draw(question.supervised + SPARE_SCENES, question.seed)
    supervision = trained.supervision(planner, indices[: question.supervised])
    found: dict[str, SceneRadii] = {token: one for token in tokens if (one := kept.read(token)) is not None}
    groups = [
        # Whole groups, as results depend on who is solved together in their last digits.
        group
        for group in _groups(len(tokens), question.detailed)
        if any(tokens[number] not in found for number in group)
    ]

    @cache
    def prepared() -> Measure:
        geometry = replace(Geometry.of(supervision, question.mu), tolerance=TOLERANCE)
        spare = indices[question.supervised :]
        return Measure(planner, geometry, validation, store, trained, spare, question.rivals, question.scales)

    def plans_of(numbers: Sequence[int]) -> Tensor:
        return torch.from_numpy(np.asarray(pools.plans[[chosen[number] for number in numbers]], np.float32))

    if groups:
        measure = prepared()

        def measure_group(group: Sequence[int]) -> None:
            names = [tokens[number] for number in group]
            for one in measure(names, plans_of(group), group, group[0] < question.detailed, group[0] == 0):
                if one.token not in found:
                    kept.write(one)
                    found[one.token] = one

        with resumable(kept.folder, ACTIVITY) as job:
            job.run_missing(
                SerialExecutor(), measure_group, groups, "radii", "groups of scenes", unit="scenes", size=len, show=True
            )
    utility = framewise(pools.utility_v1)
    measured = Measured(
        tuple(found[token] for token in tokens),
        tuple(pools.log_names[index] for index in chosen),
        np.array([pools.pdms[index].max() - pools.pdms[index, utility[index]] for index in chosen]),
        None if question.other is None else _other_choices(question, planner, validation, pools, chosen),
        supervision.scenes,
        supervision.rows,
        len(supervision.scorer.theta),
        float(supervision.scorer.theta.double().norm()),
        question.mu,
        question.draws,
    )
    numbers = numbers_of(measured)
    pictures = {}
    ends = [pools.plans[index, found[token].choice, -1, :2] for index, token in zip(chosen, tokens, strict=True)]
    picked = pick_scene(measured.scenes, [bool(np.hypot(*end) > MOVING) for end in ends])
    if picked is not None:
        scene, plans, file = measured.scenes[picked], plans_of([picked]), kept.folder / SURFACES
        surfaces = read_surfaces(file, f"{kept.signature} {scene.token}")
        if surfaces is None:
            surfaces = measure_surfaces(prepared(), scene, plans)
            with resumable(kept.folder, ACTIVITY):
                write_surfaces(file, f"{kept.signature} {scene.token}", surfaces)
        pictures["surfaces"] = draw_surfaces(surfaces, store[scene.token], plans[0].numpy())
    return Finding(
        name=NAME,
        title="How firmly supervision holds choices",
        question="How far can the lead of a chosen plan move while the training loss hardly changes, and do futures "
        "narrow that beyond outcome labels?",
        data=f"{len(tokens)} scenes drawn from {pools.describe()}",
        weights=pools.weights,
        numbers=numbers,
        tables=tables(measured, numbers),
        remarks=remarks(measured, numbers),
        figure=draw(measured),
        pictures=pictures,
    )


def _check(question: StabilityOptions) -> None:
    for name in ("supervised", "scenes", "rivals"):
        if getattr(question, name) < 1:
            raise ValueError(f"{name}: {getattr(question, name)}; at least 1")
    for mu in (question.mu, *question.scales):
        if not mu > 0:
            raise ValueError(f"mu: {mu}; above 0")


def _groups(scenes: int, detailed: int) -> list[list[int]]:
    """Numbers of scenes in groups, none of which has scenes of both kinds; the first scene leads its group."""
    parts = [*range(min(detailed, scenes))], [*range(detailed, scenes)]
    return [part[start : start + GROUP] for part in parts for start in range(0, len(part), GROUP)]


def _scenes(pools: ScoredPools, question: StabilityOptions) -> list[int]:
    """Indices of the scenes: of as many logs as there are, at random."""
    if question.scenes > len(pools):
        raise ValueError(f"scenes: {question.scenes} wanted; there are pools of {len(pools)}")
    order = np.random.default_rng((question.seed, 1)).permutation(len(pools))
    count: dict[str, int] = {}
    turn = []
    for index in order:
        count[pools.log_names[index]] = count.get(pools.log_names[index], 0) + 1
        turn.append(count[pools.log_names[index]])
    return [int(order[i]) for i in np.argsort(turn, kind="stable")[: question.scenes]]


def _validation(source: PlannerSource, planner: Planner) -> tuple[PlanningDataset, SceneStore]:
    return PlanningDataset(source.samples(), planner.config, images=planner.config.images), SceneStore(source.store)


def _signature(pools: ScoredPools, trained: TrainedScenes, question: StabilityOptions) -> str:
    about: dict[str, Any] = {
        **{name: value for name, value in vars(question).items() if name not in NOT_SIGNED},
        "weights": pools.weights,
        "frames": pools.about.get("tokens"),
        "config": trained.config.to_json(),
        "tolerance": TOLERANCE,
    }
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:16]


@torch.no_grad()
def _other_choices(
    question: StabilityOptions, planner: Planner, validation: PlanningDataset, pools: ScoredPools, chosen: Sequence[int]
) -> NDArray[np.int64]:
    """(S,) what another planner would choose of the same plans."""
    other = question.other
    assert other is not None
    second = PlannerSource.find(other, weights=question.weights).load()
    if second.config != planner.config:
        raise ValueError(f"{other}: a planner of another size; --other compares trainings of the same one")
    choices = []
    for index in chosen:
        batch = collate([validation[validation.samples.index_of[pools.tokens[index]], 0]])
        plans = torch.from_numpy(np.asarray(pools.plans[index : index + 1], np.float32))
        scored = second.score(batch.image, batch.ego_status, plans, batch.cameras)
        choices.append(int(scored.choice("v1")))
    return np.array(choices)
