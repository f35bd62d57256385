"""A film of a drive: four cameras beside a bird's-eye view with route, plans, choice and infractions.

Example::

    film_drive("city", DriveRecording.load("drives/ours/route.npz"), "drive.mp4")
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from PIL import Image

from world4scorer.city.streets.map_export import export_map
from world4scorer.city.streets.places import PLACES, Network
from world4scorer.city.streets.street_map import read_streets
from world4scorer.city.world.manifest import read_config, read_manifest
from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.driving.closed_loop.drive_view import CandidateRollouts, DriveView
from world4scorer.driving.closed_loop.recording import DriveRecording
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.progress import ProgressBar
from world4scorer.reporting.film.files import check_film, write_film
from world4scorer.reporting.film.frame_layout import LEGEND, FrameLayout, FramePainter
from world4scorer.reporting.film.log_film import (
    FILM_CAMERAS,
    METRES_WITH_PLANS,
    FilmReport,
    check_film_options,
    film_times,
)
from world4scorer.reporting.film.street_layers import read_street_layers
from world4scorer.reporting.film.street_view import view_reach

DRIVE_LEGEND: Final = (LEGEND[0], ("route", "past", "stop line", "infraction"))
CHOICE_LEGEND: Final = ("choice", "framewise", "plans")
"""Extra legend row for drivers with a pool of plans."""
END_HOLD_SECONDS: Final = 2.0
"""How long the last frame with the score is held [s of film]."""


def film_drive(
    root: str | os.PathLike[str],
    recording: DriveRecording,
    out: str | os.PathLike[str],
    *,
    cameras: Sequence[str] = FILM_CAMERAS,
    fps: float = 10.0,
    speed: float = 1.0,
    height: int = 720,
    metres: float = METRES_WITH_PLANS,
    start: float = 0.0,
    duration: float | None = None,
    show_progress: bool = False,
) -> FilmReport:
    """Film a drive to `out`: MP4, WebP or GIF by its ending.

    Args:
        root: Folder of the city that was driven in.
        recording: Recording of the drive.
        cameras: Up to four, the first large; those without images are left out.
        fps: Pictures a second.
        speed: 2 plays twice as fast.
        height: Height of the film [pixels]; the width follows from the layout.
        metres: Vertical extent of the bird's-eye view [m].
        start: Start time within the drive [s].
        duration: Duration within the drive [s]; to its end by default.
        show_progress: Show a progress bar on standard error.
    """
    out = Path(out)
    check_film_options(cameras, fps, speed, height, metres)
    check_film(out, fps)
    seen = [name for name in cameras if any(name in images for images in recording.images)]
    legend = (*DRIVE_LEGEND, CHOICE_LEGEND) if recording.plans.shape[1] > 1 else DRIVE_LEGEND
    page = FrameLayout.of(height, seen, legend)
    left, top, right, low = page.view
    view = make_drive_view(root, recording, (right - left, low - top), metres)
    times = film_times(view.duration, fps / speed, start, duration)
    if duration is None:
        times += [view.duration] * round(END_HOLD_SECONDS * fps)
    note = f"{recording.scenario}  \u00b7  {_network(recording.network).credit}"
    painter = FramePainter(page, f"{recording.driver}: {recording.route}", note)
    with ProgressBar("filming", "pictures", len(times), show_progress) as bar:
        frames = write_film(out, _frames(times, view, painter, bar), fps)
    return FilmReport(out, frames, frames / fps, page.size, tuple(seen))


def _frames(times: Iterable[float], view: DriveView, painter: FramePainter, bar: ProgressBar) -> Iterator[Image.Image]:
    recording = view.recording
    background: Image.Image | None = None
    pool: CandidateRollouts | None = None
    shown = -1
    faults = [event.time for event in view.infractions]
    for time in times:
        decision = max(0, int((recording.decided <= view.row(time)).sum()) - 1)
        if background is None or decision != shown:
            shown = decision
            images = recording.images[shown]
            background = painter.background({name: _image(images.get(name)) for name in painter.page.cameras})
            pool = CandidateRollouts.of(recording, shown)
        picture = background.copy()
        painter.paste_view(picture, view.draw(time, pool))
        command, past = int(recording.commands[shown]), [t for t in faults if t <= time]
        painter.draw_dashboard(picture, time, view.duration, view.speed(time), command, past)
        yield picture
        bar.advance()


def _image(file: bytes | None) -> Image.Image | None:
    return None if file is None else Image.open(io.BytesIO(file)).convert("RGB")


def _network(name: str) -> Network:
    found = [place.network for place in PLACES.values() if place.network.name == name]
    if not found:
        raise DatasetError(f"network {name!r} of the drive is unknown; it was driven with another version")
    return found[0]


def make_drive_view(
    root: str | os.PathLike[str], recording: DriveRecording, size: tuple[int, int], metres: float
) -> DriveView:
    """Bird's-eye view of a drive, of a size [pixels] and a vertical extent [m]."""
    network = _network(recording.network)
    config = read_config(read_manifest(root))
    location = network.devkit_location if config.devkit_maps else network.location
    index = export_map(read_streets(DataFolder(Path(root)).city_network(network.name)))[1]
    reach = view_reach(size, metres)
    streets = read_street_layers(DataFolder(Path(root)).maps, location, recording.states[:, :2], reach)
    return DriveView(streets, size, metres, recording, index)
