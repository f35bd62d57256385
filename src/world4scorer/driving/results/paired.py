"""Paired comparison of two drivers on the same routes: what has changed, and whether the change is real.

>>> finding = compare_pair(Path("before/framewise"), Path("after/framewise"))
>>> finding.numbers["changes"]["driving_score"]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.drawing.finding import Finding, Table
from world4scorer.driving.closed_loop.drive_config import DriveError
from world4scorer.driving.closed_loop.run import ABOUT
from world4scorer.driving.closed_loop.suites import ABILITIES
from world4scorer.driving.closed_loop.worker import read_record
from world4scorer.evaluation.leaderboard.infractions import Infraction
from world4scorer.evaluation.leaderboard.records import RouteRecord
from world4scorer.evaluation.leaderboard.scores import is_success
from world4scorer.evaluation.scores.bootstrap import LogBootstrap, cell, plain, verdict
from world4scorer.jobs.files import read_json

NAME: Final = "paired_drives"
DRAWS: Final = 20_000
MAY_DIFFER: Final = ("world4scorer", "weights", "training", "benchmark")
"""Settings of drives that two drivers may differ in; the routes, the traffic and the rules may not."""

Floats = NDArray[np.float64]


def _collisions(record: RouteRecord) -> float:
    kinds = (Infraction.PEDESTRIAN_COLLISION, Infraction.VEHICLE_COLLISION, Infraction.LAYOUT_COLLISION)
    return float(any(record.messages(kind) for kind in kinds))


MEASURES: Final[Mapping[str, tuple[str, Callable[[RouteRecord], float]]]] = {
    "driving_score": ("Driving Score", lambda record: record.scores.composed / 100 if record.scores else 0.0),
    "success_rate": ("Success Rate [%]", lambda record: float(is_success(record))),
    "completion": ("completion [%]", lambda record: record.scores.completion / 100 if record.scores else 0.0),
    "collided": ("drives with a collision [%]", _collisions),
    "blocked": ("blocked [%]", lambda record: float(bool(record.messages(Infraction.BLOCKED)))),
    "deviated": ("left the route [%]", lambda record: float(bool(record.messages(Infraction.DEVIATION)))),
}
"""Name in tables, and value of a drive from 0 to 1."""


def compare_pair(first: Path, second: Path) -> Finding:
    """Compare two folders OUT/DRIVER of drives, route by route; routes on which one of them crashed are left out."""
    pairs = _pairs(first, second)
    bootstrap = LogBootstrap([one.route for one, _ in pairs], DRAWS)
    labels = (_label(first), _label(second))
    rows, changes = [], {}
    for name, (words, value) in MEASURES.items():
        before, after = _values(pairs, value)
        change = bootstrap.mean(after - before)
        intervals = (bootstrap.mean(before), bootstrap.mean(after), change)
        changes[name] = dict(zip(("first", "second", "change"), map(plain, intervals), strict=True))
        cells = (cell(intervals[0]), cell(intervals[1]), cell(change, signed=True))
        rows.append((words, *cells, verdict(change)))
    by_ability = _by_ability(pairs, bootstrap)
    columns = ("", *labels, "change", "the second driver")
    return Finding(
        name=NAME,
        title="Two drivers on the same routes",
        question=f"Does {labels[1]} drive better than {labels[0]}?",
        data=f"{len(pairs)} routes that both have driven.",
        weights="",
        numbers={"drivers": list(labels), "routes": len(pairs), "changes": changes, "abilities": by_ability},
        tables=(
            Table("Paired by route", columns, tuple(rows)),
            Table(
                "Change of the Driving Score by ability",
                ("ability", "routes", "change"),
                tuple((name, str(found["routes"]), found["text"]) for name, found in by_ability.items()),
            ),
        ),
        remarks=(
            "95 % intervals by bootstrap over routes. A change is paired: both drivers met the same traffic up to what "
            "they themselves changed in it.",
        ),
    )


def _by_ability(pairs: Sequence[tuple[RouteRecord, RouteRecord]], bootstrap: LogBootstrap) -> dict[str, dict[str, Any]]:
    before, after = _values(pairs, MEASURES["driving_score"][1])
    found = {}
    for name, kinds in ABILITIES.items():
        there = np.array([one.scenario in kinds for one, _ in pairs])
        if there.any():
            change = bootstrap.mean(np.where(there, after - before, np.nan))
            found[name] = {"routes": int(there.sum()), "change": plain(change), "text": cell(change, signed=True)}
    return found


def _values(
    pairs: Sequence[tuple[RouteRecord, RouteRecord]], value: Callable[[RouteRecord], float]
) -> tuple[Floats, Floats]:
    before, after = (np.array([value(pair[side]) for pair in pairs]) for side in (0, 1))
    return before, after


def _pairs(first: Path, second: Path) -> list[tuple[RouteRecord, RouteRecord]]:
    """Records of the routes that both have driven."""
    abouts = [_about(folder) for folder in (first, second)]
    differing = [name for name in abouts[0] if abouts[0][name] != abouts[1].get(name)]
    if differing:
        name = differing[0]
        raise DriveError(f"{first}, {second}: drives of another {name}; only drives on the same routes are paired")
    mine, theirs = ({path.name: read_record(path) for path in folder.glob("*.json")} for folder in (first, second))
    both = [(mine[name], theirs[name]) for name in sorted(mine.keys() & theirs.keys())]
    both = [pair for pair in both if not any(record.crashed for record in pair)]
    if not both:
        raise DriveError(f"{first}, {second}: no route that both have driven; name folders OUT/DRIVER of `w4s drive`")
    return both


def _about(folder: Path) -> dict[str, Any]:
    path = folder.parent / ABOUT
    if not folder.is_dir() or not path.is_file():
        raise DriveError(f"{folder}: not the drives of one driver; name a folder OUT/DRIVER of `w4s drive`")
    return {name: value for name, value in read_json(path, DriveError).items() if name not in MAY_DIFFER}


def _label(folder: Path) -> str:
    return f"{folder.resolve().parent.name}/{folder.name}"
