from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from world4scorer.cli.run import main
from world4scorer.datasets.navsim.splits import find_split
from world4scorer.datasets.prepare.samples import Samples
from world4scorer.jobs.run_folder import RunFolder
from world4scorer.planner.planner import Planner
from world4scorer.planner.training.run import claim_run_folder, make_network
from world4scorer.studies.readout_networks import make
from world4scorer.studies.readout_networks.config import ReadoutConfig

TINY = ("--pairs", "12", "--condgrid-steps", "2", "--diffusion-steps", "2", "--decoder-steps", "2")
FEW = ("--scenes", "3", "--draws", "20")


@pytest.fixture(scope="module")
def run(training_set, tmp_path_factory) -> Path:
    """A run that looks finished, with a planner that has learnt nothing."""
    folder, data = tmp_path_factory.mktemp("readouts") / "run", training_set.data
    claim_run_folder(training_set.config, data, folder)
    samples = Samples.of_split(data.data, find_split(data.split, data.data), data.store)
    Planner.from_network(make_network(training_set.config, samples)).save_pretrained(RunFolder(folder).planner)
    return folder


def test_networks_are_made_once_and_scenes_looked_at(run, monkeypatch):
    assert main(["study", "readouts", str(run), *TINY, *FEW]) == 0
    found = json.loads((run / "studies" / "readouts.json").read_text())
    numbers = found["numbers"]
    assert numbers["scenes"] == 3 and numbers["pairs"] == 12
    assert {"road", "static"} <= {name.split()[1] for name in numbers["gain"]}
    assert "readouts_gallery_1.png" in found["pictures"]
    assert numbers["psnr"]["ceiling"]["value"] > numbers["psnr"]["diffusion"]["value"]
    kept = {path.name for path in (run / "readouts").iterdir()} - {".lock"}
    assert kept == {
        f"{name}.{kind}" for name in ("condgrid", "diffusion", "decoder") for kind in ("json", "safetensors")
    }

    def no_training(*_: object, **__: object) -> None:
        raise AssertionError("a training was started")

    monkeypatch.setattr(make, "fit", no_training)
    same = ReadoutConfig(pairs=12, condgrid_steps=2, diffusion_steps=2, decoder_steps=2)
    left = run / "readouts" / "condgrid.checkpoint.pt"  # by a call that was killed before it was deleted
    left.touch()
    assert make.make_readouts(run, same, "city").length == numbers["vector_length"]
    assert not left.exists()
    with pytest.raises(ValueError, match=r"condgrid\.safetensors: made with other settings"):
        make.make_readouts(run, replace(same, seed=3), "city")
