from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.support.random_pools import random_pools
from world4scorer.engine.outcomes.results import V1_COLUMNS
from world4scorer.engine.selection.utility import OUTCOMES
from world4scorer.evaluation.scores.bootstrap import LogBootstrap
from world4scorer.evaluation.scores.pool_evaluation import evaluate_pools
from world4scorer.evaluation.scores.regret import REST, choices_knowing, faults, regret_tables


def with_logits(seed):
    pools = random_pools(seed)
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(*pools.pdms.shape, len(OUTCOMES)))
    return replace(pools, logits=logits)


def test_every_plan_has_one_fault_and_the_first_that_applies():
    column = V1_COLUMNS.index
    plans = np.ones((5, 7))
    plans[0, [column("DAC"), column("NC"), column("TTC")]] = 0
    plans[1, [column("NC"), column("TTC")]] = 0.5, 0
    plans[2, column("TTC")] = 0
    plans[3, column("EP")] = 0.1
    found = faults(plans)
    assert [name for row in range(5) for name, there in found.items() if there[row]] == [*found, REST]


@pytest.mark.parametrize("seed", range(2))
def test_regret_of_faults_adds_up(seed):
    pools = with_logits(seed)
    chosen = pools.utility_v1.argmax(1)
    regret = pools.pdms.max(1) - pools.pdms[np.arange(len(pools)), chosen]
    _, numbers = regret_tables(pools, LogBootstrap(pools.log_names, 20))
    parts = numbers["by_fault"].values()
    assert sum(part["regret"]["value"] for part in parts) == pytest.approx(regret.mean())
    assert sum(part["frames"]["value"] for part in parts) == pytest.approx(1.0)


def test_who_knows_all_outcomes_has_no_regret():
    pools = with_logits(3)
    score = dict(zip(V1_COLUMNS, np.moveaxis(pools.v1, -1, 0), strict=True))
    product = score["NC"] * score["DAC"] * (5 * score["EP"] + 5 * score["TTC"] + 2 * score["C"]) / 12
    knowing = choices_knowing(pools, ("NC", "DAC", "TTC", "EP", "C"))
    assert product[np.arange(len(pools)), knowing] == pytest.approx(product.max(1), abs=1e-6)
    blind = choices_knowing(pools, ())
    assert not np.array_equal(blind, knowing)


def test_pools_without_logits_say_less():
    finding = evaluate_pools(random_pools(0), draws=10).finding
    assert "if_known" not in finding.numbers["regret"]
    assert "if_known" in evaluate_pools(with_logits(0), draws=10).finding.numbers["regret"]
    assert evaluate_pools(random_pools(2, plans=1), draws=10).finding.numbers["regret"] == {}
