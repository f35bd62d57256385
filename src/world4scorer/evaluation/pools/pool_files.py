"""Pool files: a folder with one Arrow file per log, each frame with all its plans, logits, utilities and states.

    POOLS/pools.json              what made them
    POOLS/<log>.arrow             token, time_us, plans, logits, utility_v1, utility_v2, states; frames in time order
    POOLS/outcomes/<log>.arrow    what the simulator says of these plans, see `outcome_files`

Shapes: F frames of a log, N plans, T poses, D width of a state.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from world4scorer.engine.scene.indices import PLAN_POSES
from world4scorer.engine.selection.utility import OUTCOMES
from world4scorer.jobs.arrow_files import map_arrow, write_arrow
from world4scorer.jobs.files import read_json, write_json
from world4scorer.jobs.model_folder import ModelFolder
from world4scorer.jobs.names import safe_name
from world4scorer.jobs.resumable import Settings, resumable
from world4scorer.jobs.run_folder import RunFolder

FORMAT: Final = "world4scorer-pools-1"
INFO: Final = "pools.json"
OUTCOMES_FOLDER: Final = "outcomes"
SUFFIX: Final = ".arrow"
META: Final = b"world4scorer.pools"
ACTIVITY: Final = "making these pools"
PLACES: Final = ("planner", "store", "data", "checkpoint", "selected_on")
"""What is said of pools that does not tell them from others: they stay the same when folders move."""


SOURCES: Final = ("scenes", "images")
"""Digests of what the planner was asked about."""


class PoolError(ValueError):
    """A folder or file of pools that cannot be used."""


class LogPool(NamedTuple):
    """The pools of one log, frames in time order."""

    log_name: str
    tokens: tuple[str, ...]
    time_us: NDArray[np.int64]
    """(F,)"""
    plans: NDArray[np.floating[Any]]
    """(F, N, T, 3) x forward [m], y left [m], heading [rad] in the ego frame; float32 in files"""
    utility_v1: NDArray[np.floating[Any]]
    """(F, N)"""
    utility_v2: NDArray[np.floating[Any]]
    """(F, N)"""
    logits: NDArray[np.float32] | None = None
    """(F, N, 6) in the order of `selection.utility.OUTCOMES`"""
    states: NDArray[np.floating[Any]] | None = None
    """(F, N, D)"""


def is_pools(folder: Path) -> bool:
    """Whether this is a folder of pools."""
    return (folder / INFO).is_file()


class PoolFolder:
    """A folder of pools, to be filled log by log, or read."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        path = self.folder / INFO
        if not path.is_file():
            raise PoolError(f"{self.folder}: no {INFO} there; `w4s pools` makes a folder of pools")
        self.about = read_json(path, PoolError, "make the pools again")
        if self.about.get("format") != FORMAT:
            raise PoolError(f"{path}: not a folder of pools of this version ({FORMAT!r} expected as 'format')")
        if not isinstance(self.about.get("planner"), str):
            raise PoolError(f"{path}: damaged: it does not say whose pools these are; make the pools anew")

    @classmethod
    def begin(cls, folder: str | os.PathLike[str], about: Mapping[str, Any]) -> PoolFolder:
        """Open a folder for pools made so; one that holds others already is an error. Names and paths may change."""
        path = Path(folder) / INFO
        wanted = {"format": FORMAT, **about}
        # Whether it is a folder of pools at all; those of 0.1.0 do not name their sources.
        unsaid = [name for name in SOURCES if name not in cls(folder).about] if path.is_file() else []
        settings = Settings(path, wanted, ignored=(*PLACES, *unsaid))
        if settings.check(PoolError) != wanted:
            with resumable(folder, ACTIVITY, PoolError):
                settings.check(PoolError)  # which another process may have written in the meantime
                write_json(path, wanted)
        return cls(folder)

    @property
    def logs(self) -> list[str]:
        """Names of the logs that are there, sorted."""
        return sorted(path.stem for path in self.folder.glob(f"*{SUFFIX}"))

    def path(self, log_name: str) -> Path:
        """Where the pools of a log lie."""
        return self.folder / f"{safe_name(f'{self.folder}: log name', log_name, PoolError)}{SUFFIX}"

    def outcomes_path(self, log_name: str) -> Path:
        """Where the outcomes of a log lie."""
        return self.folder / OUTCOMES_FOLDER / self.path(log_name).name

    def __iter__(self) -> Iterator[LogPool]:
        return map(self.read, self.logs)

    def plans(self) -> dict[str, NDArray[Any]]:
        """Plans (N, T, 3) by token."""
        logs = (self.read(name, states=False) for name in self.logs)
        return {token: plans for log in logs for token, plans in zip(log.tokens, log.plans, strict=True)}

    def write(self, log: LogPool) -> None:
        """Keep the pools of a log, whole or not at all."""
        _checked(self.path(log.log_name), log)
        fields = {"token": pa.array(log.tokens, pa.string()), "time_us": pa.array(log.time_us)}
        for name in ("plans", "logits", "utility_v1", "utility_v2", "states"):
            values = getattr(log, name)
            if name == "plans":
                values = values.astype(np.float32)
            if values is not None:
                fields[name] = column(values)
        shape = {"log_name": log.log_name, "plans": log.plans.shape[1]}
        table = pa.table(fields).replace_schema_metadata({META: json.dumps(shape).encode()})
        with write_arrow(self.path(log.log_name), table.schema) as writer:
            writer.write_table(table)

    def read(self, log_name: str, states: bool = True) -> LogPool:
        """The pools of a log; without their states if not wanted."""
        path = self.path(log_name)
        table = read_table(path, META)
        notes = json.loads(table.schema.metadata[META])
        if notes["log_name"] != log_name:
            raise PoolError(f"{path}: holds the log {notes['log_name']!r}; give the file its name back")
        count = int(notes["plans"])
        try:
            return _checked(
                path,
                LogPool(
                    log_name=log_name,
                    tokens=tuple(table["token"].to_pylist()),
                    time_us=np.asarray(table["time_us"]),
                    plans=numbers(table, "plans", count, PLAN_POSES, 3),
                    utility_v1=numbers(table, "utility_v1", count),
                    utility_v2=numbers(table, "utility_v2", count),
                    logits=numbers(table, "logits", count, len(OUTCOMES)) if "logits" in table.column_names else None,
                    states=numbers(table, "states", count, -1) if states and "states" in table.column_names else None,
                ),
            )
        except (KeyError, ValueError) as error:
            raise PoolError(f"{path}: not a file of pools ({error}); delete it and make it anew") from error


def _checked(path: Path, log: LogPool) -> LogPool:
    """The same pools; a PoolError names the first frame with a bad token, or plans or utilities that are not finite."""
    for token in log.tokens:
        safe_name(f"{path}: token", token, PoolError)
    for name in ("plans", "utility_v1", "utility_v2"):
        values = getattr(log, name)
        good = np.isfinite(values.reshape(len(values), -1)).all(1)
        if not good.all():
            raise PoolError(f"{path}: {name} of {log.tokens[int(np.argmin(good))]!r} are not all finite")
    return log


def read_table(path: Path, meta: bytes) -> pa.Table:
    """An Arrow file of ours, mapped."""
    with map_arrow(path, PoolError, "file of pools", "delete it and run `w4s pools` again") as reader:
        table = reader.read_all()
    if meta not in (table.schema.metadata or {}):
        raise PoolError(f"{path}: not a file of this kind ({meta.decode()})")
    return table


def column(values: NDArray[Any]) -> pa.Array:
    """Rows of an array (F, ...) as lists."""
    flat = np.ascontiguousarray(values).reshape(len(values), -1)
    return pa.FixedSizeListArray.from_arrays(pa.array(flat.ravel()), flat.shape[1])


def numbers(table: pa.Table, name: str, *shape: int) -> NDArray[Any]:
    """A column as an array (F, *shape)."""
    values = table[name].combine_chunks()
    flat = values.flatten() if pa.types.is_fixed_size_list(values.type) else values
    return np.asarray(flat).reshape(len(table), *shape)


def digest_of_planner(planner: Path) -> str:
    """Digest of a planner's folder, or of a file of weights."""
    files = ModelFolder(planner).files if planner.is_dir() else (planner,)
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def describe_planner(planner: Path) -> dict[str, str]:
    """Name and digest of a planner; of a run's, whether it is the best, and on which split, or the last."""
    run = RunFolder(planner.parent)
    checkpoint = {run.planner: "last", run.best_planner: "best"}.get(planner) if run.exists else None
    about = {"planner": planner.name if checkpoint is None else planner.resolve().parent.name}
    if checkpoint is not None:
        about["checkpoint"] = checkpoint
    if checkpoint == "best" and not run.trained_on_clips:
        about["selected_on"] = run.validation_split()
    return {**about, "weights": digest_of_planner(planner)}


def digest_of_tokens(tokens: Iterable[str]) -> str:
    """The same for the same frames, in whatever order."""
    return hashlib.sha256("\n".join(sorted(tokens)).encode()).hexdigest()


def digest_of_plans(plans: Mapping[str, NDArray[Any]]) -> str:
    """Digest of plans (N, 8, 3) by token."""
    digest = hashlib.sha256()
    for token in sorted(plans):
        digest.update(token.encode() + b"\0" + np.ascontiguousarray(plans[token], np.float32).tobytes())
    return digest.hexdigest()
