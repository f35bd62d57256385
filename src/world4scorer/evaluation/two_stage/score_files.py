"""The official CSV of a two-stage evaluation, and a summary beside it.

A row for each token, which fills the columns of its own stage, then three rows with the means of the first stage, of
the second, and of both with the combined score. Weights are not in it; `explain` shows them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from world4scorer import __version__
from world4scorer.evaluation.scores.tables import TableText
from world4scorer.evaluation.two_stage.evaluate import COLUMNS, MAX_LISTED, TwoStageResult
from world4scorer.evaluation.two_stage.groups import first_stage_tokens, second_stage_tokens
from world4scorer.jobs.files import atomic_write, write_csv

STAGES: Final = ("stage_one", "stage_two")
ROWS: Final = tuple(f"extended_pdm_score_{name}" for name in (*STAGES, "combined"))
"""Tokens of the last three rows."""


def write_scores(result: TwoStageResult, path: Path) -> None:
    """Write the CSV, and beside it a JSON file that says how the numbers came about."""
    wanted = list(result.wanted)
    names = [f"{name}_{stage}" for stage in STAGES for name in COLUMNS]
    rows: list[list[Any]] = [["", "token", "valid", *names, "score"]]
    tokens = [(token, 0) for token in first_stage_tokens(wanted)]
    tokens += [(token, 1) for token in second_stage_tokens(wanted)]
    for token, stage in tokens:
        frame = result.frames.get(token)
        rows.append(_row(token, frame is not None, {} if frame is None else {stage: frame.row}))
    one, two = result.means(1), result.means(2)
    for token, parts, score in zip(ROWS, ({0: one}, {1: two}, {0: one, 1: two}), _scores(result), strict=True):
        rows.append([*_row(token, result.valid, parts)[:-1], repr(score)])
    write_csv(path, [rows[0], *([index, *row] for index, row in enumerate(rows[1:]))])
    with atomic_write(path.with_suffix(".json")) as stream:
        stream.write(json.dumps(summary(result), indent=2, allow_nan=False).encode() + b"\n")


def _scores(result: TwoStageResult) -> tuple[float, float, float]:
    return result.stage_one, result.stage_two, result.combined


def _row(token: str, valid: bool, parts: Mapping[int, Mapping[str, Any]]) -> list[Any]:
    cells = ["" if stage not in parts else repr(float(parts[stage][name])) for stage in range(2) for name in COLUMNS]
    score = next((repr(float(row["score"])) for row in parts.values()), "")
    return [token, valid, *cells, score]


def summary(result: TwoStageResult) -> dict[str, Any]:
    """Scores, counts, settings, and what was left out, as plain values."""
    one, two, combined = _scores(result)
    return {
        "metric": result.metric,
        "lqr": result.lqr,
        "traffic": result.traffic,
        "world4scorer": __version__,
        "combined": combined,
        "stage_one": one,
        "stage_two": two,
        "valid": result.valid,
        "groups": len(result.groups),
        "groups_of_split": len(result.wanted),
        "uniform_weights": sum(part.weights.uniform for part in result.by_frame),
        "left_out": dict(result.problems),
    }


def stage_table(result: TwoStageResult) -> TableText:
    """Means of both stages, for a terminal."""
    one, two = result.means(1), result.means(2)
    rows = [(name, f"{one[name]:.4f}", f"{two[name]:.4f}") for name in (*COLUMNS, "score")]
    title = f"{result.metric}, {result.traffic} traffic, {len(result.groups)} groups"
    return title, ("mean", "stage one", "stage two"), rows


def verdict(result: TwoStageResult) -> str:
    """The combined score in a sentence, and whether it is the official one."""
    score = f"combined {result.combined:.4f} of {len(result.groups)} groups"
    uniform = sum(part.weights.uniform for part in result.by_frame)
    notes = [f"uniform weights for {uniform} of {len(result.by_frame)} frames"]
    if not result.valid:
        listed = "; ".join(f"{token}: {reason}" for token, reason in list(result.problems.items())[:MAX_LISTED])
        notes.append(
            f"PARTIAL: not comparable with official results; {len(result.problems)} frames are missing or failed "
            f"({listed}{'; ...' if len(result.problems) > MAX_LISTED else ''}), "
            f"{len(result.wanted) - len(result.groups)} groups are left out"
        )
    return f"{score}, {', '.join(notes)}"
