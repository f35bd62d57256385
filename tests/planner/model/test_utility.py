from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from world4scorer.planner.model import COMPONENTS, utility
from world4scorer.planner.model.utility import WEIGHTS

GATES = ("no_at_fault_collisions", "drivable_area_compliance", "driving_direction_compliance")


def naive(logits, weights):
    p = {name: 1 / (1 + np.exp(-value)) for name, value in logits.items()}
    product = sum(weights[name] * np.log(p[name]) for name in GATES)
    return product + np.log(sum(weights[name] * p[name] for name in COMPONENTS if name not in GATES))


@given(
    values=st.lists(st.tuples(*[st.floats(-30, 30)] * 6), min_size=1, max_size=8),
    benchmark=st.sampled_from(["v1", "v2"]),
)
def test_agrees_with_the_formula(values, benchmark):
    columns = {name: np.array([row[i] for row in values]) for i, name in enumerate(COMPONENTS)}
    given = utility({name: torch.tensor(column) for name, column in columns.items()}, benchmark)
    np.testing.assert_allclose(given.numpy(), naive(columns, WEIGHTS[benchmark]), rtol=1e-9, atol=1e-9)


def test_a_heavier_progress_prefers_the_risk_to_standing():
    """Standing: hardly a collision, little progress; moving: some risk, more of it. v1 prefers the first."""
    standing, moving = (0.97, 1.0, 1.0, 0.98, 0.38, 1.0), (0.88, 1.0, 1.0, 0.85, 0.53, 1.0)
    logits = {name: torch.tensor([standing[i], moving[i]]).logit(1e-6) for i, name in enumerate(COMPONENTS)}
    assert utility(logits, "v1").argmax() == 0 and utility(logits, "v1", 15.0).argmax() == 1
    weights = {**WEIGHTS["v1"], "ego_progress": 15.0}
    columns = {name: values.double().numpy() for name, values in logits.items()}
    np.testing.assert_allclose(utility(logits, "v1", 15.0).numpy(), naive(columns, weights), rtol=1e-5)
    assert torch.equal(utility(logits, "v1", 5.0), utility(logits, "v1"))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_stays_finite_and_ordered_where_probabilities_vanish(dtype):
    logits = {name: torch.tensor([-2000.0, -1000.0, 1000.0], dtype=dtype) for name in COMPONENTS}
    for benchmark in ("v1", "v2"):
        values = utility(logits, benchmark)
        assert values.dtype == torch.float32 and values.isfinite().all()
        assert (values.diff() > 0).all()


def test_weights_of_the_benchmarks():
    assert [WEIGHTS["v1"][name] for name in COMPONENTS] == [1, 1, 0, 5, 5, 2]
    assert [WEIGHTS["v2"][name] for name in COMPONENTS] == [10, 13, 6, 14, 15, 2.1]


def test_unknown_benchmark():
    with pytest.raises(ValueError, match="no such benchmark: 'v3'"):
        utility({name: torch.zeros(1) for name in COMPONENTS}, "v3")
