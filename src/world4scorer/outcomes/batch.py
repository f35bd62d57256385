"""Many scenes at once, in threads: the kernels run without the GIL."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any, Final, TypeVar

from world4scorer.outcomes.results import V1Outcome
from world4scorer.outcomes.v1 import label
from world4scorer.rollout.plans import LqrProfile
from world4scorer.scene.scene import Scene

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

LARGEST_SHARE: Final = 32
"""Scenes that a thread takes at a time."""

_threads = os.cpu_count() or 1


def set_threads(count: int) -> None:
    """Set how many threads batch functions use; at first, one for each core."""
    global _threads
    if count < 1:
        raise ValueError(f"count: {count} threads; at least one is needed")
    _threads = int(count)


def get_threads() -> int:
    """Return how many threads batch functions use."""
    return _threads


def label_batch(scenes: Sequence[Scene], plans: Sequence[Any], *, lqr: LqrProfile = "navsim") -> list[V1Outcome]:
    """Return `label(scene, plans)` for each scene and its plans (N, 8, 3), in order."""
    if len(scenes) != len(plans):
        raise ValueError(f"plans: {len(plans)} sets of plans for {len(scenes)} scenes")
    share = max(1, min(LARGEST_SHARE, len(scenes) // (2 * _threads)))
    pairs = zip(scenes, plans, strict=True)
    return list(map_threads(lambda pair: label(pair[0], pair[1], lqr=lqr), pairs, share))


def map_threads(function: Callable[[_Item], _Result], items: Iterable[_Item], share: int = 1) -> Iterator[_Result]:
    """Yield `function(item)` in order, computed ahead by the set number of threads, with bounded memory.

    A thread takes `share` items at a time: handing over costs more than a short item does.
    """
    if _threads == 1:
        yield from map(function, items)
        return
    source = iter(items)

    def shares() -> Iterator[list[_Item]]:
        while taken := list(islice(source, share)):
            yield taken

    def work(taken: list[_Item]) -> list[_Result]:
        return [function(item) for item in taken]

    with ThreadPoolExecutor(_threads, thread_name_prefix="w4s") as pool:
        ahead = deque(pool.submit(work, taken) for taken in islice(shares(), 2 * _threads))
        while ahead:
            yield from ahead.popleft().result()
            ahead.extend(pool.submit(work, taken) for taken in islice(shares(), 1))
