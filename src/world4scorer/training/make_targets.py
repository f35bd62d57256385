"""Making future targets log by log. May be killed at any time and run again: finished logs are kept.

>>> report = make_targets(Path("city"), "city_train", "city", Path("targets.arrow"))
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import parent_process
from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray

from world4scorer.cache.executors import Executor, SerialExecutor
from world4scorer.model.image_encoder import ImageEncoder, Pooling, load_encoder
from world4scorer.model.images import ImageError
from world4scorer.navsim.cameras import FRONT, VIEWS
from world4scorer.navsim.filters import Split, windows
from world4scorer.navsim.frames import LogFrame
from world4scorer.navsim.layout import Layout
from world4scorer.navsim.logs import Log, read_log
from world4scorer.navsim.splits import find_split
from world4scorer.progress import ProgressBar
from world4scorer.scene.files import only_one
from world4scorer.store import SceneStore
from world4scorer.training.future_targets import (
    SUFFIX,
    Frame,
    FutureTargets,
    TargetError,
    TargetNotes,
    read_file,
    write_file,
)

FRAMES_AHEAD: Final = 4
"""Key frames between a scene and its target: two seconds."""
BATCH: Final = 32
"""Images at a time."""
NAMED: Final = 5
"""Failed logs that an error names."""


@dataclass(frozen=True)
class TargetReport:
    """What a run made."""

    scenes: int
    valid: int
    """Scenes with a target."""
    mean_cosine: float
    """Of targets of different scenes."""
    between_logs: float
    """Share of the targets' variance that lies between logs: weather and light rather than what a scene shows."""
    seconds: float

    def __str__(self) -> str:
        return (
            f"{self.valid} targets for {self.scenes} scenes in {self.seconds:.1f} s; {self.scenes - self.valid} scenes "
            f"have none; mean cosine between scenes {self.mean_cosine:.3f}, variance between logs "
            f"{self.between_logs:.0%}"
        )


def make_targets(
    data: Path,
    split: str,
    encoder: str | Path,
    out: Path,
    *,
    frame: Frame = "future",
    pooling: Pooling = "patches",
    centre: bool = False,
    store: Path | None = None,
    executor: Executor | None = None,
    device: str = "cpu",
    show_progress: bool = False,
) -> TargetReport:
    """Make the targets of a split, or of the scenes of a store, and write them to a file (.arrow).

    `encoder` is "city", a folder, or a file of weights. A bad image is an error that names file and token; the logs
    that were finished are kept beside `out` until the run succeeds.
    """
    if out.suffix != SUFFIX:
        raise TargetError(f"{out}: must end in {SUFFIX}")
    start = time.monotonic()
    loaded = load_encoder(encoder)
    sizes = loaded.config
    notes = TargetNotes(
        split, loaded.digest(), frame, pooling, sizes.image_height, sizes.image_width, sizes.crop_top, centre
    )
    parts = out.with_name(f".{out.name}.parts")
    with only_one(parts / ".lock", TargetError(f"{out}: another run is making these targets; wait for it")):
        work = _MakeLog(
            data,
            find_split(split, data),
            str(encoder),
            parts,
            notes,
            None if store is None else SceneStore(store),
            device,
        )
        logs = work.log_names()
        missing = [name for name in logs if not _is_made(parts / f"{name}{SUFFIX}", notes)]
        failed = []
        running = (executor or SerialExecutor()).run(work, missing)
        with ProgressBar("targets", "logs", len(missing), show_progress) as progress:
            for done in running:
                progress.advance()
                if done.error is not None:
                    failed.append(done.error)
        if failed:
            shown = "\n".join(f"  {error}" for error in failed[:NAMED])
            raise TargetError(
                f"{out}: {len(failed)} of {len(logs)} logs failed; the others are kept, run again once the cause is "
                f"gone:\n{shown}"
            )
        between_logs = _join([parts / f"{name}{SUFFIX}" for name in logs], out, notes)
        shutil.rmtree(parts)
    targets = FutureTargets.open(out)
    return TargetReport(len(targets), targets.valid, targets.mean_cosine(), between_logs, time.monotonic() - start)


@dataclass(frozen=True)
class _MakeLog:
    """The work on one log, as a worker process does it."""

    data: Path
    split: Split
    encoder: str
    parts: Path
    notes: TargetNotes
    store: SceneStore | None
    device: str

    def log_names(self) -> list[str]:
        """The logs of the split that are on disk, or those of the store."""
        there = [path.stem for path in Layout(self.data).log_paths(self.split.data_split)]
        wanted = self.split.filter.log_names if self.store is None else self.store.logs
        names = there if wanted is None else sorted(set(there) & set(wanted))
        if not names:
            raise TargetError(
                f"{Layout(self.data).logs(self.split.data_split)}: no log of {self.split.name!r} is there"
            )
        return names

    def __call__(self, name: str) -> int:
        """Write the targets of one log; returns the number of its scenes."""
        log = read_log(Layout(self.data).log(self.split.data_split, name))
        tokens = self._tokens(log)
        row = {frame.token: number for number, frame in enumerate(log.frames)}
        ahead = log.rows_after(FRAMES_AHEAD if self.notes.frame == "future" else 0)
        seen = np.array([ahead[row[token]] for token in tokens if token in row], np.int64)
        if len(seen) != len(tokens):
            raise TargetError(f"{log.path}: lacks scenes of the store; were they prepared from other data?")
        encoder = _load(self.encoder, self.device)
        valid = seen >= 0
        features = np.zeros((len(tokens), encoder.config.vit_width), np.float16)
        frames = [log.frames[number] for number in seen[valid]]
        for start in range(0, len(frames), BATCH):
            rows = np.flatnonzero(valid)[start : start + BATCH]
            features[rows] = self._encode(encoder, frames[start : start + BATCH])
        write_file(self.parts / f"{name}{SUFFIX}", tokens, features, valid, self.notes)
        return len(tokens)

    def _tokens(self, log: Log) -> Sequence[str]:
        if self.store is not None:
            return self.store.tokens_of(log.name)
        chosen = self.split.filter
        return [window[chosen.num_history_frames - 1].token for window in windows(log, chosen)]

    def _encode(self, encoder: ImageEncoder, frames: Sequence[LogFrame]) -> NDArray[np.float16]:
        sensors = Layout(self.data).sensors(self.split.data_split)
        images = torch.stack([_image(encoder, sensors, frame) for frame in frames])
        pooled = encoder.pooled(images.to(self.device), self.notes.pooling)
        return pooled.to("cpu", torch.float16).numpy()


@lru_cache(1)
def _load(encoder: str, device: str) -> ImageEncoder:
    """Read once per process."""
    if parent_process() is not None:
        torch.set_num_threads(1)  # a core for each worker
    return load_encoder(encoder).to(device)


def _image(encoder: ImageEncoder, sensors: Path, frame: LogFrame) -> torch.Tensor:
    camera = frame.cameras.get(VIEWS[FRONT])
    if camera is None:
        raise TargetError(f"{frame.where}: no camera {VIEWS[FRONT]}")
    try:
        return encoder.image(sensors / camera.path)
    except ImageError as error:
        raise ImageError(f"{error} (token {frame.token!r})") from error


def _is_made(path: Path, notes: TargetNotes) -> bool:
    """Whether a run with the same settings has finished a log; what others left is made again."""
    return path.is_file() and read_file(path)[3] == notes


def _join(parts: Sequence[Path], out: Path, notes: TargetNotes) -> float:
    """Write all parts to one file; returns the share of the variance that lies between them."""
    tables = [read_file(path) for path in parts]
    tokens = [token for table in tables for token in table[0]]
    features, valid = (np.concatenate([table[column] for table in tables]) for column in (1, 2))
    write_file(out, tokens, features, valid, notes)
    found = [table[1][table[2]].astype(np.float64) for table in tables if table[2].any()]
    if not found:
        return float("nan")
    mean = np.concatenate(found).mean(0)
    total = sum(np.square(part - mean).sum() for part in found)
    return float(sum(len(part) * np.square(part.mean(0) - mean).sum() for part in found) / max(total, 1e-30))
