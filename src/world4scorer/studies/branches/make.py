"""Branch the scenes of a city's split: finished logs are kept, an interrupted run resumes.

>>> made = make_branches(pools, Path("city"), Path("runs/city/branches/city_val"), scenes=230, plans=12)
>>> for scene in made.scenes():
...     print(scene.token, len(scene.branches))
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from world4scorer.city.world.manifest import find_log, read_manifest
from world4scorer.datasets.store import SceneStore
from world4scorer.engine.outcomes.batch import map_threads
from world4scorer.engine.outcomes.results import V1_COLUMNS
from world4scorer.engine.rollout.plans import roll_out
from world4scorer.engine.scene.indices import State
from world4scorer.evaluation.pools.choices import framewise
from world4scorer.evaluation.pools.scored import ScoredPools
from world4scorer.jobs.executors import Executor, ProcessExecutor
from world4scorer.jobs.resumable import resumable
from world4scorer.studies.branches.choice import choose_plans, spread_scenes
from world4scorer.studies.branches.drive import Branching, BranchTask
from world4scorer.studies.branches.records import (
    SUFFIX,
    AskedScene,
    BranchError,
    SceneBranches,
    kept_scenes,
    lost,
    read_log,
)

LOGS_AT_ONCE: Final = 4
"""Logs of a simulation that a worker takes in one go through the time of the traffic."""

Asked = Mapping[str, Sequence[AskedScene]]


@dataclass(frozen=True)
class MadeBranches:
    """Branches on disk."""

    folder: Path
    asked: Asked
    """Scenes of each log, in time order, that were branched."""
    lost: int
    """Further scenes, in which SUMO crashed."""
    made: int
    """Scenes branched by this call; the others were there."""
    seconds: float

    def scenes(self) -> Iterator[SceneBranches]:
        """What was asked for, log by log in time order."""
        for name, asked in self.asked.items():
            kept = {scene.token: scene for scene in read_log(self.folder / f"{name}{SUFFIX}")}
            yield from (kept[one.token] for one in asked)


def make_branches(
    pools: ScoredPools,
    data: Path,
    out: Path,
    scenes: int,
    plans: int,
    executor: Executor | None = None,
    show_progress: bool = False,
) -> MadeBranches:
    """Drive, in so many scenes of the pools, so many plans of each pool; what is in `out` already is kept."""
    read_manifest(data)  # says what to do where this is no city
    store = SceneStore(pools.about["store"])
    asked = ask(pools, store, scenes, plans)
    start = time.monotonic()
    with resumable(out, "making these branches", BranchError) as job:
        found = {name: _missing(out / f"{name}{SUFFIX}", some) for name, some in asked.items()}
        missing = {name: some for name, some in found.items() if some}
        job.run_missing(
            executor or ProcessExecutor(),
            Branching(data, store, out, SUFFIX, pools.about["lqr"]),
            _tasks(data, missing),
            "branches",
            "groups of logs",
            unit="scenes",
            size=lambda task: sum(map(len, task.logs.values())),
            show=show_progress,
        )
    branched = {name: _without_lost(out / f"{name}{SUFFIX}", some) for name, some in asked.items()}
    gone = sum(map(len, asked.values())) - sum(map(len, branched.values()))
    made = sum(map(len, missing.values()))
    there = {name: some for name, some in branched.items() if some}
    return MadeBranches(out, there, gone, made, time.monotonic() - start)


def ask(pools: ScoredPools, store: SceneStore, scenes: int, plans: int) -> dict[str, list[AskedScene]]:
    """Choose the scenes, and the plans of each."""
    index = {token: row for row, token in enumerate(pools.tokens)}
    by_log: dict[str, list[str]] = {}
    for token, log in zip(pools.tokens, pools.log_names, strict=True):
        by_log.setdefault(log, []).append(token)
    best = framewise(pools.utility_v1)

    def choose(token: str) -> AskedScene:
        row, scene = index[token], store[token]
        if scene.human_future is None:
            raise BranchError(f"{store.folder}: nobody drove the scene {token!r}; it cannot be branched")
        every = np.concatenate([scene.human_future[None], pools.plans[row]])
        positions = roll_out(scene, every, pools.about["lqr"])[..., [State.X, State.Y]]
        on_road = pools.v1[row, :, V1_COLUMNS.index("DAC")] == 1
        chosen = choose_plans(positions[1:], positions[0], int(best[row]), plans, on_road)
        return AskedScene(token, chosen, np.asarray(pools.plans[row][chosen], np.float32))

    wanted = spread_scenes(by_log, scenes)
    found = map_threads(choose, [token for tokens in wanted.values() for token in tokens])
    return {name: [next(found) for _ in tokens] for name, tokens in wanted.items()}


def _missing(path: Path, asked: Sequence[AskedScene]) -> list[AskedScene]:
    """The scenes that a file does not hold with these very plans, and that can be driven."""
    there = kept_scenes(path)
    possible = _without_lost(path, asked)
    return [one for one in possible if one.token not in there or not _same(there[one.token], one)]


def _without_lost(path: Path, asked: Sequence[AskedScene]) -> list[AskedScene]:
    """The scenes in which SUMO did not crash on these plans."""
    gone = lost(path)
    return [one for one in asked if gone.get(one.token) != one.digest()]


def _same(kept: SceneBranches, asked: AskedScene) -> bool:
    return np.array_equal(kept.chosen, asked.chosen) and np.array_equal(kept.plans, asked.plans)


def _tasks(data: Path, missing: Asked) -> list[BranchTask]:
    """Neighbours in time together; a single log first, because all other workers wait for the first task."""
    found = {name: find_log(data, name) for name in missing}
    by_simulation: dict[str, list[str]] = {}
    for name in sorted(missing, key=lambda name: (found[name][0].name, found[name][1].first_step)):
        by_simulation.setdefault(found[name][0].name, []).append(name)
    tasks: list[BranchTask] = []
    for simulation, names in by_simulation.items():
        first = 0 if tasks else 1
        groups = [names[:first]] if first else []
        groups += [names[at : at + LOGS_AT_ONCE] for at in range(first, len(names), LOGS_AT_ONCE)]
        tasks += [BranchTask(simulation, {name: missing[name] for name in group}) for group in groups]
    return tasks
