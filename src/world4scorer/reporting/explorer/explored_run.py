"""What the explorer shows of a run, a folder of pools or a scene store: tables, scenes and images by log.

>>> run = ExploredRun.open(Path("runs/city"))
>>> run.logs[0].name, len(run.table(0)), len(run.scenes(0))
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from world4scorer.city.world.manifest import DriveEntry, find_drive
from world4scorer.datasets.navsim.cameras import VIEWS
from world4scorer.datasets.navsim.splits import find_split
from world4scorer.datasets.prepare.samples import Samples
from world4scorer.datasets.store import SceneStore
from world4scorer.engine.scene.indices import State
from world4scorer.evaluation.pools.open import kept_pools
from world4scorer.evaluation.pools.pool_files import PoolFolder, is_pools
from world4scorer.evaluation.pools.scored import ScoredPools
from world4scorer.jobs.run_folder import RunFolder, Weights
from world4scorer.reporting.explorer.drives import describe_drive, route_agreements
from world4scorer.reporting.explorer.human_plans import describe_store, human_pools
from world4scorer.reporting.explorer.log_branches import read_branches
from world4scorer.reporting.explorer.log_map import LogMap
from world4scorer.reporting.explorer.log_scenes import FramePlans, LogScenes
from world4scorer.reporting.explorer.log_table import pack_table
from world4scorer.reporting.explorer.retrieved_views import RetrievedViews, can_retrieve
from world4scorer.reporting.explorer.situations import outliers, project, situations
from world4scorer.studies.branches.records import Branch

THUMBNAIL_QUALITY: Final = 60
KEPT_STATES: Final = 8
"""Logs whose states stay in memory."""


@dataclass(frozen=True)
class ExploredLog:
    """The frames of one log."""

    name: str
    place: str
    """Location of its map."""
    rows: slice
    """Its frames among those of all logs."""


@dataclass(frozen=True, eq=False)
class ExploredRun:
    """Scored pools with their scenes, and images where the dataset is there."""

    name: str
    pools: ScoredPools
    store: SceneStore
    folder: PoolFolder | None
    """Where states are read from; None for a scene store, whose plans are the human's."""
    data: Path | None
    """Folder of the dataset; None where it is not known, or not there."""
    samples: Samples | None
    """Images and cameras; None without the dataset."""
    source: RunFolder | None = None
    """The training run, if it is one: its branches and predicted views are shown."""

    @classmethod
    def open(
        cls,
        source: Path,
        split: str | None = None,
        weights: Weights = "best",
        store: Path | None = None,
        data: Path | None = None,
    ) -> ExploredRun:
        """Open a training run, a folder of pools, or a scene store."""
        name = source.resolve().name
        if not is_pools(source) and not RunFolder(source).exists:
            scenes = SceneStore(source)
            if not len(scenes):
                raise ValueError(f"{source}: neither a training run, nor pools, nor a scene store")
            if split is not None or store is not None:
                raise ValueError(f"--split and --store belong to runs and pools; {source} is a scene store")
            return cls(name, human_pools(scenes), scenes, None, *_dataset(describe_store(scenes), scenes, data))
        where = kept_pools(source, split, weights)
        pools = ScoredPools.open(where, store)
        scenes = SceneStore(pools.about["store"])
        run = RunFolder(source) if RunFolder(source).exists else None
        return cls(name, pools, scenes, PoolFolder(where), *_dataset(pools.about, scenes, data), run)

    @cached_property
    def logs(self) -> tuple[ExploredLog, ...]:
        """All logs, in the order of the pools."""
        names = np.asarray(self.pools.log_names)
        edges = [0, *(np.flatnonzero(names[1:] != names[:-1]) + 1).tolist(), len(names)]
        return tuple(
            ExploredLog(str(names[first]), self._place(self.pools.tokens[first]), slice(first, end))
            for first, end in pairwise(edges)
        )

    @property
    def cameras(self) -> tuple[str, ...]:
        """Names of the cameras; none where images are not known."""
        return () if self.samples is None else VIEWS

    def table(self, log: int) -> bytes:
        """What choosing and filtering need of a log."""
        pools, rows, drive = self.pools, self.logs[log].rows, self._drive(log)
        agreements = None if drive is None else route_agreements(drive, pools.ego_pose[rows], pools.plans[rows])
        return pack_table(pools, rows, self._situations, self._outliers, agreements)

    def scenes(self, log: int) -> bytes:
        """What is drawn of a log."""
        entry, pools = self.logs[log], self.pools
        frames = range(entry.rows.start, entry.rows.stop)
        states = self._states(entry.name)
        first = self.store[pools.tokens[entry.rows.start]].ego_state[[State.X, State.Y]]
        split = str(pools.about.get("split"))
        branches = {} if self.source is None else read_branches(self.source.branches(split), entry.name)
        kept = LogScenes(LogMap(np.round(first)), pools.about["lqr"])
        for number, index in enumerate(frames):
            planned = FramePlans(
                plans=pools.plans[index],
                logits=None if pools.logits is None else pools.logits[index],
                projected=None if states is None else project(states[number]),
                cameras=self._calibration(pools.tokens[index]),
            )
            kept.add(self.store[pools.tokens[index]], planned)
            if branches:
                kept.add_branches(self._branches_of(index, branches))
        drive = self._drive(log)
        header: dict[str, Any] = {"log_name": entry.name, "frames": len(frames), "plans": pools.plans.shape[1]}
        if drive is not None:
            header["drive"] = describe_drive(drive, kept.log_map.origin)
        return kept.pack(header)

    def image(self, frame: int, camera: int, width: int | None = None) -> bytes | None:
        """A JPEG of a frame, by its index among all; None where there is none. With a width, small."""
        if self.samples is None:
            return None
        index = self.samples.index_of.get(self.pools.tokens[frame])
        if index is None:
            return None
        path = self.samples.sensors / self.samples.images[index][camera]
        if not path.is_file():
            return None
        return path.read_bytes() if width is None else shrink(path, width)

    def view(self, log: int, frame: int, plan: int) -> bytes | None:
        """JPEG of what the planner predicts to be seen two seconds into a plan: the nearest view of its training."""
        states = self._states(self.logs[log].name) if self._views is not None else None
        if self._views is None or states is None:
            return None
        path = self._views.nearest(states[frame, plan])
        return path.read_bytes() if path.is_file() else None

    @property
    def has_views(self) -> bool:
        """Whether predicted views can be asked for."""
        return self.source is not None and can_retrieve(self.source, self.pools.weights)

    @cached_property
    def _views(self) -> RetrievedViews | None:
        return None if self.source is None else RetrievedViews.of_run(self.source, self.pools.weights)

    @cached_property
    def _states(self) -> Callable[[str], NDArray[Any] | None]:
        """States (F, N, D) by log, or None; those asked for last stay in memory."""
        folder = self.folder
        return lru_cache(KEPT_STATES)(lambda name: None if folder is None else folder.read(name).states)

    def _branches_of(self, index: int, branches: Mapping[str, Any]) -> dict[int, Branch]:
        """Branches of a frame by plan; none if they are of other plans, by another planner of the run."""
        plans, by_plan = branches.get(self.pools.tokens[index], (None, {}))
        same = plans is not None and np.array_equal(plans, self.pools.plans[index, list(by_plan)])
        return by_plan if same else {}

    def _drive(self, log: int) -> DriveEntry | None:
        """The drive that a log is; None for logs of a dataset's own driver."""
        return None if self.data is None else find_drive(self.data, self.logs[log].name)

    def _place(self, token: str) -> str:
        return str(self.store.extras(token).get("map_location", ""))

    @cached_property
    def _situations(self) -> NDArray[np.uint8]:
        return situations(self.pools.human_plan)

    @cached_property
    def _outliers(self) -> NDArray[np.float32]:
        """(S,) by the mean state of a frame; zeros for pools without states."""
        means = []
        for log in self.logs:
            states = None if self.folder is None else self.folder.read(log.name).states
            if states is None:
                return np.zeros(len(self.pools), np.float32)
            means.append(states.mean(1, np.float32))
        return outliers(np.concatenate(means))

    def _calibration(self, token: str) -> NDArray[np.float32] | None:
        """(C, 23) cameras of a frame; NaN where they are not known."""
        if self.samples is None:
            return None
        index, count = self.samples.index_of.get(token), len(VIEWS)
        if index is None:
            return np.full((count, 23), np.nan, np.float32)
        samples = self.samples
        size = np.broadcast_to(samples.image_size[index], (count, 2))
        parts = (samples.intrinsics[index].reshape(count, 9), samples.rotation[index].reshape(count, 9))
        return np.concatenate([*parts, samples.translation[index], size], axis=1).astype(np.float32)


def _dataset(about: Mapping[str, Any], scenes: SceneStore, data: Path | None) -> tuple[Path | None, Samples | None]:
    """Folder of the dataset and images of the scenes; None where they are not known, or not there."""
    where, split = data or about.get("data"), about.get("split")
    if where is None or split is None or not Path(where).is_dir():
        return None, None
    return Path(where), Samples.of_split(Path(where), find_split(str(split), Path(where)), scenes.folder)


def shrink(path: Path, width: int) -> bytes:
    """An image as a JPEG of at most this width [pixels]."""
    with Image.open(path) as image:
        share = min(1.0, width / image.width)
        size = max(1, round(image.width * share)), max(1, round(image.height * share))
        image.draft("RGB", size)
        small = image.convert("RGB").resize(size)
    kept = io.BytesIO()
    small.save(kept, "JPEG", quality=THUMBNAIL_QUALITY)
    return kept.getvalue()
