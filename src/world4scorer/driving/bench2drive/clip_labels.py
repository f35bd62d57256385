"""Outcome labels of plans in prepared clips, for training."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from world4scorer.driving.clips.outcomes import label_plans
from world4scorer.driving.clips.prepared import PreparedClips


@dataclass(frozen=True)
class ClipLabeller:
    """Labels plans by the rules of `outcomes`."""

    clips: PreparedClips

    def label(self, token: str, plans_NT3: NDArray[np.float64]) -> NDArray[np.float64]:
        """Labels (N, 7) of plans."""
        return label_plans(plans_NT3, self.clips.surroundings(token))
