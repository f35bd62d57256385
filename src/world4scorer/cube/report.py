"""The report of a study: tables, chart, rescued windows frame by frame, a film of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from world4scorer.cube.comparison import NAME, OutcomeScore, compare
from world4scorer.cube.errors import CubeError
from world4scorer.cube.evaluate import Player, Results
from world4scorer.cube.figure import draw_cases
from world4scorer.cube.film import film_cases
from world4scorer.cube.protocols import MANIFEST, described, read_manifest
from world4scorer.cube.study import Study
from world4scorer.cube.train_head import read_head_report
from world4scorer.cube.tune import choice_file
from world4scorer.jobs.files import read_json, write_json


def write_report(study: Study, results: Results, weights: Mapping[Player, float], folder: Path, command: str) -> str:
    """Write the results of a study, made by a command, to `folder`; returns the tables as text.

    `weights` are those of the players with outcome scores.
    """
    scores = {
        player: OutcomeScore(
            read_head_report(study.contest().scored_by(player)[0]),
            study.tuned(player) if choice_file(study.tuning, player).exists() else None,
            weight,
        )
        for player, weight in weights.items()
        if player in results
    }
    seeds = sorted({seed for some in results.values() for seed in some})
    manifest = read_manifest(study.played)
    finding = compare(results, scores, study.stages.seconds, described(study.played, seeds) if manifest else None)
    cases, film = folder / f"{NAME}_cases.png", folder / f"{NAME}_rescued.webp"
    cases.unlink(missing_ok=True)
    film.unlink(missing_ok=True)
    try:
        draw_cases(study.episodes, results, cases)
        film_cases(study.episodes, results, film)
    except CubeError as error:  # tables need no pictures
        finding = replace(finding, remarks=(*finding.remarks, f"No figure of cases, or no film: {error}."))
    finding.save(folder, command)
    if manifest:
        write_json(folder / f"{NAME}_{MANIFEST}", read_json(study.played / MANIFEST, CubeError))
    return finding.markdown(command)
