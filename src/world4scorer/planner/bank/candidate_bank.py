"""A candidate bank on disk: a folder of memory-mapped arrays, by token.

| file                 | shape         | type    |                                               |
|----------------------|---------------|---------|-----------------------------------------------|
| tokens.npy           | (N,)          | bytes   |                                               |
| bank_candidates.npy  | (N, 64, 8, 3) | float32 | ego frame, every 0.5 s                        |
| bank_subscores.npy   | (N, 64, 7)    | float   | NC, DAC, EP, TTC, comfort, DDC, PDMS          |
| bank_mask.npy        | (N, 64)       | bool    | which entries hold a candidate                 |
| bank_family.npy      | (N, 64)       | int8    | `Family`; not in published banks               |
| bank.json            |               |         | how it was made; not in published banks                     |

>>> bank = CandidateBank.open("bank")
>>> drawn = bank.draw_batch(tokens, seeds=[(epoch, index) for index in indices])
>>> drawn.candidates.shape, drawn.labels.shape, drawn.has_bank.shape
((16, 16, 8, 3), (16, 16, 7), (16,))
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.outcomes.results import V1_COLUMNS
from world4scorer.engine.scene.indices import PLAN_POSES
from world4scorer.jobs.array_files import map_array
from world4scorer.jobs.files import read_json
from world4scorer.planner.bank.choice import is_unsafe
from world4scorer.planner.bank.config import MAX_CANDIDATES

TOKENS: Final = "tokens.npy"
CANDIDATES: Final = "bank_candidates.npy"
SUBSCORES: Final = "bank_subscores.npy"
MASK: Final = "bank_mask.npy"
FAMILY: Final = "bank_family.npy"
BANK_FILES: Final = {"candidates": CANDIDATES, "subscores": SUBSCORES, "mask": MASK, "family": FAMILY}
"""File of the bank by array name."""
NOTES: Final = "bank.json"
PARTS: Final = ".parts"
"""Folder inside an unfinished bank."""
LABEL_COUNT: Final = len(V1_COLUMNS)
CHUNK_SCENES: Final = 2048
"""Scenes per chunk when all are read."""


DEFAULT_DRAW: Final = 16
"""Candidates per scene and step."""
DEFAULT_UNSAFE_DRAW: Final = 8
"""Unsafe candidates among them, at most."""


def draw_indices(
    valid: NDArray[np.bool_], unsafe: NDArray[np.bool_], rng: np.random.Generator, count: int, most_unsafe: int
) -> NDArray[np.intp]:
    """Indices (count,) of candidates among `valid` (64,), in random order within each kind.

    Up to `most_unsafe` unsafe candidates without replacement, the rest without replacement among the other valid ones.
    If that gives too few, the remainder is drawn from all valid candidates with replacement.
    """
    bad, good = np.flatnonzero(valid & unsafe), np.flatnonzero(valid & ~unsafe)
    # A permutation is faster than `choice` without replacement.
    first = rng.permutation(bad)[: min(most_unsafe, count)]
    second = rng.permutation(good)[: count - len(first)]
    missing = count - len(first) - len(second)
    if not missing:
        return np.concatenate([first, second])
    every = np.flatnonzero(valid)
    return np.concatenate([first, second, every[rng.integers(0, len(every), missing)]])


class BankError(ValueError):
    """An unusable bank; the message names the file."""


class BankSample(NamedTuple):
    """Candidates of one scene for one step."""

    candidates: NDArray[np.float32]
    """(count, 8, 3); zeros without a bank"""
    labels: NDArray[np.float32]
    """(count, 7) in the order of `V1_COLUMNS`; zeros without a bank"""
    has_bank: bool


class BankSampleBatch(NamedTuple):
    """Candidates of B scenes for one step."""

    candidates: NDArray[np.float32]
    """(B, count, 8, 3)"""
    labels: NDArray[np.float32]
    """(B, count, 7)"""
    has_bank: NDArray[np.bool_]
    """(B,)"""


@dataclass(frozen=True, eq=False)
class CandidateBank:
    """An open bank. Thread-safe; pickled as its path."""

    folder: Path
    tokens: tuple[str, ...]
    candidates: NDArray[np.float32]
    """(N, 64, 8, 3)"""
    subscores: NDArray[np.floating[Any]]
    """(N, 64, 7) in the order of `V1_COLUMNS`"""
    mask: NDArray[np.bool_]
    """(N, 64)"""
    family: NDArray[np.int8] | None
    """(N, 64), or None for a published bank"""
    notes: dict[str, Any]
    """Content of `bank.json`; empty for a published bank."""
    rows: dict[str, int]
    """Row by token."""

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> CandidateBank:
        """Map the files of a bank and check their shapes and types."""
        folder = Path(folder)
        if not folder.is_dir():
            raise BankError(f"{folder}: no such folder; `w4s bank make` makes a bank")
        if (folder / PARTS).is_dir():
            raise BankError(f"{folder}: this bank is not finished; run the same `w4s bank` command again")
        named = _load(folder / TOKENS, ("N",), "SU")
        count = len(named)
        try:
            texts = np.char.decode(named, "utf-8") if named.dtype.kind == "S" else named
        except UnicodeDecodeError as error:
            raise BankError(f"{folder / TOKENS}: damaged: {error}; copy it again") from error
        tokens = tuple(str(token) for token in texts)
        rows = {token: row for row, token in enumerate(tokens)}
        if len(rows) != count:
            repeated = next(token for row, token in enumerate(tokens) if rows[token] != row)
            raise BankError(f"{folder / TOKENS}: token {repeated!r} appears more than once")
        candidates = _load(folder / CANDIDATES, (count, MAX_CANDIDATES, PLAN_POSES, 3), "f")
        if candidates.dtype != np.float32:
            raise BankError(f"{folder / CANDIDATES}: holds {candidates.dtype}; a bank has float32")
        return cls(
            folder,
            tokens,
            candidates,
            _load(folder / SUBSCORES, (count, MAX_CANDIDATES, LABEL_COUNT), "f"),
            _load(folder / MASK, (count, MAX_CANDIDATES), "b"),
            _load(folder / FAMILY, (count, MAX_CANDIDATES), "i") if (folder / FAMILY).exists() else None,
            read_notes(folder / NOTES),
            rows,
        )

    def __reduce__(self) -> tuple[Any, tuple[Path]]:
        return CandidateBank.open, (self.folder,)

    def __len__(self) -> int:
        return len(self.tokens)

    def __contains__(self, token: object) -> bool:
        return token in self.rows

    def __repr__(self) -> str:
        return f"CandidateBank({str(self.folder)!r}: {len(self)} scenes)"

    def draw(
        self, token: str, rng: np.random.Generator, count: int = DEFAULT_DRAW, unsafe: int = DEFAULT_UNSAFE_DRAW
    ) -> BankSample:
        """Draw `count` candidates of a scene, up to `unsafe` of them unsafe; see `draw_indices`."""
        candidates = np.zeros((count, PLAN_POSES, 3), np.float32)
        labels = np.zeros((count, LABEL_COUNT), np.float32)
        return BankSample(candidates, labels, self._draw_into(candidates, labels, token, rng, count, unsafe))

    def draw_batch(
        self, tokens: Sequence[str], seeds: Sequence[Any], count: int = DEFAULT_DRAW, unsafe: int = DEFAULT_UNSAFE_DRAW
    ) -> BankSampleBatch:
        """Draw for each token with its own seed, independent of the batch.

        Seeds are passed to `numpy.random.default_rng`.
        """
        if len(tokens) != len(seeds):
            raise ValueError(f"seeds: {len(seeds)} for {len(tokens)} tokens")
        candidates = np.zeros((len(tokens), count, PLAN_POSES, 3), np.float32)
        labels = np.zeros((len(tokens), count, LABEL_COUNT), np.float32)
        has_bank = np.zeros(len(tokens), np.bool_)
        for i, (token, seed) in enumerate(zip(tokens, seeds, strict=True)):
            rng = np.random.default_rng(seed)
            has_bank[i] = self._draw_into(candidates[i], labels[i], token, rng, count, unsafe)
        return BankSampleBatch(candidates, labels, has_bank)

    def _draw_into(
        self,
        candidates: NDArray[np.float32],
        labels: NDArray[np.float32],
        token: str,
        rng: np.random.Generator,
        count: int,
        unsafe: int,
    ) -> bool:
        row = self.rows.get(token)
        if row is None:
            return False
        valid = self.mask[row]
        if not valid.any():
            return False
        known = self.subscores[row]
        indices = draw_indices(valid, is_unsafe(known), rng, count, unsafe)
        candidates[:] = self.candidates[row, indices]
        labels[:] = known[indices]
        return True

    def chunks(self) -> Iterator[slice]:
        """Slices of rows that fit into memory."""
        return (slice(start, min(start + CHUNK_SCENES, len(self))) for start in range(0, len(self), CHUNK_SCENES))

    def verify(self) -> None:
        """Read everything and raise a BankError for the first valid candidate or label that is not finite."""
        for part in self.chunks():
            mask = self.mask[part]
            for name, values in ((CANDIDATES, self.candidates[part]), (SUBSCORES, self.subscores[part])):
                bad = mask & ~np.isfinite(values.reshape(*mask.shape, -1)).all(-1)
                if bad.any():
                    row, index = (int(i) for i in np.argwhere(bad)[0])
                    token = self.tokens[part.start + row]
                    raise BankError(f"{self.folder / name}: candidate {index} of {token!r} is valid but not finite")


def _load(path: Path, shape: Sequence[int | str], kinds: str) -> NDArray[Any]:
    """Map an array and compare its shape and kind of type."""
    try:
        array = map_array(path, BankError, "copy it again, or delete the bank and run `w4s bank make` again")
    except FileNotFoundError:
        raise BankError(f"{path}: missing; a bank is a folder of {TOKENS}, {CANDIDATES}, {SUBSCORES}, {MASK}") from None
    fits = array.ndim == len(shape) and all(
        isinstance(want, str) or want == size for want, size in zip(shape, array.shape, strict=True)
    )
    if not fits:
        wanted = ", ".join(str(axis) for axis in shape)
        raise BankError(f"{path}: shape {array.shape}; expected ({wanted}) for as many scenes as {TOKENS} names")
    if array.dtype.kind not in kinds:
        raise BankError(f"{path}: holds {array.dtype}; expected a type of kind {' or '.join(kinds)}")
    return array


def is_finished(folder: Path) -> bool:
    """Whether a folder holds a whole pack."""
    return (folder / TOKENS).is_file() and not (folder / PARTS).is_dir()


def read_notes(path: Path) -> dict[str, Any]:
    """Content of `bank.json`; empty if the file is missing."""
    return read_json(path, BankError, "delete it to use the bank without") if path.exists() else {}
