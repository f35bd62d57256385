"""Names of drivers: a planner with selection options, or a baseline.

A planner's name lists what is added to framewise selection: `inertial`, `route`, `commands`, `creep`, joined by +, as
in `inertial+route`. A weight may follow: `inertial=0.5`.
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
"""Drivers without a planner, with their labels in tables."""
DEFAULT_WEIGHTS: Final = {"inertial": 1.0, "route": ROUTE_WEIGHT}
"""Re-ranking weights of the paper."""
DEFAULT_DRIVERS: Final = (FRAMEWISE, "inertial", "route", *BASELINES)


def default_drivers(has_planner: bool, has_run: bool) -> tuple[str, ...]:
    """Drivers that are possible: some need a planner, the MLP of the ego status needs its training run."""
    return tuple(
        name for name in DEFAULT_DRIVERS if (has_planner or name in BASELINES) and (has_run or name != EGO_STATUS)
    )


@dataclass(frozen=True)
class DriverSpec:
    """A driver: a baseline, or a planner with selection options."""

    name: str
    options: AgentOptions | None
    """None for baselines."""
    creeps: bool = False

    @property
    def label(self) -> str:
        """Label in tables."""
        if self.options is None:
            return BASELINES[self.name]
        return "framewise" if self.name == FRAMEWISE else "+ " + self.name.replace("+", " + ")

    @classmethod
    def parse(cls, name: str, benchmark: Benchmark = "v1") -> DriverSpec:
        """Parse a driver's name."""
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
                raise ValueError(f"driver {name!r}: {part!r} is unknown; known are {known}, joined by +")
        if len({part.partition("=")[0] for part in parts}) < len(parts):
            raise ValueError(f"driver {name!r}: something is named twice")
        return cls(name, options, creeps)


def _weight(name: str, number: str) -> float:
    try:
        return float(number)
    except ValueError:
        raise ValueError(f"driver {name!r}: {number!r} is not a number") from None
