"""Everything along the streets that does not move, placed by seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from world4scorer.city.scenery.clearance import Clearance, roadsides
from world4scorer.city.scenery.facade import Facade
from world4scorer.city.scenery.greenery import plant
from world4scorer.city.scenery.houses import House, build_houses, place_houses
from world4scorer.city.scenery.parts import Parts, SceneryArrays
from world4scorer.city.scenery.signal_heads import Head, place_signals
from world4scorer.city.scenery.street_lamps import place_lamps
from world4scorer.city.streets.street_map import StreetMap


@dataclass(frozen=True, eq=False)
class Scenery:
    """Houses, trees, lamps and signals of a city."""

    arrays: SceneryArrays
    facades: NDArray[np.float32]
    """(rows, Facade)"""
    houses: list[House]
    heads: list[Head]

    @classmethod
    def build(cls, streets: StreetMap, seed: int) -> Scenery:
        """Place everything; the same for the same streets and seed."""
        clearance = Clearance(streets)
        sides = roadsides(streets)
        parts = Parts()
        houses = place_houses(sides, clearance, seed)
        build_houses(houses, parts, seed)
        plant(sides, houses, clearance, parts, seed)
        place_lamps(sides, clearance, parts, seed)
        heads = place_signals(streets, clearance, parts)
        facades = np.array(parts.facades, np.float32).reshape(-1, len(Facade))
        return cls(parts.pack(), facades, houses, heads)
