"""Ordering of held-out candidates by the outcome head compared with the latent cost, group by group.

More sensitive than success, which is one bit per window. Intervals are 95 % bootstrap intervals over episodes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from world4scorer.cube.simulator.cube_env import SUCCESS_METRES, Floats
from world4scorer.cube.train_head import LATENT_COST, SUMMED_WEIGHTS, GroupQuality, Validation, sum_name
from world4scorer.drawing.finding import Table
from world4scorer.evaluation.scores.bootstrap import NO_VALUE, Interval, LogBootstrap, cell, plain

BOOTSTRAP_DRAWS: Final = 10_000
PAPER_WEIGHT: Final = 0.3
"""Default weight of the head's score."""
RANKS, ORDER, DISTANCE, SUCCESS = "rank correlation", "pairs in order", "chosen: distance", "chosen: success"
UNITS: Final[Mapping[str, tuple[str, float, int]]] = {
    RANKS: ("", 1, 3),
    ORDER: (" [points]", 100, 1),
    DISTANCE: (" [cm]", 100, 2),
    SUCCESS: (" [points]", 100, 1),
}
"""Unit, factor and digits of each measure."""


@dataclass(frozen=True)
class HeadReadout:
    """A head's report, and the change of its sum with the latent cost."""

    report: Mapping[str, Any]
    """Report from `read_head_report`."""
    score: str
    """The sum that is compared."""
    changes: Mapping[str, Interval]
    """What it changes against the latent cost, by measure."""

    @classmethod
    def of(cls, report: Mapping[str, Any], weight: float | None) -> HeadReadout:
        """Compare the measured sum with the weight nearest to `weight`."""
        wanted = PAPER_WEIGHT if weight is None else weight
        score = sum_name(min(SUMMED_WEIGHTS, key=lambda one: abs(one - wanted)))
        validation: Validation = report["validation"]
        bootstrap = LogBootstrap([str(episode) for episode in validation.episode], BOOTSTRAP_DRAWS)
        before, after = (_measures(validation.scores[name]) for name in (LATENT_COST, score))
        return cls(report, score, {name: bootstrap.mean(after[name] - before[name]) for name in UNITS})

    @property
    def validation(self) -> Validation:
        """What was measured, group by group."""
        found: Validation = self.report["validation"]
        return found

    @property
    def groups(self) -> int:
        """Validation groups."""
        return len(self.validation.episode)

    @property
    def episodes(self) -> int:
        """Episodes that they come from."""
        return len(np.unique(self.validation.episode))

    def quality_table(self, label: str) -> Table:
        """All scores, means over groups."""
        rows = tuple(
            (
                name,
                f"{one['rank_correlation']:.3f}",
                f"{100 * one['ordering']:.1f}",
                f"{100 * one['chosen_metres']:.2f}",
                f"{100 * one['chosen_success']:.1f}",
            )
            for name, one in self.report["quality"].items()
        )
        columns = ("ordered by", RANKS, f"{ORDER} [%]", f"{DISTANCE} [cm]", f"{SUCCESS} [%]")
        return Table(f"{label}: candidates of {self.groups} validation groups", columns, rows)

    def change_table(self, label: str) -> Table:
        """The sum against the latent cost."""
        rows = tuple(
            (name + UNITS[name][0], cell(change, *UNITS[name][1:], signed=True), zero_note(change))
            for name, change in self.changes.items()
        )
        columns = ("measure", "change", "interval over episodes")
        return Table(f"{label}: {self.score} against {LATENT_COST}, paired by group", columns, rows)

    def remarks(self, label: str) -> Iterator[str]:
        """What was learned from, and what the changes are."""
        report, ranks, distance = self.report, self.changes[RANKS], self.changes[DISTANCE]
        before, after = (report["quality"][name] for name in (LATENT_COST, self.score))
        yield (
            f"{label}: the head learned from {report['train_groups']} groups of {report['train_episodes']} episodes "
            f"and was validated on {self.groups} groups of {self.episodes} others. Of "
            f"{report['config']['epochs']} epochs, number {report['epoch'] + 1} was kept, the one that orders these "
            "same groups best: what they say of the head is therefore somewhat too good."
        )
        yield (
            f"{label}: ordered by {self.score} instead of the {LATENT_COST}, the candidates' rank correlation with "
            f"their outcome goes from {before['rank_correlation']:.3f} to {after['rank_correlation']:.3f} (change "
            f"{ranks.text(3, signed=True)}, an interval {zero_note(ranks)}), the distance of the chosen candidate from "
            f"{100 * before['chosen_metres']:.2f} to {100 * after['chosen_metres']:.2f} cm (change "
            f"{cell(distance, digits=2, signed=True)}, an interval {zero_note(distance)})."
        )

    def numbers(self) -> dict[str, Any]:
        """Everything, as plain values."""
        kept = {name: self.report[name] for name in ("config", "epoch", "train_groups", "train_episodes", "quality")}
        changes = {name: plain(change) for name, change in self.changes.items()}
        groups = {"validation_groups": self.groups, "validation_episodes": self.episodes}
        return {**kept, **groups, "compared": self.score, "changes": changes}


def zero_note(change: Interval) -> str:
    """Whether the interval of a change holds zero, in words."""
    if math.isnan(change.low):
        return NO_VALUE
    return "with zero in it" if change.low <= 0 <= change.high else "without zero"


def _measures(found: GroupQuality) -> dict[str, Floats]:
    """Values of each group (groups,)."""
    return {
        RANKS: found.rank_correlation,
        ORDER: found.ordering,
        DISTANCE: found.chosen_metres,
        SUCCESS: (found.chosen_metres <= SUCCESS_METRES).astype(np.float64),
    }
