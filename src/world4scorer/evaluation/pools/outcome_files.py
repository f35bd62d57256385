"""What the simulator says of every plan of a pool, and which plans continue which of the frame before; kept in files.

With the flags of `continues`, every selection among the pools, framewise or inertial, is scored without simulating
again.

Shapes: F frames of a log, N plans.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from world4scorer.datasets.store import SceneStore
from world4scorer.engine.outcomes.batch import map_threads
from world4scorer.engine.outcomes.extended_comfort import extended_comfort_pairs
from world4scorer.engine.outcomes.results import V1_COLUMNS, V2_COLUMNS, V2Outcome
from world4scorer.engine.outcomes.v1 import pdms
from world4scorer.engine.outcomes.v2 import epdms
from world4scorer.engine.rollout.plans import LqrProfile, roll_out
from world4scorer.engine.scene.indices import PLAN_POSES, State
from world4scorer.engine.scene.scene import Scene
from world4scorer.engine.selection.inertial import pair_interval
from world4scorer.evaluation.pools.pool_files import (
    OUTCOMES_FOLDER,
    LogPool,
    PoolError,
    PoolFolder,
    column,
    numbers,
    read_table,
)
from world4scorer.jobs.arrow_files import write_arrow
from world4scorer.jobs.executors import Executor
from world4scorer.jobs.resumable import LEFTOVERS, run_tasks, short_lock

logger = logging.getLogger(__name__)

META: Final = b"world4scorer.pool_outcomes"
VERSION: Final = 2

Floats = NDArray[np.float64]


class LogOutcomes(NamedTuple):
    """Outcomes of the pools of one log. What a frame lacks is NaN."""

    v1: Floats
    """(F, N, 7) PDMS v1.1, columns `V1_COLUMNS`"""
    v2: Floats
    """(F, N, 10) v2.2 after the human filter, columns `V2_COLUMNS`"""
    v2_raw: Floats
    """(F, N, 10) before the human filter"""
    interval: Floats
    """(F,) s since the frame before; NaN where there is none to be compared with"""
    continues: NDArray[np.bool_]
    """(F, N, N) [f, i, j]: plan i of frame f continues plan j of the frame before (extended comfort)"""
    ego_pose: Floats
    """(F, 3) x, y [m], heading [rad] of the ego in the global frame"""
    human_plan: Floats
    """(F, 8, 3) what was driven"""
    human_continues: Floats
    """(F,) whether what was driven continues, as a plan, what was driven from the frame before"""


def judge_pools(
    folder: PoolFolder, store: SceneStore, lqr: LqrProfile = "navsim", executor: Executor | None = None
) -> Iterator[tuple[LogPool, LogOutcomes]]:
    """Yield the pools of every log (without states) with their outcomes, from files where they are there already.

    What is missing is computed by threads of this process, or, with an executor, written by its workers first.
    """
    judge = _JudgeLog(folder, store, lqr)
    _sweep(folder.folder / OUTCOMES_FOLDER)
    if executor is not None:
        for _ in run_tasks(executor, judge.keep, folder.logs, folder.folder, "logs", PoolError):
            pass
    return map_threads(judge, folder.logs)


def _sweep(outcomes: Path) -> None:
    """Remove what a killed process was writing; every process that writes there holds the lock meanwhile."""
    if any(path for pattern in LEFTOVERS for path in outcomes.glob(pattern)):
        with suppress(PermissionError), short_lock(outcomes):
            pass


@dataclass(frozen=True)
class _JudgeLog:
    """The pools of a log with their outcomes, which are kept in a file."""

    folder: PoolFolder
    store: SceneStore
    lqr: LqrProfile

    def __call__(self, log_name: str) -> tuple[LogPool, LogOutcomes]:
        log = self.folder.read(log_name, states=False)
        path, made_with = self.folder.outcomes_path(log_name), identity(log, self.store, self.lqr)
        kept = _kept(path, made_with, log.plans.shape[1])
        if kept is not None:
            return log, kept
        outcomes = judge_log(log, self.store, self.lqr)
        try:
            with short_lock(path.parent):
                write_outcomes(path, log, outcomes, made_with)
        except PermissionError as error:
            logger.warning("%s: cannot be written (%s); outcomes are computed again next time", path, error)
        return log, outcomes

    def keep(self, log_name: str) -> None:
        """Only write the file: a worker need not send what lies in it."""
        self(log_name)


def judge_log(log: LogPool, store: SceneStore, lqr: LqrProfile = "navsim") -> LogOutcomes:
    """Score every plan of a log's pools, and compare those of consecutive frames."""
    frames, count = log.plans.shape[:2]
    first, second, raw = (np.empty((frames, count, len(names))) for names in (V1_COLUMNS, V2_COLUMNS, V2_COLUMNS))
    interval, human_continues = np.full(frames, np.nan), np.full(frames, np.nan)
    continues = np.zeros((frames, count, count), np.bool_)
    ego_pose, human_plan = np.empty((frames, 3)), np.full((frames, PLAN_POSES, 3), np.nan)
    before: V2Outcome | None = None
    human_before: Floats | None = None
    for f, token in enumerate(log.tokens):
        scene = _scene(store, token, log, f)
        outcome = epdms(scene, log.plans[f], lqr=lqr)
        first[f] = pdms(scene, log.plans[f], lqr=lqr).table
        second[f], raw[f] = outcome.table, outcome.raw
        ego_pose[f] = scene.ego_state[[State.X, State.Y, State.HEADING]]
        human: Floats | None = None
        if scene.human_future is not None:
            human_plan[f] = scene.human_future
            human = roll_out(scene, scene.human_future[None], lqr)
        since = pair_interval(int(log.time_us[f]), int(log.time_us[f - 1])) if f else None
        if since is not None and before is not None:
            interval[f] = since
            continues[f] = extended_comfort_pairs(outcome.rollouts, before.rollouts, since)
            if human is not None and human_before is not None:
                human_continues[f] = extended_comfort_pairs(human, human_before, since)[0, 0]
        before, human_before = outcome, human
    return LogOutcomes(first, second, raw, interval, continues, ego_pose, human_plan, human_continues)


def _scene(store: SceneStore, token: str, log: LogPool, frame: int) -> Scene:
    scene = store[token]
    if scene.time_us != log.time_us[frame] or (frame and log.time_us[frame] <= log.time_us[frame - 1]):
        raise PoolError(
            f"pools of log {log.log_name!r}: the time of {token!r} does not fit the store, or frames are not in order"
        )
    return scene


def write_outcomes(path: Path, log: LogPool, outcomes: LogOutcomes, made_with: bytes) -> None:
    """Keep the outcomes of a log, whole or not at all."""
    fields = {"token": pa.array(log.tokens, pa.string())}
    for name, values in outcomes._asdict().items():
        if name == "continues":
            values = np.packbits(values.reshape(len(values), -1), axis=1)
        fields[name] = column(values) if values.ndim > 1 else pa.array(values)
    table = pa.table(fields).replace_schema_metadata({META: made_with})
    with write_arrow(path, table.schema) as writer:
        writer.write_table(table)


def read_outcomes(path: Path, count: int) -> LogOutcomes:
    """The outcomes of a log whose pools have `count` plans."""
    table = read_table(path, META)
    bits = np.unpackbits(numbers(table, "continues", -1), axis=1, count=count * count)
    return LogOutcomes(
        v1=numbers(table, "v1", count, len(V1_COLUMNS)),
        v2=numbers(table, "v2", count, len(V2_COLUMNS)),
        v2_raw=numbers(table, "v2_raw", count, len(V2_COLUMNS)),
        interval=numbers(table, "interval"),
        continues=bits.reshape(-1, count, count).astype(np.bool_),
        ego_pose=numbers(table, "ego_pose", 3),
        human_plan=numbers(table, "human_plan", PLAN_POSES, 3),
        human_continues=numbers(table, "human_continues"),
    )


def identity(log: LogPool, store: SceneStore, lqr: LqrProfile) -> bytes:
    """What outcomes depend on: plans at times, the scenes there, the tracker."""
    digest = hashlib.sha256(np.ascontiguousarray(log.plans).tobytes() + log.time_us.tobytes())
    digest.update("\0".join(log.tokens).encode())
    missing = [token for token in log.tokens if token not in store]
    if missing:
        raise PoolError(
            f"{store.folder}: no scene {missing[0]!r} of log {log.log_name!r}; give the store of these pools"
        )
    shards = sorted({store.log_of(token) for token in log.tokens})
    scenes = [store.shard(name).checksum for name in shards]
    made = {"version": VERSION, "lqr": lqr, "pools": digest.hexdigest(), "scenes": scenes}
    return json.dumps(made, sort_keys=True).encode()


def _kept(path: Path, made_with: bytes, count: int) -> LogOutcomes | None:
    """What the file holds; None where it is missing, damaged or of something else, and must be made again."""
    if not path.is_file():
        return None
    try:
        if read_table(path, META).schema.metadata[META] != made_with:
            return None
        return read_outcomes(path, count)
    except (PoolError, KeyError, ValueError):
        return None
