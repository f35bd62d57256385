"""Map feature ids by SUMO name, for the routes and traffic lights of logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from world4scorer.city.streets.errors import CityError
from world4scorer.city.streets.street_map import SignalLink

RED_STATES: Final = "ru"
"""SUMO signal states that forbid driving: red, and red with yellow."""


@dataclass(frozen=True, eq=False)
class MapIndex:
    """Feature ids of the exported map by SUMO's names."""

    lane: Mapping[str, int]
    """Lanes by SUMO lane."""
    connector: Mapping[tuple[str, str], int]
    """Lane connectors by the lanes before and after."""
    roadblock: Mapping[str, int]
    """Roadblocks by edge."""
    roadblock_connector: Mapping[tuple[str, str], int]
    """Roadblock connectors by the edges before and after."""
    signal: Mapping[int, SignalLink]
    """Signal links of the lane connectors that have one."""

    def route(self, edges: Sequence[str]) -> list[str]:
        """Alternating ids of roadblocks and roadblock connectors along the edges of a route."""
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
        """Every lane connector with a signal, and whether it is red, from the SUMO signal states."""
        found = []
        for fid, link in self.signal.items():
            state = states.get(link.signal, "")
            if link.index >= len(state):
                raise CityError(f"signal {link.signal!r}: no lamp {link.index} in its state {state!r}")
            found.append((str(fid), state[link.index] in RED_STATES))
        return found
