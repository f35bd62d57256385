from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.support.random_pools import random_pools
from world4scorer.engine.outcomes.results import V2_COLUMNS
from world4scorer.studies.lambda_weight.study import lambda_weight


def slow_scores(pools, weight: float) -> tuple[list[float], list[float]]:
    """EPDMS of every frame and EC of every pair, frame by frame."""
    scores, comfort, before = [], [], 0
    for s in range(len(pools)):
        utility = [float(value) for value in pools.utility_v2[s]]
        if pools.paired[s]:
            utility = [
                u + weight * np.log(1.0 if pools.continues[s, i, before] else 0.01) for i, u in enumerate(utility)
            ]
        taken = utility.index(max(utility))
        row = dict(zip(V2_COLUMNS, pools.v2[s, taken], strict=True))
        total, whole = 5 * row["EP"] + 5 * row["TTC"] + 2 * row["LK"] + 2 * row["HC"], 14
        if pools.paired[s]:
            comfort.append(float(pools.continues[s, taken, before]))
            total, whole = total + 2 * comfort[-1], 16
        scores.append(row["NC"] * row["DAC"] * row["DDC"] * row["TLC"] * total / whole)
        before = taken
    return scores, comfort


@pytest.mark.parametrize("seed", range(3))
def test_every_weight_is_what_a_loop_scores(seed: int, tmp_path: Path) -> None:
    pools = random_pools(seed)
    finding = lambda_weight(pools, (2.0, 0.25, 0.5, 1.0), draws=30)
    rows = finding.numbers["weights"]
    assert list(rows) == ["0", "0.25", "0.5", "1", "2"]
    means = {}
    for name, row in rows.items():
        scores, comfort = slow_scores(pools, float(name))
        means[name] = np.mean(scores)
        assert row["EPDMS"]["value"] == pytest.approx(means[name])
        assert row["EC"]["value"] == pytest.approx(np.mean(comfort))
        assert row["gain"]["value"] == pytest.approx(means[name] - means["0"])
    assert rows["0"]["changed_choices"] == 0 < rows["2"]["changed_choices"]
    positive = [means[name] for name in rows if name != "0"]
    assert finding.numbers["band"] == pytest.approx(max(positive) - min(positive))
    finding.save(tmp_path, "test")


@pytest.mark.parametrize("weights", [(), (0.0, 1.0), (-1.0,), (1.0, 1.0), (float("nan"),)])
def test_weights_must_make_sense(weights: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="above 0"):
        lambda_weight(random_pools(), weights, draws=10)
