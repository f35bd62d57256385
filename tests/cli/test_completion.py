"""Completion scripts, in the shells they are for."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from world4scorer import cli
from world4scorer.cli.completion import SHELLS
from world4scorer.cli.completion.options import all_commands

COMMANDS = {command.name: command for command in all_commands()}
CASES = {
    "ev": ["evaluate"],
    "bank ": ["make", "info", "import", "histogram", "--help"],
    "bank m": ["make"],
    "study la": ["label-pairing", "lambda"],
    "bank make --st": ["--store", "--steepest", "--standing"],
    "bank make --executor ": ["processes", "serial", "ray"],
    "bank make --store ": ["scenes"],
    "completion ": ["bash", "zsh", "fish"],
    "evaluate --agents human c": ["constant-velocity"],
    "evaluate --agents human --metric p": ["pdms-v1.1"],
    "evaluate sc": ["scenes", "scored one.npz"],
    "evaluate --draws ": [],
    "score scenes --out s": ["scenes"],
    "score scenes scored": ["scored one.npz"],
    "check-data --no": ["--no-images"],
}


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """A folder with the scripts, and something to complete."""
    folder = tmp_path_factory.mktemp("completion")
    for shell, write in SHELLS.items():
        (folder / f"w4s.{shell}").write_text(write(list(COMMANDS.values())))
    (folder / "scenes").mkdir()
    (folder / "scored one.npz").touch()
    return folder


def needs(shell):
    return pytest.mark.skipif(shutil.which(shell) is None, reason=f"no {shell} here")


def run(shell, code, folder):
    done = subprocess.run([shell, *code], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout


@needs("bash")
@pytest.mark.parametrize("line", CASES)
def test_bash(here, line):
    words = ["w4s", *line.split(" ")]
    given = " ".join(f"'{word}'" for word in words)
    call = f"COMP_WORDS=({given}); COMP_CWORD={len(words) - 1}; _w4s; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    offered = run("bash", ["--norc", "-c", f"source w4s.bash; {call}"], here)
    assert sorted(offered.split("\n")) == sorted([*CASES[line], ""] if CASES[line] else ["", ""])


@needs("bash")
def test_bash_leaves_the_shell_as_it_was(here):
    call = "COMP_WORDS=(w4s evaluate s); COMP_CWORD=2; _w4s; echo ${#IFS}"
    assert run("bash", ["--norc", "-c", f"source w4s.bash; {call}"], here) == "3\n"


@needs("fish")
@pytest.mark.parametrize("line", ["ev", "bank m", "study la", "bank make --executor ", "completion ", "evaluate sc"])
def test_fish(here, line):
    offered = run("fish", ["-N", "-c", f"source w4s.fish; complete -C 'w4s {line}'"], here)
    assert sorted(row.split("\t")[0].rstrip("/") for row in offered.splitlines()) == sorted(CASES[line])


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_syntax(here, shell):
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    run(shell, ["-n", f"w4s.{shell}"], here)


@pytest.mark.parametrize("name", [name for name, command in COMMANDS.items() if not command.has_subcommands])
def test_flags_are_those_of_the_command_line(capsys, name):
    assert cli.main([*name.split(), "--help"]) == 0
    for recipe in ("forecast", "masked") if name == "pretrain" else ():  # each has options of its own
        assert cli.main([name, "--recipe", recipe, "--help"]) == 0
    told = re.findall(r"^[^\w-]*(?:-h, )?(--\w[\w.-]*(?:, --\w[\w.-]*)*)", capsys.readouterr().out, re.MULTILINE)
    assert {flag for flags in told for flag in flags.split(", ")} == set(COMMANDS[name].flags)


def test_the_command_prints_the_script(here, capsys):
    assert cli.main(["completion", "bash"]) == 0
    assert capsys.readouterr().out == (here / "w4s.bash").read_text()
