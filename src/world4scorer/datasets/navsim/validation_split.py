"""Cut a validation split out of a training split, log by log, so that no test split decides anything in training.

>>> parts = cut_by_share(split, tokens_by_log(root, split, SerialExecutor()), share=0.05, seed=3)
>>> write_split(DataFolder(root).splits, parts.validation)

A log is never divided: consecutive frames show the same street.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.datasets.navsim.filters import Split, read_yaml, windows
from world4scorer.datasets.navsim.logs import log_paths, read_log
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.executors import Executor
from world4scorer.jobs.resumable import run_tasks

TRAINING: Final = "train"
VALIDATION: Final = "val"
"""Endings of the names of both parts: `navtrain_train`, `navtrain_val`."""
TRAIN_LOGS: Final = "train_logs"
VAL_LOGS: Final = "val_logs"
"""Keys of the devkit's file of log lists."""

TokensByLog = Mapping[str, tuple[str, ...]]


class SplitParts(NamedTuple):
    """Two splits without a log in common."""

    training: Split
    validation: Split


@dataclass(frozen=True)
class _ReadTokens:
    """Reads the tokens of a split in a log; picklable, for executors."""

    root: Path
    split: Split

    def __call__(self, name: str) -> tuple[str, ...]:
        log = read_log(DataFolder(self.root).log(self.split.data_split, name))
        now = self.split.filter.num_history_frames - 1
        return tuple(window[now].token for window in windows(log, self.split.filter))


def tokens_by_log(root: Path, split: Split, executor: Executor) -> TokensByLog:
    """Tokens of a split by log; reads all its logs, which must be on disk, and leaves out logs without a token."""
    if split.filter.max_scenes is not None:
        raise DatasetError(f"split {split.name!r}: has max_scenes; only a split of whole logs can be cut by logs")
    present = {path.stem for path in log_paths(DataFolder(root).logs(split.data_split))}
    wanted = sorted(present) if split.filter.log_names is None else list(dict.fromkeys(split.filter.log_names))
    missing = [name for name in wanted if name not in present]
    if missing:
        raise DatasetError(
            f"{DataFolder(root).logs(split.data_split)}: {len(missing)} of {len(wanted)} logs of {split.name} are not "
            f"there ({missing[0]}, ...); `w4s check-data` lists what is missing"
        )
    folder = DataFolder(root).logs(split.data_split)
    found = dict(
        run_tasks(executor, _ReadTokens(root, split), wanted, folder, "logs", DatasetError, stop_at_first=True)
    )
    return {name: found[name] for name in wanted if found[name]}


def cut_by_share(split: Split, tokens: TokensByLog, share: float, seed: int) -> SplitParts:
    """Draw a share of the logs by seed, at least one, for validation."""
    if not 0 < share < 1:
        raise ValueError(f"--validation {share:g}: a share of the logs between 0 and 1")
    if len(tokens) < 2:
        raise DatasetError(f"split {split.name!r}: {len(tokens)} logs with scenes; at least two are needed to cut it")
    names = sorted(tokens)
    count = min(max(1, round(share * len(names))), len(names) - 1)
    drawn = np.random.default_rng(seed).permutation(len(names))[:count]
    return _parts(split, tokens, {names[index] for index in drawn})


def cut_by_lists(split: Split, tokens: TokensByLog, path: str | os.PathLike[str]) -> SplitParts:
    """Take the devkit's own lists: a YAML file with `train_logs` and `val_logs`; logs in neither are left out."""
    raw = read_yaml(path)
    lists: dict[str, set[str]] = {}
    for key in (TRAIN_LOGS, VAL_LOGS):
        if not isinstance(raw.get(key), list):
            raise DatasetError(f"{path}: needs a list {key!r}; the devkit's file of train, val and test logs has it")
        lists[key] = {str(name) for name in raw[key]}
    both = sorted(lists[TRAIN_LOGS] & lists[VAL_LOGS])
    if both:
        raise DatasetError(f"{path}: {len(both)} logs are in both lists ({both[0]}, ...)")
    kept = {name: found for name, found in tokens.items() if name in lists[TRAIN_LOGS] | lists[VAL_LOGS]}
    for key, names in lists.items():
        if not names & kept.keys():
            raise DatasetError(f"{path}: no log of {split.name} among its {key!r}")
    return _parts(split, kept, lists[VAL_LOGS])


def _parts(split: Split, tokens: TokensByLog, validation: Collection[str]) -> SplitParts:
    def part(ending: str, names: list[str]) -> Split:
        listed = None if split.filter.tokens is None else tuple(token for name in names for token in tokens[name])
        chosen = replace(split.filter, log_names=tuple(names), tokens=listed)
        return replace(split, name=f"{split.name}_{ending}", filter=chosen)

    return SplitParts(
        part(TRAINING, [name for name in sorted(tokens) if name not in validation]),
        part(VALIDATION, [name for name in sorted(tokens) if name in validation]),
    )
