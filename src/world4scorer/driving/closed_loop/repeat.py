"""Finished drives driven again, which is deterministic: checks, films and sheets of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from world4scorer.driving.closed_loop.city_routes import CityRoute
from world4scorer.driving.closed_loop.drive_config import DriveConfig, DriveError
from world4scorer.driving.closed_loop.driver_spec import DriverSpec
from world4scorer.driving.closed_loop.recording import DriveRecording
from world4scorer.driving.closed_loop.run import FinishedDrives
from world4scorer.driving.closed_loop.worker import DriveWorker
from world4scorer.evaluation.leaderboard.records import RouteRecord

FILM_HEIGHT: Final = 720
"""Height of films [pixels]."""
SCENARIOS: Final = "scenarios"
"""Stands for one sheet of all scenarios among the names of routes."""
SHEET_ROWS: Final = 6


def repeat_drives(plan: DriveConfig, drives: FinishedDrives, count: int) -> int:
    """Repeat drives of `count` routes, spread evenly, with every driver; returns how many gave the same result.

    Another result is an error: closed-loop scores are only comparable if drives can be repeated.
    """
    chosen = {int(index) for index in np.linspace(0, len(drives.routes) - 1, min(count, len(drives.routes)))}
    worker = DriveWorker(plan, drives.folder)
    for index in sorted(chosen):
        for choice in drives.choices:
            check_repeated(
                worker.drive(drives.routes[index], choice).record, drives.records[choice.name][index], choice
            )
    return len(chosen) * len(drives.choices)


def check_repeated(again: RouteRecord, before: RouteRecord, choice: DriverSpec) -> None:
    """Raise an error unless two drives of a route ended alike, with the same infractions."""
    if (again.status, again.scores, again.infractions) != (before.status, before.scores, before.infractions):
        raise DriveError(
            f"{before.route_id} with {choice.name}: ended in {again.status!r}, but before in {before.status!r}; "
            "were the drives made with another version?"
        )


def film_drives(
    plan: DriveConfig, drives: FinishedDrives, names: Sequence[str], ending: str = "mp4", height: int = FILM_HEIGHT
) -> Iterator[Path]:
    """Repeat drives with recording, which is deterministic, and film them: OUT/films/ROUTE_DRIVER.mp4.

    Args:
        plan: Configuration of the drives.
        drives: The finished drives.
        names: Names of routes; `all` for every route.
        ending: mp4, webp or gif.
        height: Height of the films [pixels].
    """
    from world4scorer.driving.closed_loop.film import film_drive

    driving = DriveWorker(plan, drives.folder)
    for route in _routes_named(drives, names):
        for choice in drives.choices:
            recording = _recorded(driving, drives, route, choice)
            if recording is None:
                continue  # the simulation crashed
            path = drives.folder / "films" / f"{route.name}_{choice.name}.{ending}"
            film_drive(plan.world, recording, path, height=height)
            yield path


def draw_drives(plan: DriveConfig, drives: FinishedDrives, names: Sequence[str]) -> Iterator[Path]:
    """Repeat drives with recording and draw sheets of them: OUT/sheets/ROUTE.png, a row for each driver.

    The first driver with an infraction has a further row, which enlarges it. With `scenarios` among the names, also
    OUT/sheets/scenarios.png: the first driver on the route of each scenario on which it scores best, at most six.
    """
    from world4scorer.drawing.birdseye import save
    from world4scorer.driving.closed_loop.sheet import sheet_drive
    from world4scorer.driving.sheets.draw import draw_sheet

    driving, first = DriveWorker(plan, drives.folder), drives.choices[0]
    for route in _routes_named(drives, [name for name in names if name != SCENARIOS]):
        found = [_recorded(driving, drives, route, choice) for choice in drives.choices]
        path = drives.folder / "sheets" / f"{route.name}.png"
        save(draw_sheet([sheet_drive(one) for one in found if one is not None], compared=True), path)
        yield path
    if SCENARIOS in names:
        chosen = [_recorded(driving, drives, route, first) for route in best_by_scenario(drives, first)]
        path = drives.folder / "sheets" / f"{SCENARIOS}.png"
        save(draw_sheet([sheet_drive(one) for one in chosen if one is not None]), path)
        yield path


def best_by_scenario(drives: FinishedDrives, choice: DriverSpec) -> list[CityRoute]:
    """The route of each scenario on which a driver scores best, the first of equal ones; at most `SHEET_ROWS`."""
    best: dict[str, tuple[float, CityRoute]] = {}
    for route, record in zip(drives.routes, drives.records[choice.name], strict=True):
        score = -1.0 if record.crashed or record.scores is None else record.scores.composed
        if route.scenario not in best or score > best[route.scenario][0]:
            best[route.scenario] = score, route
    return [route for _, route in best.values()][:SHEET_ROWS]


def _routes_named(drives: FinishedDrives, names: Sequence[str]) -> list[CityRoute]:
    known = {route.name: route for route in drives.routes}
    unknown = [name for name in names if name not in known and name != "all"]
    if unknown:
        raise DriveError(f"route {unknown[0]!r}: not among these drives; see the folders of {drives.folder}")
    return [known[name] for name in (known if "all" in names else dict.fromkeys(names))]


def _recorded(
    driving: DriveWorker, drives: FinishedDrives, route: CityRoute, choice: DriverSpec
) -> DriveRecording | None:
    """A drive repeated with recording, which is deterministic; None where the simulation crashes."""
    result = driving.drive(route, choice, with_recording=True)
    check_repeated(result.record, drives.records[choice.name][drives.routes.index(route)], choice)
    return result.recording
