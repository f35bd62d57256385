"""Abilities: which scenario types ask for which of five.

The list in `abilities.json` is compiled from the Bench2Drive paper and public tables of results; it is not a file of
the benchmark. A type may stand under two abilities. Types are spelt as in the 220 routes and in the records of runs on
them. Who wants other types gives them in such a file (`read_abilities`).

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

OTHER_NAMES: Final = {
    "LaneChange": "SequentialLaneChange",
    "TJunction": "T_Junction",
    "VehiclesDooropenTwoWays": "VehicleOpensDoorTwoWays",
}
"""Spellings of clips and tables, beside those of records."""


def read_abilities(path: Path) -> dict[str, tuple[str, ...]]:
    """Scenario types by ability, from a JSON object of lists."""
    content = read_json(path, remedy="give a JSON file of scenario types by ability")
    if not content:
        raise ValueError(f'{path}: want an object such as {{"Merging": ["HighwayExit"]}}')
    for name, types in content.items():
        if not isinstance(types, list) or not types or not all(isinstance(one, str) for one in types):
            raise ValueError(f"{path}: {name}: {types!r}; want a list of scenario types")
    return {name: tuple(types) for name, types in content.items()}


ABILITIES: Final[Mapping[str, tuple[str, ...]]] = read_abilities(Path(__file__).with_name("abilities.json"))
"""Scenario types by ability."""


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
