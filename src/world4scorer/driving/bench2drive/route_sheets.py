"""Drives in CARLA as rows of sheets: the leaderboard's records with what the agent wrote while driving.

    SAVES/SAVE_NAME/metric_info.json     motion by tick, with the location
    SAVES/SAVE_NAME/rgb_front/0012.png   front camera, every tenth tick, as Bench2Drive's agents write it (also .jpg)

Records hold messages without times: an infraction happened where its message says, when the ego was nearest to it.
Places are in the planner's axes: y = -CARLA's y.

Shapes: R ticks, F images.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from world4scorer.driving.sheets.sheet_drive import Floats, SheetDrive, SheetFault
from world4scorer.evaluation.leaderboard.infractions import Infraction
from world4scorer.evaluation.leaderboard.merge import Results, merge, result_files
from world4scorer.evaluation.leaderboard.records import RouteRecord
from world4scorer.evaluation.leaderboard.route_set import route_set
from world4scorer.evaluation.leaderboard.smoothness import METRIC_FILE
from world4scorer.jobs.files import load_json

TICK_SECONDS: Final = 0.05
IMAGE_SECONDS: Final = 0.5
"""Between ticks, and between images."""
IMAGES: Final = "rgb_front"
ENDINGS: Final = (".png", ".jpg", ".jpeg")
PLACE: Final = re.compile(r"\(x=(-?[\d.]+), y=(-?[\d.]+), z=(-?[\d.]+)\)")
"""As the leaderboard's messages tell places."""
SHEET_ROWS: Final = 6


@dataclass(frozen=True)
class CarlaDrives:
    """Results of one driver on a set of routes."""

    driver: str
    results: Results
    saves: Path
    """Folder of what its agent wrote."""
    routes_file: Path

    @classmethod
    def open(cls, driver: str, files: Sequence[Path], saves: Path, routes_file: Path) -> CarlaDrives:
        """Merge result files of a driver; the routes are those of an XML file."""
        if not saves.is_dir():
            raise ValueError(f"{saves}: no such folder; name the one that the agent wrote to (metric_dir, SAVE_PATH)")
        return cls(driver, merge(result_files(files), route_set(str(routes_file))), saves, routes_file)

    def record(self, route: str) -> RouteRecord:
        """The record of a route; a ValueError if there is none that tells how it was driven."""
        found = next((one for one in self.results.records if one.route == route), None)
        if found is None or found.crashed:
            raise ValueError(f"route {route}: {self.driver} has no finished drive of it")
        return found

    def sheet_drive(self, route: str) -> SheetDrive:
        """A drive for a sheet."""
        record = self.record(route)
        folder = self._folder(record)
        if not (folder / METRIC_FILE).is_file():
            raise ValueError(f"route {route}: no {folder / METRIC_FILE}; drive it with an agent that writes this file")
        times, path = read_path(folder / METRIC_FILE)
        frames = _images(folder / IMAGES)

        def frame(number: int) -> NDArray[np.uint8]:
            return np.asarray(Image.open(frames[number][1]).convert("RGB"))

        return SheetDrive(
            driver=self.driver,
            scenario=record.scenario,
            score=0.0 if record.scores is None else record.scores.composed,
            route=read_waypoints(self.routes_file, route),
            times=times,
            path=path,
            frame_times=np.array([time for time, _ in frames], np.float64),
            frame=frame,
            faults=faults_of(record, times, path),
        )

    def best_by_scenario(self) -> list[str]:
        """The route of each scenario with the best score, the first of equal ones; best first, at most six.

        Routes without a metric file have no path to draw and do not count.
        """
        best: dict[str, tuple[float, str]] = {}
        for record in self.results.records:
            if record.crashed or record.scores is None or not (self._folder(record) / METRIC_FILE).is_file():
                continue
            score = record.scores.composed
            if record.scenario not in best or score > best[record.scenario][0]:
                best[record.scenario] = score, record.route
        return [route for _, route in sorted(best.values(), key=lambda one: -one[0])][:SHEET_ROWS]

    def _folder(self, record: RouteRecord) -> Path:
        return self.saves / (record.save_name or "SAVE_NAME")


def read_path(path: Path) -> tuple[Floats, Floats]:
    """Times (R,) from the first tick [s] and places (R, 2) of a metric file; ticks without an actor are left out."""
    try:
        content = load_json(path.read_bytes())
        ticks = dict(enumerate(content)) if isinstance(content, list) else {int(key): content[key] for key in content}
        known = sorted((number, tick["location"]) for number, tick in ticks.items() if tick)
        numbers = np.array([number for number, _ in known], np.float64)
        places = np.array([place[:2] for _, place in known], np.float64).reshape(-1, 2)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{path}: not an agent's metric file ({type(error).__name__}: {error})") from error
    if len(numbers) < 2 or not np.isfinite(places).all():
        raise ValueError(f"{path}: {len(numbers)} ticks with a location; at least 2 finite ones are needed")
    return TICK_SECONDS * (numbers - numbers[0]), places * (1.0, -1.0)


def read_waypoints(path: Path, route: str) -> Floats:
    """Waypoints (n, 2) of a route of an XML file."""
    found = ElementTree.parse(path).getroot().find(f"route[@id='{route}']")
    points = [] if found is None else found.findall("waypoints/position")
    try:
        places = np.array([(float(point.attrib["x"]), -float(point.attrib["y"])) for point in points])
    except (KeyError, ValueError) as error:
        raise ValueError(f"{path}: route {route}: a waypoint without numbers x and y") from error
    if len(places) < 2:
        raise ValueError(f"{path}: route {route}: {len(places)} waypoints; at least 2 are needed")
    return places


def faults_of(record: RouteRecord, times: Floats, path: Floats) -> tuple[SheetFault, ...]:
    """Infractions whose messages tell a place, in the order in which the path (R, 2) comes by."""
    found = []
    for kind in Infraction:
        for message in record.messages(kind) if kind != Infraction.SLOW else ():
            told = PLACE.search(message)
            if told:
                place = float(told[1]), -float(told[2])
                nearest = int(np.linalg.norm(path - np.array(place), axis=1).argmin())
                found.append(SheetFault(kind, float(times[nearest]), place))
    return tuple(sorted(found, key=lambda fault: fault.time))


def _images(folder: Path) -> list[tuple[float, Path]]:
    """Times [s] and files, in order."""
    files = [path for path in folder.glob("*") if path.suffix.lower() in ENDINGS and path.stem.isdecimal()]
    return sorted((IMAGE_SECONDS * int(path.stem), path) for path in files)
