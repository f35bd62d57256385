"""The explorer as one file that opens from disk: the page with as many logs as fit.

>>> write_single_file([ExploredRun.open(Path("runs/city"))], Path("explorer.html"))
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from world4scorer.jobs.files import atomic_write
from world4scorer.jobs.progress import ProgressBar
from world4scorer.reporting.explorer.catalogue import catalogue
from world4scorer.reporting.explorer.explored_run import ExploredRun
from world4scorer.reporting.explorer.page import policy, render_page
from world4scorer.reporting.explorer.typed_file import pack
from world4scorer.reporting.report.gallery import Gallery

MAX_BYTES: Final = 25_000_000
"""Of the file."""
PAGE_BYTES: Final = 1_000_000
"""Kept free for page and catalogue."""
THUMBNAIL_WIDTH: Final = 256
"""Width of the front camera's images in the file [pixels]."""
COMPRESSION: Final = 6

Block = tuple[str, bytes]


@dataclass(frozen=True)
class FileReport:
    """What was written."""

    path: Path
    frames: int
    all_frames: int
    logs: int
    all_logs: int
    bytes: int

    def __str__(self) -> str:
        taken = f"{self.path}: {self.frames:,} of {self.all_frames:,} frames, {self.logs} of {self.all_logs} logs"
        chosen = (
            "" if self.logs == self.all_logs else "; choose others with --logs NAME ..., or serve all without --out"
        )
        return f"{taken}, {self.bytes / 1e6:.1f} MB{chosen}"


def write_single_file(
    runs: Sequence[ExploredRun],
    out: Path,
    logs: Sequence[str] = (),
    max_bytes: int = MAX_BYTES,
    show_progress: bool = False,
) -> FileReport:
    """Write the page with the named logs of every run, or as many as fit: those of the report's scenes first.

    A ValueError for a log that is not there, or named logs that do not fit.
    """
    blocks, taken = _collect(runs, logs, max_bytes, show_progress)
    if not taken:
        raise ValueError(f"{out}: the first log alone needs more than {max_bytes / 1e6:.0f} MB; serve it without --out")
    first = runs[0]
    numbers = [[number for number, log in enumerate(run.logs) if log.name in taken] for run in runs]
    frames = sum(first.logs[number].rows.stop - first.logs[number].rows.start for number in numbers[0])
    report = FileReport(out, frames, len(first.pools), len(taken), len(first.logs), 0)
    held = catalogue(runs, numbers, "" if len(taken) == len(first.logs) else _note(report))
    page = render_page(policy(images="blob:", connections="'none'"), held, blocks).encode()
    with atomic_write(out) as stream:
        stream.write(page)
    return replace(report, bytes=len(page))


def _collect(
    runs: Sequence[ExploredRun], logs: Sequence[str], max_bytes: int, show_progress: bool
) -> tuple[list[Block], list[str]]:
    """Data blocks, and the names of the logs that they are of."""
    names = _known(runs[0], logs) if logs else _order(runs[0])
    room, blocks, taken = max_bytes - PAGE_BYTES, list[Block](), list[str]()
    with ProgressBar("explorer", "logs", len(names), show_progress) as bar:
        for name in names:
            found = [block for number, run in enumerate(runs) for block in _blocks(number, run, name)]
            room -= sum(-(-len(content) // 3) * 4 + 100 for _, content in found)
            if room < 0:
                break
            blocks += found
            taken.append(name)
            bar.advance()
    if logs and len(taken) < len(names):
        raise ValueError(f"--logs: {len(names)} logs need more than {max_bytes / 1e6:.0f} MB; name fewer")
    return blocks, taken


def _note(report: FileReport) -> str:
    return (
        f"This file holds {report.frames:,} of {report.all_frames:,} frames ({report.logs} of {report.all_logs} logs). "
        "w4s explore RUN --out FILE --logs NAME ... takes others; w4s explore RUN shows all."
    )


def _order(run: ExploredRun) -> list[str]:
    """Logs of the report's scenes, then the others evenly spread over the split."""
    count = len(run.logs)
    shown = dict.fromkeys(run.pools.log_names[index] for index in Gallery(run.pools).indices().values())
    # Each number in binary, its digits reversed: every beginning of this order is spread over the whole.
    spread = sorted(range(count), key=lambda number: int(f"{number:020b}"[::-1], 2))
    return list(dict.fromkeys([*shown, *(run.logs[number].name for number in spread)]))


def _known(run: ExploredRun, logs: Sequence[str]) -> list[str]:
    there = {log.name for log in run.logs}
    for name in logs:
        if name not in there:
            raise ValueError(f"--logs {name}: no such log; there are {', '.join(sorted(there)[:5])}, ...")
    return list(dict.fromkeys(logs))


def _blocks(number: int, run: ExploredRun, name: str) -> Iterator[Block]:
    """Data blocks of a log of one run, compressed; none where the run does not have it."""
    for log, entry in enumerate(run.logs):
        if entry.name != name:
            continue
        for kind, content in (("table", run.table(log)), ("scenes", run.scenes(log))):
            yield f"{kind}-{number}-{log}", gzip.compress(content, COMPRESSION, mtime=0)
        if run.cameras:
            yield f"images-{number}-{log}", _pack_images(run, entry.rows)


def _pack_images(run: ExploredRun, rows: slice) -> bytes:
    """Small images of the front camera, one after the other."""
    images = [run.image(frame, 0, THUMBNAIL_WIDTH) or b"" for frame in range(rows.start, rows.stop)]
    ends = np.cumsum([len(image) for image in images], dtype=np.uint32)
    content = pack({"format": "world4scorer-images-1"}, {"ends": ends, "jpeg": np.frombuffer(b"".join(images), "u1")})
    return gzip.compress(content, 1, mtime=0)
