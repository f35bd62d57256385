from __future__ import annotations

import pytest

from tests.support.model_golden import expected, golden_planner, inputs
from world4scorer.planner.pretrained.names import released_names
from world4scorer.planner.training.losses import Targets, compute_losses, paper
from world4scorer.planner.training.predictions import predict, propose

LOSSES = {"wta": "imitation", "score": "score", "future": "future", "bank": "bank", "total": "total"}


def losses_of(network):
    given = inputs()
    predictions = predict(
        network, propose(network, given["image"], given["ego_status"]), given["bank"], given["trajectory"]
    )
    targets = Targets(
        trajectory=given["trajectory"],
        trajectory_warped=given["trajectory_long"],
        labels=given["labels"],
        bank_labels=given["bank_labels"],
        bank_valid=given["bank_valid"],
        future=given["future"],
        future_valid=given["future_valid"],
    )
    return compute_losses(predictions, targets, paper())


@pytest.mark.parametrize("name", LOSSES)
def test_values_and_gradients(name):
    network = golden_planner().network
    loss = getattr(losses_of(network), LOSSES[name])
    assert loss.item() == pytest.approx(expected()["losses"][name], abs=1e-5)
    loss.backward()
    wanted = expected()["grad_norms"][name]
    parameters = dict(network.named_parameters())
    names = released_names(parameters)
    trained = {their for their, ours in names.items() if any(parameters[our].requires_grad for our in ours)}
    assert trained == set(wanted)
    for their in trained:
        (our,) = names[their]
        gradient = parameters[our].grad
        if wanted[their] is None:
            assert gradient is None, their
        elif wanted[their] == 0:
            assert not gradient.any(), their
        else:
            assert gradient.norm().item() == pytest.approx(wanted[their], rel=1e-4), their


def test_the_future_never_reaches_self_attention_queries_and_keys():
    network = golden_planner().network
    losses_of(network).future.backward()
    for block in network.predictor.decoder.blocks:
        queries_and_keys, values = block.self_attention.in_weight.grad.split([64, 32])
        assert not queries_and_keys.any() and values.any()
        assert block.cross_attention.in_weight.grad.split([64, 32])[0].any()
