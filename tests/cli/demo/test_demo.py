from __future__ import annotations

import json
from pathlib import Path

import pytest

from world4scorer import cli
from world4scorer.cli.demo.ledger import FILE
from world4scorer.cli.demo.pace import Pace, in_words
from world4scorer.cli.demo.ready_stages import IMAGE_SIZE, PLANNER, ready_stages
from world4scorer.cli.demo.run import StageFailed, run_stages
from world4scorer.cli.demo.stages import OUT, Stage, stages
from world4scorer.cli.demo.summary import FEW_LOGS, Row, Summary
from world4scorer.jobs.files import read_json
from world4scorer.planner.bundled import BUNDLED_PLANNERS


@pytest.fixture
def chain():
    """Three stages: the second and the third read what the first makes."""

    def stage(name, *needs):
        return Stage(name, f"makes {name}", ("make", f"OUT/{name}"), Path(OUT, f"{name}.txt"), needs, 10.0)

    return (stage("a"), stage("b", "a"), stage("c", "a"))


def run(chain, folder, how, preset="tiny"):
    return run_stages(chain, folder, preset, how)


class Recorder:
    """Runs nothing: writes what a stage makes, and remembers its name."""

    def __init__(self, fails=()):
        self.ran, self.fails = [], fails

    def __call__(self, stage, log):
        self.ran.append(stage.name)
        if stage.name in self.fails:
            return 1
        stage.made.write_text("made")
        return 0


def test_nothing_is_repeated(chain, tmp_path, capsys):
    first, second = Recorder(), Recorder()
    run(chain, tmp_path, first)
    run(chain, tmp_path, second)
    assert first.ran == ["a", "b", "c"] and second.ran == []
    assert "all 3 stages are finished" in capsys.readouterr().out


def test_goes_on_after_a_failure(chain, tmp_path):
    failing, again = Recorder(fails=("b",)), Recorder()
    with pytest.raises(StageFailed, match="b: failed with exit code 1"):
        run(chain, tmp_path, failing)
    run(chain, tmp_path, again)
    assert failing.ran == ["a", "b"] and again.ran == ["b", "c"]


def test_what_reads_a_lost_result_is_made_again(chain, tmp_path):
    run(chain, tmp_path, Recorder())
    chain[1].at(tmp_path).made.unlink()
    alone = Recorder()
    run(chain, tmp_path, alone)
    assert alone.ran == ["b"]
    chain[0].at(tmp_path).made.unlink()
    everything = Recorder()
    run(chain, tmp_path, everything)
    assert everything.ran == ["a", "b", "c"]


def test_a_stop_in_between_leaves_no_stale_result(chain, tmp_path):
    """The first is made again, then all ends: its readers must not count as finished."""
    run(chain, tmp_path, Recorder())
    chain[0].at(tmp_path).made.unlink()
    with pytest.raises(StageFailed):
        run(chain, tmp_path, Recorder(fails=("b",)))
    again = Recorder()
    run(chain, tmp_path, again)
    assert again.ran == ["b", "c"]


def test_a_stage_without_its_result_has_failed(chain, tmp_path):
    with pytest.raises(StageFailed, match=r"ended without .*a\.txt"):
        run(chain, tmp_path, lambda stage, log: 0)


def test_damaged_ledger(chain, tmp_path):
    (tmp_path / FILE).write_text("{")
    with pytest.raises(ValueError, match=r"stages\.json: damaged"):
        run(chain, tmp_path, Recorder())


def test_another_version_starts_anew(chain, tmp_path):
    run(chain, tmp_path, Recorder())
    content = read_json(tmp_path / FILE)
    (tmp_path / FILE).write_text(json.dumps(content | {"world4scorer": "0.0.1"}))
    again = Recorder()
    run(chain, tmp_path, again)
    assert again.ran == ["a", "b", "c"]


def test_another_preset_is_refused_and_nothing_is_lost(chain, tmp_path):
    run(chain, tmp_path, Recorder())
    with pytest.raises(ValueError, match="contains the demo `tiny`"):
        run(chain, tmp_path, Recorder(), preset="quick")
    again = Recorder()
    run(chain, tmp_path, again)
    assert again.ran == []


def test_other_names_of_the_folder(chain, tmp_path, monkeypatch):
    run(chain, tmp_path / "here", Recorder())
    monkeypatch.chdir(tmp_path / "here")
    again = Recorder()
    run(chain, Path(), again)
    (tmp_path / "here").rename(tmp_path / "there")
    run(chain, tmp_path / "there", again)
    assert again.ran == []


def test_a_run_that_was_moved_cannot_go_on(chain, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "data.json").write_text(json.dumps({"data": "/elsewhere/demo/city"}))
    with pytest.raises(ValueError, match="was created in /elsewhere/demo"):
        run(chain, tmp_path, Recorder())


def test_a_stop_counts_in_the_time(chain, tmp_path, monkeypatch):
    clock = iter(range(0, 1000, 7))
    monkeypatch.setattr("world4scorer.cli.demo.run.time.monotonic", lambda: next(clock))
    with pytest.raises(StageFailed):
        run(chain, tmp_path, Recorder(fails=("a",)))
    ledger = run(chain, tmp_path, Recorder())
    assert [ledger.seconds(stage) for stage in chain] == [14.0, 7.0, 7.0]


def test_a_killed_stage_is_reported(chain, tmp_path):
    with pytest.raises(StageFailed, match="a: was killed by SIGKILL, often for lack of memory"):
        run(chain, tmp_path, lambda stage, log: -9)


@pytest.mark.parametrize(
    ("chain", "minutes"),
    [(stages("quick"), 15), (stages("tiny"), 15), (ready_stages(), 2)],
    ids=["quick", "tiny", "ready"],
)
def test_each_stage_comes_after_what_it_needs(chain, minutes):
    known = set()
    for stage in chain:
        assert known.issuperset(stage.needs), stage.name
        assert stage.name not in known
        known.add(stage.name)
    assert sum(stage.seconds for stage in chain) < minutes * 60


def test_the_ready_city_has_images_that_the_bundled_planner_takes():
    config = json.loads((BUNDLED_PLANNERS[PLANNER] / "config.json").read_text())
    assert (
        "--height",
        str(config["image_height"] + config["crop_top"]),
        "--width",
        str(config["image_width"]),
    ) == IMAGE_SIZE


def test_ready_has_a_city_of_its_own(capsys):
    assert cli.main(["demo", "--ready", "--preset", "tiny"]) == 2
    assert "--ready has a city of its own" in capsys.readouterr().err


@pytest.mark.parametrize("logs", [FEW_LOGS - 1, FEW_LOGS])
def test_few_logs_are_said_to_be_few(logs):
    summary = Summary(100, logs, (Row("expert", 90.0, None, None),), (), {}, {}, "w4s demo --ready")
    assert (f"{logs} logs are few" in summary.text()) == (logs < FEW_LOGS) == ("are few" in summary.markdown())
    assert "studies" not in summary.text() and "Studies" not in summary.markdown()


def test_pace(chain):
    pace = Pace()
    assert pace.left(chain) == 30.0
    pace.note(chain[0], 20.0)
    assert pace.left(chain[1:]) == 40.0


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "1 s"), (59.4, "59 s"), (61, "1 min"), (200, "3 min 20 s"), (599, "10 min"), (754, "13 min")],
)
def test_times_in_words(seconds, words):
    assert in_words(seconds) == words
