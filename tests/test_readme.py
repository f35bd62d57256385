"""Every code block of the README runs."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
PYTHON = [code for language, code in BLOCKS if language == "python"]
SHELL = [
    line
    for language, code in BLOCKS
    # Those with a dataset run in tests/commands/test_navsim_commands.py, the city's one after the other below.
    if language == "sh" and "DATA" not in code and "w4s city" not in code and "w4s train" not in code
    for line in code.splitlines()
    if line.startswith("w4s")
]
CITY = [line for language, code in BLOCKS if "w4s city" in code and language == "sh" for line in code.splitlines()]
TRAINING = [line for language, code in BLOCKS if "w4s train" in code and language == "sh" for line in code.splitlines()]
MAKE = [line.split()[1] for _, code in BLOCKS for line in code.splitlines() if line.startswith("make ")]


@pytest.mark.parametrize("code", PYTHON, ids=range(len(PYTHON)))
def test_python_blocks(code):
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("line", SHELL)
def test_commands(line, tmp_path):
    run(line, tmp_path)


def test_the_city(sumo, tmp_path):
    """The walkthrough, training included, with the smallest city."""
    assert CITY[0].startswith("w4s city make --preset quick")
    for line in CITY:
        printed = run(line.replace("--preset quick", "--preset tiny"), tmp_path)
    assert "city_val" in printed and "braunschweig" in printed
    assert (tmp_path / "agents.csv").read_text().count("\n") >= 4
    printed = "".join(run(line, tmp_path) for line in TRAINING)
    assert "selected without images" in printed and "EPDMS pre-151" in printed and "derangements" in printed
    for made in ("planner/model.safetensors", "evaluation/frames.parquet", "studies/interventions.png", "report.html"):
        assert (tmp_path / "run" / made).is_file(), made


def run(line, folder):
    words = [word.replace("out/", f"{folder}/") for word in shlex.split(line, comments=True)]
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(words, cwd=ROOT, env=environment, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_make_targets_exist():
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert MAKE and set(MAKE) <= set(targets)


def test_links_lead_somewhere():
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text()):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name}: {target}"
