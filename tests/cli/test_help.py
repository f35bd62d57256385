"""What `w4s --help` and `w4s COMMAND --help` say."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from world4scorer import __version__, cli
from world4scorer.cli.command_table import COMMANDS

LINES = [
    line
    for command in COMMANDS
    for line in (
        [f"{command.name} {name}" for name in command.subcommands()] if command.has_subcommands else [command.name]
    )
]


def said(capsys, *words):
    assert cli.main(list(words)) == 0
    return capsys.readouterr().out


def test_overview(capsys):
    text = said(capsys)
    assert text == said(capsys, "--help") == said(capsys, "-h") == said(capsys, "help")
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    for command in COMMANDS:
        assert sum(line.startswith(f"  {command.name} ") for line in lines) == 1
    assert text.rstrip().splitlines()[-1].startswith("  w4s ")
    assert "\x1b" not in text


@pytest.mark.parametrize("parent", [command.name for command in COMMANDS if command.has_subcommands])
def test_overview_of_subcommands(capsys, parent):
    text = said(capsys, parent)
    assert text == said(capsys, parent, "--help") == said(capsys, "help", parent)
    assert max(map(len, text.splitlines())) <= 80 and "Example: w4s " in text
    for line in LINES:
        if line.startswith(f"{parent} "):
            assert re.search(rf"^  {line.split()[1]} +\S", text, re.MULTILINE)


@pytest.mark.parametrize("line", LINES)
def test_help_of_a_command(capsys, line):
    text = said(capsys, *line.split(), "--help")
    assert text.startswith(f"usage: w4s {line} ")
    assert "None" not in text and "(default: )" not in text
    assert f"Example: w4s {line}" in text
    assert max(len(row) for row in text.splitlines() if not row.startswith("usage")) <= 80
    assert re.sub(r"\s+", " ", text) == re.sub(r"\s+", " ", said(capsys, "help", *line.split()))


def test_same_options_are_described_the_same(capsys):
    """An option of the same name begins with the same words in every command."""
    beginnings = {
        "data": ("Dataset folder",),
        "split": ("Name of a split", "Split to train on", "Whose pools"),
        "store": ("Scene store", "Its scene store", "Also read a whole scene store"),
        "workers": ("Processes",),
        "device": ("Torch device",),
        "executor": ("Where the work runs.",),
        "lqr": ("Tracker of the rollouts: as",),
        "draws": ("Number of bootstrap draws over logs.", "Number of bootstrap draws over routes."),
        "weight": ("How much consistency with the last choice counts", "How much outcome scores count"),
    }
    found = set()
    for line in LINES:
        text = said(capsys, *line.split(), "--help")
        for name, texts in beginnings.items():
            for words in re.findall(rf"^[^\w-]*--{name} \S+\W+(.*)", text, re.MULTILINE):
                found.add(name)
                assert words.startswith(texts), (line, name, words)
    assert found == set(beginnings)


def test_version(capsys):
    assert said(capsys, "--version") == f"w4s {__version__}\n"


def test_help_loads_nothing_heavy():
    code = "import sys; from world4scorer import cli; cli.main(['--help']); print(sorted(sys.modules), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for heavy in ("'numpy'", "'numba'", "'torch'", "'matplotlib'", "'pyarrow'"):
        assert heavy not in done.stderr
