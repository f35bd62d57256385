"""Every code block of the README runs: shell lines with the smallest city as the dataset, Python as it stands."""

from __future__ import annotations

import os
import pickle
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from world4scorer.datasets.navsim.submissions import write_submission
from world4scorer.datasets.store import SceneStore

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, re.DOTALL)
PYTHON = [code for language, code in BLOCKS if language == "python"]
SHELL = [
    [line for line in code.replace("\\\n", " ").splitlines() if line and not line.startswith("make ")]
    for language, code in BLOCKS
    if language == "sh"
]
MAKE = [line.split()[1] for _, code in BLOCKS for line in code.splitlines() if line.startswith("make ")]
SMALL = {
    "image-height": 28,
    "image-width": 56,
    "vit-width": 24,
    "vit-layers": 2,
    "vit-heads": 3,
    "lora-rank": 2,
    "scene-queries": 2,
    "width": 16,
    "feed-forward": 32,
    "generator-layers": 1,
    "predictor-layers": 1,
    "proposals": 8,
    "future-width": 24,
}
"""The paper's model, made small."""
SHORT_DRIVES = "--split city_val --routes 1 --drivers framewise sumo"
"""Of the routes that the smallest city has."""
ONE_CORE = ["--accelerator", "cpu", "--devices", "1", "--loaders", "0", "--epochs", "1", "--batch", "32"]


@pytest.fixture(scope="module")
def folder(sumo, tmp_path_factory):
    """Where the lines are run: what `make demo` leaves of the smallest city, and files that users would have."""
    folder = tmp_path_factory.mktemp("readme")
    printed = run("w4s demo --preset tiny --out demo", folder)
    assert "World4Scorer, re-ranked" in printed and "report.html" in printed
    again = run("w4s demo --preset tiny --out demo", folder)
    assert "stages are finished" in again and again.endswith(printed[printed.index("frames of") - 3 :])
    city = folder / "demo" / "city"
    (folder / "DATA").mkdir()
    for part in ("maps", "navsim_logs", "sensor_blobs", "config"):
        (folder / "DATA" / part).symlink_to(city / part)
    write_plans(folder, SceneStore(city / "store" / "city_val"))
    return folder


def write_plans(folder: Path, scenes: SceneStore) -> None:
    """A submission, and a dump of pools with their scores, around what was driven."""
    rng = np.random.default_rng(5)
    driven = {token: scenes[token].human_future.astype(np.float32) for token in scenes}
    write_submission(folder / "submission.pkl", driven, version="v2.2")
    dump = {}
    for token, plan in driven.items():
        proposals = plan[None] * rng.uniform(0.5, 1.2, (8, 1, 1)).astype(np.float32)
        dump[token] = {"proposals": proposals, "pdm_score": rng.random(8).astype(np.float32)}
    (folder / "dump.pkl").write_bytes(pickle.dumps(dump))


@pytest.mark.parametrize("code", PYTHON, ids=range(len(PYTHON)))
def test_python_blocks(code):
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("lines", [lines for lines in SHELL if lines], ids=lambda lines: lines[-1])
def test_shell_blocks(folder, lines):
    if any("--vit-weights" in line for line in lines):
        write_dinov2(folder / "dinov2-with-registers-small")
    token = SceneStore(folder / "demo" / "city" / "store" / "city_val").tokens[3]
    for line in lines:
        words = line.replace("navtrain", "city_train").replace("navtest", "city_val").replace("TOKEN", token)
        words = words.replace("out/demo", "demo").replace("--out drives", f"--out drives {SHORT_DRIVES}")
        words = words.replace("--devices 4", " ".join([*ONE_CORE, *(f"--model.{k} {v}" for k, v in SMALL.items())]))
        before = set(folder.rglob("*"))
        assert run(words, folder) or set(folder.rglob("*")) > before, line


def write_dinov2(folder: Path) -> None:
    """Weights such as the hub has, of a small model."""
    import torch
    from transformers import Dinov2WithRegistersConfig, Dinov2WithRegistersModel

    torch.manual_seed(1)
    settings = Dinov2WithRegistersConfig(
        hidden_size=24, num_hidden_layers=2, num_attention_heads=3, image_size=56, patch_size=14
    )
    Dinov2WithRegistersModel(settings).save_pretrained(folder)


def run(line, folder):
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    words = shlex.split(line, comments=True)
    done = subprocess.run(words, cwd=folder, env=environment, check=False, capture_output=True, text=True)
    assert done.returncode == 0, f"{line}\n{done.stderr}"
    return done.stdout


def test_make_targets_exist():
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert MAKE and set(MAKE) <= set(targets)


def test_the_table_is_what_the_demo_printed():
    page = (ROOT / "results" / "demo.md").read_text()
    table = re.search(r"(?:^\|.*\n)+", page, re.MULTILINE)[0]
    assert table in README
    minutes = re.search(r"took ([\d.]+) minutes", page)[1]
    assert f"took {minutes} minutes" in " ".join(README.split())


def test_links_lead_somewhere():
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text()):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name}: {target}"
