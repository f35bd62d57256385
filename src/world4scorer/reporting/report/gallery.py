"""A handful of frames of a planner's pools, chosen by stated rules, with what happened in each.

Selection is inertial re-ranking of v2 utilities. A plan's own score is EPDMS without extended comfort, as in the
pictures; the score of a choice counts extended comfort too.

Shapes: S frames, N plans.
"""

from __future__ import annotations

import io
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from world4scorer.datasets.store import SceneStore
from world4scorer.drawing.birdseye import draw_scene
from world4scorer.drawing.faults import faults_of, forgiven_of
from world4scorer.engine.outcomes.results import V2_COLUMNS, V2Outcome, epdms_of_table
from world4scorer.engine.outcomes.v2 import epdms
from world4scorer.evaluation.pools.choices import Chosen, continued, framewise, inertial
from world4scorer.evaluation.pools.scored import ScoredPools
from world4scorer.studies.interventions.scenes import STRAIGHT_HEADING, TURN_HEADING

Floats = NDArray[np.float64]

GOOD: Final = 0.9
"""EPDMS without extended comfort from which a choice is good."""
DPI: Final = 125
NARROW: Final = "\u00a0"
"""Space that keeps a number and its unit on one line."""


class Rule(NamedTuple):
    """What makes a frame worth showing."""

    title: str
    words: str
    eligible: NDArray[np.bool_]
    """(S,)"""
    value: Floats
    """(S,) the largest is shown, of equal ones the first."""


class ShownFrame(NamedTuple):
    """A frame, why it is shown, and what happened."""

    title: str
    rule: str
    token: str
    log_name: str
    caption: str
    png: bytes
    thumbnail: bytes
    """PNG as well."""


class Gallery:
    """Frames of scored pools."""

    def __init__(self, pools: ScoredPools) -> None:
        self.pools = pools
        self.off: Chosen = framewise(pools.utility_v2)
        self.on: Chosen = inertial(pools, pools.utility_v2)

    @cached_property
    def alone(self) -> Floats:
        """(S, N) EPDMS of every plan without extended comfort."""
        return epdms_of_table(self.pools.v2)

    @cached_property
    def taken(self) -> Floats:
        """(S,) the same, of the chosen plans."""
        return np.asarray(self.pools.at(self.alone, self.on), np.float64)

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """What is looked for, in the order of the page."""
        best, gain = self.alone.max(1), self.pools.epdms(self.on) - self.pools.epdms(self.off)
        turned = self.pools.human_plan[:, -1, 2]
        distance = np.linalg.norm(self.pools.human_plan[:, -1, :2], axis=1)
        known = ~np.isnan(turned)
        degrees = [f"{np.rad2deg(angle):.0f}" for angle in (TURN_HEADING, STRAIGHT_HEADING)]
        return (
            Rule("Re-ranking helps", "the largest gain in EPDMS over framewise selection", gain > 0, gain),
            Rule("Re-ranking hurts", "the largest loss in EPDMS against framewise selection", gain < 0, -gain),
            Rule(
                "The best of the pool",
                f"a choice of at least {100 * GOOD:.0f} that no plan beats, in the pool with the lowest mean",
                (self.taken >= best) & (best >= GOOD),
                -self.alone.mean(1),
            ),
            Rule(
                "The worst choice",
                "the largest distance between the choice and the best of its pool",
                self.taken < best,
                best - self.taken,
            ),
            Rule("Limited by the pool", "the pool whose best plan scores lowest", best < 1, -best),
            Rule(
                "To the left",
                f"the sharpest left turn that was driven (over {degrees[0]} degrees in 4 s)",
                known & (turned > TURN_HEADING),
                turned,
            ),
            Rule(
                "Straight on",
                f"the longest way driven straight on (within {degrees[1]} degrees)",
                known & (abs(turned) < STRAIGHT_HEADING),
                distance,
            ),
            Rule(
                "To the right",
                f"the sharpest right turn that was driven (over {degrees[0]} degrees in 4 s)",
                known & (turned < -TURN_HEADING),
                -turned,
            ),
        )

    def indices(self) -> dict[str, int]:
        """The frame of each rule, by title; from logs not shown yet as long as there are any; no frame twice."""
        logs = np.asarray(self.pools.log_names)
        free, fresh = (np.ones(len(self.pools), np.bool_) for _ in range(2))
        found: dict[str, int] = {}
        for rule in self.rules:
            candidates = rule.eligible & fresh if (rule.eligible & fresh).any() else rule.eligible & free
            if candidates.any():
                index = int(np.argmax(np.where(candidates, rule.value, -np.inf)))
                found[rule.title] = index
                free[index] = False
                fresh &= logs != logs[index]
        return found

    def frames(self, store: SceneStore) -> list[ShownFrame]:
        """Draw the frames."""
        words = {rule.title: rule.words for rule in self.rules}
        return [self._frame(store, title, words[title], index) for title, index in self.indices().items()]

    def _frame(self, store: SceneStore, title: str, words: str, index: int) -> ShownFrame:
        pools = self.pools
        scene, chosen = store[pools.tokens[index]], int(self.on[index])
        outcome = epdms(scene, pools.plans[index], lqr=pools.about["lqr"])
        ranking = {"utilities": pools.utility_v2[index], "framewise": int(self.off[index])}
        whole, small = (
            draw_scene(scene, pools.plans[index], outcome, chosen, **ranking, thumbnail=thumbnail)
            for thumbnail in (False, True)
        )
        caption = f"{self._choice(index)} {self._comparison(index)} {_failures(outcome, chosen)}"
        return ShownFrame(title, words, scene.token, scene.log_name, caption, png_bytes(whole), png_bytes(small))

    def _choice(self, index: int) -> str:
        on, off = int(self.on[index]), int(self.off[index])
        after, before = (self._continues(chosen, index) for chosen in (self.on, self.off))
        if on == off:
            return f"Framewise and re-ranked selection both take plan {on}{after}."
        scores = [100 * float(self.pools.epdms(chosen)[index]) for chosen in (self.off, self.on)]
        return (
            f"Framewise selection takes plan {off}{before}: EPDMS {scores[0]:.1f}. "
            f"Re-ranking takes plan {on}{after}: {scores[1]:.1f}."
        )

    def _continues(self, chosen: Chosen, index: int) -> str:
        flag = continued(self.pools, chosen)[index]
        if np.isnan(flag):
            return ""
        return ", which continues its last choice (EC 1)" if flag else ", which breaks with its last choice (EC 0)"

    def _comparison(self, index: int) -> str:
        pool = 100 * self.alone[index]
        progress = self.pools.v2[index, int(self.on[index]), V2_COLUMNS.index("EP")]
        best = (
            "no plan of the pool scores higher"
            if pool.max() <= 100 * self.taken[index]
            else f"the best plan of the pool (plan {int(pool.argmax())}) {pool.max():.1f}"
        )
        return (
            f"Without extended comfort the choice scores {100 * self.taken[index]:.1f} with progress "
            f"{100 * progress:.0f}{NARROW}%; {best}; the mean of its {len(pool)} plans is {pool.mean():.1f}."
        )


def png_bytes(figure: Figure, dpi: int = DPI) -> bytes:
    """A figure as a PNG file."""
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=dpi)
    return picture.getvalue()


def _failures(outcome: V2Outcome, plan: int) -> str:
    forgiven = forgiven_of(outcome, plan)
    broken = [
        f"{fault.metric} at {fault.text}{' (forgiven: the human fails there too)' if fault.metric in forgiven else ''}"
        for fault in faults_of(outcome, plan)
    ]
    return f"Broken: {'; '.join(broken)}." if broken else "No rule is broken."


def absent(gallery: Gallery) -> list[str]:
    """Titles of the rules that no frame meets."""
    there = gallery.indices()
    return [rule.title for rule in gallery.rules if rule.title not in there]
