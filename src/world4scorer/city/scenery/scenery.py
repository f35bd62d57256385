"""Static scenery along the streets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from world4scorer.city.scenery.clearance import Clearance, roadsides
from world4scorer.city.scenery.facade import Facade
from world4scorer.city.scenery.greenery import plant
from world4scorer.city.scenery.houses import House, build_houses, place_houses
from world4scorer.city.scenery.scenery_builder import SceneryArrays, SceneryBuilder
from world4scorer.city.scenery.signal_heads import SignalHead, place_signals
from world4scorer.city.scenery.street_lamps import place_lamps
from world4scorer.city.streets.street_map import StreetMap


@dataclass(frozen=True, eq=False)
class Scenery:
    """Houses, trees, lamps and signals of a city."""

    arrays: SceneryArrays
    facades: NDArray[np.float32]
    """(rows, Facade)"""
    houses: list[House]
    heads: list[SignalHead]

    @classmethod
    def build(cls, streets: StreetMap, seed: int) -> Scenery:
        """Place all scenery; determined by streets and seed."""
        clearance = Clearance(streets)
        sides = roadsides(streets)
        builder = SceneryBuilder()
        houses = place_houses(sides, clearance, seed)
        build_houses(houses, builder, seed)
        plant(sides, houses, clearance, builder, seed)
        place_lamps(sides, clearance, builder, seed)
        heads = place_signals(streets, clearance, builder)
        facades = np.array(builder.facades, np.float32).reshape(-1, len(Facade))
        return cls(builder.pack(), facades, houses, heads)
