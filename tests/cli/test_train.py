from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.small_training import MACHINE
from world4scorer.cli.run import main
from world4scorer.cli.train_options import parse
from world4scorer.planner.bank import CandidateBank
from world4scorer.planner.targets.future_targets import FutureTargets
from world4scorer.planner.training.config import PRESETS, TrainConfig, baseline, city, paper
from world4scorer.planner.training.losses import LossConfig
from world4scorer.planner.training.prepare_data import prepare_data
from world4scorer.planner.training.run import train

WORDS = ["--data", "d", "--out", "o"]


def prepare(words):
    """Data of a run, made where they are missing."""
    command = parse(words)
    return prepare_data(command.sources(), command.config, command.machine.nodes)


def test_presets_settle_the_defaults_and_flags_change_them():
    assert parse(WORDS).config == city() and parse([*WORDS, "--preset", "paper"]).config == paper()
    assert parse(["--preset=baseline", *WORDS]).config == baseline()
    changed = "--epochs 7 --model.width 128 --losses.future 0.1 --permuted-labels all --auxiliary-target current"
    command = parse([*WORDS, "--preset", "paper", *changed.split()])
    assert command.config == replace(
        paper(),
        epochs=7,
        model=replace(paper().model, width=128),
        losses=LossConfig(future=0.1),
        permuted_labels="all",
        auxiliary_target="current",
    )
    assert command.machine.devices == 4 and parse([*WORDS, "--devices", "2"]).machine.devices == 2


@pytest.mark.parametrize("name", PRESETS)
def test_configurations_survive_their_files(name):
    config = PRESETS[name]()
    assert TrainConfig.from_json(config.to_json(), "here") == config


def test_configurations_that_cannot_be():
    for wrong, named in (
        ({"epochs": 0}, "epochs"),
        ({"scenes": -1}, "scenes"),
        ({"model": replace(paper().model, readout=False)}, "auxiliary_target"),
    ):
        with pytest.raises(ValueError, match=named):
            TrainConfig(**wrong)
    with pytest.raises(ValueError, match="here: cannot be read as JSON"):
        TrainConfig.from_json("{", "here")
    with pytest.raises(ValueError, match=r"here.*'format'"):
        TrainConfig.from_json("{}", "here")
    with pytest.raises(ValueError, match=r"here.*colour"):
        TrainConfig.from_json(paper().to_json().replace('"epochs"', '"colour"'), "here")


def test_bank_and_targets_are_made_where_they_are_missing(training_set, tmp_path):
    data = training_set.data
    words = ["--data", str(data.data), "--out", str(tmp_path / "run"), "--store", str(data.store)]
    words += [
        "--val-store",
        str(data.val_store),
        "--bank",
        str(tmp_path / "bank"),
        "--targets",
        str(tmp_path / "t.arrow"),
    ]
    found = prepare(words)
    assert found.split == "city_train" and found.val_split == "city_val"
    assert len(CandidateBank.open(tmp_path / "bank")) == 67 and len(FutureTargets.open(tmp_path / "t.arrow")) == 67
    before = (tmp_path / "t.arrow").stat().st_mtime_ns
    assert prepare(words) == found and (tmp_path / "t.arrow").stat().st_mtime_ns == before
    train(training_set.config, found, tmp_path / "run", replace(MACHINE, checkpoint_every=100))
    assert prepare([*words, "--auxiliary-target", "none", "--losses.bank", "0"]).targets is None


def test_what_is_missing_is_said_before_anything_is_made(training_set, tmp_path, capsys):
    data = training_set.data
    assert main(["train", "--data", str(tmp_path), "--out", str(tmp_path / "run")]) == 1
    assert "w4s prepare --data" in capsys.readouterr().err
    words = ["train", "--preset", "paper", "--data", str(data.data), "--out", str(tmp_path / "run")]
    assert main(words) == 1
    assert "--split and --val-split" in capsys.readouterr().err
    words += ["--split", "city_train", "--store", str(data.store), "--val-split", "city_val"]
    words += ["--val-store", str(data.val_store), "--bank", str(tmp_path / "bank")]
    assert main(words) == 1
    assert "--vit-weights" in capsys.readouterr().err and not (tmp_path / "bank").exists()
    assert not (tmp_path / "run").exists()
    with pytest.raises(ValueError, match="before a run on several nodes"):
        prepare([*words[1:], "--nodes", "2", "--vit-weights", "city"])


def test_test_splits_are_refused(training_set, tmp_path, capsys):
    words = ["train", "--data", str(training_set.data.data), "--out", str(tmp_path / "run")]
    for flag in ("--split", "--val-split"):
        assert main([*words, flag, "city_test"]) == 1
        assert f"{flag} city_test: this is a test split" in capsys.readouterr().err
    assert main([*words, "--val-split", "city_test", "--i-know-this-is-the-test-split"]) == 1
    assert "no such scene store" in capsys.readouterr().err


def test_help_names_the_presets_numbers(capsys):
    assert main(["train", "--preset", "paper", "--help"]) == 0
    printed = capsys.readouterr().out
    assert "--epochs" in printed and "25" in printed
