"""Overview of a model as a figure: what happens when it decides, and what its parts learn from.

Sizes and parameters are read off the configured network, what a loss trains off autograd; nothing is written by hand
but where the boxes stand.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from world4scorer.drawing import style
from world4scorer.drawing.diagram import (
    GIVEN,
    LEARNED,
    RULE,
    TEACHER,
    TEACHER_INK,
    Box,
    arrow_across,
    bent_arrow,
    blank_diagram,
    draw_box,
)
from world4scorer.planner.diagrams.gradient_figure import supervision
from world4scorer.planner.diagrams.gradient_routes import (
    ACTION_ENCODER,
    EGO_ENCODER,
    GENERATOR,
    IMAGE_ENCODER,
    PARTS,
    PLAN_SAMPLING,
    PREDICTOR,
    READOUT,
    SCENE_TOKENS,
    SCORE_HEADS,
    SCREEN,
    GradientRoutes,
    gradient_routes,
)
from world4scorer.planner.diagrams.model_facts import ModelFacts, model_facts
from world4scorer.planner.training.config import TrainConfig

WIDTH: Final = 22.0
UPPER, MIDDLE, LOWER = 7.65, 4.9, 1.75
CHAIN: Final = ("scene", "encoder", "generator", "action", "predictor", "heads", "utility", "rerank")
STEP: Final = 2.6
BOX: Final = (2.2, 1.95)
TEACHER_BOX: Final = (4.0, 2.0)
INCHES: Final = 0.64
"""Of a unit."""
TEACHERS: Final = {"imitation": (6.65, "generator"), "future": (11.5, "readout"), "bank": (15.75, "heads"),
                   "score": (19.85, "heads")}  # fmt: skip
"""Where the box of each loss's labels stands, and to which box its arrow leads."""
MILLION: Final = 1_000_000


def draw_overview(config: TrainConfig, title: str) -> Figure:
    """Deciding above, learning below."""
    facts, routes = model_facts(config.model), gradient_routes(config)
    figure, axes = blank_diagram((WIDTH * INCHES, 9.6 * INCHES), (0, WIDTH), (0.4, 10.0))
    axes.text(0.25, 9.6, title, fontsize=12, weight="bold", color=style.INK, va="center")
    axes.text(0.25, 9.0, "Deciding", fontsize=11, weight="bold", color=style.INK, va="center")
    axes.text(0.25, MIDDLE, "Learning", fontsize=11, weight="bold", color=style.INK, va="center")
    boxes = model_boxes(facts, routes)
    for box in boxes.values():
        draw_box(axes, box, 10.0, 8.2)
    for left, right in pairwise(CHAIN):
        arrow_across(axes, boxes[left], boxes[right])
    end = boxes["rerank"].x + BOX[0] / 2
    axes.annotate(
        "", (end + 0.75, UPPER), (end, UPPER), arrowprops={"arrowstyle": "-|>", "color": style.INK, "lw": 1.6}
    )
    axes.text(end + 0.4, UPPER + 0.2, "plan", ha="center", va="bottom", fontsize=9, color=style.INK)
    top = UPPER + BOX[1] / 2
    bent_arrow(axes, (boxes["encoder"].x, top), (boxes["predictor"].x, top), -0.13, style.INK)
    words = f"{facts.shapes.tokens[0]} scene tokens"
    axes.text((boxes["encoder"].x + boxes["predictor"].x) / 2, top + 0.66, words, ha="center", fontsize=8.5)
    if "readout" in boxes:
        start, stop = (
            (boxes["predictor"].x, UPPER - BOX[1] / 2),
            (boxes["readout"].x, MIDDLE + boxes["readout"].height / 2),
        )
        axes.annotate("", stop, start, arrowprops={"arrowstyle": "-|>", "color": style.INK, "lw": 1.6})
    for loss, box in teacher_boxes(config, routes):
        draw_box(axes, box, 10.0, 8.2)
        _teach(axes, box, boxes[TEACHERS[loss][1]], f"{getattr(config.loss_weights, loss):g} x {loss}")
    total = sum(facts.parameters.values())
    axes.text(
        WIDTH - 0.25, 9.6, f"{total:,} parameters; grey: given or frozen, blue: trained, green: rules, orange: labels",
        ha="right", va="center", fontsize=8.5, color=style.FAINT,
    )  # fmt: skip
    return figure


def model_boxes(facts: ModelFacts, routes: GradientRoutes) -> dict[str, Box]:
    """Boxes of the upper row, and of the readout if there is one."""
    config, shapes = facts.config, facts.shapes
    plans, poses, _ = shapes.plans
    anchored = f"\nof {config.vocabulary} manoeuvres" if config.vocabulary else ""
    encoder = facts.encoder + ("" if IMAGE_ENCODER in routes.trained else "\nfrozen")
    sampled = "\n+ features on its way" if config.plan_sampling else ""
    texts = {
        "scene": f"scene\n{config.cameras} views\n{config.image_height} x {config.image_width}\n"
        f"{config.ego_numbers} ego numbers",
        "encoder": f"encoder\n{encoder}\n{_count(facts, IMAGE_ENCODER, SCENE_TOKENS, EGO_ENCODER)}",
        "generator": f"generator\n{_layers(config.generator_layers)}{anchored}\n{plans} plans x {poses} poses\n"
        f"{_count(facts, GENERATOR, SCREEN)}",
        "action": f"action encoder\n{config.plan_numbers} numbers{sampled}\n"
        f"query of {shapes.states[1]}\n{_count(facts, ACTION_ENCODER, PLAN_SAMPLING)}",
        "predictor": f"predictor\n{_layers(config.predictor_layers)}\nstate of {shapes.states[1]}\nfor each plan\n"
        f"{_count(facts, PREDICTOR)}",
        "heads": f"score heads\n{shapes.logits[1]} outcomes\nof each plan\n{_count(facts, SCORE_HEADS)}",
        "utility": "utility\none number\nfor each plan",
        "rerank": "re-ranking\ndoes it continue\nthe last choice?",
    }
    parts = {"encoder": SCENE_TOKENS, "generator": GENERATOR, "action": ACTION_ENCODER, "predictor": PREDICTOR,
             "heads": SCORE_HEADS}  # fmt: skip
    fills = {name: LEARNED if part in routes.trained else GIVEN for name, part in parts.items()}
    fills |= {"scene": GIVEN, "utility": RULE, "rerank": RULE}
    boxes = {
        name: Box(1.45 + number * STEP, UPPER, *BOX, fills[name], texts[name]) for number, name in enumerate(CHAIN)
    }
    if shapes.future:
        fill = LEARNED if READOUT in routes.trained else GIVEN
        text = f"visual readout\n{shapes.future[-1]} features of a view\n{_count(facts, READOUT)}"
        boxes["readout"] = Box(boxes["predictor"].x, MIDDLE, 3.4, 1.35, fill, text)
    return boxes


def teacher_boxes(config: TrainConfig, routes: GradientRoutes) -> Iterator[tuple[str, Box]]:
    """What each loss compares with, and what it trains; coverage and screen have no box of their own."""
    names = {"imitation": "log", "future": "observed future", "bank": "bank", "score": "simulator"}
    said = supervision(config)
    for loss, (x, _) in TEACHERS.items():
        if loss in said:
            trained = [part for part in PARTS if part in routes.reached[loss]]
            text = f"{names[loss]}\n{said[loss]}\ntrains {_lines(trained)}"
            yield loss, Box(x, LOWER, *TEACHER_BOX, TEACHER, text)


def _lines(parts: list[str]) -> str:
    """Names in lines that fit into a box."""
    lines = [""]
    for number, part in enumerate(parts):
        word = part + ("," if number < len(parts) - 1 else "")
        if lines[-1] and len(lines[-1]) + len(word) > 34:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return "\n".join(lines)


def _layers(count: int) -> str:
    return f"{count} layer" + ("" if count == 1 else "s")


def _count(facts: ModelFacts, *parts: str) -> str:
    count = sum(facts.parameters.get(part, 0) for part in parts)
    return f"{count / MILLION:.2f} M" if count >= 0.01 * MILLION else f"{count:,}"


def _teach(axes: Axes, teacher: Box, pupil: Box, words: str) -> None:
    start, end = (teacher.x, teacher.y + teacher.height / 2), (pupil.x, pupil.y - pupil.height / 2)
    bent_arrow(axes, start, end, 0.0, style.FAULT, "--")
    middle = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
    paper = {"facecolor": style.PAPER, "edgecolor": "none", "pad": 1.5}
    axes.text(*middle, words, ha="center", va="center", fontsize=9, color=TEACHER_INK, bbox=paper)
