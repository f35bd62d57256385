from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from world4scorer.planner.training.batches import EpochBatches

sizes = st.tuples(st.integers(1, 6), st.sampled_from([1, 2, 4])).map(lambda pair: (pair[0] * pair[1], pair[1]))


@given(st.integers(24, 70), sizes, st.integers(0, 3), st.integers(0, 3))
def test_processes_share_every_batch_of_a_permutation(samples, size, seed, epoch):
    batch, processes = size
    shares = [EpochBatches(samples, batch, seed=seed, rank=rank, processes=processes) for rank in range(processes)]
    whole = EpochBatches(samples, batch, seed=seed)
    for batches in (*shares, whole):
        batches.start = epoch * len(batches)
    seen = []
    for parts, together in zip(zip(*shares, strict=True), whole, strict=True):
        assert sorted(key for part in parts for key in part) == sorted(together)
        assert {len(part) for part in parts} == {batch // processes}
        seen += together
    assert len(set(seen)) == len(seen) == (samples // batch) * batch
    assert {key[1] for key in seen} == {epoch} and all(0 <= key[0] < samples for key in seen)


@given(st.integers(20, 50), st.integers(1, 9), st.integers(0, 40))
def test_a_pass_may_begin_anywhere(samples, batch, start):
    batches = EpochBatches(samples, batch, seed=1)
    epoch, first = divmod(start, len(batches))
    batches.start = epoch * len(batches)
    whole = list(batches)
    batches.start = start
    assert list(batches) == whole[first:]


def test_epochs_differ_and_seeds_differ():
    def order(seed: int, start: int) -> list[int]:
        batches = EpochBatches(40, 8, seed=seed)
        batches.start = start
        return [place for keys in batches for place, _ in keys]

    assert order(1, 0) != order(1, 5) and order(1, 0) != order(2, 0) and order(1, 0) == order(1, 0)


def test_sizes_that_cannot_be():
    with pytest.raises(ValueError, match="shared evenly by 2"):
        EpochBatches(40, 7, seed=0, processes=2)
    with pytest.raises(ValueError, match="only 5"):
        EpochBatches(5, 7, seed=0)
