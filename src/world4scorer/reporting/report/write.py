"""One page with everything that a training run, or a folder of pools, knows.

>>> write_report(Path("runs/city"))

Nothing outside the file is needed to read it: pictures and style are inside, no script, no network.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from world4scorer import __version__
from world4scorer.jobs.files import atomic_write, check_file
from world4scorer.jobs.run_folder import RunFolder, Weights
from world4scorer.reporting.report.contents import read_contents
from world4scorer.reporting.report.page import page
from world4scorer.reporting.report.sections import sections


def write_report(
    source: Path,
    out: Path | None = None,
    split: str | None = None,
    store: Path | None = None,
    weights: Weights = "best",
) -> Path:
    """Write SOURCE/report.html, or `out`; the same folder gives the same bytes.

    Args:
        source: Folder of a training run with its planner, or a folder of pools.
        out: File.
        split: Which pools of a run to show; those of its validation split unless given.
        store: Scene store of the pools, if it is not where they say.
        weights: Whose pools of a run: those of the best planner where there are some, or of the last.
    """
    path = RunFolder(source).report_file if out is None else out
    check_file(path)
    contents = read_contents(source, split, store, weights)
    explorer = RunFolder(source).explorer_file
    if explorer.is_file():
        contents = replace(contents, explorer=Path(os.path.relpath(explorer, path.parent)).as_posix())
    run = "A training run: what it was, how it scores, and what the studies of the paper find in it"
    pools = "A planner's pools: how they score, and what the studies of the paper find in them"
    made = page(
        contents.name,
        pools if contents.training is None else run,
        sections(contents),
        f"Made by `w4s report {contents.name}`, World4Scorer {__version__}.",
    )
    with atomic_write(path) as stream:
        stream.write(made.encode())
    return path
