from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.small_training import MACHINE
from tests.support.tampering import tamper
from world4scorer.cli.run import main
from world4scorer.datasets.store import SceneStore
from world4scorer.evaluation.pools.open import open_pools
from world4scorer.jobs.run_folder import RunFolder
from world4scorer.planner.model.config import EGO_CHOICES
from world4scorer.planner.targets.future_targets import FutureTargets
from world4scorer.planner.training import train_folder
from world4scorer.planner.training.config import TrainConfig, city
from world4scorer.planner.training.run import TrainData, claim_run_folder, train
from world4scorer.planner.training.run_files import read_history, read_run
from world4scorer.studies.parts.study import PARTS, parts
from world4scorer.studies.shared.options import TrainingOptions
from world4scorer.studies.shared.variants import Variant, train_variants

HERE = ["--accelerator", "cpu", "--threads", "1", "--draws", "200"]
OPTIONS = TrainingOptions(accelerator="cpu", threads=1)


@pytest.fixture(scope="module")
def run(training_set, tmp_path_factory) -> Path:
    """A training run of one epoch."""
    out = tmp_path_factory.mktemp("variants") / "run"
    train(replace(training_set.config, epochs=1), training_set.data, out, MACHINE)
    return out


def study(name: str, run: Path, out: Path, *words: str) -> dict:
    assert main(["study", name, str(run), "--out", str(out), *HERE, *words]) == 0
    assert (out / f"{name}.png").stat().st_size > 5000
    return json.loads((out / f"{name}.json").read_text())


def made(run: Path, study: str) -> dict[str, TrainConfig]:
    return {folder.name: read_run(folder)[0] for folder in RunFolder(run).variants(study).iterdir()}


def no_training(*_: object) -> None:
    raise AssertionError("a training was started")


def test_auxiliary_target(run, tmp_path, monkeypatch):
    found = study("auxiliary-target", run, tmp_path)
    own, data = read_run(run)
    # the run has a future target, so it is one of the three itself
    assert made(run, "auxiliary-target") == {
        f"{name}-5": replace(own, auxiliary_target=name) for name in ("none", "current")
    }
    folder = RunFolder(run).variants("auxiliary-target")
    current = FutureTargets.open(read_run(folder / "current-5")[1].targets).notes
    assert current == replace(
        FutureTargets.open(data.targets).notes, frame="current", scenes=SceneStore(data.store).digest
    )
    assert read_run(folder / "none-5")[1] == replace(data, targets=None)
    pools = open_pools(run, weights="last")
    selected = pools.at(pools.pdms, pools.utility_v1.argmax(1)).mean()
    numbers = found["numbers"]
    assert numbers["future"]["PDMS"]["value"] == pytest.approx(selected)
    change = numbers["future"]["PDMS"]["change"]["value"]
    assert change == pytest.approx(selected - numbers["none"]["PDMS"]["value"])
    assert found["paper"]["future"] == 93.96 and "seed 5" in found["data"]
    monkeypatch.setattr(train_folder, "train", no_training)
    assert study("auxiliary-target", run, tmp_path)["numbers"] == numbers


def test_label_pairing_goes_on_with_what_was_stopped(run, tmp_path):
    own, data = read_run(run)
    fewer = replace(own, scenes=32, epochs=2)
    stopped = RunFolder(run).variants("label-pairing") / "none-5"
    claim_run_folder(fewer, data, stopped)
    found = study("label-pairing", run, tmp_path, "--scenes", "32", "--epochs", "2")
    assert made(run, "label-pairing") == {
        f"{name}-5": replace(fewer, permuted_labels=name) for name in ("none", "bank", "all")
    }
    assert [line["epoch"] for line in read_history(stopped)] == [2]  # only the last is validated
    assert "--epochs 2 --scenes 32" in found["command"] and "32 scenes" in found["data"]
    pools, numbers = open_pools(stopped, weights="last"), found["numbers"]
    for name in ("none", "bank", "all"):  # one common pool, the control's
        for measure, worth in (("random pick", pools.pdms.mean()), ("best of the pool", pools.pdms.max(1).mean())):
            assert numbers[name][measure]["value"] == pytest.approx(worth)
    own = numbers["own_pools"]
    assert own["none"]["PDMS"] == numbers["none"]["PDMS"]
    assert own["all"]["random pick"]["value"] != pytest.approx(numbers["all"]["random pick"]["value"])
    few = study("label-pairing", run, tmp_path, "--scenes", "32", "--epochs", "2", "--eval-scenes", "5")
    assert " 5 frames of" in few["data"] and few["numbers"]["own_pools"] == own


def test_coverage(run, tmp_path):
    found = study("coverage", run, tmp_path)
    own, _ = read_run(run)
    assert made(run, "coverage") == {"coverage-5": replace(own, losses=replace(own.losses, coverage=1.0))}
    line = read_history(RunFolder(run).variants("coverage") / "coverage-5")[-1]
    assert line["train/coverage"] > 0
    for variant in ("run", "coverage"):
        of = {name: numbers["value"] for name, numbers in found["numbers"][variant].items()}
        assert of["EPDMS, weight 1"] == of["EPDMS, re-ranked"]
        assert of["some plan passes EC"] >= of["EC"] and of["best of the pool"] >= of["PDMS"]


def test_parts_and_seeds(run, tmp_path):
    own, data = read_run(run)
    found = study("parts", run, tmp_path, "--which", "bank", "--seeds", "5", "6")
    bare = replace(own, losses=replace(own.losses, bank=0.0))
    other = replace(own, seed=6)
    assert made(run, "parts") == {"no-bank-5": bare, "no-bank-6": replace(bare, seed=6), "whole-6": other}
    folder = RunFolder(run).variants("parts")
    assert read_run(folder / "no-bank-6")[1] == replace(data, bank=None)
    whole = found["numbers"]["whole"]["PDMS"]
    alone = [open_pools(one, weights="last") for one in (run, folder / "whole-6")]
    assert whole["by_seed"] == pytest.approx([p.at(p.pdms, p.utility_v1.argmax(1)).mean() for p in alone])
    assert whole["value"] == pytest.approx(sum(whole["by_seed"]) / 2)
    assert found["command"].endswith("--which bank --seeds 5 6 --draws 200")
    rest = study("parts", run, tmp_path, "--which", "plan-sampling", "images")["numbers"]
    assert {"whole", "no-plan-sampling", "no-images"} <= rest.keys()
    assert not any(read_run(folder / name)[0].loss_weights.future for name in ("no-images-5",))


def test_parts_are_added_once(run):
    routed = PARTS["route"].change(city())
    assert (routed.model.ego_numbers, routed.model.route_reading) == (EGO_CHOICES[-1], True)
    assert PARTS["route"].change(routed) == routed
    with pytest.raises(ValueError, match="--forecast-encoder"):
        parts(run, ["forecast"])


def finished(run: Path, folder: Path, data: TrainData) -> Path:
    """A run that looks finished, with the planner of another."""
    claim_run_folder(read_run(run)[0], data, folder)
    RunFolder(folder).planner.symlink_to(RunFolder(run).planner)
    return folder


def test_what_is_refused(run, tmp_path, training_set, capsys):
    own, data = read_run(run)
    again = finished(run, tmp_path / "run", data)
    folder = RunFolder(again).variants("parts") / "no-bank-5"
    bare = PARTS["bank"].change(own)
    claim_run_folder(replace(bare, epochs=7), replace(data, bank=None), folder)
    assert main(["study", "parts", str(again), "--which", "bank", *HERE]) == 1
    assert f"{folder}: holds a run with another epochs (7, now 1)" in capsys.readouterr().err
    with pytest.raises(ValueError, match=r"no-bank-5: .*losses.bank \(0.0, now 0.5\)"):
        train_variants(again, "parts", [Variant("no-bank", lambda config: replace(config, seed=5, epochs=7))], OPTIONS)
    elsewhere = replace(data, bank=None, val_split="city_test")
    claim_run_folder(bare, elsewhere, RunFolder(again).variants("moved") / "no-bank-5")
    with pytest.raises(ValueError, match=r"no-bank-5: .*val_split \(city_test, now city_val\)"):
        train_variants(again, "moved", [PARTS["bank"]], OPTIONS)
    with pytest.raises(ValueError, match="each only once"):
        train_variants(again, "seeds", [PARTS["bank"]], replace(OPTIONS, seeds=(5, 5)))
    claim_run_folder(training_set.config, training_set.data, tmp_path / "stopped")
    with pytest.raises(ValueError, match="not finished"):
        train_variants(tmp_path / "stopped", "parts", [Variant("whole", lambda config: config)], OPTIONS)


def test_targets_of_a_variant_are_made_like_those_of_the_run(run, tmp_path, training_set):
    known = training_set.data.targets
    digest = FutureTargets.open(known).notes.encoder.encode()
    foreign = tmp_path / "future.arrow"
    shutil.copy(known, foreign)
    tamper(foreign, lambda content: content.replace(digest, b"0" * len(digest)))
    city = tmp_path / "city"
    (city / "targets").mkdir(parents=True)
    for one in training_set.data.data.iterdir():
        if one.name != "targets":
            (city / one.name).symlink_to(one)
    again = finished(run, tmp_path / "run", replace(training_set.data, data=city, targets=foreign))
    current = [Variant("current", lambda config: replace(config, auxiliary_target="current"))]
    with pytest.raises(ValueError, match=r"future.arrow: .*--target-encoder"):
        train_variants(again, "auxiliary-target", current, OPTIONS)
    (city / "targets" / "city_train-current.arrow").symlink_to(known)
    with pytest.raises(ValueError, match=r"city_train-current.arrow: not made as"):
        train_variants(again, "auxiliary-target", current, OPTIONS)


def test_several_devices_train_in_a_process_of_their_own(run, monkeypatch):
    """The command line that is started holds all that the training needs."""
    asked = []

    class Done:
        returncode = 0

    def start(words, check):
        monkeypatch.setattr(train_folder, "train", lambda *given: asked.append(given))
        assert words[1:3] == ["-m", train_folder.__name__]
        train_folder.train_folder(*words[3:])
        return Done()

    monkeypatch.setattr(train_folder.subprocess, "run", start)
    (folder,) = train_variants(run, "split", [PARTS["images"]], replace(OPTIONS, devices=2))["no-images"]
    (config, data, out, machine) = asked[0]
    assert out == folder and config == PARTS["images"].change(read_run(run)[0]) and data.targets is None
    assert (machine.devices, machine.threads, machine.accelerator, machine.validate_every) == (2, 1, "cpu", 1)
    Done.returncode = 1
    with pytest.raises(ValueError, match=r"no-images-5: training failed"):
        train_variants(run, "split", [PARTS["images"]], replace(OPTIONS, devices=2))
