"""Fill a scene store log by log; an interrupted run resumes. Logs in an older schema are upgraded.

>>> report = prepare(source, "scenes", choose_executor(workers=8))
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

from world4scorer.datasets.prepare.log_samples import PARTS, LogSamples, join_samples
from world4scorer.datasets.prepare.progress import PrepareProgress, human_bytes
from world4scorer.datasets.store import SceneStore
from world4scorer.datasets.store.index import shard_names
from world4scorer.datasets.store.schema import SCHEMA_VERSION, StoreError
from world4scorer.datasets.store.shard import Shard
from world4scorer.datasets.store.shard_writer import PreparedScene, shard_path, write_shard
from world4scorer.engine.scene.scene import Scene
from world4scorer.jobs.executors import Done, Executor, ProcessExecutor
from world4scorer.jobs.resumable import check_settings, resumable, run_tasks
from world4scorer.jobs.shared_folder import Crew, shared_folder
from world4scorer.jobs.sources import Stamp, has_changed, stamp

logger = logging.getLogger(__name__)

TYPICAL_SCENE_BYTES: Final = 150_000
"""Bytes of a scene in a busy street, for the check of disk space."""
MIN_FREE_BYTES: Final = 100_000_000
"""Bytes that must be free at any time."""


@dataclass(frozen=True)
class SkippedScenes:
    """Stands for scenes of a source that could not be made, with the reason."""

    reason: str
    count: int = 1


@dataclass(frozen=True)
class SourceFiles:
    """Stands in a source's stream for the files that the scenes of a log are made from."""

    root: Path
    """Dataset folder; shards keep paths below it."""
    paths: Sequence[Path]

    def stamps(self) -> dict[str, Stamp]:
        """Stamps of the files, by path below the dataset folder."""
        return {path.relative_to(self.root).as_posix(): stamp(path) for path in self.paths}


class SceneSource(Protocol):
    """Source of scenes; must be picklable for other processes."""

    def log_names(self) -> Sequence[str]:
        """Return the logs to prepare."""
        ...

    def scenes(self, log_name: str) -> Iterable[Scene | PreparedScene | SkippedScenes | LogSamples | SourceFiles]:
        """Return the scenes of a log, in any order, what was left out, training samples and source files, if any."""
        ...

    def upgrade(self, log_name: str, shard: Shard) -> Iterable[PreparedScene | SourceFiles]:
        """Return the scenes of a shard of an older schema, with what this version adds to them."""
        ...

    def options(self) -> Mapping[str, Any]:
        """Return the options that scenes depend on (JSON values); a store with other options is not resumed."""
        ...


class PrepareError(StoreError):
    """Preparation failed for some logs; the message names them."""


@dataclass(frozen=True)
class PrepareReport:
    """Result of a run of `prepare`."""

    logs: int
    """Logs prepared by this run."""
    kept: int
    """Logs that an earlier run had finished, or others that share the store."""
    scenes: int
    """Scenes prepared by this run."""
    bytes: int
    """Bytes written by this run."""
    seconds: float
    peak_memory: int
    """Peak memory of the largest process [bytes]."""
    skipped: Mapping[str, int] = field(default_factory=dict)
    """Scenes left out, by reason."""

    def __str__(self) -> str:
        rate = self.scenes / self.seconds if self.seconds > 0 else 0.0
        each = human_bytes(self.bytes / self.scenes) if self.scenes else "-"
        text = (
            f"{self.scenes} scenes of {self.logs} logs prepared in {self.seconds:.1f} s ({rate:.0f} scenes/s), "
            f"{self.kept} logs kept; {each} per scene, peak memory {human_bytes(self.peak_memory)} per process"
        )
        return "\n".join([text, *(f"  left out: {count} ({reason})" for reason, count in self.skipped.items())])


@dataclass(frozen=True)
class _LogResult:
    scenes: int
    bytes: int
    skipped: dict[str, int]
    peak_memory: int


@dataclass(frozen=True)
class _PrepareLog:
    """Prepares one log; runs in worker processes."""

    source: SceneSource
    folder: Path
    provenance: dict[str, Any]

    def __call__(self, log_name: str) -> _LogResult:
        skipped: Counter[str] = Counter()
        scenes: list[Scene | PreparedScene] = []
        sources: dict[str, Stamp] = {}
        old = _older_shard(self.folder, log_name)
        for item in self.source.scenes(log_name) if old is None else self.source.upgrade(log_name, old):
            if isinstance(item, SkippedScenes):
                skipped[item.reason] += item.count
            elif isinstance(item, LogSamples):
                item.write(self.folder, log_name)  # before the shard, which says that the log is done
            elif isinstance(item, SourceFiles):
                sources |= item.stamps()
            else:
                scenes.append(item)
        size = write_shard(self.folder, log_name, scenes, self.provenance, sources).bytes if scenes else 0
        return _LogResult(len(scenes), size, dict(skipped), peak_memory())

    def is_done(self, log_name: str) -> bool:
        """Whether a log is in the store, in the present schema."""
        shard = _older_shard(self.folder, log_name)
        return shard is not None and shard.version == SCHEMA_VERSION


def prepare(
    source: SceneSource,
    folder: str | os.PathLike[str],
    executor: Executor | None = None,
    *,
    data: Path | None = None,
    provenance: Mapping[str, Any] | None = None,
    expected_scenes: int | None = None,
    shared: bool = False,
    show_progress: bool = True,
) -> PrepareReport:
    """Prepare every log of `source` that `folder` does not hold yet.

    Logs that fail are left out and named in a PrepareError once the others are done. Preparing no scene at all is an
    error as well. `expected_scenes`, where known, lets the room on the disk be checked first. With the dataset folder
    `data`, logs that changed there since they were prepared, or whose maps did, are prepared again.

    With `shared`, other processes, also on other machines, may do the same in the same folder at the same time: each
    log is prepared by one of them, and each returns when the store is complete.
    """
    executor = ProcessExecutor() if executor is None else executor
    folder = Path(folder)
    names = list(dict.fromkeys(source.log_names()))
    options = dict(source.options())
    with _hold(folder, shared) as crew:
        with nullcontext() if crew is None else crew.alone():
            kept = _finished(folder, names, options, data)
        missing = [name for name in names if name not in kept]
        _check_room(folder, None if expected_scenes is None else expected_scenes * len(missing) // max(len(names), 1))
        work = _PrepareLog(source, folder, {**(provenance or {}), "options": options})
        report = _run(work, missing, len(kept), executor, show_progress, crew)
        with nullcontext() if crew is None else crew.alone():
            if report.logs or report.kept:
                SceneStore(folder)  # writes the index
                join_samples(folder, names)
    if report.scenes == 0 and report.kept == 0:
        reasons = "; ".join(f"{count} left out: {reason}" for reason, count in report.skipped.items())
        raise PrepareError(
            f"{folder}: no scene was prepared from {len(names)} logs"
            + (f" ({reasons})" if reasons else "; the source gave none: check the split and the data folder")
        )
    return report


@contextmanager
def _hold(folder: Path, shared: bool) -> Iterator[Crew | None]:
    """Keep other processes out of a store, or those that do not share it; returns those that do."""
    activity, leftovers = "preparing this store", (f"{PARTS}/.*.tmp",)
    if shared:
        with shared_folder(folder, activity, StoreError, leftovers) as crew:
            yield crew
    else:
        with resumable(folder, activity, StoreError, leftovers=leftovers):
            yield None


def peak_memory() -> int:
    """Return the peak memory of this process [bytes]; 0 where the system does not report it."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak if sys.platform == "darwin" else peak * 1024)


def _run(
    work: _PrepareLog, names: Sequence[str], kept: int, executor: Executor, show: bool, crew: Crew | None
) -> PrepareReport:
    """Prepare logs. With a crew, those that others claim are left to them, unless they are lost before they finish."""
    start = time.monotonic()
    logs = scenes = size = peak = number = 0
    skipped: Counter[str] = Counter()
    with PrepareProgress(len(names), show) as progress:

        def complain(done: Done[str, _LogResult | None]) -> None:
            progress.complain(done.error or "")

        claimed: Callable[[str], _LogResult | None] = work if crew is None else crew.claimed(work, work.is_done)
        left = list(names)
        while left:
            of_others: list[str] = []
            results = run_tasks(executor, claimed, left, work.folder, "logs", PrepareError, on_failure=complain)
            for name, result in results:
                if result is None:
                    of_others.append(name)
                    continue
                number += 1
                logs += result.scenes > 0
                scenes += result.scenes
                size += result.bytes
                peak = max(peak, result.peak_memory)
                skipped.update(result.skipped)
                progress.update(number, scenes, size, max(peak, peak_memory()))
                if number < len(names):
                    _check_room_left(work.folder, size * (len(names) - number) // number)
            left = [] if crew is None else crew.wait_for_others(of_others, work.is_done)
            kept += len(of_others) - len(left)
    return PrepareReport(logs, kept, scenes, size, time.monotonic() - start, max(peak, peak_memory()), dict(skipped))


def _finished(folder: Path, names: Sequence[str], options: Mapping[str, Any], data: Path | None) -> set[str]:
    """Return the logs already in the store, in the present schema and from the present files.

    All that are there are checked to have the same options.
    """
    finished = set()
    for name in sorted(set(shard_names(folder)) & set(names)):
        shard = Shard(shard_path(folder, name))
        check_settings(shard.path, shard.provenance.get("options") or {}, options, StoreError)
        changed = (
            [] if data is None else [file for file, known in shard.sources.items() if has_changed(data / file, known)]
        )
        if changed:
            logger.warning("%s: changed since %s was made, which is made again", changed[0], shard.path)
            shard_path(folder, name).unlink()  # lest it be taken for one of an older schema
        elif shard.version == SCHEMA_VERSION:
            finished.add(name)
    return finished


def _older_shard(folder: Path, log_name: str) -> Shard | None:
    """The shard of a log that is there in an older schema, to be upgraded."""
    path = shard_path(folder, log_name)
    return Shard(path) if path.is_file() else None


def _check_room(folder: Path, scenes: int | None) -> None:
    free = shutil.disk_usage(folder).free
    needed = MIN_FREE_BYTES + (scenes or 0) * TYPICAL_SCENE_BYTES
    if free < needed:
        raise StoreError(
            f"{folder}: {human_bytes(free)} free on this disk, about {human_bytes(needed)} needed; "
            "choose another folder"
        )


def _check_room_left(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed + MIN_FREE_BYTES:
        raise StoreError(
            f"{folder}: {human_bytes(free)} left on this disk, the logs to come need about {human_bytes(needed)}; "
            "make room and run again, finished logs are kept"
        )
