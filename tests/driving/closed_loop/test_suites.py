"""Suites: quotas, digests, the frozen manifest."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from world4scorer.city.world.config import PRESETS
from world4scorer.city.world.episode import EgoState, EpisodeStart
from world4scorer.city.world.events import Event, EventKind
from world4scorer.driving.closed_loop.city_routes import CityRoute
from world4scorer.driving.closed_loop.drive_config import DriveError
from world4scorer.driving.closed_loop.route_files import (
    frozen_content,
    read_routes,
    route_digest,
    route_from_json,
    route_to_json,
)
from world4scorer.driving.closed_loop.suites import (
    ABILITIES,
    SUITES,
    Suite,
    check_manifest,
    choose_routes,
    find_suite,
    suite_manifest,
)

RNG = np.random.default_rng(0)
SMALL = Suite("small", SUITES["city-val"].config, 4)


def route(name: str, scenario: str = "signal", simulation: str = "a") -> CityRoute:
    now = EgoState(7, np.array([1.0, 2.0, 0.3]), np.array([4.0, 0.0]), np.zeros(2), 1)
    event = Event(EventKind.PEDESTRIAN, "lane_0", 12.5, ("e1", "e2"), 1)
    start = EpisodeStart(name, "v1", ("e1", "e2"), 5, (now, now), (event,))
    points = np.array([[0.0, 0.0], [60.0, 1.0], [120.0, 0.0]])
    return CityRoute(name, simulation, "ingolstadt", scenario, start, points, (4, 4, 4), 20.0, (55.0,))


def drives(simulation: str, count: int, *kinds: str) -> list[dict[str, CityRoute]]:
    return [{kind: route(f"{simulation}_{n}", kind, simulation) for kind in kinds} for n in range(count)]


def test_routes_come_back_from_json() -> None:
    one = route("r1")
    again = route_from_json(json.loads(json.dumps(route_to_json(one))))
    assert np.array_equal(again.points, one.points) and again.start.events == one.start.events
    assert route_digest(again) == route_digest(one)
    other = replace(one, points=one.points + np.array([0.01, 0.0]))
    assert route_digest(other) != route_digest(one)
    assert route_digest(replace(one, points=one.points + 1e-7)) == route_digest(one)  # another processor


def test_quotas_are_filled_and_drives_used_once() -> None:
    kinds = [kind for some in ABILITIES.values() for kind in some]
    found = {"a": drives("a", 20, *kinds), "b": drives("b", 20, "pedestrian", "stopped-vehicle")}
    chosen = choose_routes(found, SMALL, np.random.default_rng(0))
    assert len(chosen) == SMALL.count == 20
    assert Counter(one.scenario for one in chosen) == SMALL.quotas
    assert len({one.name for one in chosen}) == 20
    assert [one.name for one in chosen] == sorted(one.name for one in chosen)
    by_simulation = Counter(one.simulation for one in chosen)
    assert by_simulation["b"] == 8  # all that it can offer: the other has more already
    again = choose_routes(found, SMALL, np.random.default_rng(0))
    assert [one.name for one in again] == [one.name for one in chosen]


def test_another_scenario_of_the_ability_takes_the_place_of_a_rare_one() -> None:
    kinds = [kind for some in ABILITIES.values() for kind in some if kind != "cut-in"]
    chosen = choose_routes(
        {"a": drives("a", 30, *kinds), "b": drives("b", 1, "cut-in")}, SMALL, np.random.default_rng(0)
    )
    found = Counter(one.scenario for one in chosen)
    assert (found["cut-in"], found["lane-change"], len(chosen)) == (1, 3, 20)


def test_too_few_drives_of_an_ability_are_an_error() -> None:
    kinds = [kind for some in ABILITIES.values() for kind in some if kind != "lane-change"]
    with pytest.raises(DriveError, match=r"suite small: 4 routes of each ability wanted, found 1 of Merging"):
        choose_routes({"a": [*drives("a", 30, *(set(kinds) - {"cut-in"})), *drives("b", 1, "cut-in")]}, SMALL, RNG)


def test_a_manifest_tells_other_routes(tmp_path: Path) -> None:
    routes = [route("r1"), route("r2")]
    frozen = replace(SMALL, manifest=tmp_path / "frozen.json")
    assert frozen.manifest is not None and frozen.frozen_routes is not None
    frozen.manifest.write_text(json.dumps(suite_manifest(frozen, routes, {"libsumo": "1.0"})))
    frozen.frozen_routes.write_bytes(frozen_content(routes))
    check_manifest(frozen, read_routes(frozen.frozen_routes))
    moved = replace(routes[1], seconds=21.0)
    with pytest.raises(DriveError, match=r"_routes\.json\.gz: 1 of 2 routes of small are others .*\(r2, \.\.\.\)"):
        check_manifest(frozen, [routes[0], moved])


def test_other_seeds_are_other_suites() -> None:
    suite = find_suite("city-220")
    assert suite.varied(0) is suite and suite.count == 220
    other = find_suite("city-220-seed3")
    assert other.config.seed == suite.config.seed + 3 and other.manifest is None
    assert find_suite(other.name) == other
    for name in ("city-221", "city-220-seedy"):
        with pytest.raises(DriveError, match="unknown; there are city-220, city-val"):
            find_suite(name)


def test_the_frozen_benchmark() -> None:
    suite = SUITES["city-220"]
    assert suite.manifest is not None and suite.frozen_routes is not None
    check_manifest(suite, read_routes(suite.frozen_routes))
    routes = json.loads(suite.manifest.read_bytes())["routes"]
    assert len({entry["name"] for entry in routes}) == len({entry["sha256"] for entry in routes}) == 220
    assert Counter(entry["ability"] for entry in routes) == dict.fromkeys(ABILITIES, 44)
    assert Counter(entry["scenario"] for entry in routes) == suite.quotas
    assert {entry["name"].split("_")[0] for entry in routes} == {"ingolstadt", "braunschweig"}
    assert all(entry["scenario"] in ABILITIES[entry["ability"]] for entry in routes)


def test_rules_are_settled_elsewhere() -> None:
    places = {name: {share.place for share in suite.config.shares} for name, suite in SUITES.items()}
    assert places["city-val"] == {"berlin-west"}
    assert not places["city-dev"] & (places["city-220"] | places["city-val"])
    assert places["city-dev"] <= {share.place for share in PRESETS["standard"].shares if share.split == "city_train"}
