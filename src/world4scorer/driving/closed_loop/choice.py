"""Names of drivers: how a planner chooses, and the others.

A planner's name says what is added to its framewise choice: `inertial`, `route`, `commands`, `creep`, or several joined
by +, as in `inertial+route`. A weight may follow: `inertial=0.5`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from world4scorer.driving.closed_loop.pilot import PilotOptions
from world4scorer.engine.selection.route import ROUTE_WEIGHT as ROUTE_WEIGHT
from world4scorer.engine.selection.utility import Benchmark

FRAMEWISE: Final = "framewise"
CONSTANT_VELOCITY: Final = "constant-velocity"
SUMO: Final = "sumo"
PDM_CLOSED: Final = "pdm-closed"
EGO_STATUS: Final = "ego-status"
OTHERS: Final = {
    CONSTANT_VELOCITY: "constant velocity",
    EGO_STATUS: "MLP of the ego status",
    PDM_CLOSED: "PDM-Closed, privileged",
    SUMO: "SUMO's driver, privileged",
}
"""Drivers without a planner, and what tables call them."""
WEIGHTS: Final = {"inertial": 1.0, "route": ROUTE_WEIGHT}
"""Of re-ranking, the paper's."""
DEFAULT: Final = (FRAMEWISE, "inertial", "route", *OTHERS)


@dataclass(frozen=True)
class DriverChoice:
    """One who drives."""

    name: str
    options: PilotOptions | None
    """None for those without a planner."""
    creeps: bool = False

    @property
    def label(self) -> str:
        """What tables call it."""
        if self.options is None:
            return OTHERS[self.name]
        return "framewise" if self.name == FRAMEWISE else "+ " + self.name.replace("+", " + ")

    @classmethod
    def parse(cls, name: str, benchmark: Benchmark = "v1") -> DriverChoice:
        """Read a name."""
        if name in OTHERS:
            return cls(name, None)
        options, creeps = PilotOptions(benchmark=benchmark), False
        parts = [] if name == FRAMEWISE else name.split("+")
        for part in parts:
            kind, equals, number = part.partition("=")
            if kind in WEIGHTS:
                weight = _weight(name, number) if equals else WEIGHTS[kind]
                options = replace(options, inertial=weight) if kind == "inertial" else replace(options, route=weight)
            elif part == "commands":
                options = replace(options, keep_commands=True)
            elif part == "creep":
                creeps = True
            else:
                known = ", ".join([FRAMEWISE, *WEIGHTS, "commands", "creep", *OTHERS])
                raise ValueError(f"driver {name!r}: {part!r} is unknown; there are {known}, some joined by +")
        if len({part.partition("=")[0] for part in parts}) < len(parts):
            raise ValueError(f"driver {name!r}: something is named twice")
        return cls(name, options, creeps)


def _weight(name: str, number: str) -> float:
    try:
        return float(number)
    except ValueError:
        raise ValueError(f"driver {name!r}: {number!r} is no number") from None
