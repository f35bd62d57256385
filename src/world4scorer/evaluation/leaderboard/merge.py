"""Results of runs beside each other, merged; and which routes are still to be driven.

A finished record of a route counts before a crashed one, wherever they stand. Two finished records of a route that
differ are an error: to take the better one, or the later one until it is good, would not be a measurement.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from world4scorer.evaluation.leaderboard.records import RouteRecord, read_results
from world4scorer.evaluation.leaderboard.route_set import RouteSet


@dataclass(frozen=True)
class Results:
    """One record for each route that was driven, of a set of routes."""

    routes: RouteSet
    records: tuple[RouteRecord, ...]
    """In the order of the set, or of the files if only the set's count is known."""

    @property
    def crashed(self) -> tuple[str, ...]:
        """Routes whose records say nothing about driving."""
        return tuple(record.route for record in self.records if record.crashed)

    @property
    def missing(self) -> tuple[str, ...]:
        """Routes of the set without a record."""
        return self.routes.missing({record.route for record in self.records})

    @property
    def to_drive(self) -> tuple[str, ...]:
        """Routes of the set that are missing or crashed, in the set's order."""
        return self.routes.missing({record.route for record in self.records if not record.crashed})


def result_files(paths: Iterable[Path]) -> list[Path]:
    """Files as they are given, and the `.json` files of folders, in order of their names."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(path.glob("*.json"))
            if not inside:
                raise ValueError(f"{path}: no .json in it; give result files of the leaderboard, or a folder of them")
            found += inside
        else:
            found.append(path)
    return found


def merge(files: Sequence[Path], routes: RouteSet) -> Results:
    """Read result files and keep one record for each route."""
    kept: dict[str, tuple[RouteRecord, Path]] = {}
    for file in files:
        for record in read_results(file):
            earlier = kept.get(record.route)
            if earlier is None or (earlier[0].crashed and not record.crashed):
                kept[record.route] = record, file
            elif not record.crashed and not _same(earlier[0], record):
                raise ValueError(
                    f"{file}: route {record.route} was finished here and in {earlier[1]}, with different results; "
                    "give only the run that counts"
                )
    routes.check(kept.keys())
    index = {route: number for number, route in enumerate(routes.routes or kept)}
    return Results(routes, tuple(kept[route][0] for route in sorted(kept, key=index.__getitem__)))


def _same(one: RouteRecord, other: RouteRecord) -> bool:
    """Whether two records are of the same drive: files that were merged before hold copies under other indices."""
    names = ("status", "infractions", "scores", "duration_game")
    return all(getattr(one, name) == getattr(other, name) for name in names)
