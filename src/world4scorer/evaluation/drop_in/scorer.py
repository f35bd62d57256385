"""`PDMScorer`: simulated states in, scores out, with the metrics beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from world4scorer.datasets.metric_cache.drivable_map import read_map
from world4scorer.datasets.metric_cache.ego_states import poses_of, trajectory_rows
from world4scorer.datasets.metric_cache.observation import Observation, read_observation
from world4scorer.datasets.navsim.pickles import pickled_field
from world4scorer.engine.outcomes.judge import TRAFFIC_STEPS_V1, Judgement, Metric
from world4scorer.engine.outcomes.judged_scene import JudgedScene
from world4scorer.engine.outcomes.progress import normalise_v1, normalise_v2
from world4scorer.engine.scene.indices import STEPS, State
from world4scorer.engine.scene.map import PolygonMap
from world4scorer.engine.scene.scene import Scene
from world4scorer.evaluation.drop_in.simulator import check_sampling

Floats = NDArray[np.float64]
Version = Literal["v1.1", "v2.2"]

MULTIPLIED: Final = {"v1.1": (Metric.NC, Metric.DAC), "v2.2": (Metric.NC, Metric.DAC, Metric.TLC, Metric.DDC)}
"""Rows of `multi_metrics`, in the devkits' order."""
WEIGHTS: Final = {"v1.1": (5.0, 5.0, 2.0, 0.0), "v2.2": (5.0, 5.0, 2.0, 2.0, 0.0)}
"""Of the rows of `weighted_metrics`: v1.1 EP, TTC, C, DDC; v2.2 EP, TTC, LK, HC, EC, which needs two frames."""


class PDMScorer:
    """The devkits' scorer: proposals among themselves, so that progress is relative to the best of those given.

    After a call, `multi_metrics`, `weighted_metrics` and `progress_raw` hold the metrics, rows in the devkits' order;
    also under the names with an underscore, which published training code reads. The human filter and EC belong to the
    evaluation, not to the scorer: `epdms` has them.
    """

    def __init__(self, proposal_sampling: Any = None, *, version: Version = "v1.1") -> None:
        """Args:
        proposal_sampling: what the devkits' scorer takes; checked, as there is one sampling only.
        version: the devkit whose rules apply.
        """
        check_sampling(proposal_sampling)
        if version not in MULTIPLIED:
            raise ValueError(f"version: unknown version {version!r}; choose 'v1.1' or 'v2.2'")
        self.version: Version = version
        self.multi_metrics: Floats = np.zeros((0, 0))
        """(2, N) NC, DAC; v2.2 (4, N) NC, DAC, TLC, DDC."""
        self.weighted_metrics: Floats = np.zeros((0, 0))
        """(4, N) EP, TTC, C, DDC; v2.2 (5, N) EP, TTC, LK, HC, EC."""
        self.progress_raw: Floats = np.zeros(0)
        """(N,) m along the centreline."""

    def score_proposals(
        self,
        states: ArrayLike,
        observation: Any,
        centerline: Any,
        route_lane_ids: Sequence[str],
        drivable_area_map: Any,
        *,
        human_past_trajectory: Any = None,
    ) -> Floats:
        """Score simulated states (N, 41, 11): (N,) PDMS, or EPDMS without EC and human filter.

        The other arguments are fields of a `MetricCache`, or the devkits' own objects. v2.2 replays traffic without
        what overlaps the ego now, as its log-replay policy does.
        """
        rollouts = np.asarray(states, np.float64)
        if rollouts.ndim != 3 or rollouts.shape[1:] != (STEPS, len(State)) or not len(rollouts):
            raise ValueError(f"states: shape {rollouts.shape}; (proposals, {STEPS}, {len(State)}) is needed")
        scene = _scene(rollouts, observation, centerline, route_lane_ids, drivable_area_map, human_past_trajectory)
        columns_first = np.ascontiguousarray(rollouts.transpose(2, 1, 0))
        found = _judge(columns_first, scene, second=self.version == "v2.2")
        values = found.values
        self.multi_metrics = np.stack([values[row] for row in MULTIPLIED[self.version]])
        self.progress_raw = values[Metric.PROGRESS].copy()
        product = self.multi_metrics.prod(axis=0)
        best = float((self.progress_raw * product).max())
        if self.version == "v1.1":
            progress = normalise_v1(self.progress_raw, product, best)
            rest = [values[Metric.TTC], values[Metric.COMFORT], values[Metric.DDC]]
        else:
            progress = normalise_v2(self.progress_raw, product, best)
            rest = [values[Metric.TTC], values[Metric.LK], values[Metric.COMFORT], np.zeros_like(product)]
        self.weighted_metrics = np.stack([progress, *rest])
        weights = np.array(WEIGHTS[self.version])
        return np.asarray(product * (weights @ self.weighted_metrics) / weights.sum())

    @property
    def _multi_metrics(self) -> Floats:
        return self.multi_metrics

    @property
    def _weighted_metrics(self) -> Floats:
        return self.weighted_metrics

    @property
    def _progress_raw(self) -> Floats:
        return self.progress_raw


def _scene(
    rollouts: Floats, observation: Any, centerline: Any, route: Sequence[str], drivable: Any, past: Any
) -> Scene:
    """The arguments as a scene, which checks them; its reference is not used."""
    seen = observation if isinstance(observation, Observation) else read_observation(observation)
    areas = drivable if isinstance(drivable, PolygonMap) else read_map(drivable, seen)
    count = len(seen.red_ids)
    if areas.ids[len(areas.ids) - count :] != seen.red_ids:
        raise ValueError(
            "drivable_area_map: does not end with the red lights of the observation; take both from one cache"
        )
    line = centerline if isinstance(centerline, np.ndarray) else poses_of(pickled_field(centerline, "discrete_path"))
    states, times = (None, None) if past is None else past if isinstance(past, tuple) else trajectory_rows(past)
    return Scene(
        token="proposals",
        log_name="proposals",
        time_us=0,
        ego_state=rollouts[0, 0],
        centerline=line,
        map=areas,
        route_lane_ids=tuple(route),
        tracks=seen.tracks,
        reference=rollouts[0, :, :3],
        lights=seen.lights(len(areas.ids) - count),
        past_states=states,
        past_time_us=times,
    )


def _judge(states: Floats, scene: Scene, second: bool) -> Judgement:
    if not second and scene.tracks.steps < TRAFFIC_STEPS_V1:
        raise ValueError(
            f"observation: {scene.tracks.steps} steps of 0.1 s; v1.1 needs {TRAFFIC_STEPS_V1}. A cache of v2.2 is too "
            "short; take one of v1.1, or version='v2.2'"
        )
    return JudgedScene(scene).judge_states(second, states)
