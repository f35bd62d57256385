"""Import of banks: a published bank as it is, or plans that are labelled here.

>>> label_plans("candidates.pkl", "scenes", "bank")     # a dict token -> (K, 8, 3)
>>> copy_bank("published", "bank")                      # checked, labels as they are
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from world4scorer import __version__
from world4scorer.datasets.store import SceneStore
from world4scorer.engine.outcomes.results import V1_COLUMNS
from world4scorer.engine.scene.scene import Scene
from world4scorer.jobs.executors import Executor
from world4scorer.jobs.files import atomic_write, write_json
from world4scorer.jobs.resumable import resumable
from world4scorer.planner.bank.candidate_bank import BANK_FILES, CANDIDATES, NOTES, TOKENS, BankError, CandidateBank
from world4scorer.planner.bank.config import BankConfig, Family
from world4scorer.planner.bank.make import FORMAT, LOCK, BankReport, build
from world4scorer.planner.bank.perturbations import Proposals
from world4scorer.planner.bank.plan_files import read_plans

IMPORT_CONFIG: Final = BankConfig(rounds=1, duplicate_distance=0.0)
"""Keeps all candidates, up to the limit."""


@dataclass(frozen=True)
class ImportReport:
    """Result of an import."""

    scenes: int
    """Scenes of the bank."""
    unknown: int
    """Tokens of the file that are not in the store; left out."""

    def __str__(self) -> str:
        left = f"; {self.unknown:,} tokens of the file are not in the store and were left out" if self.unknown else ""
        return f"{self.scenes:,} scenes{left}"


@dataclass(frozen=True)
class FilePlans:
    """Proposes the plans of a file or of a bank."""

    path: Path
    sha256: str

    def propose(self, scene: Scene, round_number: int) -> Proposals | None:
        """Plans of a scene, in the first round only."""
        plans = _plans(self.path, self.sha256).get(scene.token)
        if plans is None or round_number:
            return None
        return Proposals(plans, np.full(len(plans), Family.UNKNOWN, np.int8))


def label_plans(
    path: str | os.PathLike[str],
    store: str | os.PathLike[str],
    out: str | os.PathLike[str],
    executor: Executor | None = None,
    *,
    show_progress: bool = False,
) -> ImportReport:
    """Label the plans of a file or of a bank, and write them as a bank.

    Candidates keep their order; of more than 64, 64 are selected as in `choice`.
    """
    path = Path(path).resolve()
    sha256 = _digest(path)
    given, scenes = _plans(path, sha256), SceneStore(store)
    by_log: dict[str, Sequence[str]] = {
        name: [token for token in scenes.tokens_of(name) if token in given] for name in scenes.logs
    }
    by_log = {name: tokens for name, tokens in by_log.items() if tokens}
    if not by_log:
        raise BankError(f"{path}: none of its {len(given)} tokens is in {scenes.folder}")
    source = {"kind": "file", "name": path.name, "scenes": len(given), "sha256": sha256}
    made: BankReport = build(
        scenes, by_log, Path(out), IMPORT_CONFIG, FilePlans(path, sha256), source, executor, show_progress
    )
    return ImportReport(made.scenes, len(given) - made.scenes)


def copy_bank(folder: str | os.PathLike[str], out: str | os.PathLike[str]) -> ImportReport:
    """Verify a bank and copy it with its labels, noting its source."""
    pack, out = CandidateBank.open(folder), Path(out)
    pack.verify()
    with resumable(out, "making this bank", BankError, lock=LOCK):
        if (out / TOKENS).exists():
            raise BankError(f"{out}: holds a bank already; give another folder")
        # Tokens last: without them the folder does not open, and the copy can be repeated.
        for name in (*BANK_FILES.values(), TOKENS):
            if (pack.folder / name).exists():
                with open(pack.folder / name, "rb") as source, atomic_write(out / name) as stream:
                    shutil.copyfileobj(source, stream)
        source_notes = {"kind": "pack", "name": pack.folder.resolve().name, "notes": pack.notes}
        notes = {"format": FORMAT, "version": __version__, "columns": list(V1_COLUMNS), "source": source_notes}
        write_json(out / NOTES, notes)
    return ImportReport(len(pack), 0)


def _digest(path: Path) -> str:
    """SHA-256 of the file of plans."""
    if not path.exists():
        raise BankError(f"{path}: no such file or bank")
    with open(path / CANDIDATES if path.is_dir() else path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@lru_cache(maxsize=1)
def _plans(path: Path, sha256: str) -> dict[str, NDArray[np.float32]]:
    """Plans by token, cached per process and digest."""
    if not path.is_dir():
        return read_plans(path)
    pack = CandidateBank.open(path)
    return {token: pack.candidates[row, pack.mask[row]] for token, row in pack.rows.items() if pack.mask[row].any()}
