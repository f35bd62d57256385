"""`Rule`: one way to score a submission, and all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Final, Literal

from world4scorer.engine.outcomes.results import V2Outcome
from world4scorer.engine.outcomes.v2 import TrafficMode
from world4scorer.engine.rollout.plans import LqrProfile

Benchmark = Literal["PDMS v1.1", "EPDMS", "EPDMS, two stages"]
HumanFilter = Literal["v2.2", "pre-151", "off"]
Part = Literal["", "combined", "stage one", "stage two"]

LQR_PROFILES: Final[tuple[LqrProfile, ...]] = ("navsim", "corrected")
TRAFFIC_MODES: Final[tuple[TrafficMode, ...]] = ("replay", "reactive")
HUMAN_FILTERS: Final[tuple[HumanFilter, ...]] = ("v2.2", "pre-151", "off")
PARTS: Final[tuple[Part, ...]] = ("combined", "stage one", "stage two")


@dataclass(frozen=True)
class Rule:
    """What a score depends on beside the plans and the scenes."""

    benchmark: Benchmark
    lqr: LqrProfile
    """Tracker of the rollouts."""
    traffic: TrafficMode = "replay"
    human_filter: HumanFilter | None = None
    """`v2.2`: the score is of the filtered values; `pre-151`: the columns are, the score is not; None in PDMS."""
    extended_comfort: bool | None = None
    """Whether EC counts where a frame has a predecessor; None in PDMS, which has none."""
    part: Part = ""
    """Of two stages."""

    @property
    def official(self) -> bool:
        """Whether a released script computes it with its shipped configuration."""
        if self.benchmark == "PDMS v1.1":
            return self.lqr == "navsim"
        shipped = "replay" if self.benchmark == "EPDMS" else "reactive"
        filtered = self.human_filter != "off"
        return filtered and self.lqr == "navsim" and self.traffic == shipped and self.extended_comfort is True

    @property
    def text(self) -> str:
        """The rule in words."""
        parts = [self.benchmark + (f" ({self.part})" if self.part else "")]
        if self.human_filter is not None:
            parts += [f"human filter {self.human_filter}", f"{self.traffic} traffic"]
            parts += ["with EC" if self.extended_comfort else "without EC"]
        return ", ".join([*parts, f"LQR {self.lqr}"])


@dataclass(frozen=True)
class RuleScore:
    """The score by one rule."""

    rule: Rule
    score: float | None
    """0..1; None where the scenes lack what the rule needs."""
    missing: str = ""
    """What they lack."""
    means: Mapping[str, float] = field(default_factory=dict)
    """Mean sub-scores by their short names, 0..1."""


def epdms_rules(benchmark: Benchmark, lqr: LqrProfile, traffic: TrafficMode, part: Part = "") -> list[Rule]:
    """The rules that share rollouts and traffic, so that plans need to be judged once for all of them."""
    return [Rule(benchmark, lqr, traffic, kind, counts, part) for kind, counts in product(HUMAN_FILTERS, (True, False))]


def filtered_as(outcome: V2Outcome, human_filter: HumanFilter | None) -> V2Outcome:
    """An outcome of v2.2 as another human filter gives it."""
    if human_filter == "off":
        return outcome.unfiltered()
    return outcome.before_fix() if human_filter == "pre-151" else outcome
