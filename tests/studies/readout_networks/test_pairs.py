from __future__ import annotations

import numpy as np
import pytest
import torch

from world4scorer.studies.readout_networks.pairs import draw_tokens


@pytest.mark.parametrize("seed", range(20))
def test_logs_take_turns(seed):
    logs = np.random.default_rng(seed).choice(list("abcd"), 1 + seed).tolist()
    order = draw_tokens(logs, len(logs), seed)
    assert sorted(order) == list(range(len(logs)))
    first = [logs[place] for place in order[: len(set(logs))]]
    assert len(set(first)) == len(first)
    seen: dict[str, int] = {}
    turns = []
    for place in order:
        seen[logs[place]] = seen.get(logs[place], 0) + 1
        turns.append(seen[logs[place]])
    assert turns == sorted(turns)
    assert draw_tokens(logs, 2, seed) == order[:2]


def test_the_draw_depends_on_the_seed_alone():
    logs = [f"log{number % 9}" for number in range(90)]
    assert draw_tokens(logs, 30, 1) == draw_tokens(logs, 30, 1) != draw_tokens(logs, 30, 2)
    assert torch.tensor(draw_tokens(logs, 30, 1)).unique().numel() == 30
    assert np.bincount([int(logs[place][3:]) for place in draw_tokens(logs, 27, 1)]).tolist() == [3] * 9
