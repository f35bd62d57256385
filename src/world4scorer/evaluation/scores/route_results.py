"""Results of routes as a finding: Driving Score, Success Rate, efficiency, smoothness, abilities, infractions per km.

Intervals come from drawing routes with replacement. Routes of the set that were not driven are drawn as well; they
count 0 where the benchmark counts them so.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.drawing.finding import Finding, Table
from world4scorer.evaluation.leaderboard.abilities import ABILITIES, asks_for, of_no_ability
from world4scorer.evaluation.leaderboard.efficiency import route_efficiency, undefined_percentages
from world4scorer.evaluation.leaderboard.infractions import Infraction
from world4scorer.evaluation.leaderboard.merge import Results
from world4scorer.evaluation.leaderboard.records import RouteRecord, write_results
from world4scorer.evaluation.leaderboard.scores import is_success, scored_otherwise
from world4scorer.evaluation.scores.bootstrap import Interval, LogBootstrap, cell, plain
from world4scorer.jobs.files import write_csv

Floats = NDArray[np.float64]

NAME: Final = "results"
CSV: Final = "routes.csv"
MERGED: Final = "merged.json"
NAMED_AT_MOST: Final = 12
"""Routes or scenario types in a remark; the rest is counted."""
WORDS: Final[Mapping[str, str]] = {
    Infraction.PEDESTRIAN_COLLISION: "collisions with pedestrians",
    Infraction.VEHICLE_COLLISION: "collisions with vehicles",
    Infraction.LAYOUT_COLLISION: "collisions with anything else",
    Infraction.RED_LIGHT: "red lights run",
    Infraction.STOP_SIGN: "stop signs run",
    Infraction.OUTSIDE_LANES: "outside the route's lanes",
    Infraction.EMERGENCY_VEHICLE: "emergency vehicles held up",
    Infraction.SCENARIO_TIMEOUT: "scenarios out of time",
    Infraction.DEVIATION: "route left",
    Infraction.BLOCKED: "blocked",
    Infraction.ROUTE_TIMEOUT: "route out of time",
}
"""What tables call the infractions; slowness is no infraction but a measurement."""


MEANS: Final = ("driving_score", "success_rate", "completion", "penalty", "efficiency", "smoothness")


@dataclass(frozen=True)
class RouteNumbers:
    """What was measured on a set of routes; shares and scores from 0 to 1."""

    driving_score: Interval
    success_rate: Interval
    completion: Interval
    """Routes of the set."""
    penalty: Interval
    """Mean factor of the routes recorded."""
    efficiency: Interval
    """Ego's speed over that of the traffic around."""
    smoothness: Interval
    abilities: Mapping[str, Interval]
    ability_counts: Mapping[str, tuple[int, int]]
    """Successes and routes."""
    mean_ability: Interval
    per_kilometre: Mapping[str, Interval]
    """Infractions by name."""
    kilometres: float
    """Driven [km]."""


def measure(
    results: Results,
    smoothness: Mapping[str, float] | None = None,
    abilities: Mapping[str, Sequence[str]] = ABILITIES,
    draws: int = 10_000,
) -> RouteNumbers:
    """All numbers of a set of routes.

    Args:
        results: One record for each route driven.
        smoothness: Of routes, by number, 0 to 1.
        abilities: Scenario types by ability.
        draws: Of the bootstrap over routes.
    """
    if results.routes.count < 1:
        raise ValueError(f"{results.routes.name}: no routes; there is nothing to measure")
    records = results.records
    absent = results.routes.count - len(records)
    bootstrap = LogBootstrap([record.route for record in records] + [f"missing {i}" for i in range(absent)], draws)
    nowhere = [float("nan")] * absent

    def column(value: Any, of_missing: float = float("nan")) -> Floats:
        return np.array([*map(value, records), *[of_missing] * absent], np.float64)

    def score(part: str) -> Floats:
        return column(lambda record: getattr(record.scores, part) if record.scores else 0.0, 0.0)

    kilometres = column(lambda record: record.kilometres, 0.0)
    succeeded = column(is_success, 0.0)
    asked = {
        name: column(lambda record, types=types: not record.crashed and asks_for(record, types), 0.0)
        for name, types in abilities.items()
    }
    smooth = [(smoothness or {}).get(record.route, float("nan")) for record in records]
    return RouteNumbers(
        driving_score=bootstrap.mean(score("composed") / 100),
        success_rate=bootstrap.mean(succeeded),
        completion=bootstrap.mean(score("completion") / 100),
        penalty=bootstrap.mean(column(lambda record: record.scores.penalty if record.scores else float("nan"))),
        efficiency=bootstrap.mean(column(route_efficiency) / 100),
        smoothness=bootstrap.mean([*smooth, *nowhere]),
        abilities={name: bootstrap.ratio(succeeded * there, there) for name, there in asked.items()},
        ability_counts={name: (int(succeeded @ there), int(there.sum())) for name, there in asked.items()},
        mean_ability=_mean_ability(bootstrap, succeeded, np.array([*asked.values()])),
        per_kilometre={
            name: bootstrap.ratio(column(lambda record, name=name: len(record.messages(name)), 0.0), kilometres)
            for name in WORDS
        },
        kilometres=float(kilometres.sum()),
    )


def results_finding(
    results: Results,
    smoothness: Mapping[str, float] | None = None,
    abilities: Mapping[str, Sequence[str]] = ABILITIES,
    draws: int = 10_000,
    remarks: Sequence[str] = (),
) -> Finding:
    """The finding; arguments as for `measure`, and further remarks."""
    found = measure(results, smoothness, abilities, draws)
    absent = results.routes.count - len(results.records)
    otherwise = [record.route for record in results.records if scored_otherwise(record)]
    unlisted = of_no_ability((record for record in results.records if not record.crashed), abilities)
    undefined = {record.route: count for record in results.records if (count := undefined_percentages(record))}
    main = Table(
        "Routes",
        ("", "mean and 95 % interval"),
        (
            ("Driving Score", cell(found.driving_score, digits=2)),
            ("Success Rate [%]", cell(found.success_rate, digits=2)),
            ("route completion [%]", cell(found.completion)),
            ("penalty factor", cell(found.penalty, 1, 3)),
            ("efficiency [%]", cell(found.efficiency)),
            ("smoothness [%]", cell(found.smoothness)),
        ),
    )
    able = Table(
        "Abilities",
        ("", "success [%]", "successes / routes"),
        (
            *((name, cell(found.abilities[name]), "{} / {}".format(*found.ability_counts[name])) for name in abilities),
            ("mean", cell(found.mean_ability), ""),
        ),
    )
    counts = {name: sum(len(record.messages(name)) for record in results.records) for name in map(Infraction, WORDS)}
    infractions = Table(
        f"Infractions on {found.kilometres:.2f} km",
        ("", "count", "per km"),
        tuple((WORDS[name], str(counts[name]), cell(found.per_kilometre[name], 1, 2)) for name in counts),
    )
    speeds = f"{sum(undefined.values())}, on routes {_named(list(undefined))}"
    notes = (
        (absent, f"Without a record, counted as 0: {absent} of the routes{_named_missing(results)}."),
        (results.crashed, f"Crashed, to be driven again: {_named(results.crashed)}."),
        (otherwise, f"Recorded scores that the formula does not give, taken as they are: {_named(otherwise)}."),
        (unlisted, f"Scenario types that belong to no ability: {_counted(unlisted)}."),
        (undefined, f"Speeds that are no finite numbers, left out of efficiency: {speeds}."),
    )
    return Finding(
        name=NAME,
        title="Bench2Drive",
        question="How well does the agent drive the routes?",
        data=f"{len(results.records)} of {results.routes.count} routes; set: {results.routes.name}.",
        weights="",
        numbers={
            "set": results.routes.name,
            "routes": results.routes.count,
            "recorded": len(results.records),
            "crashed": list(results.crashed),
            "missing": None if results.routes.routes is None else list(results.missing),
            "scored_otherwise": otherwise,
            "of_no_ability": unlisted,
            "undefined_speeds": undefined,
            **plain_numbers(found),
        },
        tables=(main, able, infractions),
        remarks=(*(text for known, text in notes if known), *remarks),
    )


def plain_numbers(found: RouteNumbers) -> dict[str, Any]:
    """Numbers as JSON has them."""
    return {
        **{name: plain(getattr(found, name)) for name in MEANS},
        "abilities": {name: plain(interval) for name, interval in found.abilities.items()},
        "ability_counts": {name: list(counts) for name, counts in found.ability_counts.items()},
        "mean_ability": plain(found.mean_ability),
        "infractions_per_km": {str(name): plain(interval) for name, interval in found.per_kilometre.items()},
        "kilometres": found.kilometres,
    }


def save_results(
    results: Results, finding: Finding, folder: Path, command: str, smoothness: Mapping[str, float] | None = None
) -> None:
    """Write FOLDER/results.json and .md, routes.csv, merged.json: the last in the leaderboard's layout."""
    finding.save(folder, command)
    write_csv(folder / CSV, _rows(results.records, smoothness or {}))
    numbers = finding.numbers
    summary = {
        "driving score": 100 * numbers["driving_score"]["value"],
        "success rate": numbers["success_rate"]["value"],
        "eval num": len(results.records),
    }
    write_results(folder / MERGED, results.records, summary)


def _rows(records: Sequence[RouteRecord], smoothness: Mapping[str, float]) -> Iterator[list[Any]]:
    """The header, and a row for each route; what is not known is left empty."""
    head = ["route", "scenario", "status", "crashed", "success", "completion", "penalty", "score", "efficiency"]
    yield [*head, "smoothness", "route_length", "duration_game", *map(str, WORDS)]
    for record in records:
        scores = record.scores
        parts = (scores.completion, scores.penalty, scores.composed) if scores else (None, None, None)
        numbers = (*parts, route_efficiency(record), smoothness.get(record.route), record.route_length)
        yield (
            [record.route, record.scenario, record.status, record.crashed, is_success(record)]
            + [_known(number) for number in (*numbers, record.duration_game)]
            + [len(record.messages(Infraction(name))) for name in WORDS]
        )


def _known(number: float | None) -> str:
    return "" if number is None or math.isnan(number) else json.dumps(number)


def _mean_ability(bootstrap: LogBootstrap, succeeded: Floats, asked: Floats) -> Interval:
    """The mean over abilities (A, routes) of their shares; of draws in which all were asked for."""
    routes, successes = bootstrap.sums(asked.T), bootstrap.sums((succeeded * asked).T)

    def mean(drawn: Floats) -> Floats:
        shares = np.full((len(drawn), len(asked)), np.nan)
        np.divide(drawn @ successes, drawn @ routes, out=shares, where=drawn @ routes > 0)
        return np.asarray(shares.mean(1))

    return bootstrap.of_logs(mean)


def _named_missing(results: Results) -> str:
    return "" if results.routes.routes is None else f": {_named(results.missing)}"


def _counted(types: Mapping[str, int]) -> str:
    return _named(
        [f"{kind or 'no name'} ({count} {'route' if count == 1 else 'routes'})" for kind, count in types.items()]
    )


def _named(routes: Sequence[str]) -> str:
    rest = len(routes) - NAMED_AT_MOST
    return ", ".join(routes[:NAMED_AT_MOST]) + (f" and {rest} more" if rest > 0 else "")
