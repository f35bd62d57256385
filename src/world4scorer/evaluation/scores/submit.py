"""Submissions of a planner's choices, for the official evaluators of NAVSIM.

>>> made = submit(open_pools(Path("runs/navsim"), split="navtest"), "v2.2", "reranked")
>>> made.save(Path("submission.pkl"), team_name="us", authors="...", email="...", institution="...", country="...")
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from world4scorer import __version__
from world4scorer.datasets.navsim.submissions import SubmissionVersion, write_submission
from world4scorer.evaluation.pools.choices import Selection, framewise, inertial
from world4scorer.evaluation.pools.scored import ScoredPools
from world4scorer.jobs.files import write_json


@dataclass(frozen=True, eq=False)
class ChosenPlans:
    """One plan for each frame of some pools, and what they are worth here."""

    version: SubmissionVersion
    """Form of the submission; its benchmark's utility chooses."""
    selection: Selection
    weight: float
    """Of re-ranking; 0 for framewise choices."""
    about: Mapping[str, Any]
    """Of the pools: planner, weights, split."""
    plans: Mapping[str, NDArray[np.float32]]
    """Token -> (8, 3)"""
    scores: Mapping[str, float]
    """Mean score of these plans by metric, 0 to 1."""
    second_stage: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)
    """Token -> (8, 3), for two-stage splits."""

    def save(
        self,
        path: Path,
        team_name: str = "",
        authors: str = "",
        email: str = "",
        institution: str = "",
        country: str = "",
    ) -> Path:
        """Write the submission, and beside it a JSON file that says how it was made; returns the latter."""
        write_submission(
            path,
            self.plans,
            version=self.version,
            second_stage=self.second_stage or None,
            team_name=team_name,
            authors=authors,
            email=email,
            institution=institution,
            country=country,
        )
        notes = path.with_suffix(".json")
        kept = {name: self.about[name] for name in ("planner", "checkpoint", "weights", "split") if name in self.about}
        content = {"world4scorer": __version__, **kept, "version": self.version, "selection": self.selection}
        content |= {"weight": self.weight, "tokens": len(self.plans) + len(self.second_stage)}
        content["expected"] = dict(self.scores)
        write_json(notes, content)
        return notes


def submit(pools: ScoredPools, version: SubmissionVersion, selection: Selection, weight: float = 1.0) -> ChosenPlans:
    """The plans that a planner chooses: by v1 or v2 utility, framewise or with inertial re-ranking along each log."""
    utility = pools.utility_v1 if version == "v1.1" else pools.utility_v2
    chosen = framewise(utility) if selection == "framewise" else inertial(pools, utility, weight)
    plans = pools.at(pools.plans, chosen).astype(np.float32)
    if version == "v1.1":
        scores = {"pdms-v1.1": float(pools.at(pools.pdms, chosen).mean())}
    else:
        scores = {
            "epdms-v2.2": float(pools.epdms(chosen).mean()),
            "epdms-pre151": float(pools.epdms(chosen, "pre151").mean()),
        }
    used = weight if selection == "reranked" else 0.0
    return ChosenPlans(version, selection, used, pools.about, dict(zip(pools.tokens, plans, strict=True)), scores)
