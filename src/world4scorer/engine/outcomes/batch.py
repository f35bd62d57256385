"""Batches of scenes in threads; the kernels run without the GIL."""

from __future__ import annotations

import itertools
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

from numpy.typing import ArrayLike

from world4scorer.engine.outcomes.results import V1Outcome
from world4scorer.engine.outcomes.v1 import label
from world4scorer.engine.rollout.plans import LqrProfile
from world4scorer.engine.scene.scene import Scene

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

_threads = os.cpu_count() or 1


def set_threads(count: int) -> None:
    """Set the number of threads of batch functions; by default one per core."""
    global _threads
    if count < 1:
        raise ValueError(f"count: {count} threads; at least one is needed")
    _threads = int(count)


def get_threads() -> int:
    """Return the number of threads of batch functions."""
    return _threads


def label_batch(scenes: Sequence[Scene], plans: Sequence[ArrayLike], *, lqr: LqrProfile = "navsim") -> list[V1Outcome]:
    """Return `label(scene, plans)` for each scene and its plans (N, 8, 3), in order."""
    if len(scenes) != len(plans):
        raise ValueError(f"plans: {len(plans)} sets of plans for {len(scenes)} scenes")
    return _fill(lambda i: label(scenes[i], plans[i], lqr=lqr), len(scenes))


def _fill(function: Callable[[int], _Result], count: int) -> list[_Result]:
    """Return `function(i)` for i below `count`; threads, this one included, take the next index when free.

    A label takes half a millisecond, too little for a thread pool's overhead per task.
    """
    results: dict[int, _Result] = {}
    errors: list[BaseException] = []
    indices = itertools.count()

    def work() -> None:
        try:
            while not errors and (i := next(indices)) < count:
                results[i] = function(i)
        except BaseException as error:
            errors.append(error)

    helpers = [threading.Thread(target=work, name=f"w4s-{n}") for n in range(min(_threads, count) - 1)]
    for helper in helpers:
        helper.start()
    work()
    for helper in helpers:
        helper.join()
    if errors:
        raise errors[0]
    return [results[i] for i in range(count)]


def map_threads(function: Callable[[_Item], _Result], items: Iterable[_Item]) -> Iterator[_Result]:
    """Yield `function(item)` in order, computed ahead by the set number of threads, with bounded memory."""
    if _threads == 1:
        yield from map(function, items)
        return
    source = iter(items)
    with ThreadPoolExecutor(_threads, thread_name_prefix="w4s") as pool:
        ahead = deque(pool.submit(function, item) for item in islice(source, 4 * _threads))
        while ahead:
            yield ahead.popleft().result()
            ahead.extend(pool.submit(function, item) for item in islice(source, 1))
