"""A film of rescued windows: LeWM on the left, with outcome scores on the right, from the same start to the same goal.

Example::

    film_cases(Path("cube/data"), read_played(Path("cube/played")), Path("rescued.webp"))
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from PIL import Image, ImageDraw

from world4scorer.cube.cases import Case, ReplayTrace, WindowRenderer, open_renderer, rescued_cases
from world4scorer.cube.evaluate import Results
from world4scorer.cube.figure import draw_badge
from world4scorer.cube.simulator.camera import RenderQuality
from world4scorer.drawing import style
from world4scorer.reporting.film.files import check_film, write_film
from world4scorer.reporting.film.fonts import load_font

FPS: Final = 8.0
STEPS_PER_FRAME: Final = 2
"""Steps per frame: the film runs at 0.8 of real time."""
END_HOLD_SECONDS: Final = 2.0
"""How long the last frame of a window is held [s]."""
FRAME_SIDE: Final = 256
"""Side of a player's image [pixels]."""
GAP: Final = 8
HEADER_HEIGHT: Final = 56
FOOTER_HEIGHT: Final = 36


def film_cases(
    episodes_folder: Path, results: Results, path: Path, count: int = 3, quality: RenderQuality = "stock"
) -> int:
    """Film rescued windows to `path`: WebP, MP4 or GIF by its ending.

    Windows with the largest final distance of LeWM are shown; returns their number, or raises NothingRescued.
    """
    check_film(path, FPS)
    cases = rescued_cases(episodes_folder, results, count)
    write_film(path, _frames(cases, quality), FPS)
    return len(cases)


def shown_steps(last: int) -> list[int]:
    """Steps to show of a window whose longer replay has `last` steps."""
    return [*range(0, last, STEPS_PER_FRAME), last]


def _frames(cases: Sequence[Case], quality: RenderQuality) -> Iterator[Image.Image]:
    with open_renderer(FRAME_SIDE, quality) as renderer:
        for number, case in enumerate(cases, 1):
            yield from _case_frames(case, f"{number} of {len(cases)}: {case.window.name}", renderer)


def _case_frames(case: Case, title: str, renderer: WindowRenderer) -> Iterator[Image.Image]:
    """Frames of a case; the shorter replay holds its last frame."""
    played = [one for _, one in case.played()]
    traces = [renderer.trace(case.window, one) for one in played]
    steps = shown_steps(max(trace.last for trace in traces))
    pictures = [
        renderer.pictures(case.window, one, {min(step, trace.last) for step in steps})
        for trace, one in zip(traces, played, strict=True)
    ]
    page = Image.new("RGB", (2 * FRAME_SIDE + 3 * GAP, HEADER_HEIGHT + FRAME_SIDE + FOOTER_HEIGHT), style.PAPER)
    brush = ImageDraw.Draw(page)
    brush.text((GAP, 4), title, style.FAINT, load_font(13))
    for index, (name, _) in enumerate(case.played()):
        at = (_left(index), HEADER_HEIGHT - 6)
        brush.text(at, name, style.INK, load_font(16, bold=True), anchor="ls")
    for step in steps:
        page = page.copy()
        for index, trace in enumerate(traces):
            now = min(step, trace.last)
            _draw_player(page, index, trace, now, pictures[index][now])
            if now == trace.last:
                at = (_left(index), HEADER_HEIGHT + FRAME_SIDE - 22)
                draw_badge(ImageDraw.Draw(page), at, FRAME_SIDE, played[index])
        yield page
    for _ in range(round(END_HOLD_SECONDS * FPS)):
        yield page


def _left(index: int) -> int:
    return GAP + index * (FRAME_SIDE + GAP)


def _draw_player(page: Image.Image, index: int, trace: ReplayTrace, step: int, picture: Image.Image) -> None:
    """Draw one half of a frame."""
    brush = ImageDraw.Draw(page)
    left, low = _left(index), HEADER_HEIGHT + FRAME_SIDE
    page.paste(picture, (left, HEADER_HEIGHT))
    brush.rectangle((left, low, left + FRAME_SIDE, page.height), style.PAPER)
    brush.text((left, low + FOOTER_HEIGHT / 2), f"step {step}", style.INK, load_font(15), anchor="lm")
    distance = f"{100 * trace.metres[step]:.1f} cm to the goal"
    brush.text((left + FRAME_SIDE, low + FOOTER_HEIGHT / 2), distance, style.INK, load_font(15), anchor="rm")
