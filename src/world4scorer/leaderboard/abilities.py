"""Abilities: successes among the routes whose scenario asks for one of five.

Which of the benchmark's 44 scenario types ask for what is the benchmark's own table; a type may stand under two
abilities. For four of the five the published numbers are successes of these routes. For traffic signs the benchmark's
own tool looks into CARLA's maps: it takes routes with a signal or a stop sign, and asks whether the ego came past it
without running it. Records do not hold where signs are, so `Traffic_Signs` here is the success of the routes listed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from world4scorer.leaderboard.records import RouteRecord
from world4scorer.leaderboard.scores import is_success

OVERTAKING: Final = (
    "Accident",
    "AccidentTwoWays",
    "ConstructionObstacle",
    "ConstructionObstacleTwoWays",
    "HazardAtSideLane",
    "HazardAtSideLaneTwoWays",
    "ParkedObstacle",
    "ParkedObstacleTwoWays",
    "VehicleOpensDoorTwoWays",
)
MERGING: Final = (
    "CrossingBicycleFlow",
    "EnterActorFlow",
    "HighwayCutIn",
    "HighwayExit",
    "InterurbanActorFlow",
    "InterurbanAdvancedActorFlow",
    "LaneChange",
    "MergerIntoSlowTraffic",
    "MergerIntoSlowTrafficV2",
    "NonSignalizedJunctionLeftTurn",
    "NonSignalizedJunctionLeftTurnEnterFlow",
    "NonSignalizedJunctionRightTurn",
    "ParkingExit",
    "SignalizedJunctionLeftTurn",
    "SignalizedJunctionLeftTurnEnterFlow",
    "SignalizedJunctionRightTurn",
)
EMERGENCY_BRAKE: Final = (
    "BlockedIntersection",
    "ControlLoss",
    "DynamicObjectCrossing",
    "HardBreakRoute",
    "OppositeVehicleRunningRedLight",
    "OppositeVehicleTakingPriority",
    "ParkingCrossingPedestrian",
    "ParkingCutIn",
    "PedestrianCrossing",
    "StaticCutIn",
    "VehicleTurningRoute",
    "VehicleTurningRoutePedestrian",
)
GIVE_WAY: Final = ("InvadingTurn", "YieldToEmergencyVehicle")
TRAFFIC_SIGNS: Final = (
    "CrossingBicycleFlow",
    "EnterActorFlow",
    "NonSignalizedJunctionLeftTurn",
    "NonSignalizedJunctionLeftTurnEnterFlow",
    "NonSignalizedJunctionRightTurn",
    "OppositeVehicleRunningRedLight",
    "OppositeVehicleTakingPriority",
    "PedestrianCrossing",
    "SignalizedJunctionLeftTurn",
    "SignalizedJunctionLeftTurnEnterFlow",
    "SignalizedJunctionRightTurn",
    "TJunction",
    "VanillaNonSignalizedTurn",
    "VanillaNonSignalizedTurnEncounterStopsign",
    "VanillaSignalizedTurnEncounterGreenLight",
    "VanillaSignalizedTurnEncounterRedLight",
    "VehicleTurningRoute",
    "VehicleTurningRoutePedestrian",
)
ABILITIES: Final[Mapping[str, tuple[str, ...]]] = {
    "Overtaking": OVERTAKING,
    "Merging": MERGING,
    "Emergency_Brake": EMERGENCY_BRAKE,
    "Give_Way": GIVE_WAY,
    "Traffic_Signs": TRAFFIC_SIGNS,
}
"""Scenario types by ability."""
OTHER_NAMES: Final = {"VehiclesDooropenTwoWays": "VehicleOpensDoorTwoWays"}
"""Spellings that occur beside the simulator's."""


@dataclass(frozen=True)
class Ability:
    """How many of the routes that ask for an ability were successes."""

    name: str
    successes: int
    routes: int
    """Recorded ones, without crashed ones."""

    @property
    def share(self) -> float:
        """0 to 1; NaN without routes."""
        return self.successes / self.routes if self.routes else float("nan")


def abilities(
    records: Sequence[RouteRecord], scenarios: Mapping[str, Sequence[str]] = ABILITIES
) -> tuple[Ability, ...]:
    """Each ability, in the order given; crashed routes are left out."""
    driven = [record for record in records if not record.crashed]
    return tuple(
        Ability(name, sum(map(is_success, asked)), len(asked))
        for name, types in scenarios.items()
        for asked in [[record for record in driven if asks_for(record, types)]]
    )


def asks_for(record: RouteRecord, types: Sequence[str]) -> bool:
    """Whether a route's scenario is among some types."""
    return OTHER_NAMES.get(record.scenario, record.scenario) in types


def mean_ability(found: Sequence[Ability]) -> float:
    """Mean share of all abilities, 0 to 1; NaN if one has no routes."""
    return float(np.mean([ability.share for ability in found]))


def read_abilities(path: Path) -> dict[str, tuple[str, ...]]:
    """Scenario types by ability, from a JSON object of lists."""
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}; give a JSON file of scenario types by ability") from error
    except ValueError as error:
        raise ValueError(f"{path}: not JSON ({error})") from error
    if not isinstance(content, dict) or not content:
        raise ValueError(f'{path}: want an object such as {{"Merging": ["HighwayExit"]}}')
    for name, types in content.items():
        if not isinstance(types, list) or not types or not all(isinstance(one, str) for one in types):
            raise ValueError(f"{path}: {name}: {types!r}; want a list of scenario types")
    return {name: tuple(types) for name, types in content.items()}
