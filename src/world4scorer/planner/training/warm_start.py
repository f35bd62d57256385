"""Initialise a network with the weights of a planner, which may lack the route point and the points after it.

Zero columns are then added to the ego encoder and everything else is copied, so that plans are the same as before until
training changes them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import torch

from world4scorer.planner.model.network import Network
from world4scorer.planner.planner import Planner

EGO_WEIGHT: Final = "ego_encoder.weight"
"""(width, ego numbers)"""
NON_STRUCTURAL: Final = ("dropout", "drop_path", "train_vit", "vit_layer_scale")
"""Settings that do not change parameter shapes."""


def load_planner_weights(network: Network, planner: Planner) -> None:
    """Copy a planner's weights into a network of the same sizes; ego numbers that the planner lacks get zeros."""
    mine, theirs = network.config, planner.config
    if theirs.ego_numbers > mine.ego_numbers:
        raise ValueError(
            f"from_planner: it knows {theirs.ego_numbers} numbers of the ego, the model {mine.ego_numbers}; "
            "a route point cannot be taken away"
        )
    alike = {name: getattr(mine, name) for name in ("ego_numbers", *NON_STRUCTURAL)}
    if replace(theirs, **alike) != mine:
        differs = next(name for name, value in vars(mine).items() if getattr(replace(theirs, **alike), name) != value)
        raise ValueError(
            f"from_planner: its {differs} is {getattr(theirs, differs)}, that of the model {getattr(mine, differs)}; "
            "both must have the same sizes"
        )
    tensors = {name: tensor.clone() for name, tensor in planner.network.state_dict().items()}
    weight = tensors[EGO_WEIGHT]
    missing = mine.ego_numbers - theirs.ego_numbers
    tensors[EGO_WEIGHT] = torch.cat([weight, weight.new_zeros(len(weight), missing)], 1)
    network.load_state_dict(tensors)
