"""Probe report of an encoder as JSON, Markdown and a figure: linear probes, maps, and its pretraining curve."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from world4scorer.drawing.charts import chart
from world4scorer.drawing.finding import Table, save_result
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.planner.model.dense_encoder_config import MAP_CLASSES
from world4scorer.planner.pretrained.image_encoder import ImageEncoder
from world4scorer.planner.pretraining.dense_pretrain import open_dense_views
from world4scorer.planner.pretraining.map_iou import REGIONS
from world4scorer.planner.pretraining.map_probe import MapProbe, MapResult
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
    others: Mapping[str, ImageEncoder] | None = None,
    pretraining: Mapping[str, Any] | None = None,
    most: int = 3000,
) -> list[Table]:
    """Probe an encoder and write `out`.json, .md and .png; returns the tables.

    Linear probes need scene stores, looked for below `stores` by split; maps need views with dense labels. `others` are
    encoders whose maps are compared; `pretraining` is the report of the run that made the encoder; `most` limits the
    scenes that probes learn from and the frames that maps are measured on.
    """
    content: dict[str, Any] = {
        "command": command,
        "encoder": encoder.digest(),
        "splits": {"train": train_split, "test": test_split},
        "pretraining": None if pretraining is None else dict(pretraining),
    }
    has_maps = all((DataFolder(data).dense / split).is_dir() for split in (train_split, test_split))
    if (stores / test_split).is_dir() or not has_maps:
        content |= _linear_probes(encoder, data, stores, train_split, test_split, most)
    if has_maps:
        content |= _map_probes(encoder, data, train_split, test_split, most, others)
    pictures = {out.with_suffix(".png"): _draw(content)}
    save_result(out.with_suffix(""), content, to_markdown(content), pictures, allow_nan=True)
    return tables(content)


def _linear_probes(
    encoder: ImageEncoder, data: Path, stores: Path, train_split: str, test_split: str, most: int
) -> dict[str, Any]:
    train = read_probe_set(data, train_split, stores / train_split, encoder, most)
    test = read_probe_set(data, test_split, stores / test_split, encoder, most)
    scenes = {"train": len(train.views), "test": len(test.views)}
    return {"scenes": scenes, "probes": probe_encoder(encoder, train, test)}


def _map_probes(
    encoder: ImageEncoder,
    data: Path,
    train_split: str,
    test_split: str,
    most: int,
    others: Mapping[str, ImageEncoder] | None,
) -> dict[str, Any]:
    train, test = (open_dense_views(data, split) for split in (train_split, test_split))
    probe = MapProbe(train, test, most)
    return {"frames": min(most, len(test)), "maps": probe.measure(encoder, others)}


def to_markdown(content: Mapping[str, Any]) -> str:
    """The report as text."""
    splits = content["splits"]
    parts = ["# What an encoder sees\n", f"Made by `{content['command']}`; encoder {content['encoder']}.\n"]
    if "maps" in content:
        parts += [
            "## Maps\n",
            f"Intersection over union with the true map around the ego, on {content['frames']:,} frames of "
            f"{splits['test']}, streets that were not trained on: cells that a camera sees, and near ones (up to 32 m "
            "ahead, 16 m aside). The encoder has its own heads if it is a dense one; features of the others are read "
            f"by a small head trained on frames of {splits['train']}, where thresholds come from, too.\n",
            map_table(content["maps"]).markdown(),
        ]
    if "probes" in content:
        scenes = content["scenes"]
        parts += [
            "## Linear probes\n",
            f"Ridge regressions on frozen features of the front view, learned on {scenes['train']:,} scenes of "
            f"{splits['train']} and asked on {scenes['test']:,} of {splits['test']}, other streets. 0.5 is chance for "
            "AUC, 0 for R2 (below 0: worse than the mean). Probes of patches have the patch's position in every "
            "column.\n",
            table(content["probes"]).markdown(),
        ]
    run = content["pretraining"]
    if run is not None:
        parts.append(
            f"Pretraining: {run['steps']:,} steps on {run['views']:,} views, {run['seconds']:.0f} s; loss "
            f"{run['first_loss']:.3f} -> {run['last_loss']:.3f}.\n"
        )
    return "\n".join(parts)


def tables(content: Mapping[str, Any]) -> list[Table]:
    """All tables of a report."""
    found = [map_table(content["maps"])] if "maps" in content else []
    return [*found, table(content["probes"])] if "probes" in content else found


def map_table(result: MapResult) -> Table:
    """One row per class, with all cells and near ones side by side."""
    columns = [f"{HEADINGS.get(name, name)}, {region}" for region in REGIONS for name in result]
    rows = [
        (kind, *(_share(result[name][region].get(kind)) for region in REGIONS for name in result))
        for kind in MAP_CLASSES
    ]
    return Table("Maps", ("IoU", *columns), tuple(rows))


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


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
    drawers = [draw for key, draw in DRAWERS.items() if content.get(key) is not None]
    figure, axes = chart(len(drawers), size=(max(6.0, 5.5 * len(drawers)), 4.2), squeeze=False)
    for axis, draw in zip(axes[0], drawers, strict=True):
        draw(axis, content)
    return figure


def _draw_maps(axis: Axes, content: Mapping[str, Any]) -> None:
    result: MapResult = content["maps"]
    width = 0.8 / len(result)
    for number, (name, regions) in enumerate(result.items()):
        values = [regions["near"].get(kind, math.nan) for kind in MAP_CLASSES]
        positions = [row + width * (number - (len(result) - 1) / 2) for row in range(len(MAP_CLASSES))]
        axis.barh(positions, values, width, label=HEADINGS.get(name, name))
    axis.set_yticks(range(len(MAP_CLASSES)), MAP_CLASSES, fontsize=7)
    axis.invert_yaxis()
    axis.legend(fontsize=7, loc="lower right")
    axis.set_title("IoU of near cells", fontsize=9)


def _draw_probes(axis: Axes, content: Mapping[str, Any]) -> None:
    result = content["probes"]
    questions = [question for question in result if question not in SPREAD_QUESTIONS]
    for number, name in enumerate(SOURCES):
        values = [max(0.0, result[question].get(name, math.nan)) for question in questions]
        positions = [row + 0.2 * (number - 1.5) for row in range(len(questions))]
        axis.barh(positions, values, 0.2, label=HEADINGS[name])
    axis.set_yticks(range(len(questions)), [f"{q}, {describe(q)[1]}" for q in questions], fontsize=7)
    axis.invert_yaxis()
    axis.legend(fontsize=7, loc="center right")
    axis.set_title("what linear probes read (below 0 not drawn)", fontsize=9)


def _draw_curve(axis: Axes, content: Mapping[str, Any]) -> None:
    axis.plot(*zip(*content["pretraining"]["curve"], strict=True))
    axis.set(xlabel="step", ylabel="loss")
    axis.set_title("pretraining", fontsize=9)


DRAWERS: Final = {"maps": _draw_maps, "probes": _draw_probes, "pretraining": _draw_curve}
"""Panels of the figure by the part of the report that they need."""
