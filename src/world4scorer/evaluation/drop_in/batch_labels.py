"""Sub-scores of a batch of proposals, as training loops ask for them.

>>> labels = BatchLabels.from_store("scenes")
>>> scores = labels(proposals, tokens)      # (B, N, 8, 3) and B tokens
>>> scores["ego_progress"], scores["score"]     # (B, N) each

Shapes: B scenes, N proposals of each.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Final, Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from world4scorer.datasets.metric_cache.folder import MetricCacheFolder
from world4scorer.datasets.pdm_closed.reference_progress import reference_progress
from world4scorer.datasets.store import SceneStore
from world4scorer.engine.outcomes.batch import map_threads
from world4scorer.engine.outcomes.v1 import label
from world4scorer.engine.outcomes.v2 import epdms
from world4scorer.engine.rollout.plans import LqrProfile
from world4scorer.engine.scene.indices import PLAN_POSES
from world4scorer.engine.scene.scene import Scene
from world4scorer.evaluation.scores.submission import V1_NAMES, V2_NAMES

LabelMetric = Literal["labels-v1", "epdms-v2.2", "epdms-pre151"]
ReferenceRule = Literal["official", "published"]
NAMES: Final = {"v1": V1_NAMES, "v2": (*V2_NAMES[:-2], "score")}
FAR: Final = 100.0
"""What published training code puts in place of an infinite coordinate [m]."""


class SceneSource(Protocol):
    """Scenes by token, such as a `SceneStore`."""

    def __getitem__(self, token: str, /) -> Scene: ...


class BatchLabels:
    """Labels of proposals by token, from a scene store or from metric caches of the devkits.

    Proposals are (B, N, 8, 3): x forward [m], y left [m] and heading [rad] in the ego frame, every 0.5 s; a NumPy
    array, or a tensor of PyTorch on any device. Scores are of the same kind, on the same device. Scenes are judged in
    parallel threads (`set_threads`), without the GIL.
    """

    def __init__(
        self,
        scenes: SceneSource,
        metric: LabelMetric = "labels-v1",
        *,
        lqr: LqrProfile = "navsim",
        human_filter: bool = True,
        reference: ReferenceRule = "official",
        replace_nonfinite: bool = False,
    ) -> None:
        """Args:
        scenes: scenes by token.
        metric: `labels-v1`: each proposal alone against the reference, as in training by PDMS v1.1; or EPDMS.
        lqr: tracker of the rollouts.
        human_filter: whether EPDMS forgives what the human fails.
        reference: the reference's progress by the rule of v1.1, or as published training caches hold it (labels-v1).
        replace_nonfinite: put 0, 100 and -100 in place of NaN and infinities in proposals, as published training code
            does, instead of an error that names the scene.
        """
        if metric not in get_args(LabelMetric):
            raise ValueError(f"metric: unknown metric {metric!r}; choose from {', '.join(get_args(LabelMetric))}")
        if reference not in get_args(ReferenceRule):
            raise ValueError(f"reference: unknown rule {reference!r}; choose from {', '.join(get_args(ReferenceRule))}")
        self.scenes = scenes
        self.metric = metric
        self.names: tuple[str, ...] = NAMES["v1" if metric == "labels-v1" else "v2"]
        """Keys of the scores, by their official names; the last is the total."""
        self._lqr: LqrProfile = lqr
        self._human_filter = human_filter
        self._published = reference == "published"
        self._replace = replace_nonfinite
        self._progress: dict[str, float] = {}

    @classmethod
    def from_store(
        cls, folder: str | os.PathLike[str], metric: LabelMetric = "labels-v1", **options: Any
    ) -> BatchLabels:
        """Labels from a scene store (`w4s prepare`)."""
        return cls(SceneStore(folder), metric, **options)

    @classmethod
    def from_metric_caches(
        cls, folder: str | os.PathLike[str], metric: LabelMetric = "labels-v1", **options: Any
    ) -> BatchLabels:
        """Labels from a folder of metric caches of the devkits: v1.1 for labels-v1, v2.2 for EPDMS."""
        return cls(CachedScenes(folder, "v1.1" if metric == "labels-v1" else "v2.2"), metric, **options)

    def __call__(self, proposals: Any, tokens: Sequence[str]) -> dict[str, Any]:
        """Score proposals (B, N, 8, 3) of B tokens: sub-scores and score by official name, (B, N) each, 0..1."""
        poses = self._poses(proposals, tokens)

        def judge(index: int) -> NDArray[np.float64]:
            return self._judge(self.scenes[tokens[index]], poses[index])

        table = np.stack(list(map_threads(judge, range(len(tokens)))))
        return {name: like(proposals, table[..., column]) for column, name in enumerate(self.names)}

    def _poses(self, proposals: Any, tokens: Sequence[str]) -> NDArray[np.float64]:
        poses = as_numpy(proposals)
        if poses.ndim != 4 or poses.shape[2:] != (PLAN_POSES, 3):
            raise ValueError(f"proposals: shape {poses.shape}; (scenes, proposals, {PLAN_POSES}, 3) is needed")
        if len(poses) != len(tokens) or not len(poses):
            raise ValueError(f"tokens: {len(tokens)} tokens for proposals of {len(poses)} scenes")
        return np.nan_to_num(poses, nan=0.0, posinf=FAR, neginf=-FAR) if self._replace else poses

    def _judge(self, scene: Scene, poses: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.metric == "labels-v1":
            return label(scene, poses, lqr=self._lqr, reference_progress=self._reference(scene)).table
        outcome = epdms(
            scene,
            poses,
            version="pre151" if self.metric == "epdms-pre151" else "v2.2",
            human_filter=self._human_filter,
            lqr=self._lqr,
        )
        return np.column_stack([outcome.table[:, :-2], outcome.score])

    def _reference(self, scene: Scene) -> float | None:
        if not self._published:
            return None
        if scene.token not in self._progress:
            self._progress[scene.token] = reference_progress(scene).published
        return self._progress[scene.token]


class CachedScenes:
    """Scenes of metric caches of one version; another one is an error, since it lacks what the metric reads."""

    def __init__(self, folder: str | os.PathLike[str], version: str) -> None:
        self.caches = MetricCacheFolder(folder)
        self.version = version

    def __getitem__(self, token: str, /) -> Scene:
        cache = self.caches[token]
        if cache.version != self.version:
            raise ValueError(
                f"{self.caches.folder}: the metric cache of {token!r} is of {cache.version}; labels-v1 needs v1.1, "
                "with 5 s of traffic, EPDMS needs v2.2, with lights, past and human. A scene store (`w4s prepare`) "
                "serves both"
            )
        return cache.scene


def as_numpy(proposals: Any) -> NDArray[np.float64]:
    """Proposals as float64, from wherever a tensor lies; PyTorch is not imported for it."""
    if is_tensor(proposals):
        return np.asarray(proposals.detach().cpu().double().numpy())
    return np.asarray(proposals, np.float64)


def like(proposals: Any, values: NDArray[np.float64]) -> Any:
    """Values in the kind and on the device of the proposals; in single precision unless these are in double."""
    if not is_tensor(proposals):
        double = getattr(proposals, "dtype", None) == np.float64
        return np.ascontiguousarray(values, np.float64 if double else np.float32)
    found = proposals.detach()
    wide = found if str(found.dtype) == "torch.float64" else found[:0].float()
    return wide.new_tensor(np.ascontiguousarray(values))


def is_tensor(value: Any) -> bool:
    """Whether this is a tensor of PyTorch."""
    return type(value).__module__.partition(".")[0] == "torch"
