"""Where a two-stage score is lost: group by group, and inside a group by frame.

What a frame costs is how much the combined score would rise if the frame had score 1: (1 - A) B / 2G for a recorded
frame, A w_i (1 - s_i) / 2G for a follow-up, with G groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from world4scorer.engine.scene.geometry import Floats
from world4scorer.evaluation.scores.tables import TableText
from world4scorer.evaluation.two_stage.evaluate import COLUMNS, FrameResult, GroupScore, TwoStageResult
from world4scorer.evaluation.two_stage.groups import FRAMES, Frame, StageGroup
from world4scorer.jobs.files import write_csv

SHORT_NAMES: Final = dict(zip(COLUMNS, ("NC", "DAC", "DDC", "TLC", "EP", "TTC", "LK", "HC", "EC"), strict=True))
MOST_GROUPS: Final = 20
"""Groups shown on a terminal, those that cost most."""


@dataclass(frozen=True)
class FrameCost:
    """A frame and what it costs."""

    token: str
    stage: int
    frame: Frame
    score: float
    weight: float
    """Share in its stage's score; 1 for recorded frames."""
    distance: float | None
    """From the end of the first-stage plan to its beginning [m]; None for recorded frames."""
    cost: float
    """Loss of the combined score."""
    why: str
    """Metrics below 1 with their causes."""


@dataclass(frozen=True)
class GroupCost:
    """A group and what it costs."""

    group: StageGroup
    parts: tuple[GroupScore, GroupScore]
    """Of `now` and of `previous`."""
    cost: float
    """Loss of the combined score against a group of score 1."""
    frames: tuple[FrameCost, ...]
    """In the order of the mapping."""

    @property
    def worst(self) -> FrameCost:
        """The frame that costs most; the first of equal ones."""
        return max(self.frames, key=lambda frame: frame.cost)


def explain_score(result: TwoStageResult) -> list[GroupCost]:
    """Explain a result, the most costly group first."""
    count = len(result.groups)
    found = []
    for index, group in enumerate(result.groups):
        now, previous = result.by_frame[2 * index : 2 * index + 2]
        gained = (now.first * now.second + previous.first * previous.second) / 2
        frames = [cost for part in (now, previous) for cost in _frame_costs(result, part, count)]
        order = {token: place for place, token in enumerate(token for pair in group.pairs for token in pair)}
        frames.sort(key=lambda frame: order[frame.token])
        found.append(GroupCost(group, (now, previous), (1 - gained) / count, tuple(frames)))
    return sorted(found, key=lambda each: -each.cost)


def _frame_costs(result: TwoStageResult, part: GroupScore, count: int) -> list[FrameCost]:
    token = part.group.first(part.frame)
    own = result.frames[token]
    cost = (1 - part.first) * part.second / (2 * count)
    costs = [FrameCost(token, 1, part.frame, part.first, 1.0, None, cost, describe(own))]
    weights: Floats = part.weights.weights
    for place, name in enumerate(part.group.second(part.frame)):
        frame = result.frames[name]
        score, weight = float(frame.row["score"]), float(weights[place])
        cost = part.first * weight * (1 - score) / (2 * count)
        distance = float(part.weights.distances[place])
        costs.append(FrameCost(name, 2, part.frame, score, weight, distance, cost, describe(frame)))
    return costs


def describe(frame: FrameResult) -> str:
    """Metrics of a frame below 1, with when and by what, e.g. `NC 0 (1.3 s: 7f03), EP 0.87`."""
    parts = []
    for column, name in SHORT_NAMES.items():
        value = float(frame.row[column])
        if value < 1:
            cause = frame.outcome.causes[name].of(0) if name in frame.outcome.causes else None
            parts.append(f"{name} {value:.3g}" + (f" ({cause})" if cause else ""))
    return ", ".join(parts) or "-"


def cost_tables(costs: Sequence[GroupCost]) -> list[TableText]:
    """Tables for a terminal: the groups that cost most, and the frames of the first of them."""
    head = ("group", "now A", "now B", "previous A", "previous B", "weights", "cost", "most costly frame", "why")
    rows = []
    for each in costs[:MOST_GROUPS]:
        scores = [f"{value:.3f}" for part in each.parts for value in (part.first, part.second)]
        uniform = [part.frame for part in each.parts if part.weights.uniform]
        note = "uniform" if len(uniform) == len(FRAMES) else f"uniform ({uniform[0]})" if uniform else "by distance"
        worst = f"{each.worst.token} (stage {each.worst.stage}, {each.worst.cost:.4f})"
        rows.append((each.group.now, *scores, note, f"{each.cost:.4f}", worst, each.worst.why))
    shown = f"groups, the most costly first (A: first stage, B: second; {len(rows)} of {len(costs)})"
    return [(shown, head, rows), _frame_table(costs[0])]


def _frame_table(cost: GroupCost) -> TableText:
    rows = [
        (
            frame.token,
            str(frame.stage),
            frame.frame,
            "" if frame.distance is None else f"{frame.distance:.2f}",
            f"{frame.weight:.4f}",
            f"{frame.score:.3f}",
            f"{frame.cost:.4f}",
            frame.why,
        )
        for frame in cost.frames
    ]
    head = ("frame", "stage", "of", "distance [m]", "weight", "score", "cost", "why")
    return f"frames of the group {cost.group.now}", head, rows


def write_costs(costs: Sequence[GroupCost], path: Path) -> None:
    """Write a row for each frame of every group."""
    head = ["group", "token", "stage", "frame", "distance_m", "weight", "score", "cost", "why"]
    rows = [
        [each.group.now, f.token, f.stage, f.frame, f.distance, f.weight, f.score, f.cost, f.why]
        for each in costs
        for f in each.frames
    ]
    write_csv(path, [head, *rows])
