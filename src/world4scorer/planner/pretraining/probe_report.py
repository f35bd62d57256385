"""Probe report of an encoder as JSON, Markdown and a figure, with its pretraining curve."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from matplotlib.figure import Figure

from world4scorer.drawing.charts import chart
from world4scorer.drawing.finding import Table, save_result
from world4scorer.planner.model.image_encoder import ImageEncoder
from world4scorer.planner.pretraining.probe import Result, probe_encoder
from world4scorer.planner.pretraining.probe_labels import (
    PATCH_QUESTIONS,
    SCENE_QUESTIONS,
    SPREAD_QUESTIONS,
    read_probe_set,
)

SOURCES: Final = ("encoder", "random", "pixels", "place")
HEADINGS: Final = {
    "encoder": "encoder",
    "random": "random weights",
    "pixels": "mean colour per patch",
    "place": "place alone",
}
READINGS: Final = {"mean": "mean over patches", "grid": "grid of averages"}


def probe_report(
    encoder: ImageEncoder,
    data: Path,
    stores: Path,
    train_split: str,
    test_split: str,
    out: Path,
    *,
    command: str,
    pretraining: Mapping[str, Any] | None = None,
    most: int = 3000,
) -> Result:
    """Probe an encoder and write `out`.json, .md and .png. Stores are looked for below `stores`, by split.

    `pretraining` is the report of the run that made the encoder; `most` limits the scenes that probes learn from.
    """
    train = read_probe_set(data, train_split, stores / train_split, encoder.config, most)
    test = read_probe_set(data, test_split, stores / test_split, encoder.config, most)
    result = probe_encoder(encoder, train, test)
    content = {
        "command": command,
        "encoder": encoder.digest(),
        "train": {"split": train_split, "scenes": len(train.views)},
        "test": {"split": test_split, "scenes": len(test.views)},
        "probes": result,
        "pretraining": None if pretraining is None else dict(pretraining),
    }
    pictures = {out.with_suffix(".png"): _draw(content)}
    save_result(out.with_suffix(""), content, to_markdown(content), pictures, allow_nan=True)
    return result


def to_markdown(content: Mapping[str, Any]) -> str:
    """The report as text."""
    train, test = content["train"], content["test"]
    parts = [
        "# What linear probes read from an encoder\n",
        f"Made by `{content['command']}`; encoder {content['encoder']}.\n",
        f"Ridge regressions on frozen features of the front view, learned on {train['scenes']:,} scenes of "
        f"{train['split']} and asked on {test['scenes']:,} of {test['split']}, other streets. 0.5 is chance for AUC, "
        "0 for R2 (below 0: worse than the mean). Probes of patches have the patch's position in every column.\n",
        table(content["probes"]).markdown(),
    ]
    run = content["pretraining"]
    if run is not None:
        parts.append(
            f"Pretraining: {run['steps']:,} steps on {run['views']:,} views, {run['seconds']:.0f} s; loss "
            f"{run['first_loss']:.3f} -> {run['last_loss']:.3f}.\n"
        )
    return "\n".join(parts)


def table(result: Result) -> Table:
    """One row per question."""
    cells = {q: [f"{values[name]:.3f}" if name in values else "" for name in SOURCES] for q, values in result.items()}
    rows = tuple((*describe(question), *values) for question, values in cells.items())
    return Table("Linear probes", ("question", "measure", *HEADINGS.values()), rows)


def describe(question: str) -> tuple[str, str]:
    """A question in words, and how it is measured."""
    for questions in (PATCH_QUESTIONS, SPREAD_QUESTIONS):
        if question in questions:
            return questions[question]
    name, _, reading = question.rstrip(")").partition(" (")
    text, measure = SCENE_QUESTIONS[name]
    return f"{text}, from the {READINGS[reading]}", measure


def _draw(content: Mapping[str, Any]) -> Figure:
    result, run = content["probes"], content["pretraining"]
    figure, axes = chart(1 if run is None else 2, size=(6 if run is None else 11, 4.2), squeeze=False)
    questions = [question for question in result if question not in SPREAD_QUESTIONS]
    for number, name in enumerate(SOURCES):
        values = [max(0.0, result[question].get(name, math.nan)) for question in questions]
        positions = [row + 0.2 * (number - 1.5) for row in range(len(questions))]
        axes[0, 0].barh(positions, values, 0.2, label=HEADINGS[name])
    axes[0, 0].set_yticks(range(len(questions)), [f"{q}, {describe(q)[1]}" for q in questions], fontsize=7)
    axes[0, 0].invert_yaxis()
    axes[0, 0].legend(fontsize=7, loc="center right")
    axes[0, 0].set_title("what linear probes read (below 0 not drawn)", fontsize=9)
    if run is not None:
        axes[0, 1].plot(*zip(*run["curve"], strict=True))
        axes[0, 1].set(xlabel="step", ylabel="loss")
        axes[0, 1].set_title("pretraining", fontsize=9)
    return figure
