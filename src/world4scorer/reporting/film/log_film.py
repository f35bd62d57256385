"""A film of a log: four cameras beside a bird's-eye view that follows the ego.

Reads any NAVSIM dataset (log, map, images). Cameras show the log's images at 2 Hz; the bird's-eye view interpolates.

Example::

    report = film_log("city", "ingolstadt_000_v35_00325", "drive.mp4")
    print(report)
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from PIL import Image

from world4scorer.city.streets.places import PLACES
from world4scorer.datasets.navsim.cameras import CAMERA_LABELS
from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.datasets.navsim.frames import COMMANDS, LogFrame
from world4scorer.datasets.navsim.logs import Log, read_log
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.progress import ProgressBar
from world4scorer.reporting.film.birdseye import Birdseye
from world4scorer.reporting.film.decisions import Decisions
from world4scorer.reporting.film.files import check_film, write_film
from world4scorer.reporting.film.frame_layout import LEGEND, LEGEND_WITH_PLANS, FrameLayout, FramePainter
from world4scorer.reporting.film.motion import LogMotion
from world4scorer.reporting.film.street_layers import read_street_layers
from world4scorer.reporting.film.street_view import view_reach

FILM_CAMERAS: Final = ("CAM_F0", "CAM_L0", "CAM_B0", "CAM_R0")
"""The first is shown large."""
MAX_CAMERAS: Final = 4
DEFAULT_METRES: Final = 70.0
METRES_WITH_PLANS: Final = 85.0
"""Vertical extent of the view with plans, which reach further [m]."""
HEIGHT_RANGE: Final = (120, 2160)
"""Smallest and largest film height [pixels]."""
UNKNOWN_COMMAND: Final = COMMANDS.index("unknown")


@dataclass(frozen=True)
class FilmReport:
    """Summary of a film."""

    path: Path
    frames: int
    """Number of frames."""
    duration: float
    """Duration of the film [s]."""
    size: tuple[int, int]
    """Width, height [pixels]."""
    cameras: tuple[str, ...]
    """Cameras with images."""

    def __str__(self) -> str:
        seen = ", ".join(CAMERA_LABELS[name] for name in self.cameras) or "none"
        width, height = self.size
        return (
            f"{self.path}: {self.frames} pictures of {width} x {height}, {self.duration:.1f} s, "
            f"{self.path.stat().st_size / 1e6:.1f} MB; cameras: {seen}"
        )


def film_log(
    root: str | os.PathLike[str],
    log_name: str,
    out: str | os.PathLike[str],
    *,
    data_split: str | None = None,
    cameras: Sequence[str] = FILM_CAMERAS,
    fps: float = 10.0,
    speed: float = 1.0,
    height: int = 720,
    metres: float | None = None,
    start: float = 0.0,
    duration: float | None = None,
    decisions: Decisions | None = None,
    show_progress: bool = False,
) -> FilmReport:
    """Film a log to `out`: MP4, WebP or GIF by its ending.

    Args:
        root: Dataset folder with navsim_logs, maps and sensor_blobs.
        data_split: Folder of logs that holds the log; looked for in all of them unless given.
        cameras: Up to four, the first large; those without images on disk are left out.
        fps: Pictures a second.
        speed: 2 plays twice as fast.
        height: Height of the film [pixels]; the width follows from the layout.
        metres: Vertical extent of the bird's-eye view [m]; by default 70, or 85 with decisions.
        start: Start time within the log [s].
        duration: Duration within the log [s]; to its end by default.
        decisions: Decisions of a planner to draw: plans by utility, choice, faults.
        show_progress: Show a progress bar on standard error.
    """
    out = Path(out)
    if metres is None:
        metres = DEFAULT_METRES if decisions is None else METRES_WITH_PLANS
    check_film_options(cameras, fps, speed, height, metres)
    check_film(out, fps)
    layout = DataFolder(Path(root))
    split = find_data_split(layout, log_name) if data_split is None else data_split
    log = _read(layout, split, log_name)
    motion = LogMotion(log)
    times = film_times(motion.duration, fps / speed, start, duration)
    sensors = layout.sensors(split)
    seen = [name for name in cameras if any(_has_image(sensors, frame, name) for frame in log.frames)]
    location = log.frames[0].map_location
    page = FrameLayout.of(height, seen, LEGEND if decisions is None else LEGEND_WITH_PLANS)
    painter = FramePainter(page, log.name, location + _credit(layout.root, location))
    left, top, right, low = page.view
    size = (right - left, low - top)
    streets = read_street_layers(layout.maps, location, motion.ego[:, :2], view_reach(size, metres))
    view = Birdseye(streets, size, metres, motion, decisions)
    with ProgressBar("filming", "pictures", len(times), show_progress) as bar:
        frames = write_film(out, _frames(times, view, painter, sensors, bar), fps)
    return FilmReport(out, frames, frames / fps, page.size, tuple(seen))


def find_data_split(layout: DataFolder, log_name: str) -> str:
    """The folder of logs that holds a log."""
    folder = layout.all_logs
    if not folder.is_dir():
        raise DatasetError(f"{folder}: no such folder; {layout.root} is no NAVSIM dataset")
    found = [path.parent.name for path in layout.find_log(_checked_name(log_name))]
    if not found:
        logs = sorted(path.stem for path in folder.glob("*/*.pkl"))
        there = f"{len(logs)} logs, e.g. {', '.join(logs[:3])}" if logs else "no logs"
        raise DatasetError(f"{folder}: no log {log_name!r}; there are {there}")
    if len(found) > 1:
        raise DatasetError(
            f"{folder}: log {log_name!r} is in {', '.join(found)}; name the one that is meant "
            f"(w4s film {layout.root} --log {log_name} --split {found[0]})"
        )
    return found[0]


def film_times(log_duration: float, per_second: float, start: float, duration: float | None) -> list[float]:
    """Log times [s] of the frames, `per_second` per second of the log."""
    if not 0.0 <= start <= log_duration:
        raise DatasetError(f"the film begins at {start:g} s, but the log lasts {log_duration:g} s")
    if duration is not None and not duration > 0:
        raise DatasetError(f"the film shows {duration:g} s of the log; more than 0 is needed")
    end = log_duration if duration is None else min(start + duration, log_duration)
    return [start + number / per_second for number in range(int((end - start) * per_second + 1e-6) + 1)]


def _frames(
    times: Iterable[float], view: Birdseye, painter: FramePainter, sensors: Path, bar: ProgressBar
) -> Iterator[Image.Image]:
    motion = view.motion
    background: Image.Image | None = None
    shown = -1
    for time in times:
        moment = motion.at(time)
        if background is None or moment.frame != shown:
            shown = moment.frame
            background = painter.background(
                {name: _image(sensors, motion.log.frames[shown], name) for name in painter.page.cameras}
            )
        picture = background.copy()
        painter.paste_view(picture, view.draw(moment))
        painter.draw_dashboard(picture, time, motion.duration, moment.speed, _command(motion.log.frames[shown]))
        yield picture
        bar.advance()


def _credit(root: Path, location: str) -> str:
    """Map credit of a city; empty for recorded datasets."""
    if DataFolder(root).is_city:
        for place in PLACES.values():
            if location in (place.network.location, place.network.devkit_location):
                return f"  ·  {place.network.credit}"
    return ""


def _command(frame: LogFrame) -> int:
    return int(np.argmax(frame.command)) if frame.command.any() else UNKNOWN_COMMAND


def _has_image(sensors: Path, frame: LogFrame, name: str) -> bool:
    return bool(frame.raw.get("cams")) and name in frame.cameras and (sensors / frame.cameras[name].path).is_file()


def _image(sensors: Path, frame: LogFrame, name: str) -> Image.Image | None:
    return Image.fromarray(frame.cameras[name].load(sensors)) if _has_image(sensors, frame, name) else None


def _read(layout: DataFolder, data_split: str, log_name: str) -> Log:
    path = layout.log(data_split, _checked_name(log_name))
    if not path.is_file():
        raise DatasetError(f"{path}: no such log")
    return read_log(path)


def _checked_name(log_name: str) -> str:
    """The name, if it is not a pattern or path."""
    if not log_name or set(log_name) & set("*?[]/\\"):
        raise DatasetError(f"{log_name!r} is no name of a log: the file's name without .pkl")
    return log_name


def check_film_options(cameras: Sequence[str], fps: float, speed: float, height: int, metres: float) -> None:
    """Raise a DatasetError for unsupported film options."""
    unknown = [name for name in cameras if name not in CAMERA_LABELS]
    if unknown:
        raise DatasetError(f"camera {unknown[0]!r} is unknown; there are {', '.join(CAMERA_LABELS)}")
    if len(set(cameras)) != len(cameras) or len(cameras) > MAX_CAMERAS:
        raise DatasetError(f"cameras {', '.join(cameras)}: up to {MAX_CAMERAS} different ones are shown")
    if not 0 < fps <= 60 or not 0 < speed <= 100:
        raise DatasetError(f"{fps:g} pictures a second at speed {speed:g}: up to 60 and up to 100 are possible")
    if not HEIGHT_RANGE[0] <= height <= HEIGHT_RANGE[1] or height % 2:
        raise DatasetError(f"height {height}: even, {HEIGHT_RANGE[0]} to {HEIGHT_RANGE[1]} pixels")
    if not 20 <= metres <= 400:
        raise DatasetError(f"{metres:g} m of street: 20 to 400")
