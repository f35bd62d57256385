"""What keeps the choice below 1, in a film: numbered marks at the places, and the reasons in words."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from world4scorer.film.boxes import corners_of, ego_corners
from world4scorer.film.canvas import Canvas
from world4scorer.film.decisions import Decision
from world4scorer.film.letters import letters
from world4scorer.scene.indices import Box
from world4scorer.view import style
from world4scorer.view.verdict import PLACE_METRICS, TRACK_METRICS, Fault, tracks_of

Floats = NDArray[np.float64]

MARK: Final = 9.0
"""Radius of a number's ground, in pixels of a picture 600 pixels high."""
LETTERS: Final = 14.0
"""Height of letters, in the same pixels; those of the score are twice as high."""
MOST_REASONS: Final = 4
PAPER_SHARE: Final = 0.86
"""How much of the street the ground of the words hides."""
BREAKS: Final = "breaks with the last choice"


def draw_marks(canvas: Canvas, decision: Decision, origin: Floats) -> None:
    """Outline what is behind each fault, and put its number at the place; numbers at one place stand in a row."""
    rollout = decision.outcome.rollouts[decision.chosen]
    taken: list[Floats] = []
    for fault in decision.faults:
        step = min(max(fault.step, 0), len(rollout) - 1)
        if fault.metric in PLACE_METRICS:
            canvas.polygon(ego_corners(rollout[step, :3], origin), None, style.FAULT, 1.8)
        _outline_object(canvas, decision, fault, step, origin)
        place = canvas.pixels((rollout[step, :2] - origin)[None])[0].astype(np.float64)
        while any(np.linalg.norm(place - other) < 2 * canvas.wide(MARK) for other in taken):
            place = place + np.array([2.1 * canvas.wide(MARK), 0.0])
        taken.append(place)
        _draw_number(canvas.brush, place, canvas.wide(MARK), fault.number)


def _outline_object(canvas: Canvas, decision: Decision, fault: Fault, step: int, origin: Floats) -> None:
    if fault.index < 0:
        return
    scene = decision.scene
    if fault.metric in TRACK_METRICS:
        tracks = tracks_of(scene, decision.outcome)
        if tracks.valid[fault.index, step]:
            box = tracks.boxes[fault.index, step]
            length, width = box[Box.LENGTH] / 2, box[Box.WIDTH] / 2
            corners = corners_of(box[:2] - origin, box[Box.HEADING], length, length, width)
            canvas.polygon(corners, None, style.FAULT, 3.0)
    elif fault.metric == "TLC" and scene.lights.polygon[fault.index] >= 0:
        for ring in scene.map.rings(int(scene.lights.polygon[fault.index])):
            canvas.polygon(ring - origin, None, style.FAULT, 2.4)


def _draw_number(brush: ImageDraw.ImageDraw, place: Floats, radius: float, number: int) -> None:
    x, y = place.tolist()
    ring = radius * 1.18
    brush.ellipse((x - ring, y - ring, x + ring, y + ring), style.PAPER)
    brush.ellipse((x - radius, y - radius, x + radius, y + radius), style.FAULT)
    brush.text((x, y), str(number), style.PAPER, letters(max(6, round(1.35 * radius)), bold=True), anchor="mm")


def draw_words(picture: Image.Image, decision: Decision) -> None:
    """Write the score of the frame and the reasons into the lower left corner, behind the ego."""
    pen = picture.height / 600
    large, small = letters(max(8, round(2 * LETTERS * pen)), bold=True), letters(max(6, round(LETTERS * pen)))
    lines = [(fault.number, fault.words) for fault in decision.faults[:MOST_REASONS]]
    if len(decision.faults) > MOST_REASONS:
        lines.append((0, f"and {len(decision.faults) - MOST_REASONS} more"))
    if decision.breaks:
        lines.append((0, BREAKS))
    pad, line = 8 * pen, 1.45 * LETTERS * pen
    head = f"{100 * decision.score:.1f}"
    note = f"EPDMS, plan {decision.chosen}"
    gap = 7 * pen
    indent = 1.7 * LETTERS * pen
    wide = large.getlength(head) + gap + small.getlength(note)
    wide = max([wide, *(indent + small.getlength(words) for _, words in lines)])
    base = pad + 1.75 * LETTERS * pen
    tall = round(base + pad + line * len(lines))
    top = picture.height - tall
    box = (0, top, round(wide + 2 * pad), picture.height)
    area = picture.crop(box)
    picture.paste(Image.blend(area, Image.new("RGB", area.size, style.PAPER), PAPER_SHARE), box)
    brush = ImageDraw.Draw(picture)
    base += top
    brush.text((pad, base), head, style.INK, large, anchor="ls")
    brush.text((pad + large.getlength(head) + gap, base), note, style.FAINT, small, anchor="ls")
    for row, (number, words) in enumerate(lines):
        y = base + (row + 0.75) * line
        if number:
            _draw_number(brush, np.array([pad + 0.55 * LETTERS * pen, y]), 0.55 * LETTERS * pen, number)
        brush.text((pad + indent, y), words, style.INK, small, anchor="lm")
