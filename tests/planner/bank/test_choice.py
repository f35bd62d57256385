from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from world4scorer.planner.bank import BankConfig
from world4scorer.planner.bank.choice import find_distinct, has_enough, is_unsafe, select_candidates


def test_unsafe_is_collision_or_off_the_road() -> None:
    labels = np.ones((4, 7))
    labels[1, 0] = 0.0
    labels[2, 1] = 0.0
    labels[3, 0] = 0.5  # not the ego's fault alone
    assert is_unsafe(labels).tolist() == [False, True, True, False]


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 30), st.integers(0, 10_000))
def test_distinct_against_the_rule_in_words(count: int, seed: int) -> None:
    config = BankConfig()
    rng = np.random.default_rng(seed)
    plans = (rng.integers(0, 3, (count, 1, 3)) * [0.2, 0.2, 0.08] + np.zeros((count, 8, 3))).astype(np.float32)
    plans[..., 2] += rng.integers(-1, 2, (count, 1)) * np.float32(2 * np.pi)
    kept: list[int] = []
    for i in range(count):
        near = [
            np.linalg.norm(plans[i, :, :2] - plans[j, :, :2], axis=1).max() < config.duplicate_distance
            and np.abs(np.angle(np.exp(1j * (plans[i, :, 2] - plans[j, :, 2])))).max() < config.duplicate_heading
            for j in kept
        ]
        if not any(near):
            kept.append(i)
    assert np.flatnonzero(find_distinct(plans, config)).tolist() == kept


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 150), st.floats(0, 1), st.integers(0, 10_000))
def test_quota(count: int, share: float, seed: int) -> None:
    config = BankConfig()
    rng = np.random.default_rng(seed)
    labels = np.ones((count, 7))
    labels[rng.random(count) < share, 1] = 0.0
    family, kept = rng.integers(0, 11, count).astype(np.int8), rng.random(count) < 0.9
    chosen = select_candidates(labels, family, kept, config)
    bad, good = int((is_unsafe(labels) & kept).sum()), int((~is_unsafe(labels) & kept).sum())
    assert (np.diff(chosen) > 0).all() and kept[chosen].all()
    assert len(chosen) == min(64, bad + good)
    taken = int(is_unsafe(labels)[chosen].sum())
    assert taken >= min(bad, 32) and len(chosen) - taken >= min(good, 32)
    assert has_enough(labels, kept, config) == (bad >= 32 and good >= 32)


def test_families_take_turns() -> None:
    labels, family = np.ones((200, 7)), np.repeat(np.array([0, 1, 2], np.int8), [180, 10, 10])
    chosen = select_candidates(labels, family, np.ones(200, np.bool_), BankConfig())
    assert np.bincount(family[chosen]).tolist() == [44, 10, 10]
