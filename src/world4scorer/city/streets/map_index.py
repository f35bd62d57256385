"""How the names of a SUMO network appear in the exported map: for routes and traffic lights of logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from world4scorer.city.streets.errors import CityError
from world4scorer.city.streets.street_map import SignalLink

RED_STATES: Final = "ru"
"""Letters of SUMO's signal states that forbid driving: red, and red with yellow."""


@dataclass(frozen=True, eq=False)
class MapIndex:
    """Feature ids of the exported map by SUMO's names."""

    lane: Mapping[str, int]
    """Lanes for cars."""
    connector: Mapping[tuple[str, str], int]
    """Lane connectors by the lanes before and behind them."""
    roadblock: Mapping[str, int]
    """By edge."""
    roadblock_connector: Mapping[tuple[str, str], int]
    """By the edges before and behind."""
    signal: Mapping[int, SignalLink]
    """The lamp of each lane connector that has one."""

    def route(self, edges: Sequence[str]) -> list[str]:
        """Roadblocks and roadblock connectors in turn along the edges of a route, as logs name them."""
        try:
            ids = [self.roadblock[edge] for edge in edges[:1]]
            for before, after in pairwise(edges):
                ids += [self.roadblock_connector[before, after], self.roadblock[after]]
        except KeyError as error:
            name = error.args[0]
            what = f"edge {name!r}" if isinstance(name, str) else f"connection from edge {name[0]!r} to {name[1]!r}"
            raise CityError(f"route {' '.join(edges)}: the map has no {what} for cars") from None
        return [str(fid) for fid in ids]

    def lights(self, states: Mapping[str, str]) -> list[tuple[str, bool]]:
        """Every lane connector with a signal and whether it is red, by the state texts of SUMO's signals."""
        found = []
        for fid, link in self.signal.items():
            state = states.get(link.signal, "")
            if link.index >= len(state):
                raise CityError(f"signal {link.signal!r}: no lamp {link.index} in its state {state!r}")
            found.append((str(fid), state[link.index] in RED_STATES))
        return found
