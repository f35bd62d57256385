"""Rounds of aggregation: when they end, and one of them on the tiny city."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.small_aggregation import SMALL_ROUND
from tests.support.small_training import MACHINE, TrainingSet
from world4scorer.city.world.manifest import read_drives
from world4scorer.datasets.store import SceneStore
from world4scorer.driving.aggregation.aggregate import aggregate, best_round, pays
from world4scorer.driving.aggregation.config import AggregateConfig
from world4scorer.driving.aggregation.rounds import Aggregation, RoundResult
from world4scorer.jobs.executors import SerialExecutor
from world4scorer.jobs.run_folder import RunFolder
from world4scorer.planner.planner import Planner
from world4scorer.planner.training.run import train
from world4scorer.planner.training.run_files import read_run


def result(number: int, score: float) -> RoundResult:
    share: dict[str, float | None] = {"value": score / 100, "low": None, "high": None}
    return RoundResult(number, f"round_{number}", 10 * number, share, share, share, None, None)


def test_rounds_end_when_they_do_not_pay() -> None:
    assert pays([result(0, 30.0)], 1.0)
    assert pays([result(0, 30.0), result(1, 31.5)], 1.0)
    assert not pays([result(0, 30.0), result(1, 30.5)], 1.0)
    assert not pays([result(0, 30.0), result(1, 40.0), result(2, 39.0)], 1.0)
    assert best_round([result(0, 30.0), result(1, 40.0), result(2, 39.0)]).number == 1
    assert best_round([result(0, 30.0), result(1, 30.0)]).number == 0


def test_settings_that_make_no_sense() -> None:
    with pytest.raises(ValueError, match="rounds: 0; at least 1"):
        AggregateConfig(rounds=0)
    with pytest.raises(ValueError, match="driver 'sumo': drives without the planner"):
        AggregateConfig(driver="sumo")


@pytest.fixture(scope="module")
def run(training_set: TrainingSet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A planner of one epoch, on a copy of the tiny city, for drives are written into it."""
    root = tmp_path_factory.mktemp("aggregation")
    city = Path(shutil.copytree(training_set.data.data, root / "city"))
    config = replace(training_set.config, epochs=1)
    train(config, replace(training_set.data, data=city), root / "run", MACHINE)
    return root / "run"


def test_one_round(run: Path, training_set: TrainingSet) -> None:
    """On two devices: the second process must not be one that aggregates."""
    work = Aggregation(run, run.parent / "own", SMALL_ROUND, SerialExecutor(), replace(MACHINE, devices=2))
    finding = aggregate(work)
    before, after = finding.numbers["rounds"]
    _, data = read_run(run)
    (drive,) = read_drives(data.data, work.split(1))
    assert before["own_scenes"] == 0 and after["own_scenes"] == len(drive.tokens) >= 3
    trained, trained_on = read_run(work.folder(1) / "run")
    assert trained.model.ego_numbers == 21 and trained.from_planner == str(RunFolder(run).best_planner.resolve())
    assert [one.split for one in trained_on.rollouts] == [work.split(1)]
    store = SceneStore(trained_on.rollouts[0].store)
    assert {store.extras(token)["driver"] for token in drive.tokens} == {"framewise"}
    best = Planner.from_pretrained(RunFolder(work.out).planner)
    assert best.config.ego_numbers == (21 if finding.numbers["best"] else 11)
    listed = work.out / "rounds.json"
    text = listed.read_text()
    assert len(json.loads(text)["rounds"]) == 2
    again = aggregate(work)  # nothing is left to do
    assert again.numbers == finding.numbers and listed.read_text() == text
    with pytest.raises(ValueError, match="other settings"):
        aggregate(replace(work, config=replace(SMALL_ROUND, seed=5)))
