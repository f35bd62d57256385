"""The figure of a sheet: a row for each drive.

Frames are 5 s apart around the middle of the drive, as in the paper's scenarios. When drivers are compared, the first
infraction has a further row with frames half a second apart and its surroundings on the map.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from world4scorer.drawing import style
from world4scorer.drawing.charts import PAPER, SERIES, chart
from world4scorer.driving.sheets.sheet_drive import Floats, SheetDrive, SheetFault

FRAMES: Final = 6
"""Camera views of a row."""
COMPARED_FRAMES: Final = 8
"""Camera views of a row where drivers are compared."""
INTERVAL: Final = 5.0
"""s between them."""
ENLARGED_INTERVAL: Final = 0.5
"""s between those of an enlarged infraction, as far apart as decisions."""
ENLARGED_RADIUS: Final = 15.0
"""m of map around an enlarged infraction."""
MARGIN: Final = 0.08
"""Around the map, as a share of its side."""
LEAST_SIDE: Final = 30.0
"""m that a map shows at least."""
PANEL_WIDTH: Final = 1.9
TITLE_HEIGHT: Final = 0.24
LEGEND_HEIGHT: Final = 0.32
"""Inches."""
MAP_RATIO: Final = 0.75
"""Height of a map by its width, where no camera says otherwise."""


def draw_sheet(drives: Sequence[SheetDrive], compared: bool = False) -> Figure:
    """A row for each drive; if compared, the first drive with an infraction has a further row, which enlarges it."""
    if not drives:
        raise ValueError("no drive: nothing to draw")
    count = COMPARED_FRAMES if compared else FRAMES
    rows: list[tuple[SheetDrive, SheetFault | None]] = [(drive, None) for drive in drives]
    faulty = next((drive for drive in drives if drive.faults), None) if compared else None
    if faulty is not None:
        rows.append((faulty, faulty.faults[0]))
    names = list(dict.fromkeys(drive.driver for drive in drives))
    colours = dict(zip(names, SERIES * len(names), strict=False))
    aspect = _aspect(drives)
    height = len(rows) * (PANEL_WIDTH * aspect + TITLE_HEIGHT) + LEGEND_HEIGHT
    figure, axes = chart(count + 1, len(rows), size=(PANEL_WIDTH * (count + 1), height), squeeze=False)
    for panels, (drive, fault) in zip(axes, rows, strict=True):
        if fault is None:
            times = frame_times(drive.duration, count)
        else:
            times = frame_times(drive.duration, count, fault.time, ENLARGED_INTERVAL)
        for panel, time in zip(panels[:count], times, strict=True):
            _draw_frame(panel, drive, time)
        _draw_map(panels[count], drive, drive.place_at(times), colours[drive.driver], fault, aspect)
        said = f"{drive.scenario}, {drive.score:.0f}" if fault is None else fault.words
        panels[0].set_ylabel(f"{drive.driver}\n{said}", fontsize=8, color=colours[drive.driver], weight="bold")
    _legend(figure, names, colours, any(drive.faults for drive in drives))
    return figure


def frame_times(duration: float, count: int, centre: float | None = None, interval: float = INTERVAL) -> Floats:
    """(count,) times around a moment, the middle unless given, moved or squeezed so that they lie in the drive [s]."""
    step = min(interval, duration / (count - 1))
    length = step * (count - 1)
    middle = duration / 2 if centre is None else centre
    first = min(max(0.0, middle - length / 2), duration - length)
    return np.asarray(first + step * np.arange(count), np.float64)


def _aspect(drives: Sequence[SheetDrive]) -> float:
    """Height by width of the cameras' images."""
    images = (drive.frame_at(0.0) for drive in drives)
    return next((image.shape[0] / image.shape[1] for image in images if image is not None), MAP_RATIO)


def _draw_frame(axis: Axes, drive: SheetDrive, time: float) -> None:
    image = drive.frame_at(time)
    _bare(axis)
    axis.set_title(f"{time:.1f} s", fontsize=8, color=style.FAINT, pad=3)
    if image is None:
        axis.text(0.5, 0.5, "no camera", ha="center", va="center", fontsize=8, color=style.FAINT)
    else:
        axis.imshow(image)


def _draw_map(
    axis: Axes, drive: SheetDrive, shown: Floats, colour: str, fault: SheetFault | None, aspect: float
) -> None:
    """Route, path, where the frames were taken, infractions; around one of them if that is enlarged.

    `aspect` is the map's height by its width.
    """
    axis.plot(*drive.route.T, color=PAPER, lw=1.6, ls=(0, (3, 1.6)), zorder=1)
    axis.plot(*drive.path.T, color=colour, lw=2.4, solid_capstyle="round", zorder=2)
    axis.plot(*shown.T, "o", ms=4.2, color=colour, mec=style.PAPER, mew=0.7, zorder=3)
    for one in drive.faults:
        axis.plot(*one.place, "X", ms=8, color=style.FAULT, mec=style.PAPER, mew=0.8, zorder=4)
    if fault is None:
        points = np.concatenate([drive.route, drive.path])
        middle, sides = (points.min(0) + points.max(0)) / 2, np.maximum(np.ptp(points, axis=0), LEAST_SIDE)
        half = sides * (0.5 + MARGIN)
    else:
        middle, half = np.array(fault.place), np.full(2, ENLARGED_RADIUS)
    across = max(half[0], half[1] / aspect)
    axis.set(xlim=(middle[0] - across, middle[0] + across), aspect="equal", facecolor=style.GROUND)
    axis.set_ylim(middle[1] - aspect * across, middle[1] + aspect * across)
    _bare(axis)


def _bare(axis: Axes) -> None:
    axis.set(xticks=[], yticks=[])
    axis.grid(visible=False)
    for side in axis.spines.values():
        side.set_visible(False)


def _legend(figure: Figure, names: Sequence[str], colours: dict[str, str], faults: bool) -> None:
    handles = [Line2D([], [], color=PAPER, lw=1.6, ls=(0, (3, 1.6)), label="route")]
    handles += [
        Line2D(
            [], [], color=colours[name], lw=2.4, marker="o", ms=4.2, mec=style.PAPER, label=f"driven by {name}; frames"
        )
        for name in names
    ]
    if faults:
        handles.append(Line2D([], [], lw=0, marker="X", ms=8, color=style.FAULT, mec=style.PAPER, label="infraction"))
    figure.legend(handles=handles, loc="outside lower right", ncols=len(handles), frameon=False, fontsize=8)
