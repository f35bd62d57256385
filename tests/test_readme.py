"""Every code block of the README runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
PYTHON = [code for language, code in BLOCKS if language == "python"]
SHELL = [line for language, code in BLOCKS if language == "sh" for line in code.splitlines() if line.startswith("w4s")]
MAKE = [line.split()[1] for _, code in BLOCKS for line in code.splitlines() if line.startswith("make ")]


@pytest.mark.parametrize("code", PYTHON, ids=range(len(PYTHON)))
def test_python_blocks(code):
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("line", SHELL)
def test_commands(line, tmp_path):
    words = [word.replace("out/", f"{tmp_path}/") for word in line.split()]
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run(words, cwd=ROOT, env=environment, check=True, capture_output=True)


def test_make_targets_exist():
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert MAKE and set(MAKE) <= set(targets)


def test_links_lead_somewhere():
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text()):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name}: {target}"
