"""A planner without a route point becomes one that takes it, and plans as before."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
import torch

from tests.support.model_golden import tiny_inputs, tiny_planner
from world4scorer.planner.model import city, paper
from world4scorer.planner.model.dense_encoder import DenseEncoder
from world4scorer.planner.model.images import Frames
from world4scorer.planner.model.network import Network
from world4scorer.planner.planner import Planner
from world4scorer.planner.training.warm_start import load_forecast, load_planner_weights


def test_plans_and_scores_are_the_same_whatever_the_route_point():
    blind = tiny_planner()
    network = Network(replace(blind.config, ego_numbers=13))
    load_planner_weights(network, blind)
    image, ego = tiny_inputs()
    before = blind(image, ego)
    for point in (0.0, 20.0, -50.0):
        after = Planner.from_network(network)(image, torch.cat([ego, torch.full((len(ego), 2), point)], 1))
        torch.testing.assert_close(after.plans, before.plans, rtol=0, atol=1e-6)
        for name, logits in before.logits.items():
            torch.testing.assert_close(after.logits[name], logits, rtol=0, atol=1e-5)


@pytest.mark.parametrize(("preset", "numbers"), [(paper, 13), (city, 13), (city, 21)])
def test_everything_else_is_copied(preset, numbers):
    torch.manual_seed(0)
    blind = Planner(preset())
    network = Network(replace(preset(), ego_numbers=numbers))
    load_planner_weights(network, blind)
    theirs, mine = blind.network.state_dict(), network.state_dict()
    assert theirs.keys() == mine.keys()
    for name, tensor in theirs.items():
        if name == "ego_encoder.weight":
            assert torch.equal(mine[name][:, :11], tensor) and not mine[name][:, 11:].any()
        else:
            assert torch.equal(mine[name], tensor), name


@pytest.mark.parametrize("route", [{}, {"ego_numbers": 21, "route_reading": True}], ids=["no route", "route"])
def test_a_forecast_is_added_without_changing_plans(route):
    torch.manual_seed(0)
    plain = Planner(replace(city(), **route))
    plain.network.generator.anchors.normal_(0.0, 0.5)
    torch.nn.init.normal_(plain.network.plan_sampling.out.weight, std=0.1)
    network = Network(replace(plain.config, forecast=True))
    load_planner_weights(network, plain)
    encoder = copy.deepcopy(network.encoder.perceiver)
    torch.nn.init.normal_(encoder.forecast.out.weight)
    load_forecast(network, encoder)
    assert torch.equal(network.encoder.perceiver.forecast.out.weight, encoder.forecast.out.weight)
    image, ego = torch.rand(1, 4, 3, 84, 196), torch.rand(1, plain.config.ego_numbers)
    frames = Frames(image, torch.rand_like(image), torch.tensor([[-2.0, 0.0, 0.0]]))
    before, after = plain(image, ego), Planner.from_network(network)(frames, ego)
    torch.testing.assert_close(after.plans, before.plans, rtol=0, atol=1e-5)
    torch.testing.assert_close(after.utility(), before.utility(), rtol=0, atol=1e-5)
    with pytest.raises(ValueError, match="taken away"):
        load_planner_weights(Network(city()), Planner(replace(city(), forecast=True)))
    with pytest.raises(ValueError, match="not taught with"):
        load_forecast(network, DenseEncoder(encoder.config))


def test_reading_along_the_route_is_added_without_changing_plans():
    torch.manual_seed(0)
    plain = Planner(city())
    plain.network.generator.anchors.normal_(0.0, 0.5)
    torch.nn.init.normal_(plain.network.plan_sampling.out.weight, std=0.1)
    network = Network(replace(city(), ego_numbers=21, route_reading=True))
    load_planner_weights(network, plain)
    image, ego = torch.rand(1, 4, 3, 84, 196), torch.zeros(1, 11)
    before, after = plain(image, ego), Planner.from_network(network)(image, torch.cat([ego, torch.ones(1, 10)], 1))
    torch.testing.assert_close(after.plans, before.plans, rtol=0, atol=1e-6)
    torch.testing.assert_close(after.utility(), before.utility(), rtol=0, atol=1e-5)
    reading = Planner.from_network(network)
    with pytest.raises(ValueError, match="along the route, which cannot be taken away"):
        load_planner_weights(Network(replace(city(), ego_numbers=21)), reading)


def test_the_route_point_can_be_learnt():
    network = Network(replace(tiny_planner().config, ego_numbers=13))
    load_planner_weights(network, tiny_planner())
    _, ego = tiny_inputs()
    status = torch.cat([ego, torch.tensor([[20.0, 3.0]]).expand(len(ego), 2)], 1)
    network.encode_ego(status).encoded.sum().backward()
    assert network.ego_encoder.weight.grad[:, 11:].ne(0).all()


def test_a_planner_that_has_a_route_point_is_copied_whole():
    torch.manual_seed(1)
    config = replace(tiny_planner().config, ego_numbers=13)
    planner, network = Planner(config), Network(config)
    load_planner_weights(network, planner)
    assert all(torch.equal(network.state_dict()[name], value) for name, value in planner.network.state_dict().items())


def test_what_does_not_fit_is_named():
    tiny = tiny_planner()
    with pytest.raises(ValueError, match=r"from_planner: its width is .*that of the model 64"):
        load_planner_weights(Network(replace(tiny.config, width=64, heads=1)), tiny)
    with pytest.raises(ValueError, match="13 numbers of the ego, the model 11"):
        load_planner_weights(Network(tiny.config), Planner(replace(tiny.config, ego_numbers=13)))
