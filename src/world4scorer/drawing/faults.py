"""Faults of a plan: a numbered mark at the step of each, the object that caused it, and their texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Polygon
from numpy.typing import NDArray

from world4scorer.drawing import style
from world4scorer.drawing.ego_frame import EgoFrame
from world4scorer.engine.outcomes.ego import CORNERS
from world4scorer.engine.outcomes.results import V1_COLUMNS, V2_COLUMNS, V1Outcome, V2Outcome
from world4scorer.engine.scene.indices import DT
from world4scorer.engine.scene.scene import Scene
from world4scorer.engine.scene.tracks import Tracks

Outcome = V1Outcome | V2Outcome

TRACK_METRICS = ("NC", "TTC")
LOCATED_METRICS = ("NC", "DAC", "TLC", "TTC")
"""Metrics decided by the ego's box; for others a dot marks the step."""
NUMBER_GAP = 24.0
"""Distance between two numbers [points]."""
FAULT_TEXTS = {
    "NC": "hits track {who} {at}",
    "DAC": "off the road {at} ({who})",
    "DDC": "outside the route's lanes, by {when}",
    "TLC": "in the area of red light {who} {at}",
    "TTC": "about to hit track {who} {at}",
    "LK": "off the lane's middle for 2 s by {when}",
    "HC": "uncomfortable {at} ({who})",
    "C": "uncomfortable {at} ({who})",
}
"""Texts of values below 1. LK and DDC drop at the end of a series of steps, hence `by`."""
ABBREVIATIONS = {"longitudinal": "lon.", "lateral": "lat.", "magnitude": "size", "_": " "}
MAX_NAME_LENGTH = 10
"""Maximum characters of an object's name; longer ones are shortened in the middle."""


@dataclass(frozen=True)
class Fault:
    """A sub-score below 1."""

    number: int
    metric: str
    value: float
    step: int
    index: int
    """Index of the track, light, corner or check; -1 for none."""
    name: str

    @property
    def text(self) -> str:
        """When and by what, e.g. `1.3 s, track 7f03ab12`."""
        when = f"{self.step * DT:.1f} s"
        if self.index < 0:
            return when
        if self.metric in (*TRACK_METRICS, "TLC"):
            return f"{when}, {'light' if self.metric == 'TLC' else 'track'} {self._who}"
        return f"{when}, {self._who}"

    @property
    def words(self) -> str:
        """The whole reason, e.g. `hits track 7f03ab12 at 1.3 s`."""
        when = f"{self.step * DT:.1f} s"
        # Comfort may fail in the history, whose last row is 0.2 s back: its steps are no exact times.
        at = f"at {when}" if self.step >= 0 else "before now"
        return FAULT_TEXTS[self.metric].format(who=self._who, when=when, at=at)

    @property
    def _who(self) -> str:
        if self.metric in (*TRACK_METRICS, "TLC"):
            return _shortened(self.name)
        name = self.name
        for word, shorter in ABBREVIATIONS.items():
            name = name.replace(word, shorter)
        return name


def _shortened(name: str) -> str:
    return name if len(name) <= MAX_NAME_LENGTH else f"{name[:5]}..{name[-4:]}"


def tracks_of(scene: Scene, outcome: Outcome | None) -> Tracks:
    """Return the tracks that the outcome was scored against."""
    return scene.tracks_v2 if isinstance(outcome, V2Outcome) and scene.tracks_v2 is not None else scene.tracks


def sub_scores(outcome: Outcome, plan: int) -> dict[str, float]:
    """Return a plan's sub-scores before the human filter, by column name."""
    if isinstance(outcome, V1Outcome):
        return dict(zip(V1_COLUMNS[:-1], outcome.table[plan, :-1].tolist(), strict=True))
    return dict(zip(V2_COLUMNS[:-2], outcome.raw[plan, :-2].tolist(), strict=True))


def forgiven_of(outcome: Outcome, plan: int) -> set[str]:
    """Return the sub-scores that count as 1 because the human fails there as well."""
    if isinstance(outcome, V1Outcome):
        return set()
    changed = outcome.raw[plan, :-2] != outcome.table[plan, :-2]
    return {name for name, differs in zip(V2_COLUMNS[:-2], changed, strict=True) if differs}


def faults_of(outcome: Outcome, plan: int) -> list[Fault]:
    """List the faults of a plan, in the order of the columns."""
    faults: list[Fault] = []
    for metric, value in sub_scores(outcome, plan).items():
        cause = outcome.causes.get(metric)
        if cause is None or not cause.violated[plan]:
            continue
        index = int(cause.index[plan])
        name = cause.names[index] if 0 <= index < len(cause.names) else ""
        faults.append(Fault(len(faults) + 1, metric, value, int(cause.step[plan]), index if name else -1, name))
    return faults


def draw_faults(
    axes: Axes,
    scene: Scene,
    frame: EgoFrame,
    outcome: Outcome,
    faults: list[Fault],
    rollout: NDArray[np.float64],
    numbered: bool = True,
) -> None:
    """Outline the cause of each fault of the rollout (41, 11), and optionally draw its number."""
    places = []
    for fault in faults:
        step = min(max(fault.step, 0), len(rollout) - 1)
        box = frame.ego_box(rollout[step])
        places.append(box.mean(axis=0))
        if fault.metric in LOCATED_METRICS:
            axes.add_patch(Polygon(box, fill=False, edgecolor=style.FAULT, linewidth=1.4, zorder=9))
        axes.plot(*places[-1], marker="o", markersize=6, color=style.FAULT, markeredgecolor="white", zorder=11)
        _draw_object(axes, scene, frame, outcome, fault, rollout, step)
    if faults and numbered:
        _draw_numbers(axes, faults, np.array(places), frame.local(rollout[:, :2]))


def _draw_numbers(axes: Axes, faults: list[Fault], places: NDArray[np.float64], way: NDArray[np.float64]) -> None:
    """Draw the numbers in a row above the rollout, or below if there is no room, each with a line to its position."""
    order = np.argsort(places[:, 0], kind="stable")
    across = places[order, 0].copy()
    metre = np.diff(axes.transData.transform([(0.0, 0.0), (1.0, 0.0)]), axis=0)[0, 0]
    gap = NUMBER_GAP / 72 * axes.figure.dpi / metre
    for i in range(1, len(across)):
        across[i] = max(across[i], across[i - 1] + gap)
    across -= (across - places[order, 0]).mean()
    low, high = (edge + inward * gap for edge, inward in zip(axes.get_ylim(), (1, -1), strict=True))
    top = way[:, 1].max() + 2.6 * gap
    if top > high:
        top = max(way[:, 1].min() - 2.6 * gap, low)
    for x, place in zip(across, order, strict=True):
        axes.plot([x, places[place, 0]], [top, places[place, 1]], color=style.FAULT, linewidth=0.9, zorder=11.5)
        axes.text(
            x, top, str(faults[place].number), ha="center", va="center", fontsize=10, fontweight="bold", color="white",
            bbox={"boxstyle": "circle,pad=0.28", "facecolor": style.FAULT, "edgecolor": "white", "linewidth": 1.2},
            zorder=12,
        )  # fmt: skip


def _draw_object(
    axes: Axes, scene: Scene, frame: EgoFrame, outcome: Outcome, fault: Fault, rollout: NDArray[np.float64], step: int
) -> None:
    outline: dict[str, Any] = {"fill": False, "edgecolor": style.FAULT, "zorder": 9.5}
    if fault.index < 0:
        return
    if fault.metric in TRACK_METRICS:
        tracks = tracks_of(scene, outcome)
        if tracks.valid[fault.index, step]:
            box = frame.track_box(tracks.boxes[fault.index, step])
            axes.add_patch(Polygon(box, linewidth=2.4, **outline))
    elif fault.metric == "TLC":
        polygon = int(scene.lights.polygon[fault.index])
        for ring in scene.map.rings(polygon) if polygon >= 0 else ():
            axes.add_patch(Polygon(frame.local(ring), linewidth=2.0, **outline))
    elif fault.metric == "DAC":
        corner = frame.ego_box(rollout[step])[CORNERS.index(fault.name)]
        axes.plot(*corner, marker="X", markersize=9, color=style.FAULT, markeredgecolor="white", zorder=11)
