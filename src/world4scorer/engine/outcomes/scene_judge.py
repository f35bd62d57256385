"""`Judge`: one scene, any number of calls."""

from __future__ import annotations

from numpy.typing import ArrayLike

from world4scorer.engine.outcomes.judged_scene import JudgedScene
from world4scorer.engine.outcomes.results import V1Outcome, V2Outcome
from world4scorer.engine.outcomes.v1 import outcome_v1
from world4scorer.engine.outcomes.v2 import EpdmsVersion, TrafficMode, outcome_v2
from world4scorer.engine.rollout.plans import LqrProfile, roll_out
from world4scorer.engine.scene.geometry import Floats
from world4scorer.engine.scene.scene import Scene


class Judge:
    """Judges plans in one scene, call after call.

    >>> judge = Judge(scene)
    >>> judge.label(plans[:1]).score        # 40 microseconds, from the third call on
    >>> judge.epdms(plans).score

    Keeps what depends on the scene alone: a grid over its map, its traffic, its centreline, how the reference and the
    human fare; about half a megabyte. Results are those of the functions of the same names, bit by bit. These keep the
    same for the sixteen scenes they were given last; a judge keeps it as long as it lives. The arrays of a scene that
    was judged must not be changed: `dataclasses.replace` makes another scene.
    """

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        """Scene of the plans."""
        self._prepared = JudgedScene(scene)

    def __repr__(self) -> str:
        return f"Judge({self.scene!r})"

    def label(
        self, plans: ArrayLike, *, lqr: LqrProfile = "navsim", reference_progress: float | None = None
    ) -> V1Outcome:
        """Return what `label(scene, plans)` returns."""
        return outcome_v1(self._prepared, plans, lqr, reference_progress, "labels-v1")

    def pdms(self, plans: ArrayLike, *, lqr: LqrProfile = "navsim") -> V1Outcome:
        """Return what `pdms(scene, plans)` returns."""
        return outcome_v1(self._prepared, plans, lqr, None, "pdms-v1.1")

    def epdms(
        self,
        plans: ArrayLike,
        *,
        version: EpdmsVersion = "v2.2",
        human_filter: bool = True,
        lqr: LqrProfile = "navsim",
        reference_progress: float | Floats | None = None,
        traffic: TrafficMode = "replay",
    ) -> V2Outcome:
        """Return what `epdms(scene, plans)` returns; traffic that reacts is simulated in every call."""
        return outcome_v2(self._prepared, plans, version, human_filter, lqr, reference_progress, traffic)

    def roll_out(self, plans: ArrayLike, lqr: LqrProfile = "navsim") -> Floats:
        """Return what `roll_out(scene, plans)` returns."""
        return roll_out(self.scene, plans, lqr)
