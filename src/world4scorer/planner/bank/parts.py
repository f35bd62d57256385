"""An unfinished bank: one file per log, joined into the bank's arrays at the end.

A part is renamed into place when it is whole, so an interrupted run resumes with the logs that have none.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.scene.indices import PLAN_POSES
from world4scorer.jobs.array_files import open_archive, write_array
from world4scorer.jobs.files import atomic_write, write_json
from world4scorer.jobs.resumable import Settings
from world4scorer.planner.bank.candidate_bank import BANK_FILES, LABEL_COUNT, NOTES, PARTS, TOKENS, BankError
from world4scorer.planner.bank.config import MAX_CANDIDATES, Family
from world4scorer.planner.bank.scene_bank import SceneBank

SETTINGS: Final = "settings.json"
PART_SUFFIX: Final = ".npz"


@dataclass(frozen=True)
class BankParts:
    """Parts of the bank in `folder`."""

    folder: Path

    @property
    def place(self) -> Path:
        """Folder of the parts."""
        return self.folder / PARTS

    @property
    def settings_file(self) -> Path:
        """What the parts are made with."""
        return self.place / SETTINGS

    def path(self, log_name: str) -> Path:
        """The part of a log."""
        return self.place / f"{log_name}{PART_SUFFIX}"

    def begin(self, settings: dict[str, Any]) -> None:
        """Start, or resume if the parts that are there were made with the same settings."""
        path = self.settings_file
        if not path.exists():
            shutil.rmtree(self.place, ignore_errors=True)  # parts without settings were left by a run killed at its end
        Settings(path, settings).match(BankError)

    def write(self, log_name: str, tokens: Sequence[str], banks: Sequence[SceneBank]) -> None:
        """Write the part of a log: tokens and a bank for each."""
        arrays = _empty(len(tokens))
        for row, bank in enumerate(banks):
            count = len(bank.plans)
            arrays["candidates"][row, :count] = bank.plans
            arrays["subscores"][row, :count] = bank.labels
            arrays["mask"][row, :count] = True
            arrays["family"][row, :count] = bank.family
        with atomic_write(self.path(log_name)) as stream:
            np.savez(stream, tokens=np.array([token.encode() for token in tokens], np.bytes_), **arrays)  # type: ignore[arg-type]

    def join(self, log_names: Sequence[str], notes: dict[str, Any]) -> None:
        """Write the bank's files, the notes last, and remove the parts."""
        tokens = np.concatenate([self._read(name, "tokens") for name in log_names] or [np.zeros(0, "S1")])
        with write_array(self.folder / TOKENS, tokens.dtype, tokens.shape) as append:
            append(tokens)
        for name, empty in _empty(0).items():
            shape = (len(tokens), *empty.shape[1:])
            with write_array(self.folder / BANK_FILES[name], empty.dtype, shape) as append:
                for log_name in log_names:
                    append(self._read(log_name, name))
        write_json(self.folder / NOTES, notes)
        shutil.rmtree(self.place)

    def _read(self, log_name: str, name: str) -> NDArray[Any]:
        with open_archive(self.path(log_name)) as part:
            return np.asarray(part[name])


def _empty(count: int) -> dict[str, NDArray[Any]]:
    make: Callable[..., NDArray[Any]] = np.zeros
    return {
        "candidates": make((count, MAX_CANDIDATES, PLAN_POSES, 3), np.float32),
        "subscores": make((count, MAX_CANDIDATES, LABEL_COUNT), np.float32),
        "mask": make((count, MAX_CANDIDATES), np.bool_),
        "family": np.full((count, MAX_CANDIDATES), Family.UNKNOWN, np.int8),
    }
