"""Finished drives driven again with recording, which is deterministic: films and sheets of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from world4scorer.driving.closed_loop.city_routes import CityRoute
from world4scorer.driving.closed_loop.driver_spec import DriverSpec
from world4scorer.driving.closed_loop.recording import DriveRecording
from world4scorer.driving.closed_loop.run import (
    DriveConfig,
    DriveError,
    DriveWorker,
    FinishedDrives,
    read_record,
    record_path,
)

FILM_HEIGHT: Final = 720
"""Height of films [pixels]."""
SCENARIOS: Final = "scenarios"
"""Stands for one sheet of all scenarios among the names of routes."""
SHEET_ROWS: Final = 6


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
            film_drive(plan.data, recording, path, height=height)
            yield path


def draw_drives(plan: DriveConfig, drives: FinishedDrives, names: Sequence[str]) -> Iterator[Path]:
    """Repeat drives with recording and draw sheets of them: OUT/sheets/ROUTE.png, a row for each driver.

    The first driver with an infraction has a further row, which enlarges it. With `scenarios` among the names, also
    OUT/sheets/scenarios.png: the first driver on the route of each scenario on which it scores best, at most six.
    """
    from world4scorer.drawing.birdseye import save
    from world4scorer.driving.closed_loop.sheet import draw_sheet

    driving, first = DriveWorker(plan, drives.folder), drives.choices[0]
    for route in _routes_named(drives, [name for name in names if name != SCENARIOS]):
        found = [_recorded(driving, drives, route, choice) for choice in drives.choices]
        path = drives.folder / "sheets" / f"{route.name}.png"
        save(draw_sheet([one for one in found if one is not None], enlarged=True), path)
        yield path
    if SCENARIOS in names:
        chosen = [_recorded(driving, drives, route, first) for route in best_by_scenario(drives, first)]
        path = drives.folder / "sheets" / f"{SCENARIOS}.png"
        save(draw_sheet([one for one in chosen if one is not None]), path)
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
    before = read_record(record_path(drives.folder, choice, route))
    if (result.record.status, result.record.scores) != (before.status, before.scores):
        raise DriveError(
            f"{route.name} with {choice.name}: ended in {result.record.status!r}, but before in {before.status!r}; "
            "were the drives made with another version?"
        )
    return result.recording
