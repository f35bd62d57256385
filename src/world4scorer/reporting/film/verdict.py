"""Faults of the choice in a film: numbered marks and a text panel."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from world4scorer.drawing import style
from world4scorer.drawing.faults import LOCATED_METRICS, TRACK_METRICS, Fault, tracks_of
from world4scorer.engine.scene.geometry import box_corners
from world4scorer.engine.scene.indices import Box
from world4scorer.reporting.film.canvas import Canvas, ego_corners
from world4scorer.reporting.film.decisions import Decision
from world4scorer.reporting.film.panel import draw_mark, draw_panel

Floats = NDArray[np.float64]

MAX_REASONS: Final = 4
BREAK_TEXT: Final = "breaks with the last choice"


def draw_marks(canvas: Canvas, decision: Decision, origin: Floats) -> None:
    """Outline the cause of each fault and draw its number; numbers at one place are drawn side by side."""
    rollout = decision.outcome.rollouts[decision.chosen]
    taken: list[Floats] = []
    for fault in decision.faults:
        step = min(max(fault.step, 0), len(rollout) - 1)
        if fault.metric in LOCATED_METRICS:
            canvas.polygon(ego_corners(rollout[step, :3], origin), None, style.FAULT, 1.8)
        _outline_object(canvas, decision, fault, step, origin)
        draw_mark(canvas, rollout[step, :2] - origin, fault.number, taken)


def _outline_object(canvas: Canvas, decision: Decision, fault: Fault, step: int, origin: Floats) -> None:
    if fault.index < 0:
        return
    scene = decision.scene
    if fault.metric in TRACK_METRICS:
        tracks = tracks_of(scene, decision.outcome)
        if tracks.valid[fault.index, step]:
            box = tracks.boxes[fault.index, step]
            length, width = box[Box.LENGTH] / 2, box[Box.WIDTH] / 2
            corners = box_corners(np.append(box[:2] - origin, box[Box.HEADING]), length, length, width)
            canvas.polygon(corners, None, style.FAULT, 3.0)
    elif fault.metric == "TLC" and scene.lights.polygon[fault.index] >= 0:
        for ring in scene.map.rings(int(scene.lights.polygon[fault.index])):
            canvas.polygon(ring - origin, None, style.FAULT, 2.4)


def draw_score_panel(picture: Image.Image, decision: Decision) -> None:
    """Draw the score and faults in the lower left corner."""
    lines = [(fault.number, fault.words) for fault in decision.faults[:MAX_REASONS]]
    if len(decision.faults) > MAX_REASONS:
        lines.append((0, f"and {len(decision.faults) - MAX_REASONS} more"))
    if decision.breaks:
        lines.append((0, BREAK_TEXT))
    draw_panel(picture, f"{100 * decision.score:.1f}", f"EPDMS, plan {decision.chosen}", lines)
