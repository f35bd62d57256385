"""Frame files of a planner's pools: FOLDER/TOKEN.json for every frame, and FOLDER/index.json.

>>> write_frames(Path("run/pools/city_val"), Path("run/frames/city_val"))
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from world4scorer.datasets.navsim.cameras import VIEWS
from world4scorer.datasets.navsim.splits import find_split
from world4scorer.datasets.prepare.samples import Samples
from world4scorer.datasets.store import SceneStore
from world4scorer.evaluation.pools.outcome_files import identity
from world4scorer.evaluation.pools.pool_files import PoolError, PoolFolder
from world4scorer.evaluation.pools.scored import ScoredPools
from world4scorer.jobs.executors import SerialExecutor
from world4scorer.jobs.files import atomic_write
from world4scorer.jobs.resumable import resumable
from world4scorer.reporting.explorer.index import FORMAT as INDEX_FORMAT
from world4scorer.reporting.explorer.index import INDEX, Selections, index_record
from world4scorer.reporting.explorer.record import FORMAT, PlannerScores, frame_record
from world4scorer.reporting.explorer.rounding import UNITS

MADE_WITH: Final = ".made_with"
"""Tells what the frames in a folder were made with; others are made anew."""

Paths = Callable[[str], dict[str, str] | None]
"""Images of a token by camera, within the dataset."""


@dataclass(frozen=True)
class FramesReport:
    """What was done."""

    folder: Path
    written: int
    kept: int
    bytes: int
    """Of all frames."""
    seconds: float
    """For those written."""

    def __str__(self) -> str:
        count = self.written + self.kept
        rate = f", {self.written / self.seconds:.0f} a second" if self.written and self.seconds else ""
        return (
            f"{self.folder}: {self.written:,} frames written{rate}, {self.kept:,} were there already; "
            f"{self.bytes / max(count, 1) / 1e3:.0f} kB each; and {INDEX}"
        )


def write_frames(
    folder: Path, out: Path, store: Path | None = None, data: Path | None = None, show_progress: bool = False
) -> FramesReport:
    """Write the frames of a folder of pools; those that are there already are kept.

    Args:
        folder: Of the pools.
        out: Folder of the frames; what another planner's frames left there is removed.
        store: Scene store, if it is not where the pools say.
        data: Dataset folder, if it is not where the pools say. Without it, no images are listed.
        show_progress: A bar on standard error.
    """
    pools = ScoredPools.open(folder, store)
    scenes = SceneStore(pools.about["store"])
    images = _images(pools, scenes, data)
    logits = pools.logits
    made_with = _made_with(PoolFolder(folder), pools, scenes, images is not None)
    selections = Selections(pools)
    with resumable(out, "writing frames there", PoolError) as job:
        _begin(out, made_with)

        def write(place: int) -> None:
            token = pools.tokens[place]
            scores = PlannerScores(
                plans=pools.plans[place],
                logits=None if logits is None else logits[place],
                utility_v1=pools.utility_v1[place],
                utility_v2=pools.utility_v2[place],
                choices=selections.at(place),
                epdms=selections.epdms_at(place),
                continues=selections.continues_at(place),
            )
            cameras = None if images is None else images(token)
            record = frame_record(scenes[token], scores, cameras, pools.about["lqr"])
            _write_json(out / f"{token}.json", record, durable=False)

        begin = time.monotonic()
        written = job.run_missing(
            SerialExecutor(),  # threads would wait for each other: most of the time goes into JSON
            write,
            range(len(pools)),
            "frames",
            "frames",
            is_done=lambda place: _is_whole(out / f"{pools.tokens[place]}.json"),
            show=show_progress,
        )
        seconds = time.monotonic() - begin
        _write_json(out / INDEX, index_record(pools, selections, made_with))
    size = sum((out / f"{token}.json").stat().st_size for token in pools.tokens)
    return FramesReport(out, len(written), len(pools) - len(written), size, seconds)


def _begin(out: Path, made_with: str) -> None:
    """Remove what was made with something else."""
    note = out / MADE_WITH
    if note.is_file() and note.read_text() == made_with:
        return
    found = sorted(out.glob("*.json"))
    strange = [path for path in found if not _is_ours(path)]
    if strange:
        what = "an index of frames" if strange[0].name == INDEX else "a frame"
        raise PoolError(f"{strange[0]}: not {what}; give a folder of its own with --out")
    for path in found:
        path.unlink()
    with atomic_write(note) as stream:
        stream.write(made_with.encode())


def _is_ours(path: Path) -> bool:
    """Whether a file says that it is a frame, or the index of frames, of this or another version."""
    kind = b"frames" if path.name == INDEX else b"frame"
    with open(path, "rb") as stream:
        return stream.read(40).startswith(b'{"format":"world4scorer-' + kind + b"-")


def _is_whole(path: Path) -> bool:
    """Whether a frame is there to its last byte; frames are written without waiting for the disk."""
    try:
        with open(path, "rb") as stream:
            stream.seek(-1, os.SEEK_END)
            return stream.read(1) == b"}"
    except OSError:
        return False


def _write_json(path: Path, record: dict[str, Any], durable: bool = True) -> None:
    content = json.dumps(record, separators=(",", ":"), allow_nan=False).encode()
    with atomic_write(path, durable) as stream:
        stream.write(content)


def _images(pools: ScoredPools, scenes: SceneStore, data: Path | None) -> Paths | None:
    """None where the dataset is not known, or not there."""
    where, split = data or pools.about.get("data"), pools.about.get("split")
    if where is None or split is None or not Path(where).is_dir():
        return None
    root = Path(where)
    samples = Samples.of_split(root, find_split(str(split), root), scenes.folder)
    sensors = samples.sensors.relative_to(root)

    def paths(token: str) -> dict[str, str] | None:
        place = samples.index_of.get(token)
        if place is None:
            return None
        return {name: (sensors / path).as_posix() for name, path in zip(VIEWS, samples.images[place], strict=True)}

    return paths


def _made_with(folder: PoolFolder, pools: ScoredPools, scenes: SceneStore, images: bool) -> str:
    """Digest of what frames depend on: formats, plans, scenes, tracker, the planner's logits, images or none."""
    digest = hashlib.sha256(json.dumps([FORMAT, INDEX_FORMAT, UNITS, images]).encode())
    for name in folder.logs:
        digest.update(identity(folder.read(name, states=False), scenes, pools.about["lqr"]))
    for values in (pools.utility_v1, pools.utility_v2, pools.logits):
        digest.update(b"none" if values is None else np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()
