from __future__ import annotations

import pickle
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from world4scorer.planner.bank import CandidateBank
from world4scorer.planner.bank.candidate_bank import draw_indices
from world4scorer.planner.bank.choice import is_unsafe


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 64), st.integers(0, 64), st.integers(1, 20), st.integers(0, 20), st.integers(0, 10_000))
def test_rule(bad: int, good: int, count: int, most: int, seed: int) -> None:
    """The rule in words: kinds, repetition, number."""
    good = min(good, 64 - bad)
    if bad + good == 0:
        return
    rng = np.random.default_rng(seed)
    places = rng.permutation(64)
    valid, unsafe = np.zeros(64, np.bool_), rng.random(64) < 0.5
    valid[places[: bad + good]] = True
    unsafe[places[:bad]], unsafe[places[bad : bad + good]] = True, False
    drawn = draw_indices(valid, unsafe, np.random.default_rng(seed), count, most)
    assert drawn.shape == (count,) and valid[drawn].all()
    first = min(bad, most, count)
    second = min(good, count - first)
    assert unsafe[drawn[:first]].all() and len(set(drawn[:first])) == first
    others = drawn[first : first + second]
    assert not unsafe[others].any() and len(set(others)) == second


def test_every_candidate_is_equally_likely() -> None:
    """64 candidates, 32 of each kind: all come up as often, and those left out of one draw come in another."""
    unsafe = np.arange(64) % 2 == 0
    rng = np.random.default_rng(0)
    seen = np.zeros(64)
    for _ in range(2000):
        np.add.at(seen, draw_indices(np.ones(64, np.bool_), unsafe, rng, 16, 8), 1)
    np.testing.assert_allclose(seen / 2000, 0.25, atol=0.05)


def test_topping_up_takes_from_all_valid_ones() -> None:
    valid, unsafe = np.arange(64) < 10, np.arange(64) < 9
    drawn = np.stack([draw_indices(valid, unsafe, np.random.default_rng(i), 16, 8)[9:] for i in range(200)])
    assert set(drawn.ravel()) == set(range(10))


def test_draws_belong_to_the_bank(pack: CandidateBank) -> None:
    token = pack.tokens[0]
    drawn = pack.draw(token, np.random.default_rng(1))
    assert drawn.has_bank and drawn.candidates.shape == (16, 8, 3) and drawn.labels.shape == (16, 7)
    assert drawn.candidates.dtype == drawn.labels.dtype == np.float32
    row = pack.rows[token]
    for plan, labels in zip(drawn.candidates, drawn.labels, strict=True):
        same = (pack.candidates[row] == plan).all((1, 2)) & (pack.subscores[row] == labels).all(1) & pack.mask[row]
        assert same.any()
    assert is_unsafe(drawn.labels).sum() == min(8, (is_unsafe(pack.subscores[row]) & pack.mask[row]).sum())


def test_batches_do_not_matter(pack: CandidateBank) -> None:
    tokens = list(pack.tokens)
    seeds = [(3, i) for i in range(len(tokens))]
    whole = pack.draw_batch(tokens, seeds)
    again = pickle.loads(pickle.dumps(pack)).draw_batch(tokens[::-1], seeds[::-1])
    np.testing.assert_array_equal(whole.candidates, again.candidates[::-1])
    np.testing.assert_array_equal(whole.labels, again.labels[::-1])
    one = pack.draw(tokens[4], np.random.default_rng(seeds[4]))
    np.testing.assert_array_equal(one.candidates, whole.candidates[4])


def test_scenes_without_a_bank(pack: CandidateBank) -> None:
    empty = next(token for token in pack.tokens if not pack.mask[pack.rows[token]].any())
    drawn = pack.draw_batch([empty, "unheard of", pack.tokens[0]], [0, 1, 2])
    assert drawn.has_bank.tolist() == [False, False, True]
    assert not drawn.candidates[:2].any() and not drawn.labels[:2].any()
    assert not pack.draw("unheard of", np.random.default_rng(0)).has_bank
    with pytest.raises(ValueError, match="2 for 1 tokens"):
        pack.draw_batch([empty], [0, 1])


def test_speed(pack: CandidateBank) -> None:
    tokens = [pack.tokens[0]] * 64
    took = []
    for step in range(10):
        start = time.process_time()
        pack.draw_batch(tokens, [(step, i) for i in range(64)])
        took.append((time.process_time() - start) / 64)
    assert min(took) < 2e-4  # of processor time; about 0.04 ms where nothing else runs
