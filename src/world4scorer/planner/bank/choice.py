"""Selection of the labelled proposals that a scene keeps.

Near-duplicates are dropped. Unsafe and other candidates have separate quotas, filled round-robin over families; what
one kind cannot fill goes to the other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.outcomes.results import V1_COLUMNS
from world4scorer.engine.scene.geometry import wrap_modulo
from world4scorer.planner.bank.config import BankConfig

NC, DAC, PDMS = (V1_COLUMNS.index(name) for name in ("NC", "DAC", "PDMS"))


def is_unsafe(labels: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether labels (..., 7) have an at-fault collision or leave the drivable area."""
    return np.asarray((labels[..., NC] < 0.5) | (labels[..., DAC] < 0.5))


def find_distinct(plans: NDArray[Any], config: BankConfig) -> NDArray[np.bool_]:
    """(N,) which plans (N, 8, 3) differ from all kept earlier ones."""
    gap = np.zeros((len(plans), len(plans)), plans.dtype)
    for x, y in zip(plans[..., 0].T, plans[..., 1].T, strict=True):  # pose by pose, to stay in cache
        np.maximum(gap, (x[:, None] - x) ** 2 + (y[:, None] - y) ** 2, out=gap)
    later, earlier = np.nonzero(np.tril(gap < config.duplicate_distance**2, -1))
    turn = np.abs(wrap_modulo(plans[later, :, 2] - plans[earlier, :, 2])).max(-1, initial=0.0)
    kept = np.ones(len(plans), np.bool_)
    for i, j in zip(later[turn < config.duplicate_heading], earlier[turn < config.duplicate_heading], strict=True):
        kept[i] &= not kept[j]  # pairs are ordered by `later`, so `j` is decided
    return kept


def has_enough(labels: NDArray[Any], kept: NDArray[np.bool_], config: BankConfig) -> bool:
    """Whether both kinds can fill their quotas."""
    unsafe = is_unsafe(labels) & kept
    return int(unsafe.sum()) >= config.unsafe and int((kept & ~unsafe).sum()) >= config.kept - config.unsafe


def select_candidates(
    labels: NDArray[Any], family: NDArray[np.int8], kept: NDArray[np.bool_], config: BankConfig
) -> NDArray[np.intp]:
    """Ascending indices of the candidates to keep, at most `config.kept`, among `kept` (N,)."""
    unsafe = is_unsafe(labels)
    bad, good = _round_robin(family, kept & unsafe), _round_robin(family, kept & ~unsafe)
    reserved = min(len(bad), config.unsafe)
    others = min(len(good), config.kept - reserved)
    return np.sort(np.concatenate([bad[: config.kept - others], good[:others]]))


def _round_robin(family: NDArray[np.int8], wanted: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Indices of `wanted` (N,): the first of each family, then the second of each, and so on."""
    index = np.flatnonzero(wanted)
    kind = family[index]
    turn = np.zeros(len(index), np.intp)
    for value in np.unique(kind):
        turn[kind == value] = np.arange(int((kind == value).sum()))
    return index[np.lexsort((kind, turn))]
