"""Every kind of file that is read again is damaged: reading it gives the same, or an error that names the file."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from tests.faults.attack import Result, in_child
from tests.faults.interruptions import expected, inputs
from tests.faults.mutations import damage
from world4scorer.datasets.store import SceneStore
from world4scorer.driving.clips.prepared import PreparedClip
from world4scorer.evaluation.pools.outcome_files import read_outcomes
from world4scorer.evaluation.pools.pool_files import PoolFolder
from world4scorer.jobs.files import read_json
from world4scorer.planner.bank import CandidateBank

CASES: Final = 500
"""Of a seed."""


@dataclass(frozen=True)
class FileKind:
    """A file of finished work, and what reads it."""

    work: str
    file: str
    read: Callable[[Path], Any]
    """What the file stands for, given its path."""


def _scenes(path: Path) -> Any:
    store = SceneStore(path.parent)
    return [(scene.token, scene.ego_state, scene.centerline, scene.tracks.boxes) for scene in store.scenes()]


def _bank(path: Path) -> Any:
    bank = CandidateBank.open(path.parent)
    return [bank.tokens, bank.candidates, bank.subscores, bank.mask, bank.notes]


def _pool(path: Path) -> Any:
    log = PoolFolder(path.parent).read(path.stem)
    return [log.tokens, log.time_us, log.plans, log.utility_v1, log.utility_v2]


def _tensors(path: Path) -> Any:
    from world4scorer.jobs.tensor_files import read_tensors

    return [(name, tensor.numpy()) for name, tensor in sorted(read_tensors(path).items())]


def _checkpoint(path: Path) -> Any:
    from world4scorer.jobs.tensor_files import read_checkpoint

    return [(name, tensor.numpy()) for name, tensor in sorted(read_checkpoint(path).items())]


def _history(path: Path) -> Any:
    from world4scorer.planner.training.run_files import read_history

    return read_history(path.parent)


KINDS: Final = {
    "scene store, shard": FileKind("prepare", "alpha.arrow", _scenes),
    "scene store, index": FileKind("prepare", "index", _scenes),
    "bank, candidates": FileKind("bank", "bank_candidates.npy", _bank),
    "bank, scores": FileKind("bank", "bank_subscores.npy", _bank),
    "bank, tokens": FileKind("bank", "tokens.npy", _bank),
    "bank, notes": FileKind("bank", "bank.json", _bank),
    "pools": FileKind("pools", "alpha.arrow", _pool),
    "pools, outcomes": FileKind("pools", "outcomes/alpha.arrow", lambda path: list(read_outcomes(path, 3))),
    "pools, notes": FileKind("pools", "pools.json", lambda path: PoolFolder(path.parent).about),
    "settings": FileKind("settings", "settings.json", read_json),
    "clip": FileKind("clips", "clips/TurnLeft_Town05_Route68_Weather8.npz", lambda path: vars(PreparedClip.open(path))),
    "weights": FileKind("network", "model.safetensors", _tensors),
    "checkpoint": FileKind("network", "last.ckpt", _checkpoint),
    "history": FileKind("network", "history.jsonl", _history),
}


@cache
def originals(work: str) -> Path:
    """Folder of finished work."""
    if work != "network":
        expected(work)
        return inputs() / "expected" / work
    return _network(inputs() / "expected" / work)


def _network(folder: Path) -> Path:
    """Files of a network in training."""
    import torch

    from world4scorer.jobs.files import json_lines
    from world4scorer.jobs.tensor_files import write_checkpoint, write_tensors

    tensors = {"weight": torch.arange(200.0).reshape(20, 10), "bias": torch.ones(20)}
    write_tensors(tensors, folder / "model.safetensors")
    write_checkpoint(tensors, folder / "last.ckpt")
    rows = [{"epoch": epoch, "step": 10 * epoch, "val/score": 0.5} for epoch in range(3)]
    (folder / "history.jsonl").write_bytes(json_lines(rows))
    return folder


def damaged_files(seed: int, folder: Path) -> Result:
    """One kind of file, damaged in many ways."""
    name = list(KINDS)[seed % len(KINDS)]
    return damaged_kind(name, seed, folder)


def damaged_kind(name: str, seed: int, folder: Path, cases: int = CASES) -> Result:
    """The same for a kind by name."""
    kind = KINDS[name]
    for original in originals(kind.work).rglob("*"):
        if original.is_file():
            copy = folder / original.relative_to(originals(kind.work))
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(original.read_bytes())
    ended = in_child(lambda: _read_damaged(kind, seed, folder, cases), timeout=600)
    problems = ended.value if ended.value is not None else [ended.error or ended.died]
    return Result(cases, tuple(f"{name}: {problem}" for problem in problems))


def _read_damaged(kind: FileKind, seed: int, folder: Path, cases: int) -> list[str]:
    path = folder / kind.file
    content, sound = path.read_bytes(), _plain(kind.read(path))
    wrong = []
    for case in range(cases):
        changed = damage(content, random.Random(f"{seed} {case}"))
        path.write_bytes(changed)
        try:
            if _plain(kind.read(path)) != sound:
                wrong.append(f"case {case}: read as something else")
        except ValueError as error:
            if path.name not in str(error) and str(folder) not in str(error):
                wrong.append(f"case {case}: {error!r} does not name the file")
        except Exception as error:
            wrong.append(f"case {case}: {error!r}")
    return wrong


def _plain(value: Any) -> Any:
    """Arrays as bytes, which can be compared."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value
