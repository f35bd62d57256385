"""Make a bank from a scene store, log by log; an interrupted run resumes.

>>> report = make_bank("scenes", "bank", BankConfig(seed=3), choose_executor(workers=8))
>>> bank = CandidateBank.open("bank")
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from world4scorer import __version__
from world4scorer.datasets.store import SceneStore
from world4scorer.engine.outcomes.results import V1_COLUMNS
from world4scorer.jobs.executors import Executor, ProcessExecutor
from world4scorer.jobs.resumable import resumable, withdrawn_if_refused
from world4scorer.jobs.sources import check_source
from world4scorer.planner.bank.candidate_bank import NOTES, PARTS, BankError, read_notes
from world4scorer.planner.bank.config import BankConfig
from world4scorer.planner.bank.parts import BankParts
from world4scorer.planner.bank.perturbations import Perturbations
from world4scorer.planner.bank.scene_bank import Proposer, build_scene_bank

FORMAT: Final = 1
"""Version of `bank.json`."""
LOCK: Final = ".bank.lock"
STALE: Final = "delete it and run `w4s bank make` again"


@dataclass(frozen=True)
class BankReport:
    """What a run did."""

    scenes: int
    """Scenes of the bank."""
    logs: int
    """Logs done by this run."""
    kept: int
    """Logs kept from an earlier run."""
    seconds: float

    def __str__(self) -> str:
        if not self.logs:
            return f"{self.scenes:,} scenes, all made by an earlier run"
        return f"{self.scenes:,} scenes; {self.logs} logs in {self.seconds:.0f} s, {self.kept} made by an earlier run"


@dataclass(frozen=True)
class _BankLog:
    """Task of a worker process: one log."""

    store: SceneStore
    tokens: Mapping[str, Sequence[str]]
    """Tokens of each log."""
    parts: BankParts
    proposer: Proposer
    config: BankConfig

    def __call__(self, log_name: str) -> None:
        tokens = self.tokens[log_name]
        self.parts.write(
            log_name, tokens, [build_scene_bank(self.store[token], self.proposer, self.config) for token in tokens]
        )


def make_bank(
    store: str | os.PathLike[str],
    out: str | os.PathLike[str],
    config: BankConfig | None = None,
    executor: Executor | None = None,
    *,
    show_progress: bool = False,
) -> BankReport:
    """Make a bank of perturbed logged trajectories for every scene of a store."""
    config = BankConfig() if config is None else config
    scenes = SceneStore(store)
    tokens = {name: scenes.tokens_of(name) for name in scenes.logs}
    source = {"kind": "perturbed"}
    return build(scenes, tokens, Path(out), config, Perturbations(config), source, executor, show_progress)


def build(
    store: SceneStore,
    tokens: Mapping[str, Sequence[str]],
    out: Path,
    config: BankConfig,
    proposer: Proposer,
    source: Mapping[str, Any],
    executor: Executor | None,
    show_progress: bool,
) -> BankReport:
    """Make a bank for tokens by log from the plans of `proposer`."""
    start = time.monotonic()
    scenes = sum(map(len, tokens.values()))
    if not scenes:
        raise BankError(f"{store.folder}: no scene to make a bank for")
    settings = {"config": config.as_dict(), "source": dict(source), "store": _identity(store), "scenes": scenes}
    parts = BankParts(out)
    with (
        withdrawn_if_refused(out, parts.settings_file, lock=LOCK),
        resumable(out, "making this bank", BankError, lock=LOCK, leftovers=(f"{PARTS}/.*.tmp",)) as job,
    ):
        if _finished(out, settings):
            return BankReport(scenes, 0, len(tokens), 0.0)
        parts.begin(settings)
        made = job.run_missing(
            executor or ProcessExecutor(),
            _BankLog(store, tokens, parts, proposer, config),
            list(tokens),
            "candidates",
            "logs",
            is_done=lambda name: parts.path(name).exists(),
            unit="scenes",
            size=lambda name: len(tokens[name]),
            show=show_progress,
        )
        parts.join(list(tokens), {"format": FORMAT, "version": __version__, "columns": list(V1_COLUMNS), **settings})
    return BankReport(scenes, len(made), len(tokens) - len(made), time.monotonic() - start)


def _finished(out: Path, settings: Mapping[str, Any]) -> bool:
    """Whether the folder holds this bank; raises if it holds another one."""
    if (out / PARTS).is_dir() or not any(out.glob("*.npy")):
        return False
    notes = read_notes(out / NOTES)
    known = {name: notes.get(name) for name in settings}
    check_source(out, "scenes", _store_digest(notes), settings["store"]["digest"], BankError, STALE)
    if isinstance(known["store"], dict):
        known["store"] = {"digest": settings["store"]["digest"], **known["store"]}  # which banks of 0.1.0 do not say
    if known != dict(settings):
        raise BankError(f"{out}: holds another bank already; give another folder")
    return True


def check_bank(folder: Path, store: SceneStore) -> None:
    """Raise a BankError if a bank was made from other scenes than a store holds now."""
    check_source(folder, "scenes", _store_digest(read_notes(folder / NOTES)), store.digest, BankError, STALE)


def _store_digest(notes: Mapping[str, Any]) -> str | None:
    store = notes.get("store")
    return store.get("digest") if isinstance(store, dict) else None


def _identity(store: SceneStore) -> dict[str, Any]:
    """Identity of a store, independent of its path."""
    return {
        "name": store.folder.resolve().name,
        "logs": len(store.logs),
        "scenes": len(store),
        "bytes": store.bytes,
        "digest": store.digest,
    }
