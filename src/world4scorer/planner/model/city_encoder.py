"""The bundled encoder of the city, pretrained without labels on its streets (docs/pretraining.md).

>>> planner = Planner(pretrained_city())
>>> load_city_encoder(planner.network)      # its ViT starts where pretraining ended
"""

from __future__ import annotations

from world4scorer.planner.model.dinov2 import load_dinov2
from world4scorer.planner.model.image_encoder import CITY, CITY_FILE, ImageEncoder, encoder_sizes, load_encoder
from world4scorer.planner.model.network import Network


def city_encoder() -> ImageEncoder:
    """The bundled encoder, frozen."""
    return load_encoder(CITY)


def load_city_encoder(network: Network) -> None:
    """Start a network's ViT from the bundled encoder; its sizes must be those of `pretrained_city()`."""
    needed = encoder_sizes(city_encoder().config)
    for name, given in encoder_sizes(network.config).items():
        if given != needed[name]:
            raise ValueError(
                f"{name}: {given}; the encoder of the city was made for {needed[name]}, see pretrained_city()"
            )
    load_dinov2(network, CITY_FILE)
