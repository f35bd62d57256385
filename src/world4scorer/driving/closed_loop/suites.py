"""Suites: fixed sets of closed-loop routes with traffic of their own.

`city-220` is the benchmark: 220 routes on the test towns, 44 for each of Bench2Drive's five abilities. Its routes come
with the package (`city_220_routes.json.gz`), as a search finds slightly other ones on another processor; its manifest
(`city_220.json`) names each of them with a digest. `city-val` is its small counterpart on the validation town, on which
rules are settled and training is watched; `city-dev` another on six training towns, of other kinds than that town.

>>> routes = suite_routes(SUITES["city-220"], Path("city"))
>>> routes[0].name, routes[0].scenario
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from world4scorer.city.streets.errors import CityError
from world4scorer.city.world.config import CityConfig, Share
from world4scorer.city.world.make import make_traffic
from world4scorer.city.world.manifest import read_config, read_manifest
from world4scorer.driving.closed_loop.city_routes import YIELD, CityRoute, routes_of_simulation
from world4scorer.driving.closed_loop.drive_config import DriveError
from world4scorer.driving.closed_loop.route_files import read_routes, route_digest, route_from_json, route_to_json
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.executors import Executor, choose_executor
from world4scorer.jobs.files import read_json, write_json
from world4scorer.jobs.resumable import run_tasks

ABILITIES: Final[Mapping[str, tuple[str, ...]]] = {
    "Merging": ("cut-in", "lane-change"),
    "Overtaking": ("stopped-vehicle",),
    "Emergency_Brake": ("pedestrian",),
    "Give_Way": (YIELD, "left-turn"),
    "Traffic_Signs": ("signal", "right-turn"),
}
"""Scenario types of the city by ability of Bench2Drive."""
RAREST_FIRST: Final = (
    "cut-in", "lane-change", YIELD, "left-turn", "right-turn", "signal", "stopped-vehicle", "pedestrian",
)  # fmt: skip
"""Order in which scenarios choose among drives: those that few drives offer come first."""
ROUTES_FILE: Final = "routes.json"
DEVELOPMENT_TOWNS: Final = ("grid6", "square", "new-town", "suburb", "web", "wusterhausen")
"""Training places of the standard city, not of the quick one: signals, wide streets, bends."""
SEED_MARK: Final = "-seed"
"""Between the name of a suite and the seed of its variation."""


@dataclass(frozen=True)
class Suite:
    """A set of routes: how many of each ability, from which traffic."""

    name: str
    config: CityConfig
    """Places and simulations; no logs are made of them."""
    each: int
    """Routes of each ability, even."""
    manifest: Path | None = None
    """File that names the routes with their digests; None if they are not frozen."""

    @property
    def frozen_routes(self) -> Path | None:
        """File of the routes beside the manifest, if they are frozen."""
        return None if self.manifest is None else self.manifest.with_name(f"{self.manifest.stem}_routes.json.gz")

    @property
    def count(self) -> int:
        """Number of routes."""
        return self.each * len(ABILITIES)

    @property
    def quotas(self) -> dict[str, int]:
        """Routes of each scenario, in the order in which they choose; fewer where another takes their place."""
        of_ability = {kind: self.each // len(kinds) for kinds in ABILITIES.values() for kind in kinds}
        return {kind: of_ability[kind] for kind in RAREST_FIRST}

    def varied(self, seed: int) -> Suite:
        """The suite itself for a seed of 0; with another, other traffic and routes of the same towns, not frozen."""
        if not seed:
            return self
        config = replace(self.config, seed=self.config.seed + seed)
        return Suite(f"{self.name}{SEED_MARK}{seed}", config, self.each)


def _config(split: str, shares: Mapping[str, int], duration: float) -> CityConfig:
    """Traffic of a suite: so many simulations at each place, longer ones than those that logs are taken from."""
    kinds = tuple(Share(split, "test", place, simulations, 1) for place, simulations in shares.items())
    return CityConfig(kinds, seed=220, duration=duration)


SUITES: Final = {
    suite.name: suite
    for suite in (
        Suite(
            "city-220",
            _config("city_220", {"ingolstadt": 14, "braunschweig": 6}, 200.0),
            44,
            Path(__file__).with_name("city_220.json"),
        ),
        Suite("city-val", _config("city_val_suite", {"berlin-west": 2}, 120.0), 8),
        Suite("city-dev", _config("city_dev_suite", dict.fromkeys(DEVELOPMENT_TOWNS, 1), 120.0), 8),
    )
}
"""Suites by name."""


def find_suite(name: str) -> Suite:
    """A suite by name, also a varied one."""
    base, _, seed = name.partition(SEED_MARK)
    if base not in SUITES or (seed and not seed.isdecimal()):
        raise DriveError(f"suite {name!r}: unknown; there are {', '.join(SUITES)}")
    return SUITES[base].varied(int(seed or 0))


def suite_routes(suite: Suite, data: Path, executor: Executor | None = None) -> list[CityRoute]:
    """The routes of a suite, in order of their names.

    Its traffic is made below the dataset folder `data` the first time and, unless the routes are frozen, searched for
    them, which takes minutes.
    """
    root = DataFolder(data).suite(suite.name)
    make_traffic(suite.config, root)
    if suite.frozen_routes is not None:
        routes = read_routes(suite.frozen_routes)
        check_manifest(suite, routes)
        return routes
    path = DataFolder(root).city / ROUTES_FILE
    if not path.is_file():
        found = _search(suite, root, executor)
        write_json(path, {"routes": [route_to_json(route) for route in found]})
    try:
        return [route_from_json(values) for values in read_json(path, DriveError, "delete it")["routes"]]
    except (KeyError, TypeError) as error:
        raise DriveError(f"{path}: not the routes of a suite ({error}); delete it") from error


def suite_manifest(suite: Suite, routes: Sequence[CityRoute], versions: Mapping[str, str]) -> dict[str, Any]:
    """What freezes a suite: each route with its digest."""
    return {
        "suite": suite.name,
        "versions": dict(versions),
        "routes": [
            {
                "name": route.name,
                "scenario": route.scenario,
                "ability": _ability_of(route.scenario),
                "metres": round(route.route.length, 1),
                "sha256": route_digest(route),
            }
            for route in routes
        ],
    }


def check_manifest(suite: Suite, routes: Sequence[CityRoute]) -> None:
    """Raise an error unless the routes are those of the frozen manifest."""
    assert suite.manifest is not None
    frozen = read_json(suite.manifest, DriveError, "install the package again")
    wanted = {entry["name"]: entry["sha256"] for entry in frozen["routes"]}
    found = {route.name: route_digest(route) for route in routes}
    differ = sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))
    if differ:
        raise DriveError(
            f"{suite.frozen_routes}: {len(differ)} of {len(wanted)} routes of {suite.name} are others than in its "
            f"manifest ({differ[0]}, ...); install the package again"
        )


@dataclass(frozen=True)
class _SimulationSearch:
    """Finds the routes of a simulation; runs in worker processes."""

    root: Path
    seed: int

    def __call__(self, name: str) -> list[dict[str, CityRoute]]:
        return routes_of_simulation(self.root, name, self.seed)


def _search(suite: Suite, root: Path, executor: Executor | None) -> list[CityRoute]:
    names = read_manifest(root)["simulations"]
    seed = read_config(read_manifest(root)).seed
    work = _SimulationSearch(root, seed)
    results = run_tasks(executor or choose_executor(), work, names, root, "simulations", CityError, stop_at_first=True)
    found = dict(results)
    return choose_routes({name: found[name] for name in names}, suite, np.random.default_rng([seed, 9]))


def choose_routes(
    found: Mapping[str, Sequence[Mapping[str, CityRoute]]], suite: Suite, rng: np.random.Generator
) -> list[CityRoute]:
    """Fill the quotas of a suite, each time from the simulation with the fewest routes so far; a drive is used once.

    Where drives offer too few routes of a scenario, the other scenario of its ability takes its place. `found` has for
    each simulation its drives: routes by scenario.
    """
    left = {name: [drives[index] for index in rng.permutation(len(drives))] for name, drives in found.items()}
    taken = dict.fromkeys(left, 0)
    chosen: list[CityRoute] = []
    missing = dict.fromkeys(ABILITIES, 0)
    for kind, quota in suite.quotas.items():
        ability = _ability_of(kind)
        count, missing[ability] = quota + missing[ability], 0
        for number in range(count):
            offers = [name for name in left if any(kind in drive for drive in left[name])]
            if not offers:
                missing[ability] = count - number
                break
            name = min(offers, key=lambda name: (taken[name], name))
            drive = next(drive for drive in left[name] if kind in drive)
            left[name].remove(drive)
            taken[name] += 1
            chosen.append(drive[kind])
    short = {ability: suite.each - count for ability, count in missing.items() if count}
    if short:
        texts = ", ".join(f"{have} of {ability}" for ability, have in short.items())
        raise DriveError(f"suite {suite.name}: {suite.each} routes of each ability wanted, found {texts}")
    return sorted(chosen, key=lambda route: route.name)


def _ability_of(scenario: str) -> str:
    return next(name for name, kinds in ABILITIES.items() if scenario in kinds)
