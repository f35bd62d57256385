"""Images for future targets: the front view two seconds after each scene."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from world4scorer.datasets.navsim.cameras import FRONT, VIEWS
from world4scorer.datasets.navsim.filters import Split, windows
from world4scorer.datasets.navsim.frames import LogFrame
from world4scorer.datasets.navsim.logs import Log, log_paths, read_log
from world4scorer.datasets.store import SceneStore
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.planner.targets.future_targets import TargetError, TargetFrame

FRAMES_AHEAD: Final = 4
"""Key frames between a scene and its target: two seconds."""


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
        """Scenes of a log and their images."""
        log = read_log(DataFolder(self.data).log(self.split.data_split, log_name))
        tokens = self._tokens(log)
        row = {frame.token: number for number, frame in enumerate(log.frames)}
        if any(token not in row for token in tokens):
            raise TargetError(f"{log.path}: lacks scenes of the store; were they prepared from other data?")
        ahead = log.rows_after(FRAMES_AHEAD if self.frame == "future" else 0)
        seen = [int(ahead[row[token]]) for token in tokens]
        return [
            (token, self._front(log.frames[number]) if number >= 0 else None)
            for token, number in zip(tokens, seen, strict=True)
        ]

    def _tokens(self, log: Log) -> Sequence[str]:
        if self.store is not None:
            return self.store.tokens_of(log.name)
        chosen = self.split.filter
        return [window[chosen.num_history_frames - 1].token for window in windows(log, chosen)]

    def _front(self, frame: LogFrame) -> Path:
        camera = frame.cameras.get(VIEWS[FRONT])
        if camera is None:
            raise TargetError(f"{frame.where}: no camera {VIEWS[FRONT]}")
        return DataFolder(self.data).sensors(self.split.data_split) / camera.path
