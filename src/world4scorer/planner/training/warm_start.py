"""Initialise a network with the weights of a planner, which may lack inputs: the route point, the points after it, the
forecast, and the reading along the route.

Zero columns are then added where these enter and everything else is copied, so that plans are the same as before until
training changes them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import torch

from world4scorer.planner.model.dense_encoder import DenseEncoder
from world4scorer.planner.model.network import FrozenSceneEncoder, Network
from world4scorer.planner.model.route_reading import READ_NUMBERS
from world4scorer.planner.planner import Planner

READ_ALONG_PLANS: Final = ("plan_sampling.out.weight", "generator.screen.read.weight")
"""(outputs, inputs) weights that read a forecast before the route, which is read last."""
WIDENED: Final = ("ego_encoder.weight", *READ_ALONG_PLANS)
"""(outputs, inputs) weights of which a planner may lack some inputs."""
ADDED: Final = ("ego_numbers", "forecast", "route_reading")
"""Settings for which a planner may lack inputs."""
FORECAST: Final = "encoder.perceiver.forecast."
"""Prefix of the forecast's weights, which come from an encoder."""
NON_STRUCTURAL: Final = ("dropout", "drop_path", "train_vit", "vit_layer_scale")
"""Settings that do not change parameter shapes."""


def load_planner_weights(network: Network, planner: Planner) -> None:
    """Copy a planner's weights into a network of the same sizes; inputs that the planner lacks get zeros.

    A forecast that the planner lacks stays as it is in the network: see `load_forecast`.
    """
    mine, theirs = network.config, planner.config
    if theirs.ego_numbers > mine.ego_numbers:
        raise ValueError(
            f"from_planner: it knows {theirs.ego_numbers} numbers of the ego, the model {mine.ego_numbers}; "
            "a route point cannot be taken away"
        )
    if theirs.forecast and not mine.forecast:
        raise ValueError("from_planner: it has a forecast, which cannot be taken away")
    if theirs.route_reading and not mine.route_reading:
        raise ValueError("from_planner: it reads plans along the route, which cannot be taken away")
    alike = {name: getattr(mine, name) for name in (*ADDED, *NON_STRUCTURAL)}
    if replace(theirs, **alike) != mine:
        differs = next(name for name, value in vars(mine).items() if getattr(replace(theirs, **alike), name) != value)
        raise ValueError(
            f"from_planner: its {differs} is {getattr(theirs, differs)}, that of the model {getattr(mine, differs)}; "
            "both must have the same sizes"
        )
    tensors = {name: tensor.clone() for name, tensor in planner.network.state_dict().items()}
    own = network.state_dict()
    for name in filter(tensors.__contains__, WIDENED):
        along_route = theirs.poses * READ_NUMBERS if theirs.route_reading and name in READ_ALONG_PLANS else 0
        others, last = tensors[name].tensor_split([tensors[name].shape[1] - along_route], 1)
        missing = own[name].shape[1] - tensors[name].shape[1]
        tensors[name] = torch.cat([others, others.new_zeros(len(others), missing), last], 1)
    if mine.forecast and not theirs.forecast:
        tensors |= {name: tensor for name, tensor in own.items() if name.startswith(FORECAST)}
    network.load_state_dict(tensors)


def load_forecast(network: Network, encoder: DenseEncoder) -> None:
    """Copy the forecast of an encoder that is otherwise the network's own."""
    assert isinstance(network.encoder, FrozenSceneEncoder) and isinstance(network.encoder.perceiver, DenseEncoder)
    perceiver = network.encoder.perceiver
    if encoder.forecast is None or encoder.without_forecast().digest() != perceiver.without_forecast().digest():
        raise ValueError("vit_weights: its forecast was not taught with the encoder of the planner in from_planner")
    assert perceiver.forecast is not None
    perceiver.forecast.load_state_dict(encoder.forecast.state_dict())
