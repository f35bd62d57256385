"""Closed-loop comparison of drivers on the same routes.

Intervals are 95 % bootstrap intervals over routes. Routes on which the simulation crashed are left out of a driver's
row, and counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from world4scorer.drawing.finding import Finding, Table
from world4scorer.driving.closed_loop.city_routes import SCENARIOS, YIELD
from world4scorer.driving.closed_loop.driver_spec import FRAMEWISE, DriverSpec
from world4scorer.driving.closed_loop.measurements import comfort_share, drive_speed
from world4scorer.driving.closed_loop.run import FinishedDrives
from world4scorer.driving.closed_loop.suites import ABILITIES
from world4scorer.driving.results.figure import draw_drives
from world4scorer.evaluation.leaderboard.infractions import Infraction
from world4scorer.evaluation.leaderboard.merge import Results
from world4scorer.evaluation.leaderboard.records import RouteRecord
from world4scorer.evaluation.leaderboard.route_set import RouteSet
from world4scorer.evaluation.leaderboard.scores import is_success
from world4scorer.evaluation.pools.scored import weights_words
from world4scorer.evaluation.scores.bootstrap import Interval, LogBootstrap, cell, plain, verdict
from world4scorer.evaluation.scores.route_results import RouteNumbers, measure, plain_numbers

NAME: Final = "closed_loop"
BOOTSTRAP_DRAWS: Final = 10_000
INFRACTION_COLUMNS: Final = {
    Infraction.PEDESTRIAN_COLLISION: "pedestrians hit",
    Infraction.VEHICLE_COLLISION: "vehicles hit",
    Infraction.LAYOUT_COLLISION: "static things hit",
    Infraction.RED_LIGHT: "red lights run",
    Infraction.SCENARIO_TIMEOUT: "scenarios out of time",
    Infraction.DEVIATION: "routes left",
    Infraction.BLOCKED: "blocked",
    Infraction.ROUTE_TIMEOUT: "out of time",
}
"""Columns of the table of infractions."""


def compare_drivers(drives: FinishedDrives) -> Finding:
    """The finding, with its figure."""
    measured = {choice.name: measure_driver(drives, choice) for choice in drives.choices}
    changes = _changes(drives)
    crashed = {name: [record.route_id for record in some if record.crashed] for name, some in drives.records.items()}
    about = drives.about
    routes = about["suite"] or about["split"]
    return Finding(
        name=NAME,
        title="Closed loop in the city",
        question="How well do drivers get along in traffic that reacts to them?",
        data=f"{len(drives.routes)} routes of {routes}, {_kilometres(drives):.1f} km{_planner(about)}.",
        weights=about["weights"] or "",
        numbers={
            "drivers": {
                name: plain_numbers(found) | {"smoothness_published": _published_comfort(drives.records[name])}
                for name, found in measured.items()
            },
            "changes": {f"{name} - {FRAMEWISE}": change for name, change in changes.items()},
            "routes": [
                {"name": route.name, "scenario": route.scenario, "metres": round(route.route.length, 1)}
                for route in drives.routes
            ],
            "scores": {name: [_score(record) for record in some] for name, some in drives.records.items()},
            "ends": {choice.name: _ends(drives, choice) for choice in drives.choices},
            "abilities": {choice.name: _abilities(drives, choice) for choice in drives.choices},
            "speeds": {choice.name: _speeds(drives, choice) for choice in drives.choices},
            "status": {name: [record.status for record in some] for name, some in drives.records.items()},
            "crashed": crashed,
            "benchmark": about["benchmark"],
            "rules": about["rules"],
        },
        tables=(
            _main_table(drives, measured),
            _infraction_table(drives),
            _speed_table(drives),
            _ability_table(drives),
            _scenario_table(drives),
            *([_change_table(drives.choices, changes)] if changes else []),
        ),
        remarks=(
            "Driving Score: route completion times a factor for each infraction. Success: the end was reached without "
            "any. Efficiency: the ego's speed in percent of the traffic's around it. Comfort: share of chunks of two "
            "seconds within limits, without the quirks of the published formula (with them in brackets).",
            "PDM-Closed knows map, boxes and lights; SUMO's driver is the one that the routes were taken from, and "
            "all other traffic drives like it.",
            *(
                f"SUMO crashed under {choice.label}: {', '.join(crashed[choice.name])}."
                for choice in drives.choices
                if crashed[choice.name]
            ),
        ),
        figure=draw_drives({choice.label: measured[choice.name] for choice in drives.choices}),
    )


def measure_driver(drives: FinishedDrives, choice: DriverSpec) -> RouteNumbers:
    """Metrics of a driver over routes without a crash; scenarios take the place of abilities."""
    records = tuple(record for record in drives.records[choice.name] if not record.crashed)
    routes = RouteSet(str(drives.about["split"]), len(records), tuple(record.route for record in records))
    comfort = {record.route: comfort_share(record, corrected=True) for record in records}
    return measure(Results(routes, records), comfort, {name: (name,) for name in _scenarios(drives)}, BOOTSTRAP_DRAWS)


def _scenarios(drives: FinishedDrives) -> list[str]:
    return [name for name in (*SCENARIOS, YIELD) if any(route.scenario == name for route in drives.routes)]


def _published_comfort(records: Sequence[RouteRecord]) -> float | None:
    """Mean comfort by the published formula."""
    known = [value for record in records if not np.isnan(value := comfort_share(record))]
    return float(np.mean(known)) if known else None


def _score(record: RouteRecord) -> float | None:
    return None if record.crashed or record.scores is None else round(record.scores.composed, 4)


def _changes(drives: FinishedDrives) -> dict[str, dict[str, Any]]:
    """Paired differences to framewise selection, on routes where neither crashed."""
    if FRAMEWISE not in drives.records:
        return {}
    bootstrap = LogBootstrap([route.name for route in drives.routes], BOOTSTRAP_DRAWS)
    found = {}
    for choice in drives.choices:
        if choice.options is None or choice.name == FRAMEWISE:
            continue
        pairs = list(zip(drives.records[choice.name], drives.records[FRAMEWISE], strict=True))
        values = {"driving_score": _score_fraction, "success_rate": is_success}
        found[choice.name] = {
            name: plain(bootstrap.mean([_difference(one, other, value) for one, other in pairs]))
            for name, value in values.items()
        }
    return found


def _score_fraction(record: RouteRecord) -> float:
    """Composed score, 0 to 1."""
    return (_score(record) or 0.0) / 100


def _difference(one: RouteRecord, other: RouteRecord, value: Callable[[RouteRecord], float]) -> float:
    return float("nan") if one.crashed or other.crashed else float(value(one)) - float(value(other))


def interval_of(numbers: Mapping[str, float | None] | None) -> Interval:
    """An interval as it was before `plain` made JSON of it; unknown without numbers."""
    nothing = {"value": None, "low": None, "high": None}
    return Interval(*(np.nan if one is None else one for one in (numbers or nothing).values()))


def _main_table(drives: FinishedDrives, measured: Mapping[str, RouteNumbers]) -> Table:
    rows = []
    for choice in drives.choices:
        found, published = measured[choice.name], _published_comfort(drives.records[choice.name])
        quirky = "none" if published is None else f"{100 * published:.0f}"
        rows.append(
            (
                choice.label,
                cell(found.driving_score),
                cell(found.success_rate),
                cell(found.completion),
                Interval(found.efficiency.value, np.nan, np.nan).times(100).text(0),
                f"{Interval(found.smoothness.value, np.nan, np.nan).times(100).text(0)} ({quirky})",
                str(sum(not record.crashed for record in drives.records[choice.name])),
            )
        )
    columns = ("driver", "Driving Score", "Success Rate [%]", "completion [%]", "efficiency", "comfort", "routes")
    return Table("Drivers", columns, tuple(rows))


def _infraction_table(drives: FinishedDrives) -> Table:
    rows = []
    for choice in drives.choices:
        records = [record for record in drives.records[choice.name] if not record.crashed]
        counts = [str(sum(len(record.messages(kind)) for record in records)) for kind in INFRACTION_COLUMNS]
        driven = sum(record.kilometres for record in records)
        rows.append((choice.label, f"{driven:.1f}", *counts))
    return Table("Infractions", ("driver", "km", *INFRACTION_COLUMNS.values()), tuple(rows))


def _ends(drives: FinishedDrives, choice: DriverSpec) -> dict[str, Any]:
    """Shares of drives that ended blocked, off the route, or in either way."""
    records = [record for record in drives.records[choice.name] if not record.crashed]
    names = [record.route for record in records]
    bootstrap = LogBootstrap(names, BOOTSTRAP_DRAWS)
    blocked, deviated = (
        np.array([bool(record.messages(kind)) for record in records])
        for kind in (Infraction.BLOCKED, Infraction.DEVIATION)
    )
    ends = {"blocked": blocked, "deviated": deviated, "either": blocked | deviated}
    return {name: plain(bootstrap.mean(flags)) for name, flags in ends.items()}


def _speeds(drives: FinishedDrives, choice: DriverSpec) -> dict[str, float] | None:
    """Speeds over all drives; None for records of earlier versions, which do not hold them."""
    found = [(drive_speed(record), record) for record in drives.records[choice.name] if not record.crashed]
    known = [(speed, record.duration_game or 0.0) for speed, record in found if speed is not None]
    if not known or not sum(seconds for _, seconds in known):
        return None
    seconds = np.array([duration for _, duration in known])
    speeds = [speed for speed, _ in known]
    moving_seconds = seconds * (1 - np.array([speed.standing for speed in speeds]))
    return {
        "standing": float(np.average([speed.standing for speed in speeds], weights=seconds)),
        "moving": float(
            np.array([speed.moving for speed in speeds]) @ moving_seconds / max(moving_seconds.sum(), 1e-9)
        ),
        "most": max(speed.most for speed in speeds),
        "speeding": float(np.average([speed.speeding for speed in speeds], weights=seconds)),
    }


def _speed_table(drives: FinishedDrives) -> Table:
    rows = []
    for choice in drives.choices:
        ends, speeds = _ends(drives, choice), _speeds(drives, choice)
        numbers = (
            ["none"] * 4
            if speeds is None
            else [
                f"{100 * speeds['standing']:.0f}",
                f"{speeds['moving']:.1f}",
                f"{speeds['most']:.1f}",
                f"{100 * speeds['speeding']:.1f}",
            ]
        )
        rows.append((choice.label, *(cell(interval_of(ends[name])) for name in ends), *numbers))
    columns = ("driver", "blocked [%]", "left the route [%]", "either [%]")
    speed_columns = ("standing [% of time]", "mean while moving [m/s]", "highest [m/s]", "above 50 km/h [% of time]")
    return Table("Standing and speed", columns + speed_columns, tuple(rows))


def _abilities(drives: FinishedDrives, choice: DriverSpec) -> dict[str, Any]:
    """Success by ability, those without routes left out, and the mean over them."""
    records = tuple(record for record in drives.records[choice.name] if not record.crashed)
    routes = RouteSet(str(drives.about["split"]), len(records), tuple(record.route for record in records))
    asked = {name: kinds for name, kinds in ABILITIES.items() if any(record.scenario in kinds for record in records)}
    found = measure(Results(routes, records), None, asked, BOOTSTRAP_DRAWS)
    return {**{name: plain(interval) for name, interval in found.abilities.items()}, "mean": plain(found.mean_ability)}


def _ability_table(drives: FinishedDrives) -> Table:
    rows = [(choice.label, _abilities(drives, choice)) for choice in drives.choices]
    names = [*(name for name in ABILITIES if any(name in found for _, found in rows)), "mean"]
    cells = [(label, *(cell(interval_of(found.get(name))) for name in names)) for label, found in rows]
    return Table("Success by ability [%]", ("driver", *names), tuple(cells))


def _scenario_table(drives: FinishedDrives) -> Table:
    rows = []
    for choice in drives.choices:
        records = [record for record in drives.records[choice.name] if not record.crashed]
        here = {name: [_score_fraction(one) for one in records if one.scenario == name] for name in _scenarios(drives)}
        rows.append((choice.label, *(f"{100 * np.mean(some):.0f}" if some else "none" for some in here.values())))
    return Table("Driving Score by scenario", ("driver", *_scenarios(drives)), tuple(rows))


def _change_table(choices: Sequence[DriverSpec], changes: dict[str, dict[str, Any]]) -> Table:
    rows = []
    for choice in choices:
        if choice.name in changes:
            score, success = (interval_of(changes[choice.name][name]) for name in ("driving_score", "success_rate"))
            rows.append((choice.label, cell(score, signed=True), cell(success, signed=True), verdict(score)))
    columns = ("added", "Driving Score", "Success Rate [%]", "the Driving Score")
    return Table("Against the framewise choice, paired by route", columns, tuple(rows))


def _planner(about: Mapping[str, Any]) -> str:
    return f"; planner: {about['planner']}{weights_words(about)}" if about.get("planner") else ""


def _kilometres(drives: FinishedDrives) -> float:
    return sum(route.route.length for route in drives.routes) / 1000
