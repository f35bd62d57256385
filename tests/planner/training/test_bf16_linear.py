from __future__ import annotations

import copy

import torch

from tests.support.model_golden import tiny_inputs, tiny_planner
from world4scorer.planner.model.network import Network
from world4scorer.planner.training.bf16_linear import Bf16Attention, Bf16Linear, use_bf16_in_vit, use_bf16_products
from world4scorer.planner.training.config import city


def test_products_are_near_and_parameters_stay_float32():
    torch.manual_seed(0)
    exact = torch.nn.Linear(48, 20)
    short = copy.deepcopy(exact)
    short.__class__ = Bf16Linear
    x = torch.randn(3, 7, 48)
    inputs = [x.clone().requires_grad_(), x.clone().requires_grad_()]
    outputs = [layer(given) for layer, given in zip((exact, short), inputs, strict=True)]
    torch.testing.assert_close(outputs[0], outputs[1], rtol=0, atol=0.03)
    assert not torch.equal(outputs[0], outputs[1])
    for output in outputs:
        output.square().sum().backward()
    for one, other in ((inputs[0], inputs[1]), (exact.weight, short.weight), (exact.bias, short.bias)):
        assert other.grad.dtype == torch.float32
        torch.testing.assert_close(one.grad, other.grad, rtol=0.05, atol=0.02 * float(one.grad.abs().max()))


def test_only_the_vit_changes_and_names_do_not():
    planner = tiny_planner()
    names, before = list(planner.network.state_dict()), planner(*tiny_inputs()).logits
    use_bf16_in_vit(planner.network)
    assert list(planner.network.state_dict()) == names
    changed = [name for name, module in planner.network.named_modules() if isinstance(module, Bf16Linear)]
    assert changed and all(name.startswith("encoder.vit.blocks.") for name in changed)
    after = planner(*tiny_inputs()).logits
    for name, logits in before.items():
        torch.testing.assert_close(after[name], logits, rtol=0.1, atol=0.1)


def test_all_large_layers_change_but_those_that_read_poses():
    planner = tiny_planner()
    before = planner(*tiny_inputs()).logits
    use_bf16_products(planner.network)
    after = planner(*tiny_inputs()).logits
    for name, logits in before.items():
        torch.testing.assert_close(after[name], logits, rtol=0.1, atol=0.1)
    network = Network(city().model)
    use_bf16_products(network)
    changed = {name for name, module in network.named_modules() if isinstance(module, (Bf16Linear, Bf16Attention))}
    assert {"encoder.reader.keys", "predictor.decoder.blocks.0.self_attention", "plan_sampling.out"} <= changed
    assert not {"ego_encoder", "action_encoder.layers.0", "generator.embed", "generator.screen.read"} & changed
    assert not any(name.startswith("encoder.perceiver.") for name in changed)
