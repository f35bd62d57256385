"""Planners into folders and back, and their counts, as a user runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import Dinov2WithRegistersConfig, Dinov2WithRegistersModel

from tests.support.model_golden import FOLDER, TINY, WEIGHTS, inputs, outputs, tiny_planner
from world4scorer import cli
from world4scorer.cli import exit_codes
from world4scorer.planner.model import COMPONENTS, config, paper
from world4scorer.planner.planner import Planner

PREFIX = "agent._drivor_model."
GOLDEN = ["--vit-heads", "3"]


@pytest.fixture(scope="module")
def weights():
    return load_file(WEIGHTS)


def run(*words):
    return cli.main([str(word) for word in words])


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.exists() else {}


@pytest.mark.parametrize("kind", ["safetensors", "ckpt"])
def test_an_imported_planner_gives_the_golden_outputs(tmp_path, weights, capsys, kind):
    source = WEIGHTS
    if kind == "ckpt":
        source = tmp_path / "epoch23.ckpt"
        torch.save({"state_dict": {PREFIX + name: tensor for name, tensor in weights.items()}, "epoch": 23}, source)
    assert run("import", source, "--out", tmp_path / "planner", *GOLDEN) == 0
    printed = capsys.readouterr().out
    assert "4 of 56 x 84" in printed and "185,454" in printed and "98,958" in printed
    planner = Planner.from_pretrained(tmp_path / "planner")
    scored = planner(inputs()["image"], inputs()["ego_status"])
    wanted = outputs()
    torch.testing.assert_close(scored.plans, wanted["proposals"], rtol=0, atol=2e-5)
    torch.testing.assert_close(scored.states, wanted["states"], rtol=0, atol=2e-5)
    for name in COMPONENTS:
        torch.testing.assert_close(scored.logits[name], wanted[f"logit.{name}"], rtol=0, atol=2e-5)
    for benchmark in ("v1", "v2"):
        torch.testing.assert_close(scored.utility(benchmark), wanted[f"utility.{benchmark}"], rtol=0, atol=1e-4)


def test_there_and_back_is_exact_to_the_bit(tmp_path, weights, capsys):
    assert run("import", WEIGHTS, "--out", tmp_path / "planner", *GOLDEN) == 0
    assert run("import", tmp_path / "planner", "--out", tmp_path / "copy") == 0
    assert files(tmp_path / "copy") == files(tmp_path / "planner")
    assert run("export", tmp_path / "copy", "--out", tmp_path / "new" / "again.safetensors") == 0
    assert "185,454 parameters" in capsys.readouterr().out
    again = load_file(tmp_path / "new" / "again.safetensors")
    assert again.keys() == weights.keys() and all(torch.equal(again[name], weights[name]) for name in weights)


def test_another_planner_is_not_overwritten_unasked(tmp_path, capsys):
    out, file = tmp_path / "planner", tmp_path / "out.safetensors"
    assert run("import", WEIGHTS, "--out", out, *GOLDEN) == 0
    assert run("export", out, "--out", file) == 0
    before, exported = files(out), file.read_bytes()
    assert run("import", WEIGHTS, "--out", out, *GOLDEN) == 0, "the same again is no harm"
    assert run("export", out, "--out", file) == 0
    tiny_planner().save_pretrained(tmp_path / "tiny")
    assert run("import", WEIGHTS, "--out", out, "--vit-heads", 6) == 1
    assert f"{out / 'config.json'}: there already, and not the same" in capsys.readouterr().err
    assert run("import", tmp_path / "tiny", "--out", out) == 1
    assert run("export", tmp_path / "tiny", "--out", file) == 1
    assert files(out) == before and file.read_bytes() == exported
    assert run("import", tmp_path / "tiny", "--out", out, "--overwrite") == 0
    assert run("export", tmp_path / "tiny", "--out", file, "--overwrite") == 0
    assert files(out) == files(tmp_path / "tiny") and file.read_bytes() != exported


def damaged(tmp_path, weights):
    """Every kind of bad input, with words that its message must hold."""
    whole = WEIGHTS.read_bytes()
    (tmp_path / "cut.safetensors").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "junk.ckpt").write_bytes(b"junk" * 50)
    (tmp_path / "empty.safetensors").write_bytes(b"")
    save_file({name: tensor for name, tensor in weights.items() if "neck" not in name}, tmp_path / "less.safetensors")
    save_file({**weights, "extra": torch.zeros(1)}, tmp_path / "more.safetensors")
    nan = {**weights, "hist_encoding.bias": torch.full_like(weights["hist_encoding.bias"], torch.nan)}
    save_file(nan, tmp_path / "nan.safetensors")
    save_file({"cls_token": torch.zeros(1, 1, 8)}, tmp_path / "dino.safetensors")
    (tmp_path / "folder").mkdir()
    tiny_planner().save_pretrained(tmp_path / "half")
    (tmp_path / "half" / "model.safetensors").write_bytes(b"")
    tiny_planner().save_pretrained(tmp_path / "tiny")
    return {
        "cut.safetensors": "not a readable safetensors file",
        "junk.ckpt": "not a",
        "empty.safetensors": "not a readable safetensors file",
        "less.safetensors": "missing: tensor 'image_backbone.neck",
        "more.safetensors": "not part of the model: tensor 'extra'",
        "nan.safetensors": "ego_encoder.bias holds numbers that are not finite",
        "dino.safetensors": "holds DINOv2 weights",
        "absent.ckpt": "no such file",
        "folder": "not the folder of a planner",
        "half": "not a readable safetensors file",
        "tiny/model.safetensors": "give the folder that it lies in",
    }


def test_bad_inputs_are_named_and_leave_nothing_behind(tmp_path, weights, capsys):
    for name, message in damaged(tmp_path, weights).items():
        out = tmp_path / "made" / "out"
        words = [] if (tmp_path / name).is_dir() else GOLDEN
        assert run("import", tmp_path / name, "--out", out, *words) == 1, name
        printed = capsys.readouterr()
        assert message in printed.err and name in printed.err and not printed.out, name
        assert not (tmp_path / "made").exists(), name


def test_bad_options(tmp_path, capsys):
    tiny_planner().save_pretrained(tmp_path / "tiny")
    tiny_planner(plan_sampling=True).save_pretrained(tmp_path / "sampling")
    out = tmp_path / "out"
    wrong_commands = [
        (["import", "--out", out], "give either a checkpoint or --dinov2"),
        (["import", WEIGHTS, "--dinov2", WEIGHTS, "--out", out], "give either a checkpoint or --dinov2"),
        (["import", "--dinov2", WEIGHTS, "--heads", 2, "--out", out], "belong to checkpoints"),
        (["profile", "--preset", "city", "--planner", tmp_path / "tiny"], "either --preset or --planner"),
        (["profile", "--passes", -1], "--passes -1"),
        (["profile", "--preset", "city", "--compile"], "nothing is timed without --passes"),
    ]
    bad_inputs = [
        (["import", WEIGHTS, "--heads", 5, *GOLDEN, "--out", out], "heads: 5 does not divide"),
        (["import", WEIGHTS, *GOLDEN, "--image-size", 56, 98, "--out", out], "24 positions"),
        (["import", WEIGHTS, *GOLDEN, "--heads", 0, "--out", out], "heads: 0 is too small"),
        (["import", tmp_path / "tiny", "--heads", 2, "--out", out], "--heads: "),
        (["import", WEIGHTS, *GOLDEN, "--out", tmp_path / "tiny" / "config.json"], "is a file; a folder is needed"),
        (["export", WEIGHTS, "--out", tmp_path / "a.safetensors"], "no such folder"),
        (["export", tmp_path / "tiny", "--out", tmp_path / "a.ckpt"], "must end in .safetensors"),
        (["export", tmp_path / "sampling", "--out", tmp_path / "a.safetensors"], "no names for extensions"),
        (["profile", "--planner", out], "not the folder of a planner"),
        (["profile", "--preset", "city", "--passes", 1, "--device", "moon"], "--device moon"),
    ]
    for code, cases in ((2, wrong_commands), (1, bad_inputs)):
        for words, message in cases:
            assert run(*words) == code, words
            assert message in capsys.readouterr().err, words
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sampling", "tiny"]


def test_a_failed_write_leaves_no_folder(tmp_path, monkeypatch, capsys):
    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", fail)
    assert run("import", WEIGHTS, *GOLDEN, "--out", tmp_path / "deep" / "planner") == 1
    assert "disk full" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.fixture
def teacher(tmp_path, monkeypatch):
    """A folder as from the hub, and a preset small enough for it."""
    monkeypatch.setitem(config.PRESETS, "paper", lambda: replace(TINY, image_height=42, image_width=98))
    torch.manual_seed(1)
    settings = Dinov2WithRegistersConfig(
        hidden_size=24, num_hidden_layers=2, num_attention_heads=3, image_size=70, patch_size=14
    )
    model = Dinov2WithRegistersModel(settings).eval()
    (tmp_path / "hub").mkdir()
    save_file(model.state_dict(), tmp_path / "hub" / "model.safetensors")
    return tmp_path / "hub"


def test_start_with_dinov2(tmp_path, teacher, capsys):
    state = torch.random.get_rng_state()
    for place in (teacher, teacher / "model.safetensors"):
        assert run("import", "--dinov2", place, "--preset", "paper", "--out", tmp_path / "new") == 0
    assert torch.equal(state, torch.random.get_rng_state())
    assert "2 of 42 x 98" in capsys.readouterr().out
    vit = Planner.from_pretrained(tmp_path / "new").network.encoder.vit
    assert torch.equal(vit.norm.weight, load_file(teacher / "model.safetensors")["layernorm.weight"])
    assert run("import", "--dinov2", teacher, "--seed", 4, "--out", tmp_path / "new") == 1
    assert "--overwrite" in capsys.readouterr().err
    for bad in (WEIGHTS, tmp_path / "absent", FOLDER):
        assert run("import", "--dinov2", bad, "--out", tmp_path / "bad") == 1
        assert str(bad) in capsys.readouterr().err
    assert run("import", "--dinov2", teacher, "--preset", "city", "--out", tmp_path / "bad") == 1
    assert not (tmp_path / "bad").exists()


def test_profile_of_the_paper(tmp_path, capsys):
    assert run("profile", "--json", tmp_path / "paper.json") == 0
    printed = capsys.readouterr().out
    for value in ("35,520,926", "4,504,320", "524,288", "349.9 G", "349.1 G", "0.74 G", "927.1 G"):
        assert any(line.split().count(value.split()[0]) == 2 for line in printed.splitlines()), value
    assert "ms" not in printed and "\x1b" not in printed
    raw = json.loads((tmp_path / "paper.json").read_text())
    assert raw["all parameters"] == 35_520_926 and raw["measured"] == []
    assert raw["config"] == json.loads(json.dumps(vars(paper())))
    assert raw["operations with attention, as run"] < raw["operations with attention"] == 927_122_188_544


def test_profile_of_a_folder_with_times(tmp_path, capsys):
    tiny_planner().save_pretrained(tmp_path / "tiny")
    words = ["--passes", 2, "--precision", "fp32", "bf16", "fp16", "--json", tmp_path / "tiny.json"]
    assert run("profile", "--planner", tmp_path / "tiny", *words) == 0
    printed = capsys.readouterr().out
    assert "one pass, bf16" in printed and "memory at most, fp16" in printed and "paper" not in printed
    measured = json.loads((tmp_path / "tiny.json").read_text())["measured"]
    assert [row["precision"] for row in measured] == ["fp32", "bf16", "fp16"]
    assert all(row["milliseconds"] > 0 for row in measured)
    assert measured[0]["bytes"] > measured[1]["bytes"] == measured[2]["bytes"]


def test_without_torch(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(exit_codes, "find_spec", lambda name: None)
    for words in (["import", WEIGHTS, "--out", tmp_path / "x"], ["export", tmp_path, "--out", "x"], ["profile"]):
        assert run(*words) == 1
        assert "pip install 'world4scorer[train]'" in capsys.readouterr().err


def test_other_commands_need_no_torch():
    code = "import sys, world4scorer.cli.run; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
