"""Rounds of aggregation, until one no longer pays.

OUT/round_N/rollouts, /run, /evaluation are those of round N; OUT/rounds.json lists what was measured; OUT/planner is
the planner that drove best. Drives are splits of the city's dataset. An interrupted command resumes where it was.

>>> aggregate(Aggregation(Path("runs/city"), Path("runs/own"), AggregateConfig(), executor, Machine()))
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from world4scorer import __version__
from world4scorer.datasets.store import SceneStore
from world4scorer.drawing.finding import Finding, Table
from world4scorer.driving.aggregation.rounds import Aggregation, RoundResult
from world4scorer.driving.closed_loop.drive_config import DriveError
from world4scorer.driving.results.comparison import interval_of
from world4scorer.evaluation.scores.bootstrap import cell
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.files import read_json, write_json
from world4scorer.jobs.resumable import Settings, resumable
from world4scorer.jobs.run_folder import RunFolder
from world4scorer.planner.training.rollouts import RolloutData
from world4scorer.planner.training.run_files import read_run

ABOUT: Final = "about.json"
ROUNDS: Final = "rounds.json"
NAME: Final = "aggregation"

logger = logging.getLogger(__name__)


def aggregate(work: Aggregation) -> Finding:
    """Run the rounds that are missing; returns the table of all."""
    _, data = read_run(work.run)
    if not DataFolder(data.data).is_city:
        raise DriveError(f"{work.run}: was trained on {data.data}, which is no city; there is nothing to drive in")
    settings = Settings(work.out / ABOUT, {"world4scorer": __version__, **work.describe()}, ignored=("world4scorer",))
    with resumable(work.out, "aggregating there", DriveError, settings):
        results = _run_rounds(work)
        best = best_round(results)
        _keep_planner(Path(best.planner), RunFolder(work.out).planner)
    return _finding(work, results)


def _run_rounds(work: Aggregation) -> list[RoundResult]:
    """Results of all rounds, those of an earlier call read again."""
    path = work.out / ROUNDS
    known = [RoundResult(**values) for values in read_json(path, DriveError)["rounds"]] if path.is_file() else []
    results: list[RoundResult] = []
    rollouts: list[RolloutData] = []
    for number in range(work.config.rounds + 1):
        if number and not pays(results, work.config.least_gain):
            logger.info("round %d did not pay; there are no more", number - 1)
            break
        if number < len(known):
            rollouts += [work.supervise(number)] if number else []
            results.append(known[number])
            continue
        if number:
            rollouts.append(work.drive(number))
            work.train(number, rollouts)
        results.append(work.measure(number, sum(len(SceneStore(one.store)) for one in rollouts)))
        write_json(path, {"rounds": [asdict(result) for result in results]})
    return results


def pays(results: Sequence[RoundResult], least_gain: float) -> bool:
    """Whether the last round drove better than all before it, by some points; the first has none before it."""
    *before, last = results
    return not before or last.score >= max(result.score for result in before) + least_gain


def best_round(results: Sequence[RoundResult]) -> RoundResult:
    """The round that drove best; the earlier of equals."""
    return max(results, key=lambda result: (result.score, -result.number))


def _keep_planner(planner: Path, out: Path) -> None:
    """Copy a planner's folder, whole or not at all."""
    draft = out.with_name(f".{out.name}.tmp")
    shutil.rmtree(draft, ignore_errors=True)
    shutil.copytree(planner, draft)
    shutil.rmtree(out, ignore_errors=True)
    draft.rename(out)


def _finding(work: Aggregation, results: Sequence[RoundResult]) -> Finding:
    best = best_round(results)
    rows = tuple(
        (
            str(result.number) if result.number else "before",
            str(result.own_scenes),
            cell(interval_of(result.driving_score)),
            cell(interval_of(result.success_rate)),
            cell(interval_of(result.ended_early)),
            "none" if result.speeds is None else f"{result.speeds['moving']:.1f} / {result.speeds['most']:.1f}",
            "none" if result.pdms is None else f"{100 * result.pdms:.1f}",
        )
        for result in results
    )
    columns = (
        "round",
        "own scenes",
        "Driving Score",
        "Success Rate [%]",
        "blocked or off the route [%]",
        "mean / highest speed [m/s]",
        "PDMS on logs",
    )
    stopped = len(results) <= work.config.rounds
    return Finding(
        name=NAME,
        title="Learning from own drives",
        question="Does a planner drive better after learning the outcomes of states that it drove into itself?",
        data=f"Measured on {work.config.suite or 'routes of the validation split'}, undisturbed.",
        weights="",
        numbers={"rounds": [asdict(result) for result in results], "best": best.number, "stopped": stopped},
        tables=(Table("Rounds", columns, rows),),
        remarks=(
            f"Imitation in own scenes: {work.config.imitation}. Best: "
            f"{f'round {best.number}' if best.number else 'the planner before'}; OUT/planner is that one.",
            *([f"The last round gained less than {work.config.least_gain:g} points, so it was the last."] * stopped),
        ),
    )
