"""Pictures of single moments, and what they show in words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image

from world4scorer.datasets.navsim.cameras import CAMERA_LABELS, VIEWS
from world4scorer.datasets.navsim.splits import find_split
from world4scorer.datasets.navsim.submissions import Submission, read_submission
from world4scorer.datasets.prepare.samples import Samples
from world4scorer.datasets.store import SceneStore
from world4scorer.drawing.birdseye import draw_scene
from world4scorer.drawing.faults import Outcome, faults_of, forgiven_of
from world4scorer.engine.outcomes.results import V1Outcome, V2Outcome
from world4scorer.engine.outcomes.v1 import pdms
from world4scorer.engine.outcomes.v2 import epdms
from world4scorer.engine.rollout.plans import LqrProfile
from world4scorer.engine.scene.scene import Scene
from world4scorer.evaluation.pools.choices import Chosen, Selection, continued, framewise, select
from world4scorer.evaluation.pools.open import kept_pools
from world4scorer.evaluation.pools.pool_files import PoolError
from world4scorer.evaluation.pools.scored import ScoredPools
from world4scorer.evaluation.scores.submission import Metric
from world4scorer.jobs.run_folder import Weights

Images = dict[str, NDArray[np.uint8]]

SHOWN_CAMERAS: Final = ("CAM_L0", "CAM_F0", "CAM_R0", "CAM_B0")
"""From left to right."""


@dataclass(frozen=True, eq=False)
class Cameras:
    """The images of a dataset by token."""

    samples: Samples

    @classmethod
    def of(cls, data: Path, split: str, store: Path) -> Cameras:
        """Of a split; what the logs say is kept in the folder of the scene store."""
        return cls(Samples.of_split(data, find_split(split, data), store))

    @classmethod
    def of_pictures(cls, pictures: PoolPictures | StorePictures, data: Path | None = None) -> Cameras:
        """Images of the scenes that are drawn; `data` is the dataset folder, if the pools do not name it."""
        if isinstance(pictures, StorePictures):
            options = pictures.store.provenance(pictures.store.logs[0]).get("options", {})
            root, split = data, options.get("split")
        else:
            about = pictures.pools.about
            root, split = data or about.get("data"), about.get("split")
        if root is None or split is None or not Path(root).is_dir():
            raise ValueError("--cameras: the dataset of the images is unknown or missing; name it with --data")
        return cls.of(Path(root), str(split), pictures.store.folder)

    def images(self, token: str) -> Images:
        """Images (H, W, 3) of a moment by what people call the camera."""
        index = self.samples.index_of.get(token)
        if index is None:
            raise ValueError(f"token {token!r}: no images are known of it; leave out --cameras")
        found = {}
        for name in SHOWN_CAMERAS:
            path = self.samples.sensors / self.samples.images[index][VIEWS.index(name)]
            with Image.open(path) as image:
                found[CAMERA_LABELS[name]] = np.asarray(image.convert("RGB"))
        return found


@dataclass(frozen=True)
class Shown:
    """A picture and its description in lines."""

    figure: Figure
    lines: list[str]


@dataclass(frozen=True, eq=False)
class StorePictures:
    """Pictures of a store's scenes with one plan each: the human's, or a submission's."""

    store: SceneStore
    submission: Submission | None = None
    metric: Metric = "epdms-v2.2"

    @classmethod
    def open(cls, store: Path, submission: Path | None = None, metric: Metric = "epdms-v2.2") -> StorePictures:
        """Pictures of a scene store, with the plans of a submission file or the human's."""
        scenes = SceneStore(store)
        if not len(scenes):
            raise ValueError(f"{store}: neither a training run, nor pools, nor a scene store")
        return cls(scenes, None if submission is None else read_submission(submission), metric)

    def show(self, token: str, thumbnail: bool = False, cameras: Images | None = None) -> Shown:
        """Draw a scene with its plan."""
        scene = self.store[token]
        plan = scene.human_future if self.submission is None else self._submitted(token)
        if plan is None:
            figure = draw_scene(scene, thumbnail=thumbnail, cameras=cameras)
            return Shown(figure, ["scene without a plan (nobody drove here; give a submission)"])
        outcome = judge(scene, plan[None], self.metric)
        whose = "human" if self.submission is None else "submission"
        lines = [f"{whose}, {self.metric} {float(outcome.score[0]):.4f}", *reasons(outcome, 0)]
        return Shown(draw_scene(scene, plan[None], outcome, thumbnail=thumbnail, cameras=cameras), lines)

    def _submitted(self, token: str) -> NDArray[np.float64]:
        assert self.submission is not None
        plans = self.submission.plans if token in self.submission.plans else self.submission.second_stage
        if token not in plans:
            raise ValueError(f"token {token!r}: the submission has no plan for it")
        return plans[token]


@dataclass(frozen=True, eq=False)
class PoolPictures:
    """Pictures of a planner's pools: all plans, the choice, and the plan asked for, if any."""

    pools: ScoredPools
    store: SceneStore
    selection: Selection = "reranked"
    """Only framewise for PDMS: re-ranking is made for EPDMS, whose extended comfort asks for it."""
    metric: Metric = "epdms-v2.2"
    plan: int | None = None
    """The plan whose scores and faults are shown, if not the choice."""

    def __post_init__(self) -> None:
        assert self.metric != "pdms-v1.1" or self.selection == "framewise"

    @classmethod
    def open(
        cls,
        source: Path,
        split: str | None = None,
        store: Path | None = None,
        selection: Selection | None = None,
        metric: Metric = "epdms-v2.2",
        plan: int | None = None,
        weights: Weights = "best",
    ) -> PoolPictures:
        """Pictures of a run's pools or of a folder of pools; re-ranked by default, framewise for PDMS."""
        pools = ScoredPools.open(kept_pools(source, split, weights), store)
        selection = selection or ("framewise" if metric == "pdms-v1.1" else "reranked")
        return cls(pools, SceneStore(pools.about["store"]), selection, metric, plan)

    @property
    def utility(self) -> NDArray[np.floating[Any]]:
        """(S, N) with the weights of the metric."""
        return self.pools.utility_v1 if self.metric == "pdms-v1.1" else self.pools.utility_v2

    @cached_property
    def _alone(self) -> Chosen:
        return framewise(self.utility)

    @cached_property
    def _chosen(self) -> Chosen:
        return select(self.pools, self.utility, self.selection)

    @cached_property
    def _index(self) -> dict[str, int]:
        return {token: index for index, token in enumerate(self.pools.tokens)}

    def show(self, token: str, thumbnail: bool = False, cameras: Images | None = None) -> Shown:
        """Draw a frame with all its plans."""
        index = self._index.get(token)
        if index is None:
            raise PoolError(f"token {token!r}: not among the {len(self.pools):,} frames of these pools")
        scene, plans = self.store[token], self.pools.plans[index]
        if self.plan is not None and not 0 <= self.plan < len(plans):
            raise ValueError(f"--plan {self.plan}: there are plans 0 to {len(plans) - 1}")
        outcome = judge(scene, plans, self.metric, self.pools.about["lqr"])
        chosen = int(self._chosen[index])
        figure = draw_scene(
            scene,
            plans,
            outcome,
            chosen,
            utilities=self.utility[index],
            framewise=int(self._alone[index]) if self.selection == "reranked" else None,
            explained=self.plan,
            cameras=cameras,
            thumbnail=thumbnail,
        )
        shown = chosen if self.plan is None else self.plan
        return Shown(figure, [*self._words(index, outcome), *reasons(outcome, shown)])

    def _words(self, index: int, outcome: Outcome) -> list[str]:
        chosen, alone = int(self._chosen[index]), int(self._alone[index])
        line = f"plan {chosen} of {self.pools.plans.shape[1]} ({self.selection}), {self.metric} "
        line += f"{float(outcome.score[chosen]):.4f}"
        lines = [line + self._comfort(index, outcome, chosen)]
        if alone != chosen:
            lines.append(f"  framewise: plan {alone}, {float(outcome.score[alone]):.4f}")
        if self.plan is not None and self.plan != chosen:
            rank = int((self.utility[index] > self.utility[index, self.plan]).sum()) + 1
            score = float(outcome.score[self.plan])
            lines.append(f"  asked for: plan {self.plan}, number {rank} by utility, {score:.4f}")
        return lines

    def _comfort(self, index: int, outcome: Outcome, chosen: int) -> str:
        if isinstance(outcome, V1Outcome):
            return ""
        flag = continued(self.pools, self._chosen)[index]
        if np.isnan(flag):
            return ", no frame before"
        score = float(outcome.score_with(np.full(len(outcome.score), flag))[chosen])
        return f", {score:.4f} with extended comfort {flag:.0f}"


def judge(scene: Scene, plans: NDArray[Any], metric: Metric, lqr: LqrProfile = "navsim") -> V1Outcome | V2Outcome:
    """The outcome of plans (N, 8, 3) by the name of a metric."""
    if metric == "pdms-v1.1":
        return pdms(scene, plans, lqr=lqr)
    return epdms(scene, plans, version="pre151" if metric == "epdms-pre151" else "v2.2", lqr=lqr)


def reasons(outcome: Outcome, plan: int) -> list[str]:
    """What keeps a plan below 1, a line for each."""
    forgiven = forgiven_of(outcome, plan)
    return [
        f"  {fault.metric} {fault.value:g}: {fault.words}{', forgiven' if fault.metric in forgiven else ''}"
        for fault in faults_of(outcome, plan)
    ]
