"""Figures of an evaluation: success by player, and rescued windows frame by frame."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image, ImageDraw

from world4scorer.cube.cases import Case, ReplayTrace, WindowRenderer, open_renderer, rescued_cases, rescued_pairs
from world4scorer.cube.errors import CubeError
from world4scorer.cube.evaluate import Player, Results
from world4scorer.cube.play import WindowResult
from world4scorer.cube.simulator.camera import RenderQuality
from world4scorer.cube.success import LABELS, Starts, count_successes, gains_by_seed, measure_gain
from world4scorer.cube.windows import Window
from world4scorer.drawing import style
from world4scorer.drawing.charts import BAD, GOOD, OTHER, OURS, chart, set_title
from world4scorer.jobs.files import atomic_write
from world4scorer.reporting.film.fonts import load_font

DPI: Final = 130
ROW_HEIGHT: Final = 0.36
"""Height of a player's row [inches]."""
MARKER_OFFSET: Final = 0.15
"""Offset of the two markers from the middle of a row, in rows."""

FRAMES_PER_ROW: Final = 8
FRAME_SIDE: Final = 152
"""Side of a frame [pixels]."""
GAP: Final = 4
MARGIN: Final = 14
NAME_WIDTH: Final = 84
"""Width of the column of names [pixels]."""
HEADER_HEIGHT: Final = 26
"""Height of a case's header [pixels]."""
FOOTER_HEIGHT: Final = 40
SHORT_NAMES: Final = ("LeWM", "LeWM\n+ outcome\nscore")
PALETTE_SIZE: Final = 256


def players_figure(results: Results) -> Figure:
    """Success of every player, and the change by outcome scores on each seed if both were played."""
    if not results:
        raise CubeError("no results: there is nothing to draw")
    paired = {Player.ANCHOR, Player.OURS} <= {*results}
    size = (9.6 if paired else 5.4, 2.1 + ROW_HEIGHT * len(results))
    figure, axes = chart(2 if paired else 1, size=size)
    shares, *rest = np.atleast_1d(axes)
    _draw_shares(shares, results)
    for axis in rest:
        _draw_seeds(axis, results)
    return figure


def _draw_shares(axis: Axes, results: Results) -> None:
    """Dots with their intervals, a row for each player."""
    for starts, colour, marker, shift in (
        (Starts.PUBLISHED, OURS, "o", -MARKER_OFFSET),
        (Starts.MODERATE, OTHER, "D", MARKER_OFFSET),
    ):
        found = [count_successes(results, player, starts).share.times(100) for player in results]
        rows = np.arange(len(found)) + shift
        axis.hlines(rows, [one.low for one in found], [one.high for one in found], color=colour, lw=1.6)
        axis.plot([one.value for one in found], rows, marker, color=colour, ms=5.5, label=str(starts))
    windows = {player: count_successes(results, player).windows for player in results}
    fewer = {player: f"\n({count} windows)" for player, count in windows.items() if count < max(windows.values())}
    axis.set_yticks(range(len(results)), [LABELS[player] + fewer.get(player, "") for player in results])
    axis.set_ylim(len(results) - 0.4, -0.6)
    axis.set_xlim(-2, 102)
    axis.grid(axis="y", visible=False)
    axis.grid(axis="x", color=style.ROAD, lw=0.8)
    axis.tick_params(axis="y", length=0)
    axis.legend(loc="upper left", bbox_to_anchor=(0, 0), borderaxespad=2.6, ncols=2, fontsize=8, frameon=False)
    set_title(axis, "Success [%], 95 % intervals")


def _draw_seeds(axis: Axes, results: Results) -> None:
    """A bar for each seed, and their mean with its interval."""
    by_seed = gains_by_seed(results, Player.OURS, Player.ANCHOR)
    changes = [100 * one.share.value for one in by_seed.values()]
    mean = measure_gain(results, Player.OURS, Player.ANCHOR).share.times(100)
    places = range(len(changes))
    axis.bar(places, changes, 0.62, color=[BAD if change < 0 else GOOD for change in changes])
    axis.plot([i for i in places if not changes[i]], [0.0] * changes.count(0), "o", color=style.FAINT, ms=4)
    axis.axhline(0, color=style.FAINT, lw=0.8)
    if not np.isnan(mean.low):
        axis.axhspan(mean.low, mean.high, color=OURS, alpha=0.14, lw=0)
    axis.axhline(mean.value, color=OURS, lw=1.4, label=f"mean {mean.text(signed=True)}")
    axis.set_xticks(places, [str(seed) for seed in by_seed])
    axis.set_xlabel("seed")
    axis.margins(y=0.15)
    axis.legend(loc="best", fontsize=8, frameon=False)
    set_title(axis, "Outcome score added: change in points")


def draw_cases(
    episodes_folder: Path, results: Results, path: Path, count: int = 4, quality: RenderQuality = "stock"
) -> int:
    """Draw rescued windows as PNG: eight frames of LeWM above eight with outcome scores; returns their number.

    Windows with the largest final distance of LeWM are shown; raises NothingRescued if there is none.
    """
    if path.suffix.lower() != ".png":
        raise CubeError(f"{path}: the figure is a PNG; name it so")
    cases = rescued_cases(episodes_folder, results, count)
    tall = HEADER_HEIGHT + 2 * (FRAME_SIDE + GAP)
    width = 2 * MARGIN + NAME_WIDTH + FRAMES_PER_ROW * (FRAME_SIDE + GAP) - GAP
    sheet = Image.new("RGB", (width, MARGIN + len(cases) * tall + FOOTER_HEIGHT), style.PAPER)
    with open_renderer(FRAME_SIDE, quality) as renderer:
        for number, case in enumerate(cases):
            _draw_case(sheet, MARGIN + number * tall, case, renderer)
    note = (
        "Numbers: steps of 0.05 s. Drop: the gripper has released the cube. Translucent: the goal.  "
        f"Of {len(rescued_pairs(results))} episodes with a rescued window, those that LeWM left furthest from the goal."
    )
    at = (MARGIN, sheet.height - FOOTER_HEIGHT / 2)
    ImageDraw.Draw(sheet).text(at, note, style.FAINT, load_font(13), anchor="lm")
    small = sheet.quantize(PALETTE_SIZE, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    with atomic_write(path) as stream:
        small.save(stream, format="PNG", optimize=True)
    return len(cases)


def frame_steps(trace: ReplayTrace) -> list[int]:
    """Evenly spaced steps to show, the nearest of them moved to the drop."""
    steps = sorted({round(step) for step in np.linspace(0, trace.last, FRAMES_PER_ROW).tolist()})
    if trace.drop is not None and trace.drop not in steps and len(steps) > 2:
        inner = range(1, len(steps) - 1)
        steps[min(inner, key=lambda index: abs(steps[index] - (trace.drop or 0)))] = trace.drop
    return sorted(steps)


def _draw_case(sheet: Image.Image, top: int, case: Case, renderer: WindowRenderer) -> None:
    brush = ImageDraw.Draw(sheet)
    state = "held at the start" if case.window.held else "not held at the start"
    header = f"{case.window.name}: cube {state}, {100 * case.window.start_distance:.1f} cm from its goal"
    brush.text((MARGIN + NAME_WIDTH, top + HEADER_HEIGHT / 2), header, style.INK, load_font(13), anchor="lm")
    for row, (_, played) in enumerate(case.played()):
        _draw_row(
            sheet, top + HEADER_HEIGHT + row * (FRAME_SIDE + GAP), SHORT_NAMES[row], case.window, played, renderer
        )


def _draw_row(
    sheet: Image.Image, top: int, name: str, window: Window, played: WindowResult, renderer: WindowRenderer
) -> None:
    brush = ImageDraw.Draw(sheet)
    brush.multiline_text(
        (MARGIN, top + FRAME_SIDE / 2), name, style.INK, load_font(13, bold=True), anchor="lm", spacing=3
    )
    trace = renderer.trace(window, played)
    steps = frame_steps(trace)
    pictures = renderer.pictures(window, played, steps)
    for index, step in enumerate(steps):
        left = MARGIN + NAME_WIDTH + index * (FRAME_SIDE + GAP)
        sheet.paste(pictures[step], (left, top))
        draw_tag(brush, (left, top), str(step), style.INK)
        if step == trace.drop:
            draw_tag(brush, (left + FRAME_SIDE - 38, top), "Drop", BAD, 38)
        if step == trace.last:
            draw_badge(brush, (left, top + FRAME_SIDE - 22), FRAME_SIDE, played)


def draw_tag(brush: ImageDraw.ImageDraw, at: tuple[int, int], words: str, colour: str, width: int = 24) -> None:
    """Draw a label in the corner of a frame."""
    x, y = at
    brush.rectangle((x, y, x + width - 1, y + 17), style.PAPER)
    brush.text((x + width / 2, y + 9), words, colour, load_font(12, bold=True), anchor="mm")


def draw_badge(brush: ImageDraw.ImageDraw, at: tuple[int, int], width: int, played: WindowResult) -> None:
    """Draw the result of a window, 22 pixels high."""
    x, y = at
    words = f"{'success' if played.success else 'failure'}, {100 * played.final_metres:.1f} cm"
    brush.rectangle((x, y, x + width - 1, y + 21), GOOD if played.success else BAD)
    brush.text((x + width / 2, y + 11), words, style.PAPER, load_font(13, bold=True), anchor="mm")
