"""The plain implementation that the benchmark compares with is the same network."""

from __future__ import annotations

import sys

import pytest
import torch

from tests.support.golden import ROOT
from tests.support.model_golden import golden_planner, inputs, outputs, tiny_inputs, tiny_planner

BENCHMARKS = ROOT / "benchmarks"


@pytest.fixture
def eager_model(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import eager_model

    yield eager_model
    sys.modules.pop("eager_model")


def with_weights(eager_model, planner):
    plain = eager_model.EagerModel(planner.config).eval()
    plain.load_state_dict(planner.network.state_dict())
    return plain


def test_same_outputs(eager_model):
    planner = golden_planner()
    with torch.no_grad():
        plans, states, _ = with_weights(eager_model, planner)(inputs()["image"], inputs()["ego_status"])
    torch.testing.assert_close(plans, outputs()["proposals"], rtol=0, atol=2e-5)
    torch.testing.assert_close(states, outputs()["states"], rtol=0, atol=2e-5)


@pytest.mark.parametrize("changes", [{}, {"lora_rank": 0, "train_vit": True}, {"readout": False}])
def test_same_gradients(eager_model, changes):
    planner = tiny_planner(**changes)
    plain = with_weights(eager_model, planner)
    for model in (planner.network, plain):
        plans, _, logits = model(*tiny_inputs())
        (plans.square().mean() + logits.square().mean()).backward()
    theirs = dict(plain.named_parameters())
    for name, parameter in planner.network.named_parameters():
        assert parameter.requires_grad == theirs[name].requires_grad, name
        if parameter.grad is not None:
            torch.testing.assert_close(parameter.grad, theirs[name].grad, rtol=1e-3, atol=1e-4, msg=name)
