"""Planners and encoders on a hub: uploaded, downloaded when asked, found in the cache without a network."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch

pytest.importorskip("huggingface_hub")

from tests.support.model_golden import TINY, tiny_planner
from tests.support.stand_in_hub import StandInHub, stand_in_hub
from world4scorer import cli
from world4scorer.drawing.finding import Finding, Table
from world4scorer.jobs.model_folder import ModelFolder
from world4scorer.jobs.run_folder import RunFolder
from world4scorer.planner.bundled import planner_folder
from world4scorer.planner.hub import cached_folder, is_repository
from world4scorer.planner.model.vision_transformer import VisionTransformer
from world4scorer.planner.planner import Planner
from world4scorer.planner.pretrained.image_encoder import load_encoder, save_encoder

NAME = "someone/small-planner"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[StandInHub]:
    with stand_in_hub() as found:
        monkeypatch.setenv("HF_ENDPOINT", found.url)
        monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
        monkeypatch.setenv("HF_TOKEN", "hf_token")
        yield found


def test_there_and_back_again(hub: StandInHub) -> None:
    planner = tiny_planner()
    assert planner.push_to_hub(NAME) == f"{hub.url}/{NAME}"
    assert set(hub.repositories[NAME]) == {"config.json", "model.safetensors", "README.md"}
    assert hub.tokens == {"Bearer hf_token"}
    before = list(hub.requests)
    with pytest.raises(ValueError, match=f"{NAME}: no such folder.*download=True.*w4s import {NAME} --download"):
        Planner.from_pretrained(NAME)
    assert hub.requests == before  # nothing was asked of the hub
    again = Planner.from_pretrained(NAME, download=True)
    assert all(torch.equal(tensor, again.state_dict()[name]) for name, tensor in planner.state_dict().items())


def test_the_cache_is_enough(hub: StandInHub, monkeypatch: pytest.MonkeyPatch) -> None:
    planner = tiny_planner()
    planner.push_to_hub(NAME)
    Planner.from_pretrained(NAME, download=True)
    commit = hub.commit_of(NAME)
    hub.repositories.clear()
    asked = len(hub.requests)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # nobody listens there
    for found in (Planner.from_pretrained(NAME), Planner.from_pretrained(NAME, revision=commit)):
        assert found.config == planner.config
    assert planner_folder(NAME) == cached_folder(NAME) and ModelFolder(planner_folder(NAME)).exists
    with pytest.raises(ValueError, match="no repository in the local hub cache"):
        Planner.from_pretrained(NAME, revision="other")
    assert len(hub.requests) == asked


def test_failures_of_the_hub_are_explained(hub: StandInHub) -> None:
    with pytest.raises(ValueError, match=r"no/body: config\.json cannot be downloaded"):
        Planner.from_pretrained("no/body", download=True)
    hub.repositories["half/empty"] = {"config.json": b"{}"}
    with pytest.raises(ValueError, match=r"half/empty: model\.safetensors cannot be downloaded"):
        Planner.from_pretrained("half/empty", download=True)
    with pytest.raises(ValueError, match="not the name of a repository"):
        tiny_planner().push_to_hub("just-a-name")


def test_names_of_repositories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs" / "city").mkdir(parents=True)
    assert is_repository("user/repo") and is_repository(Path("user/repo.v2"))
    for other in ("runs/city", "city", "/user/repo", "../repo", "a/b/c", str(tmp_path / "no")):
        assert not is_repository(other)


def test_the_card_holds_what_was_measured_of_these_weights(hub: StandInHub, tmp_path: Path) -> None:
    planner, run = tiny_planner(), RunFolder(tmp_path / "run")
    planner.save_pretrained(run.planner)
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in ModelFolder(run.planner).files)).hexdigest()
    for name, weights in (("evaluation", digest), ("reranking", "other")):
        tables = (Table("Scores", ("", "PDMS"), ((name, "88.1"),)),)
        finding = Finding(name, name.title(), "How good?", "35 frames.", weights, {}, tables)
        finding.save(run.evaluation if name == "evaluation" else run.studies, f"w4s {name} run")
    planner.push_to_hub(NAME, run=run.root)
    card = hub.repositories[NAME]["README.md"].decode()
    assert card.startswith("---\nlibrary_name: world4scorer\n") and f'from_pretrained("{NAME}"' in card
    assert "| evaluation | 88.1 |" in card and "`w4s evaluation run`" in card
    assert "Reranking" not in card and str(tmp_path) not in card
    planner.push_to_hub("someone/else")
    assert "Nothing was measured" in hub.repositories["someone/else"]["README.md"].decode()


def test_the_card_of_a_planner_that_an_earlier_version_wrote(hub: StandInHub, tmp_path: Path) -> None:
    """Its configuration lacks what came later, so it is uploaded as it is: findings name these files."""
    run = RunFolder(tmp_path / "run")
    tiny_planner().save_pretrained(run.planner)
    config_file = ModelFolder(run.planner).config_file
    config = json.loads(config_file.read_text())
    del config["forecast"], config["checksum"]
    config_file.write_text(json.dumps(config))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in ModelFolder(run.planner).files)).hexdigest()
    table = Table("Scores", ("", "PDMS"), (("evaluation", "88.1"),))
    Finding("evaluation", "Evaluation", "How good?", "35 frames.", digest, {}, (table,)).save(run.evaluation, "w4s")
    planner = Planner.from_pretrained(run.planner)
    planner.push_to_hub(NAME, run=run.root)
    assert hub.repositories[NAME]["config.json"] == config_file.read_bytes()
    assert "| evaluation | 88.1 |" in hub.repositories[NAME]["README.md"].decode()
    with torch.no_grad():
        next(planner.parameters()).add_(1.0)
    planner.push_to_hub("someone/else", run=run.root)
    assert "Nothing was measured" in hub.repositories["someone/else"]["README.md"].decode()


def test_commands(hub: StandInHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tiny_planner().save_pretrained(tmp_path / "planner")
    assert cli.main(["export", str(tmp_path / "planner"), "--hub", NAME]) == 0
    assert f"uploaded: {hub.url}/{NAME}" in capsys.readouterr().out
    command = ["import", NAME, "--out", str(tmp_path / "copy")]
    assert cli.main(command) == 1
    assert "Nothing is downloaded unless asked" in capsys.readouterr().err
    assert cli.main([*command, "--download"]) == 0
    assert Planner.from_pretrained(tmp_path / "copy").config == tiny_planner().config
    assert cli.main(["export", str(tmp_path / "planner")]) == 2
    assert cli.main(["import", str(tmp_path / "planner"), "--download", "--out", str(tmp_path / "other")]) == 2


def test_encoders(hub: StandInHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "encoder"
    folder.mkdir()
    sizes = replace(TINY, lora_rank=0)
    save_encoder(VisionTransformer(sizes), sizes, *ModelFolder(folder).files, {"epochs": 3})
    assert cli.main(["export", str(folder), "--hub", "someone/encoder"]) == 0
    assert "| epochs | 3 |" in hub.repositories["someone/encoder"]["README.md"].decode()
    with pytest.raises(ValueError, match="no repository in the local hub cache"):
        load_encoder("someone/encoder")
    found = load_encoder("someone/encoder", download=True)
    assert found.digest() == load_encoder(folder).digest() == load_encoder("someone/encoder").digest()
    assert cli.main(["import", "someone/encoder", "--out", str(tmp_path / "copy")]) == 0
    assert load_encoder(tmp_path / "copy").digest() == found.digest()
