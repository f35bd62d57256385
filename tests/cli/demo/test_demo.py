from __future__ import annotations

import json
from pathlib import Path

import pytest

from world4scorer.cli.demo.ledger import FILE
from world4scorer.cli.demo.pace import Pace, in_words
from world4scorer.cli.demo.run import StageFailed, run_stages
from world4scorer.cli.demo.stages import OUT, Stage, stages
from world4scorer.jobs.files import read_json


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


@pytest.mark.parametrize("preset", ["quick", "tiny"])
def test_each_stage_comes_after_what_it_needs(preset):
    known = set()
    for stage in stages(preset):
        assert known.issuperset(stage.needs), stage.name
        assert stage.name not in known
        known.add(stage.name)
    assert sum(stage.seconds for stage in stages(preset)) < 15 * 60


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
