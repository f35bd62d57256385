"""Pictures of an evaluation: a chart of who succeeds how often, and rescued windows frame by frame."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image, ImageDraw

from world4scorer.cube.cases import Case, Course, Stage, open_stage, rescued, rescued_cases
from world4scorer.cube.errors import CubeError
from world4scorer.cube.evaluate import Player, Results
from world4scorer.cube.play import Played
from world4scorer.cube.simulator.camera import Look
from world4scorer.cube.success import LABELS, Starts, gain, gains_by_seed, successes
from world4scorer.cube.windows import Window
from world4scorer.drawing import style
from world4scorer.drawing.charts import BAD, GOOD, OTHER, OURS, chart, set_title
from world4scorer.jobs.files import atomic_write
from world4scorer.reporting.film.letters import letters

DPI: Final = 130
ROW: Final = 0.36
"""Height for a player [inches]."""
APART: Final = 0.15
"""Between the two shares of a player, in rows."""

FRAMES: Final = 8
SIDE: Final = 152
"""Of a frame [pixels]."""
GAP: Final = 4
MARGIN: Final = 14
NAMES: Final = 84
"""Width for the players' names [pixels]."""
HEAD: Final = 26
"""Height for what a case is [pixels]."""
FOOT: Final = 40
SHORT: Final = ("LeWM", "LeWM\n+ outcome\nscore")
COLOURS: Final = 256


def players_figure(results: Results) -> Figure:
    """Success of every player; beside it what outcome scores change on each seed, where both were played."""
    if not results:
        raise CubeError("nobody played: there is nothing to draw")
    paired = {Player.ANCHOR, Player.OURS} <= {*results}
    size = (9.6 if paired else 5.4, 2.1 + ROW * len(results))
    figure, axes = chart(2 if paired else 1, size=size)
    shares, *rest = np.atleast_1d(axes)
    _draw_shares(shares, results)
    for axis in rest:
        _draw_seeds(axis, results)
    return figure


def _draw_shares(axis: Axes, results: Results) -> None:
    """Dots with their intervals, a row for each player."""
    for starts, colour, marker, shift in ((Starts.ALL, OURS, "o", -APART), (Starts.UNSOLVED, OTHER, "D", APART)):
        found = [successes(results, player, starts).share.times(100) for player in results]
        rows = np.arange(len(found)) + shift
        axis.hlines(rows, [one.low for one in found], [one.high for one in found], color=colour, lw=1.6)
        axis.plot([one.value for one in found], rows, marker, color=colour, ms=5.5, label=str(starts))
    windows = {player: successes(results, player).windows for player in results}
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
    mean = gain(results, Player.OURS, Player.ANCHOR).share.times(100)
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


def draw_cases(episodes_folder: Path, results: Results, path: Path, count: int = 4, quality: Look = "stock") -> int:
    """Draw rescued windows (PNG): for each, eight frames of LeWM above eight with outcome scores.

    Those are shown that LeWM left furthest from the goal. Returns how many there are.

    Raises:
        NothingRescued: There is none.
        CubeError: The episodes are missing or others, or a way does not end where it did.
    """
    if path.suffix.lower() != ".png":
        raise CubeError(f"{path}: the figure is a PNG; name it so")
    cases = rescued_cases(episodes_folder, results, count)
    tall = HEAD + 2 * (SIDE + GAP)
    width = 2 * MARGIN + NAMES + FRAMES * (SIDE + GAP) - GAP
    sheet = Image.new("RGB", (width, MARGIN + len(cases) * tall + FOOT), style.PAPER)
    with open_stage(SIDE, quality) as stage:
        for number, case in enumerate(cases):
            _draw_case(sheet, MARGIN + number * tall, case, stage)
    note = (
        "Numbers: steps of 0.05 s. Drop: the gripper has released the cube. Translucent: the goal.  "
        f"Of {len(rescued(results))} episodes with a rescued window, those that LeWM left furthest from the goal."
    )
    at = (MARGIN, sheet.height - FOOT / 2)
    ImageDraw.Draw(sheet).text(at, note, style.FAINT, letters(13), anchor="lm")
    small = sheet.quantize(COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    with atomic_write(path) as stream:
        small.save(stream, format="PNG", optimize=True)
    return len(cases)


def frame_steps(course: Course) -> list[int]:
    """Which steps are shown: evenly spaced ones from first to last, the nearest of them moved to the drop."""
    steps = sorted({round(step) for step in np.linspace(0, course.last, FRAMES).tolist()})
    if course.drop is not None and course.drop not in steps and len(steps) > 2:
        inner = range(1, len(steps) - 1)
        steps[min(inner, key=lambda place: abs(steps[place] - (course.drop or 0)))] = course.drop
    return sorted(steps)


def _draw_case(sheet: Image.Image, top: int, case: Case, stage: Stage) -> None:
    brush = ImageDraw.Draw(sheet)
    state = "held at the start" if case.window.held else "not held at the start"
    told = f"{case.window.name}: cube {state}, {100 * case.window.start_distance:.1f} cm from its goal"
    brush.text((MARGIN + NAMES, top + HEAD / 2), told, style.INK, letters(13), anchor="lm")
    for row, (_, played) in enumerate(case.played()):
        _draw_row(sheet, top + HEAD + row * (SIDE + GAP), SHORT[row], case.window, played, stage)


def _draw_row(sheet: Image.Image, top: int, name: str, window: Window, played: Played, stage: Stage) -> None:
    brush = ImageDraw.Draw(sheet)
    brush.multiline_text((MARGIN, top + SIDE / 2), name, style.INK, letters(13, bold=True), anchor="lm", spacing=3)
    course = stage.course(window, played)
    steps = frame_steps(course)
    pictures = stage.pictures(window, played, steps)
    for place, step in enumerate(steps):
        left = MARGIN + NAMES + place * (SIDE + GAP)
        sheet.paste(pictures[step], (left, top))
        tag(brush, (left, top), str(step), style.INK)
        if step == course.drop:
            tag(brush, (left + SIDE - 38, top), "Drop", BAD, 38)
        if step == course.last:
            badge(brush, (left, top + SIDE - 22), SIDE, played)


def tag(brush: ImageDraw.ImageDraw, at: tuple[int, int], words: str, colour: str, width: int = 24) -> None:
    """A few letters in the corner of a frame."""
    x, y = at
    brush.rectangle((x, y, x + width - 1, y + 17), style.PAPER)
    brush.text((x + width / 2, y + 9), words, colour, letters(12, bold=True), anchor="mm")


def badge(brush: ImageDraw.ImageDraw, at: tuple[int, int], width: int, played: Played) -> None:
    """What became of a window, 22 pixels high."""
    x, y = at
    words = f"{'success' if played.success else 'failure'}, {100 * played.final_metres:.1f} cm"
    brush.rectangle((x, y, x + width - 1, y + 21), GOOD if played.success else BAD)
    brush.text((x + width / 2, y + 11), words, style.PAPER, letters(13, bold=True), anchor="mm")
