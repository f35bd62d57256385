"""The report of a study: tables, chart, rescued windows frame by frame, a film of them."""

from __future__ import annotations

from pathlib import Path

from world4scorer.cube.cases import NothingRescued
from world4scorer.cube.comparison import NAME, compare
from world4scorer.cube.evaluate import read_played
from world4scorer.cube.figure import draw_cases
from world4scorer.cube.film import film_cases
from world4scorer.cube.study import Study
from world4scorer.cube.train_head import read_head_report
from world4scorer.cube.tune import read_tuned


def write_report(study: Study, folder: Path, command: str) -> str:
    """Write all of it to `folder`, and return the tables as text."""
    results = read_played(study.played)
    finding = compare(results, read_head_report(study.head), read_tuned(study.tuning), study.stages.seconds)
    finding.save(folder, command)
    text = finding.markdown(command)
    try:
        draw_cases(study.episodes, results, folder / f"{NAME}_cases.png")
        film_cases(study.episodes, results, folder / f"{NAME}_rescued.webp")
    except NothingRescued as error:
        text += f"\nNo figure of cases, no film: {error}\n"
    return text
