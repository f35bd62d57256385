"""Progress of the reference plan, the scalar in training caches that candidates are compared with.

The rule of v1.1 is raw progress times NC * DAC of the reference in the replayed traffic. Published training code skips
the step that marks where the ego leaves its lane or the road; so DAC is 1 there and lateral collisions never count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from world4scorer.engine.outcomes.judge import Judgement, Metric
from world4scorer.engine.outcomes.judged_scene import JudgedScene
from world4scorer.engine.rollout.plans import profile_code
from world4scorer.engine.scene.indices import PLAN_POSES, Layer
from world4scorer.engine.scene.map import PolygonMap
from world4scorer.engine.scene.packed import pack_map
from world4scorer.engine.scene.scene import Scene

UNBOUNDED: Final = 1e7
"""Half side of a single square roadblock [m], on which nothing is off-road or in several lanes."""


@dataclass(frozen=True)
class ReferenceProgress:
    """All progress in metres along the centreline."""

    raw: float
    nc: float
    """No at-fault collision: 0, 0.5, 1."""
    dac: float
    """Drivable area compliance: 0, 1."""
    nc_published: float
    """NC as published training code computes it."""

    @property
    def official(self) -> float:
        """`pdm_progress` by the rule of v1.1."""
        return self.raw * self.nc * self.dac

    @property
    def published(self) -> float:
        """`pdm_progress` as in published training caches; see `outcomes.label` for its use."""
        return self.raw * self.nc_published


def reference_progress(scene: Scene, version: Literal["v1", "v2"] = "v1") -> ReferenceProgress:
    """Judge the reference plan of a scene by the rule of v1.1; `v2` takes plan and traffic of v2.2 instead."""
    tracks, reference = scene.tracks, scene.reference
    if version == "v2":
        tracks = tracks if scene.tracks_v2 is None else scene.tracks_v2
        reference = reference if scene.reference_v2 is None else scene.reference_v2
    plain = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]]) * UNBOUNDED
    empty = pack_map(PolygonMap.from_polygons([("plain", Layer.ROADBLOCK, [plain])]), np.zeros(1, np.bool_))
    found: list[Judgement] = []
    for polygons in (scene.packed_map, empty):
        prepared = JudgedScene(scene, polygons, tracks)
        _, judgement = prepared.judge(False, np.zeros((0, PLAN_POSES, 3)), reference, profile_code("navsim"))
        found.append(judgement)
    marked, unmarked = (judgement.values[:, 0] for judgement in found)
    return ReferenceProgress(
        raw=float(marked[Metric.PROGRESS]),
        nc=float(marked[Metric.NC]),
        dac=float(marked[Metric.DAC]),
        nc_published=float(unmarked[Metric.NC]),
    )
