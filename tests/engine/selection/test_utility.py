from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from world4scorer.engine.selection.utility import utility_of_logits
from world4scorer.planner.model.utility import COMPONENTS, utility

LOGITS = np.random.default_rng(0).normal(0, 4, (5, 7, 6))


@pytest.mark.parametrize(("benchmark", "a", "b"), [("v1", (1, 1, 0), (5, 5, 2)), ("v2", (10, 13, 6), (14, 15, 2.1))])
def test_by_the_formula_and_as_the_model_has_it(benchmark, a, b):
    found = utility_of_logits(LOGITS, benchmark)
    for place in np.ndindex(5, 7):
        p = [1 / (1 + math.exp(-logit)) for logit in LOGITS[place]]
        product = sum(weight * math.log(q) for weight, q in zip(a, p[:3], strict=True))
        assert found[place] == pytest.approx(product + math.log(sum(w * q for w, q in zip(b, p[3:], strict=True))))
    tensors = dict(zip(COMPONENTS, torch.from_numpy(LOGITS).unbind(-1), strict=True))
    np.testing.assert_allclose(found, utility(tensors, benchmark).numpy(), rtol=1e-12)


def test_stays_finite_where_probabilities_do_not():
    assert np.isfinite(utility_of_logits([-2000.0] * 6, "v2"))
