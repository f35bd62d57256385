from __future__ import annotations

import json

import numpy as np
import pytest

from tests.support.random_pools import random_pools
from world4scorer.evaluation.scores.bootstrap import LogBootstrap
from world4scorer.studies.reranking.study import reranking


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("weight", [0.3, 1.0])
def test_by_hand(seed, weight):
    """Choices by v2 utility, one after the other; changes are on minus off."""
    pools = random_pools(seed)
    taken = {"off": [], "on": []}
    scores = {"off": [], "on": []}
    for s in range(len(pools)):
        for part in ("off", "on"):
            utility = pools.utility_v2[s].astype(np.float64)
            paired = not np.isnan(pools.interval[s])
            flags = pools.continues[s, :, taken[part][-1]] if paired else None
            if part == "on" and flags is not None:
                utility = utility + weight * np.log(0.01 + 0.99 * flags)
            chosen = int(np.argmax(utility))
            nc, dac, ddc, tlc, ep, ttc, lk, hc = pools.v2[s, chosen, :8]
            total, ec = 5 * ep + 5 * ttc + 2 * lk + 2 * hc, np.nan
            if flags is None:
                value = nc * dac * ddc * tlc * total / 14
            else:
                ec = float(flags[chosen])
                value = nc * dac * ddc * tlc * (total + 2 * ec) / 16
            taken[part].append(chosen)
            scores[part].append((ec, ep, value))
    off, on = np.array(scores["off"]), np.array(scores["on"])
    numbers = reranking(pools, weight, draws=300).numbers
    bootstrap = LogBootstrap(pools.log_names, 300)
    for place, name in enumerate(("EC", "EP", "EPDMS")):
        for part, values in (("off", off), ("on", on), ("change", on - off)):
            assert numbers[name][part] == pytest.approx(bootstrap.mean(values[:, place])._asdict())
    assert numbers["changed_choices"] == np.mean(np.array(taken["off"]) != taken["on"])


def test_without_any_pair(tmp_path):
    finding = reranking(random_pools(0, frames=1), draws=20)
    finding.save(tmp_path, "w4s study reranking pools")
    assert json.loads((tmp_path / "reranking.json").read_text())["numbers"]["EC"]["change"] is None
