"""Fill a folder with pools: one pass of a planner over every frame of a split, log by log.

>>> make_pools(PlannerSource.find(Path("runs/city")), Path("pools"))

An interrupted run resumes: finished logs are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from multiprocessing import parent_process
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from world4scorer.datasets.prepare.samples import Samples
from world4scorer.datasets.store import SceneStore
from world4scorer.evaluation.pools.planner_source import PlannerSource
from world4scorer.evaluation.pools.pool_files import (
    ACTIVITY,
    INFO,
    LogPool,
    PoolError,
    PoolFolder,
    digest_of_plans,
    digest_of_tokens,
)
from world4scorer.jobs.executors import Executor, SerialExecutor
from world4scorer.jobs.resumable import resumable, withdrawn_if_refused
from world4scorer.planner.model.utility import COMPONENTS
from world4scorer.planner.planner import Planner, ScoredPlans
from world4scorer.planner.training.pools import pool_batches

States = Literal["float32", "float16", "none"]

Plans = Mapping[str, NDArray[np.floating[Any]]]


def make_pools(
    source: PlannerSource,
    out: Path,
    *,
    states: States = "float32",
    plans: Plans | None = None,
    plans_from: str | None = None,
    device: str = "cpu",
    executor: Executor | None = None,
    show_progress: bool = False,
) -> PoolFolder:
    """Ask a planner for its pools on every frame, or, with `plans` (N, 8, 3) by token, what it thinks of those.

    In this process unless an executor is given.
    """
    samples, store = source.samples(), SceneStore(source.store)
    about = source.describe() | {"frames": len(samples), "tokens": digest_of_tokens(samples.tokens), "states": states}
    about |= {"scenes": store.digest, "images": samples.images_digest()}
    if plans is not None:
        about |= {"plans_from": plans_from, "plans": digest_of_plans(_asked(plans, samples, plans_from))}
    with withdrawn_if_refused(out, out / INFO):
        folder = PoolFolder.begin(out, about)
        logs = dict(_by_log(samples, store))
        if all(folder.path(name).is_file() for name in logs):
            return folder  # nothing to write: the folder may be read-only
        executor = executor or SerialExecutor()
        work = _MakePool(source, folder, samples, logs, states, plans, device)
        # A planner that cannot be read is one error, not one of each log.
        _ = work.planner if isinstance(executor, SerialExecutor) else source.load()
        with resumable(out, ACTIVITY, PoolError) as job:
            job.run_missing(
                executor,
                work,
                list(logs),
                "pools",
                "logs",
                is_done=lambda name: folder.path(name).is_file(),
                unit="frames",
                size=lambda name: len(logs[name]),
                show=show_progress,
            )
    return folder


@dataclass(frozen=True)
class _MakePool:
    """Task of a worker: the pools of one log."""

    source: PlannerSource
    folder: PoolFolder
    samples: Samples
    logs: Mapping[str, Sequence[int]]
    """Rows of the samples."""
    states: States
    plans: Plans | None
    device: str

    def __call__(self, name: str) -> None:
        samples = self.samples.at(self.logs[name])
        self.folder.write(_pool_of(self.planner, samples, self._store, self.states, self.plans))

    @cached_property
    def planner(self) -> Planner:
        """Read once per process."""
        if parent_process() is not None:
            torch.set_num_threads(1)  # a core for each worker
        return self.source.load().to(self.device)

    @cached_property
    def _store(self) -> SceneStore:
        return SceneStore(self.source.store)


def _asked(plans: Plans, samples: Samples, plans_from: str | None) -> Plans:
    """The plans of the frames that are asked for; all frames must have as many."""
    missing = [token for token in samples.tokens if token not in plans]
    if missing:
        raise PoolError(f"{plans_from}: no plans for {len(missing)} frames of this split, {missing[0]!r} among them")
    asked = {token: plans[token] for token in samples.tokens}
    shape = next(iter(asked.values())).shape
    other = next((token for token, poses in asked.items() if poses.shape != shape), None)
    if other is not None:
        raise PoolError(f"{plans_from}: plans of shape {asked[other].shape} for {other!r}, {shape} for others")
    return asked


def _by_log(samples: Samples, store: SceneStore) -> Iterator[tuple[str, list[int]]]:
    """Indices of the frames of each log, in time order."""
    logs: dict[str, list[int]] = {}
    for index, name in enumerate(samples.log_names):
        logs.setdefault(name, []).append(index)
    for name in sorted(logs):
        yield name, sorted(logs[name], key=lambda index: store.time_us(samples.tokens[index]))


def _pool_of(planner: Planner, samples: Samples, store: SceneStore, states: States, plans: Plans | None) -> LogPool:
    passed = [ask_planner(planner, batch, plans) for batch in pool_batches(samples, planner)]

    def joined(parts: list[torch.Tensor]) -> NDArray[Any]:
        return torch.cat(parts).float().cpu().numpy()

    kept = None if states == "none" else joined([one.states for one in passed]).astype(states)
    return LogPool(
        log_name=samples.log_names[0],
        tokens=samples.tokens,
        time_us=np.array([store.time_us(token) for token in samples.tokens]),
        plans=joined([one.plans for one in passed]),
        utility_v1=joined([one.utility("v1") for one in passed]),
        utility_v2=joined([one.utility("v2") for one in passed]),
        logits=joined([torch.stack([one.logits[name] for name in COMPONENTS], -1) for one in passed]),
        states=kept,
    )


def ask_planner(planner: Planner, batch: Any, plans: Plans | None = None) -> ScoredPlans:
    """What a planner proposes for a batch of scenes, or thinks of the given plans (N, 8, 3) by token."""
    device = next(planner.parameters()).device
    image, status = batch.image.to(device), batch.ego_status.to(device)
    cameras = type(batch.cameras)(*(part.to(device) for part in batch.cameras))
    if plans is None:
        return planner(image, status, cameras)
    given = torch.from_numpy(np.stack([np.asarray(plans[token], np.float32) for token in batch.tokens]))
    return planner.score(image, status, given.to(device), cameras)
