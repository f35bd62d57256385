"""Making future targets log by log; an interrupted run resumes.

>>> report = make_targets(Path("city"), "city_train", "city", Path("targets.arrow"))
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from glob import escape
from multiprocessing import parent_process
from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray

from world4scorer.datasets.navsim.splits import find_split
from world4scorer.datasets.store import SceneStore
from world4scorer.jobs.executors import Executor, SerialExecutor
from world4scorer.jobs.resumable import resumable
from world4scorer.planner.model.images import ImageError
from world4scorer.planner.pretrained.image_encoder import ImageEncoder, Pooling, load_encoder
from world4scorer.planner.targets.future_targets import (
    SUFFIX,
    FutureTargets,
    TargetError,
    TargetFrame,
    TargetNotes,
    read_file,
    write_file,
)
from world4scorer.planner.targets.target_images import SplitImages, TargetImages

BATCH: Final = 32
"""Images at a time."""


@dataclass(frozen=True)
class TargetReport:
    """Result of a run."""

    scenes: int
    valid: int
    """Scenes with a target."""
    mean_cosine: float
    """Mean cosine of targets of different scenes."""
    between_logs: float
    """Share of the targets' variance between logs (weather and light)."""
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
    frame: TargetFrame = "future",
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
    _check_name(out)
    scenes = None if store is None else SceneStore(store)
    notes = target_notes(split, encoder, frame, pooling, centre)
    notes = notes if scenes is None else replace(notes, scenes=scenes.digest)
    images = SplitImages(data, find_split(split, data), scenes, frame)
    return make_image_targets(images, notes, encoder, out, executor, device, show_progress)


def target_notes(
    split: str, encoder: str | Path, frame: TargetFrame = "future", pooling: Pooling = "patches", centre: bool = False
) -> TargetNotes:
    """Settings of targets to be made."""
    loaded = load_encoder(encoder)
    sizes = loaded.config
    return TargetNotes(
        split, loaded.digest(), frame, pooling, sizes.image_height, sizes.image_width, sizes.crop_top, centre
    )


def make_image_targets(
    images: TargetImages,
    notes: TargetNotes,
    encoder: str | Path,
    out: Path,
    executor: Executor | None = None,
    device: str = "cpu",
    show_progress: bool = False,
) -> TargetReport:
    """Make targets of images from any source."""
    _check_name(out)
    start = time.monotonic()
    parts = _parts(out)
    with resumable(parts, "making these targets", TargetError) as job:
        for leftover in out.parent.glob(f".{escape(out.name)}.*.tmp"):  # of a process that was killed while joining
            leftover.unlink()
        logs = images.log_names()
        job.run_missing(
            executor or SerialExecutor(),
            _MakeLog(images, str(encoder), parts, notes, device),
            logs,
            "targets",
            "logs",
            is_done=lambda name: _is_made(parts / f"{name}{SUFFIX}", notes),
            show=show_progress,
        )
        between_logs = _join([parts / f"{name}{SUFFIX}" for name in logs], out, notes)
    shutil.rmtree(parts)
    targets = FutureTargets.open(out)
    return TargetReport(len(targets), targets.valid, targets.mean_cosine(), between_logs, time.monotonic() - start)


def targets_finished(out: Path) -> bool:
    """Whether targets are made, and nothing is left of making them."""
    return out.is_file() and not _parts(out).is_dir()


def _parts(out: Path) -> Path:
    """Folder of the logs that are finished."""
    return out.with_name(f".{out.name}.parts")


def _check_name(out: Path) -> None:
    if out.suffix != SUFFIX:
        raise TargetError(f"{out}: must end in {SUFFIX}")


@dataclass(frozen=True)
class _MakeLog:
    """Task of a worker process: one log."""

    source: TargetImages
    encoder: str
    parts: Path
    notes: TargetNotes
    device: str

    def __call__(self, name: str) -> None:
        """Write the targets of one log."""
        found = self.source.images(name)
        encoder = _load(self.encoder, self.device)
        valid = np.array([path is not None for _, path in found], np.bool_)
        features = np.zeros((len(found), encoder.config.vit_width), np.float16)
        rows = np.flatnonzero(valid)
        for start in range(0, len(rows), BATCH):
            chosen = rows[start : start + BATCH]
            features[chosen] = self._encode(encoder, [found[row] for row in chosen])
        write_file(self.parts / f"{name}{SUFFIX}", [token for token, _ in found], features, valid, self.notes)

    def _encode(self, encoder: ImageEncoder, found: Sequence[tuple[str, Path | None]]) -> NDArray[np.float16]:
        images = torch.stack([_image(encoder, token, path) for token, path in found if path is not None])
        pooled = encoder.pooled(images.to(self.device), self.notes.pooling)
        return pooled.to("cpu", torch.float16).numpy()


@lru_cache(1)
def _load(encoder: str, device: str) -> ImageEncoder:
    """Read once per process."""
    if parent_process() is not None:
        torch.set_num_threads(1)  # a core for each worker
    return load_encoder(encoder).to(device)


def _image(encoder: ImageEncoder, token: str, path: Path) -> torch.Tensor:
    try:
        return encoder.image(path)
    except ImageError as error:
        raise ImageError(f"{error} (target of token {token!r})") from error


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
