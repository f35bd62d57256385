"""Names of drivers: how a planner chooses, and the others.

A planner's name says what is added to its framewise choice: `inertial`, `route`, `commands`, `creep`, or several joined
by +, as in `inertial+route`. A weight may follow: `inertial=0.5`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from world4scorer.driving.closed_loop.planner_agent import AgentOptions
from world4scorer.engine.selection.route import ROUTE_WEIGHT as ROUTE_WEIGHT
from world4scorer.engine.selection.utility import Benchmark

FRAMEWISE: Final = "framewise"
CONSTANT_VELOCITY: Final = "constant-velocity"
SUMO: Final = "sumo"
PDM_CLOSED: Final = "pdm-closed"
EGO_STATUS: Final = "ego-status"
BASELINES: Final = {
    CONSTANT_VELOCITY: "constant velocity",
    EGO_STATUS: "MLP of the ego status",
    PDM_CLOSED: "PDM-Closed, privileged",
    SUMO: "SUMO's driver, privileged",
}
"""Drivers without a planner, and what tables call them."""
DEFAULT_WEIGHTS: Final = {"inertial": 1.0, "route": ROUTE_WEIGHT}
"""Of re-ranking, the paper's."""
DEFAULT_DRIVERS: Final = (FRAMEWISE, "inertial", "route", *BASELINES)


@dataclass(frozen=True)
class DriverSpec:
    """One who drives."""

    name: str
    options: AgentOptions | None
    """None for those without a planner."""
    creeps: bool = False

    @property
    def label(self) -> str:
        """What tables call it."""
        if self.options is None:
            return BASELINES[self.name]
        return "framewise" if self.name == FRAMEWISE else "+ " + self.name.replace("+", " + ")

    @classmethod
    def parse(cls, name: str, benchmark: Benchmark = "v1") -> DriverSpec:
        """Read a name."""
        if name in BASELINES:
            return cls(name, None)
        options, creeps = AgentOptions(benchmark=benchmark), False
        parts = [] if name == FRAMEWISE else name.split("+")
        for part in parts:
            kind, equals, number = part.partition("=")
            if kind in DEFAULT_WEIGHTS:
                weight = _weight(name, number) if equals else DEFAULT_WEIGHTS[kind]
                options = replace(options, inertial=weight) if kind == "inertial" else replace(options, route=weight)
            elif part == "commands":
                options = replace(options, keep_commands=True)
            elif part == "creep":
                creeps = True
            else:
                known = ", ".join([FRAMEWISE, *DEFAULT_WEIGHTS, "commands", "creep", *BASELINES])
                raise ValueError(f"driver {name!r}: {part!r} is unknown; there are {known}, some joined by +")
        if len({part.partition("=")[0] for part in parts}) < len(parts):
            raise ValueError(f"driver {name!r}: something is named twice")
        return cls(name, options, creeps)


def _weight(name: str, number: str) -> float:
    try:
        return float(number)
    except ValueError:
        raise ValueError(f"driver {name!r}: {number!r} is no number") from None
