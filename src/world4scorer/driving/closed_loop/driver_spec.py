"""Names of drivers: a planner with selection options, or a baseline.

A planner's name lists what is added to framewise selection: `inertial`, `route` or `path`, `corridor`, `limit`,
`start`, `progress`, `commands`, `prompt`, `creep`, joined by +, as in `inertial+route`. A weight may follow:
`inertial=0.5`; after `limit` a speed [m/s].
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from world4scorer.driving.closed_loop.planner_agent import AgentOptions
from world4scorer.engine.selection.corridor import CORRIDOR_WEIGHT
from world4scorer.engine.selection.route import ROUTE_WEIGHT as ROUTE_WEIGHT
from world4scorer.engine.selection.speed_limit import URBAN_LIMIT
from world4scorer.engine.selection.start import START_WEIGHT
from world4scorer.engine.selection.utility import DRIVING_PROGRESS, Benchmark

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
DEFAULT_NUMBERS: Final = {
    "inertial": 1.0,
    "route": ROUTE_WEIGHT,
    "path": ROUTE_WEIGHT,
    "corridor": CORRIDOR_WEIGHT,
    "limit": URBAN_LIMIT,
    "start": START_WEIGHT,
    "progress": DRIVING_PROGRESS,
}
"""Re-ranking weights of the paper, `path` being route re-ranking at equal distances travelled; utility lost outside the
corridor [1/m]; speed limit [m/s]; utility gained by moving off; weight of progress."""
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
            if kind in DEFAULT_NUMBERS:
                options = _with_number(options, kind, _number(name, number) if equals else DEFAULT_NUMBERS[kind])
            elif part == "commands":
                options = replace(options, keep_commands=True)
            elif part == "prompt":
                options = replace(options, prompt=True)
            elif part == "creep":
                creeps = True
            else:
                known = ", ".join([FRAMEWISE, *DEFAULT_NUMBERS, "commands", "prompt", "creep", *BASELINES])
                raise ValueError(f"driver {name!r}: {part!r} is unknown; known are {known}, joined by +")
        kinds = {part.partition("=")[0] for part in parts}
        if len(kinds) < len(parts) or {"route", "path"} <= kinds:
            raise ValueError(f"driver {name!r}: something is named twice, or two rules for the route")
        return cls(name, options, creeps)


def _with_number(options: AgentOptions, kind: str, number: float) -> AgentOptions:
    """The options with one more thing that has a number."""
    if kind == "inertial":
        return replace(options, inertial=number)
    if kind == "corridor":
        return replace(options, corridor=number)
    if kind == "limit":
        return replace(options, speed_limit=number)
    if kind == "start":
        return replace(options, start=number)
    if kind == "progress":
        return replace(options, progress=number)
    return replace(options, route=number, route_rule="published" if kind == "route" else "equal-distance")


def _number(name: str, number: str) -> float:
    try:
        return float(number)
    except ValueError:
        raise ValueError(f"driver {name!r}: {number!r} is not a number") from None
