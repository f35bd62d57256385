"""Abilities: which scenario types ask for which of five.

The list is compiled from the Bench2Drive paper and public tables of results; it is not a file of the benchmark. A type
may stand under two abilities. Types are spelt as in the 220 routes and in the records of runs on them. Who wants other
types gives them as JSON (`read_abilities`).

For four of the five the published numbers are successes of these routes. For traffic signs the official tool also looks
at infractions at the route's first junction, where it finds the signal or the stop sign in CARLA's map. Records do not
hold where signs are, so `Traffic_Signs` here is the success of the routes listed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from world4scorer.evaluation.leaderboard.records import RouteRecord
from world4scorer.jobs.files import read_json

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
    "MergerIntoSlowTraffic",
    "MergerIntoSlowTrafficV2",
    "NonSignalizedJunctionLeftTurn",
    "NonSignalizedJunctionLeftTurnEnterFlow",
    "NonSignalizedJunctionRightTurn",
    "ParkingExit",
    "SequentialLaneChange",
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
    "BlockedIntersection",
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
    "T_Junction",
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
OTHER_NAMES: Final = {
    "LaneChange": "SequentialLaneChange",
    "TJunction": "T_Junction",
    "VehiclesDooropenTwoWays": "VehicleOpensDoorTwoWays",
}
"""Spellings of clips and tables, beside those of records."""


def asks_for(record: RouteRecord, types: Iterable[str]) -> bool:
    """Whether a route's scenario is among some types, however they are spelt."""
    return _as_recorded(record.scenario) in map(_as_recorded, types)


def of_no_ability(records: Iterable[RouteRecord], scenarios: Mapping[str, Sequence[str]] = ABILITIES) -> dict[str, int]:
    """Scenario types that belong to no ability, as records spell them, and how many routes have each."""
    types = [kind for kinds in scenarios.values() for kind in kinds]
    left = Counter(record.scenario for record in records if not asks_for(record, types))
    return dict(sorted(left.items()))


def _as_recorded(scenario: str) -> str:
    return OTHER_NAMES.get(scenario, scenario)


def read_abilities(path: Path) -> dict[str, tuple[str, ...]]:
    """Scenario types by ability, from a JSON object of lists."""
    content = read_json(path, remedy="give a JSON file of scenario types by ability")
    if not content:
        raise ValueError(f'{path}: want an object such as {{"Merging": ["HighwayExit"]}}')
    for name, types in content.items():
        if not isinstance(types, list) or not types or not all(isinstance(one, str) for one in types):
            raise ValueError(f"{path}: {name}: {types!r}; want a list of scenario types")
    return {name: tuple(types) for name, types in content.items()}
