"""Which frame is whose predecessor: the one before it in its log among those evaluated, at most 0.55 s earlier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from world4scorer.datasets.store import SceneStore
from world4scorer.engine.selection.inertial import pair_interval


@dataclass(frozen=True)
class FramePair:
    """Two frames whose plans are compared."""

    token: str
    previous: str
    interval: float
    """s"""


def pairs_within_logs(store: SceneStore, ordered: Sequence[str]) -> dict[str, FramePair]:
    """Return the pair of each later frame, for tokens as `SceneStore.in_time_order` gives them."""
    pairs = {}
    for previous, token in pairwise(ordered):
        if store.log_of(previous) == store.log_of(token):
            pair = make_pair(store, token, previous)
            if pair is not None:
                pairs[token] = pair
    return pairs


def make_pair(store: SceneStore, token: str, previous: str) -> FramePair | None:
    """Return the pair of two frames, or None where they are too far apart."""
    now, before = store.time_us(token), store.time_us(previous)
    if now <= before:
        raise ValueError(
            f"scenes {previous!r} and {token!r} of log {store.log_of(token)!r} have time stamps {before} and {now} us; "
            "a frame must be later than its predecessor"
        )
    interval = pair_interval(now, before)
    return None if interval is None else FramePair(token, previous, interval)
