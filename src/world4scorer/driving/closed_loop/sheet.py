"""Sheets of drives: the front camera at equal intervals, and a small map with route, path and infractions.

A row is a drive. Frames are 5 s apart around the middle of the drive, as in the paper's scenarios, or, in an enlarged
row, half a second apart around the first infraction.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image

from world4scorer.drawing import style
from world4scorer.drawing.charts import OURS, PAPER, chart
from world4scorer.driving.closed_loop.recording import DriveRecording
from world4scorer.engine.scene.indices import State
from world4scorer.reporting.film.log_film import FILM_CAMERAS

FRAMES: Final = 6
"""Camera views of a row."""
INTERVAL: Final = 5.0
"""s between them."""
ENLARGED_INTERVAL: Final = 0.5
"""s between those of an enlarged infraction, as far apart as decisions."""
ROW_SECONDS: Final = 0.1
"""s between the states of a recording."""
CAMERA: Final = FILM_CAMERAS[0]
INFRACTION: Final = "#d55e00"


def draw_sheet(drives: Sequence[DriveRecording], enlarged: bool = False) -> Figure:
    """A row for each drive; with `enlarged`, a further row for the first drive with an infraction."""
    shown = [(drive, frame_times(_duration(drive))) for drive in drives]
    faulty = next((drive for drive in drives if drive.infractions), None) if enlarged else None
    if faulty is not None:
        moment = faulty.infractions[0].time
        shown.append((faulty, frame_times(_duration(faulty), moment, ENLARGED_INTERVAL)))
    figure, axes = chart(FRAMES + 1, len(shown), size=(2.0 * (FRAMES + 1), 1.45 * len(shown)), squeeze=False)
    for row, (drive, times) in enumerate(shown):
        for panel, time in zip(axes[row, :FRAMES], times, strict=True):
            _frame(panel, drive, time)
        _map(axes[row, FRAMES], drive, times)
        is_enlarged = row >= len(drives)
        kind = drive.infractions[0].kind.name.lower().replace("_", " ") if is_enlarged else drive.scenario
        words = f"{drive.driver}\n{kind}" + ("" if is_enlarged else f", {drive.score:.0f}")
        axes[row, 0].set_ylabel(words, fontsize=7.5)
    return figure


def frame_times(duration: float, centre: float | None = None, interval: float = INTERVAL) -> NDArray[np.float64]:
    """(FRAMES,) times around a moment, the middle unless given, moved or squeezed so that they lie in the drive [s]."""
    step = min(interval, duration / (FRAMES - 1))
    length = step * (FRAMES - 1)
    middle = duration / 2 if centre is None else centre
    first = min(max(0.0, middle - length / 2), duration - length)
    return np.asarray(first + step * np.arange(FRAMES), np.float64)


def _duration(drive: DriveRecording) -> float:
    return ROW_SECONDS * (len(drive.states) - 1)


def _frame(axis: Axes, drive: DriveRecording, time: float) -> None:
    decision = max(0, int((drive.decided <= round(time / ROW_SECONDS)).sum()) - 1)
    file = drive.images[decision].get(CAMERA) if drive.images else None
    axis.set(xticks=[], yticks=[])
    axis.grid(visible=False)
    axis.set_title(f"{time:.1f} s", fontsize=7.5, color=style.FAINT)
    if file is None:
        axis.text(0.5, 0.5, "no camera", ha="center", va="center", fontsize=7.5, color=style.FAINT)
    else:
        axis.imshow(np.asarray(Image.open(io.BytesIO(file)).convert("RGB")))


def _map(axis: Axes, drive: DriveRecording, times: NDArray[np.float64]) -> None:
    path = drive.states[:, [State.X, State.Y]]
    axis.plot(*drive.points.T, color=PAPER, lw=1.2, ls="--", zorder=1)
    axis.plot(*path.T, color=OURS, lw=1.8, zorder=2)
    at = np.round(times / ROW_SECONDS).astype(int).clip(0, len(path) - 1)
    axis.plot(*path[at].T, "o", ms=2.5, color=OURS, zorder=3)
    for event in drive.infractions:
        axis.plot(*event.place, "X", ms=6, color=INFRACTION, mec="white", mew=0.6, zorder=4)
    axis.set(aspect="equal", xticks=[], yticks=[])
    axis.set_adjustable("datalim")
    axis.grid(visible=False)
