"""Text panel in the corner of a bird's-eye view, and numbered marks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from world4scorer.drawing import style
from world4scorer.reporting.film.canvas import Canvas
from world4scorer.reporting.film.fonts import load_font

Floats = NDArray[np.float64]

FONT_SIZE: Final = 14.0
"""Font size, in pixels of an image 600 pixels high; the heading is twice as large."""
PANEL_OPACITY: Final = 0.86
"""Opacity of the panel."""
MARK_RADIUS: Final = 9.0
"""Radius of a numbered mark, in pixels of an image 600 pixels high."""


def draw_mark(canvas: Canvas, point: Floats, number: int, taken: list[Floats]) -> None:
    """Draw a number at a point (2,) [m], beside the marks in `taken` [samples], which it is added to."""
    radius = canvas.line_width(MARK_RADIUS)
    place = canvas.pixels(point[None])[0].astype(np.float64)
    while any(np.linalg.norm(place - other) < 2 * radius for other in taken):
        place = place + np.array([2.1 * radius, 0.0])
    taken.append(place)
    draw_number(canvas.brush, place, radius, number)


def draw_number(brush: ImageDraw.ImageDraw, place: Floats, radius: float, number: int) -> None:
    """Draw a number in a disc of a radius at a point (2,) [pixels]."""
    x, y = place.tolist()
    ring = radius * 1.18
    brush.ellipse((x - ring, y - ring, x + ring, y + ring), style.PAPER)
    brush.ellipse((x - radius, y - radius, x + radius, y + radius), style.FAULT)
    brush.text((x, y), str(number), style.PAPER, load_font(max(6, round(1.35 * radius)), bold=True), anchor="mm")


def draw_panel(picture: Image.Image, head: str, note: str, lines: Sequence[tuple[int, str]]) -> None:
    """Draw a heading, a note and numbered lines in the lower left corner; number 0 is not drawn."""
    pen = picture.height / 600
    large, small = load_font(max(8, round(2 * FONT_SIZE * pen)), bold=True), load_font(max(6, round(FONT_SIZE * pen)))
    pad, line = 8 * pen, 1.45 * FONT_SIZE * pen
    gap = 7 * pen
    indent = 1.7 * FONT_SIZE * pen
    line_width = large.getlength(head) + gap + small.getlength(note)
    line_width = max([line_width, *(indent + small.getlength(words) for _, words in lines)])
    base = pad + 1.75 * FONT_SIZE * pen
    tall = round(base + pad + line * len(lines))
    top = picture.height - tall
    box = (0, top, round(line_width + 2 * pad), picture.height)
    area = picture.crop(box)
    picture.paste(Image.blend(area, Image.new("RGB", area.size, style.PAPER), PANEL_OPACITY), box)
    brush = ImageDraw.Draw(picture)
    base += top
    brush.text((pad, base), head, style.INK, large, anchor="ls")
    brush.text((pad + large.getlength(head) + gap, base), note, style.FAINT, small, anchor="ls")
    for row, (number, words) in enumerate(lines):
        y = base + (row + 0.75) * line
        if number:
            draw_number(brush, np.array([pad + 0.55 * FONT_SIZE * pen, y]), 0.55 * FONT_SIZE * pen, number)
        brush.text((pad + indent, y), words, style.INK, small, anchor="lm")
