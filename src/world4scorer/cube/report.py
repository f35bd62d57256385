"""The report of a study: tables, chart, rescued windows frame by frame, a film of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from world4scorer.cube.comparison import NAME, compare
from world4scorer.cube.errors import CubeError
from world4scorer.cube.evaluate import Player, Results
from world4scorer.cube.figure import draw_cases
from world4scorer.cube.film import film_cases
from world4scorer.cube.study import Study
from world4scorer.cube.train_head import read_head_report
from world4scorer.cube.tune import CHOICE


def write_report(study: Study, results: Results, weight: float, folder: Path, command: str) -> str:
    """Write the results of a study, made by a command, to `folder`; returns the tables as text."""
    scored = Player.OURS in results
    finding = compare(
        results,
        read_head_report(study.head) if scored else None,
        study.tuned() if scored and (study.tuning / CHOICE).exists() else None,
        weight if scored else None,
        study.stages.seconds,
    )
    cases, film = folder / f"{NAME}_cases.png", folder / f"{NAME}_rescued.webp"
    cases.unlink(missing_ok=True)
    film.unlink(missing_ok=True)
    try:
        draw_cases(study.episodes, results, cases)
        film_cases(study.episodes, results, film)
    except CubeError as error:  # tables need no pictures
        finding = replace(finding, remarks=(*finding.remarks, f"No figure of cases, or no film: {error}."))
    finding.save(folder, command)
    return finding.markdown(command)
