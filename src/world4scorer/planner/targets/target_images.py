"""Images for future targets: the front view two seconds after each scene."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from world4scorer.datasets.navsim.cameras import FRONT, VIEWS
from world4scorer.datasets.navsim.filters import Split, windows
from world4scorer.datasets.navsim.logs import log_paths, read_log
from world4scorer.datasets.prepare.log_samples import TARGET_FRAMES_AHEAD, front_images, stored_front_images
from world4scorer.datasets.store import SceneStore
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.planner.targets.future_targets import TargetError, TargetFrame


class TargetImages(Protocol):
    """Source of target images. Must be picklable."""

    def log_names(self) -> list[str]:
        """All logs."""
        ...

    def images(self, log_name: str) -> list[tuple[str, Path | None]]:
        """Tokens of a log's scenes, each with the image that its target is made of, or None where there is none."""
        ...


@dataclass(frozen=True)
class SplitImages:
    """Images of a split of a NAVSIM dataset, or of the scenes of a store."""

    data: Path
    split: Split
    store: SceneStore | None
    frame: TargetFrame

    def log_names(self) -> list[str]:
        """The logs of the split that are on disk, or those of the store."""
        there = [path.stem for path in log_paths(DataFolder(self.data).logs(self.split.data_split))]
        wanted = self.split.filter.log_names if self.store is None else self.store.logs
        names = there if wanted is None else sorted(set(there) & set(wanted))
        if not names:
            raise TargetError(
                f"{DataFolder(self.data).logs(self.split.data_split)}: no log of {self.split.name!r} is there"
            )
        return names

    def images(self, log_name: str) -> list[tuple[str, Path | None]]:
        """Scenes of a log and their images: from the store where it has them, else from the log."""
        folder, ahead = DataFolder(self.data), TARGET_FRAMES_AHEAD if self.frame == "future" else 0
        tokens: Sequence[str] = () if self.store is None else self.store.tokens_of(log_name)
        found: Mapping[str, str | None] = {}
        if self.store is not None:
            found = stored_front_images(self.store.folder, self.split.data_split, ahead)
        if self.store is None or any(token not in found for token in tokens):
            log = read_log(folder.log(self.split.data_split, log_name))
            found = front_images(log, ahead)
            if self.store is None:
                chosen = self.split.filter
                tokens = [window[chosen.num_history_frames - 1].token for window in windows(log, chosen)]
        for token in tokens:
            if token not in found:
                raise TargetError(f"{log_name}: has no frame {token!r} of the store; was it prepared from other data?")
            if found[token] == "":
                raise TargetError(f"{log_name}: no camera {VIEWS[FRONT]} in the frame of the target of {token!r}")
        sensors = folder.sensors(self.split.data_split)
        return [(token, None if (path := found[token]) is None else sensors / path) for token in tokens]
