"""Blocks against torch's own, and what training mode adds."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from tests.support.model_golden import TINY, tiny_inputs, tiny_planner
from world4scorer.planner.model import Network
from world4scorer.planner.model.decoder import Attention, Branch
from world4scorer.planner.model.vision_transformer import LoraLinear


@pytest.mark.parametrize("heads", [1, 4])
@pytest.mark.parametrize("keys", [1, 5])
def test_attention_is_multi_head_attention(heads, keys):
    torch.manual_seed(0)
    ours, theirs = Attention(16, heads), nn.MultiheadAttention(16, heads, batch_first=True)
    nn.init.normal_(ours.in_bias)
    theirs.load_state_dict(
        {
            "in_proj_weight": ours.in_weight,
            "in_proj_bias": ours.in_bias,
            "out_proj.weight": ours.out.weight,
            "out_proj.bias": ours.out.bias,
        }
    )
    query, key = torch.randn(2, 3, 16), torch.randn(2, keys, 16)
    torch.testing.assert_close(ours(query, key), theirs(query, key, key)[0])
    torch.testing.assert_close(ours(key, key), theirs(key, key, key)[0])


def test_branch_keeps_the_mean_and_drops_whole_scenes():
    torch.manual_seed(0)
    branch = Branch(dropout=0.0, drop_path=0.25)
    ones = torch.ones(4000, 2, 3)
    dropped = branch(ones)
    values = dropped.flatten(1)
    assert (values == values[:, :1]).all()
    assert sorted(set(values[:, 0].tolist())) == pytest.approx([0.0, 4 / 3])
    assert dropped.mean().item() == pytest.approx(1.0, abs=0.05)
    assert branch.eval()(ones) is ones


def test_adapter_starts_as_nothing_and_merges():
    torch.manual_seed(0)
    layer = LoraLinear(6, 4, 2)
    x = torch.randn(5, 6)
    assert torch.equal(layer(x), nn.functional.linear(x, layer.weight, layer.bias))
    nn.init.normal_(layer.up.weight)
    merged = layer.merged()
    assert type(merged) is nn.Linear
    torch.testing.assert_close(merged(x), layer(x), rtol=0, atol=1e-6)


def test_a_new_model_starts_as_specified():
    torch.manual_seed(3)
    network = Network(TINY)
    assert network.encoder.scene_queries.abs().max() < 1e-5
    for block in network.encoder.vit.blocks:
        assert not block.attention.q_proj.up.weight.any() and block.attention.q_proj.down.weight.any()
        assert isinstance(block.attention.v_proj, LoraLinear)
        assert not isinstance(block.attention.k_proj, LoraLinear)
    torch.manual_seed(3)
    again = Network(TINY).state_dict()
    assert all(torch.equal(tensor, again[name]) for name, tensor in network.state_dict().items())


def test_plans_take_no_gradient_from_scores():
    network = tiny_planner().network
    image, ego = tiny_inputs()
    network(image, ego).logits.sum().backward()
    assert all(parameter.grad is None for parameter in network.generator.parameters())
    assert network.ego_encoder.weight.grad.any() and network.encoder.neck.weight.grad.any()


def test_sparing_the_last_block_changes_rounding_at_most():
    network = tiny_planner().network
    image, _ = tiny_inputs()
    tokens, gradients = [], []
    for spare in (True, False):
        network.zero_grad()
        network.encoder.spare_last_block = spare
        tokens.append(network.encode(image).tokens)
        tokens[-1].square().sum().backward()
        gradients.append({name: p.grad for name, p in network.encoder.named_parameters() if p.requires_grad})
    torch.testing.assert_close(*tokens, rtol=1e-5, atol=1e-5)
    assert gradients[0].keys() == gradients[1].keys()
    for name, spared in gradients[0].items():
        torch.testing.assert_close(spared, gradients[1][name], rtol=1e-4, atol=1e-4, msg=name)
