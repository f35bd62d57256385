"""Branched scenes as the study of counterfactuals looks at them: features of true views, outcomes, flags.

Shapes: S scenes, K branched plans, N plans of a pool, E features, R training scenes.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from world4scorer.datasets.navsim.logs import read_log
from world4scorer.datasets.navsim.splits import find_split
from world4scorer.datasets.prepare.log_samples import TARGET_FRAMES_AHEAD
from world4scorer.datasets.prepare.samples import Samples
from world4scorer.datasets.store import SceneStore
from world4scorer.engine.outcomes.results import V1_COLUMNS
from world4scorer.engine.scene.scene import Scene
from world4scorer.evaluation.pools.planner_source import PlannerSource
from world4scorer.evaluation.pools.scored import ScoredPools
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.progress import ProgressBar
from world4scorer.planner.model.images import fit_view, normalise
from world4scorer.planner.pretrained.image_encoder import ImageEncoder, Pooling, load_encoder
from world4scorer.planner.training.run_files import read_run
from world4scorer.planner.training.split_samples import split_samples
from world4scorer.studies.branches.choice import spread_scenes
from world4scorer.studies.branches.drive import CAMERA
from world4scorer.studies.branches.ego_trajectory import CAMERA_STEP
from world4scorer.studies.branches.make import MadeBranches
from world4scorer.studies.branches.outcomes import BranchOutcomes, branch_outcomes
from world4scorer.studies.branches.records import FIRST_PLAN, LOGGED_PLAN, LOGGED_POSES, Branch, SceneBranches
from world4scorer.studies.shared.future_match import unit
from world4scorer.studies.shared.view_features import own_encoder, view_features

READER_SCENES: Final = 3000
"""Training scenes that readers are fitted to, at the most."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BranchedScenes:
    """All that models are compared on. Features are unit vectors."""

    tokens: tuple[str, ...]
    log_names: tuple[str, ...]
    samples: Samples
    """S scenes."""
    pool: NDArray[np.float32]
    """(S, N, 8, 3)"""
    chosen: NDArray[np.int64]
    """(S, K) which of them were branched."""
    true: Floats
    """(S, K, E) what is seen two seconds later in each branch."""
    logged: Floats
    """(S, E) what was seen two seconds later in the log."""
    controls: Floats
    """(S, 2, E) the same in the branches through the logged poses, and along the rollout of the logged plan."""
    same_bytes: NDArray[np.bool_]
    """(S, 2) whether the views of these two are the logged images, byte by byte."""
    now: Floats
    """(S, E)"""
    mean: Floats
    """(E,) of the training targets."""
    distance: Floats
    """(S, K) m between plan and logged plan, both rolled out, after two seconds."""
    unseen: NDArray[np.bool_]
    """(S, K) where the traffic lost sight of the ego, so far from every lane it was."""
    gone: NDArray[np.bool_]
    """(S, K) where the ego's route ended."""
    jumped: NDArray[np.int64]
    """(S, K) road users near the ego whom SUMO had put there."""
    moved: Floats
    """(S, 2) m that the others are away from where the log has them after two seconds, in the two control branches."""
    outcomes: tuple[BranchOutcomes, ...]
    views: tuple[tuple[bytes, ...], ...]
    """S times the front views of all branches."""
    train: Samples
    """R training scenes that have a target."""
    train_now: Floats
    """(R, E)"""
    train_future: Floats
    """(R, E)"""

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def on_road(self) -> NDArray[np.bool_]:
        """(S, K) which plans keep to the drivable area."""
        column = V1_COLUMNS.index("DAC")
        return np.stack([one.replayed_v1[1:, column] == 1 for one in self.outcomes])


def look_at(
    run: Path, pools: ScoredPools, made: MadeBranches, split: str | None = None, show: bool = False
) -> BranchedScenes:
    """Read branches, encode their views, judge their plans; `split` is that of the pools, if not the validation one."""
    config, data = read_run(run, split)
    name, pooling = own_encoder(config, data)
    assert name is not None, "checked before"
    encoder, store = load_encoder(name), SceneStore(pools.about["store"])
    tokens = tuple(one.token for some in made.asked.values() for one in some)
    row = {token: index for index, token in enumerate(pools.tokens)}
    source = PlannerSource.find(run, split=split, weights="last")
    samples = source.samples()
    samples = samples.at([samples.index_of[token] for token in tokens])
    train = _training_scenes(run, name, pooling)
    future, now = (
        view_features(run, data, name, pooling, frame, "val").raw().features(tokens) for frame in ("future", "current")
    )
    if not (future[1].all() and now[1].all()):
        raise ValueError(f"{run}: some branched scenes have no view two seconds later; branch other scenes")
    found: dict[str, list[Any]] = {}
    with ProgressBar("true views", "scenes", len(tokens), show) as progress:
        for scene in made.scenes():
            for key, value in _of_scene(scene, store, encoder, pooling, pools).items():
                found.setdefault(key, []).append(value)
            progress.advance()
    features = np.stack(found["features"])
    return BranchedScenes(
        tokens=tokens,
        log_names=tuple(pools.log_names[row[token]] for token in tokens),
        samples=samples,
        pool=np.stack([pools.plans[row[token]] for token in tokens]).astype(np.float32),
        chosen=np.stack(found["chosen"]),
        true=features[:, FIRST_PLAN:],
        logged=unit(future[0].numpy()),
        controls=features[:, [LOGGED_POSES, LOGGED_PLAN]],
        same_bytes=_same_bytes(samples, source, found["views"]),
        now=unit(now[0].numpy()),
        mean=unit(train[2]).mean(0),
        distance=np.stack(found["distance"]),
        unseen=np.stack(found["unseen"]),
        gone=np.stack(found["gone"]),
        jumped=np.stack(found["jumped"]),
        moved=np.stack(found["moved"]),
        outcomes=tuple(found["outcomes"]),
        views=tuple(found["views"]),
        train=train[0],
        train_now=unit(train[1]),
        train_future=unit(train[2]),
    )


def encode(encoder: ImageEncoder, pooling: Pooling, files: Sequence[bytes]) -> Floats:
    """(n, E) unit features of JPEG files, rounded as future targets are."""
    views = [fit_view(Image.open(io.BytesIO(file)), encoder.config) for file in files]
    pooled = encoder.pooled(normalise(torch.from_numpy(np.stack(views))), pooling)
    return unit(pooled.to(torch.float16).float().numpy())


def _of_scene(
    scene: SceneBranches, store: SceneStore, encoder: ImageEncoder, pooling: Pooling, pools: ScoredPools
) -> dict[str, Any]:
    views = tuple(branch.view for branch in scene.branches)
    ego = np.stack([branch.ego[CAMERA_STEP, :2] for branch in scene.branches])
    plans = scene.branches[FIRST_PLAN:]
    logged = store[scene.token]
    return {
        "features": encode(encoder, pooling, views),
        "views": views,
        "chosen": scene.chosen,
        "distance": np.linalg.norm(ego[FIRST_PLAN:] - ego[LOGGED_PLAN], axis=1),
        "unseen": np.array([branch.unseen for branch in plans]),
        "gone": np.array([branch.ended for branch in plans]),
        "jumped": np.array([branch.jumped for branch in plans]),
        "moved": [_displacement(logged, scene.branches[which]) for which in (LOGGED_POSES, LOGGED_PLAN)],
        "outcomes": branch_outcomes(logged, scene, pools.about["lqr"]),
    }


def _displacement(scene: Scene, branch: Branch) -> float:
    """m between where the log and a branch have the others after two seconds, on average; 0 where there is nobody."""
    index = {token: number for number, token in enumerate(scene.tracks.ids)}
    both = [
        (index[str(token)], number)
        for number, token in enumerate(branch.tokens)
        if str(token) in index
        and branch.there[number, CAMERA_STEP]
        and scene.tracks.valid[index[str(token)], CAMERA_STEP]
    ]
    if not both:
        return 0.0
    ours, theirs = np.array(both).T
    apart = scene.tracks.boxes[ours, CAMERA_STEP, :2] - branch.poses[theirs, CAMERA_STEP, :2]
    return float(np.linalg.norm(apart, axis=1).mean())


def _same_bytes(samples: Samples, source: PlannerSource, views: Sequence[Sequence[bytes]]) -> NDArray[np.bool_]:
    """(S, 2) of the control branches."""
    layout, split = DataFolder(source.data), find_split(source.split, source.data).data_split
    same = np.zeros((len(samples), 2), np.bool_)
    logs: dict[str, Any] = {}
    for index, (token, name) in enumerate(zip(samples.tokens, samples.log_names, strict=True)):
        if name not in logs:
            log = read_log(layout.log(split, name))
            logs = {name: (log, {frame.token: number for number, frame in enumerate(log.frames)})}
        log, number = logs[name]
        ahead = log.frames[number[token] + TARGET_FRAMES_AHEAD]
        image = (layout.sensors(split) / ahead.cameras[CAMERA].path).read_bytes()
        same[index] = [views[index][which] == image for which in (LOGGED_POSES, LOGGED_PLAN)]
    return same


def _training_scenes(run: Path, encoder: str, pooling: Pooling) -> tuple[Samples, Floats, Floats]:
    """Some training scenes, evenly over logs, and their features now and two seconds later."""
    _, data = read_run(run)
    samples = split_samples(data.data, data.split, data.store)
    now, later = (view_features(run, data, encoder, pooling, frame, "train").raw() for frame in ("current", "future"))
    known = (now.features(samples.tokens)[1] & later.features(samples.tokens)[1]).numpy()
    by_log: dict[str, list[str]] = {}
    for token, log, there in zip(samples.tokens, samples.log_names, known, strict=True):
        if there:
            by_log.setdefault(log, []).append(token)
    chosen = [token for some in spread_scenes(by_log, READER_SCENES).values() for token in some]
    return (
        samples.at([samples.index_of[token] for token in chosen]),
        now.features(chosen)[0].double().numpy(),
        later.features(chosen)[0].double().numpy(),
    )
