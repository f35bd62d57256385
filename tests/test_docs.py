"""Every `w4s` line in the documents can be typed, and every file and function that they name exists. Nothing is run."""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
import re
import runpy
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import tyro

from world4scorer import cli
from world4scorer.cli.command_table import COMMANDS

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "world4scorer"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SHELL = re.compile(r"^```(?:sh|bash|shell|console)\n(.*?)^```", re.DOTALL | re.MULTILINE)
PLACEHOLDERS = {"study NAME": "study reranking"}
"""What stands in a block for a word that is chosen from a list; paths and tokens may be called anything."""


def command_lines(text: str) -> Iterator[str]:
    """The lines of shell blocks that call w4s, with what was broken over several lines put together."""
    for block in SHELL.findall(text):
        for line in block.replace("\\\n", " ").splitlines():
            if re.search(r"(^|[\s/])w4s\s", line.partition("#")[0] + " "):
                yield line.strip()


def words_of(line: str) -> list[str]:
    """The words after w4s, without where the output goes."""
    for placeholder, word in PLACEHOLDERS.items():
        line = line.replace(placeholder, word)
    words = shlex.split(line, comments=True)
    after = words[next(index for index, word in enumerate(words) if Path(word).name == "w4s") + 1 :]
    return list(itertools.takewhile(lambda word: word != ">", after))


class Parsed(Exception):
    """A configuration was read from a command line; what would be done with it is not done."""


@pytest.fixture
def parse(monkeypatch):
    """Read a command line as `w4s` does, up to the moment when a command would begin its work; returns the exit code.

    tyro reads all commands: either as functions, which are replaced by ones that do nothing, or as a configuration,
    after which we leave.
    """
    read = tyro.cli

    def read_and_leave(command, **options):
        if inspect.isfunction(command):
            return read(resting(command), **options)
        read(command, **options)
        raise Parsed

    def resting(command):
        @functools.wraps(command)
        def rest(*_, **__):
            return 0

        return rest

    monkeypatch.setattr(tyro, "cli", read_and_leave)

    def run(words):
        try:
            return cli.main(words)
        except Parsed:
            return 0

    return run


LINES = [(page, line) for page in PAGES for line in command_lines(page.read_text())]


@pytest.mark.parametrize(("page", "line"), LINES, ids=[f"{page.stem}: {line}" for page, line in LINES])
def test_command_can_be_typed(parse, capsys, page, line):
    assert parse(words_of(line)) == 0, capsys.readouterr().err


@pytest.mark.parametrize(
    "line",
    [
        "w4s prepair --data DATA",
        "w4s prepare --data DATA --split navtest --store scenes --exekutor ray",
        "w4s city make --out city --preset huge",
        "w4s study nothing run",
        "w4s train --data DATA --out run --losses.nothing 1",
        "w4s score",
    ],
)
def test_what_does_not_exist_is_noticed(parse, line):
    assert parse(words_of(line)) == 2


def test_lines_are_found():
    text = (
        "```sh\nw4s train --data D \\\n    --out R  # comment\nA=1 .venv/bin/w4s doctor\n# w4s no\nmake\n```\n"
        "```python\nw4s no\n```\n"
    )
    found = [words_of(line) for line in command_lines(text)]
    assert found == [["train", "--data", "D", "--out", "R"], ["doctor"]]
    assert len(LINES) > 50


def test_every_command_has_a_section():
    """Commands of a group have one each, those of `study` share one."""
    sections = re.findall(r"^### `w4s ([^`]+)`", (ROOT / "docs" / "commands.md").read_text(), re.MULTILINE)
    described, commands = {section.split()[0] for section in sections}, {command.name for command in COMMANDS}
    assert commands <= described, f"docs/commands.md says nothing of {commands - described}"


def test_the_overview_lists_every_command():
    """By group, in the same order as `w4s --help`; each row leads to the section of its group."""
    page = (ROOT / "docs" / "commands.md").read_text()
    rows = re.findall(r"^\| \[[^]]+\]\(#([a-z-]+)\) \| (.+) \|$", page, re.MULTILINE)
    listed = [(anchor, re.findall(r"`([^`]+)`", commands)) for anchor, commands in rows]
    groups = itertools.groupby(COMMANDS, lambda command: command.group)
    assert listed == [
        (name.lower().replace(" ", "-"), [command.name for command in commands]) for name, commands in groups
    ]


SECTIONS = re.findall(r"^### `w4s ([^`]+)`\n(.*?)(?=^##|\Z)", (ROOT / "docs" / "commands.md").read_text(), re.M | re.S)
STUDIES = ("study disagreement", "study label-pairing", "study counterfactual", "study readouts")
"""One that needs pools, and those that train: together they have every flag that their section names."""


@pytest.mark.parametrize(("heading", "text"), SECTIONS, ids=[heading for heading, _ in SECTIONS])
def test_flags_of_a_section_exist(parse, capsys, monkeypatch, heading, text):
    monkeypatch.setenv("COLUMNS", "200")
    command = " ".join(itertools.takewhile(str.islower, (word.strip("-") for word in heading.split(" --")[0].split())))
    for words in STUDIES if command == "study" else (command,):
        assert parse([*words.split(), "--help"]) == 0
    known = set(re.findall(r"--[a-z][\w.-]*", capsys.readouterr().out))
    code = " ".join(re.findall(r"`([^`]+)`", text))
    named = set(re.findall(r"--[a-z][\w.-]*", f"{heading} {code}"))
    assert named <= known, f"w4s {command} has no {named - known}"


def test_every_page_is_in_the_navigation():
    """The strict build of the site finds it as well, but not every machine has MkDocs."""
    navigation = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    named = set(re.findall(r"^ +- (?:.+: )?(\S+\.md)$", navigation, re.MULTILINE))
    there = {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")}
    brought = {"start.md", "changelog.md", "security.md"} | {name for name in named if name.startswith("results/")}
    assert named - brought == there
    assert all((ROOT / name).is_file() for name in named if name.startswith("results/"))


ROOMS = sorted(path.name for path in SOURCE.iterdir() if (path / "__init__.py").is_file())
NAMED_FILE = re.compile(rf"`((?:{'|'.join(ROOMS)})/[\w/]+\.py|(?:src|tests|benchmarks|docs)/[\w./-]+)`")


@pytest.mark.parametrize("page", PAGES, ids=[page.relative_to(ROOT).as_posix() for page in PAGES])
def test_named_files_exist(page):
    """Paths in code font, below the repository or below the source."""
    named = NAMED_FILE.findall(page.read_text())
    missing = [name for name in named if not (ROOT / name).exists() and not (SOURCE / name).exists()]
    assert missing == []


IMPORTS = {
    line
    for page in PAGES
    for block in re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    for line in re.findall(r"^(?:from world4scorer|import world4scorer).*$", block, re.MULTILINE)
}


@pytest.mark.parametrize("line", sorted(IMPORTS))
def test_imports_of_python_blocks(line):
    pytest.importorskip("torch", reason="some of the modules need it")
    exec(line, {})


SCRIPTS = [*(ROOT / "docs" / "images").glob("*.py"), *(ROOT / "benchmarks").glob("*.py")]


@pytest.mark.parametrize("script", sorted(SCRIPTS), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_scripts_of_pictures_and_benchmarks_import(script, monkeypatch):
    monkeypatch.syspath_prepend(str(script.parent))  # as if it were run
    runpy.run_path(str(script), run_name=script.stem)


def test_stops_of_the_walk_exist():
    """Each file of `The walk of one plan` defines the function or class that its row names."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    stops = re.findall(r"^\| \d+ \| [^|]+ \| `([^`]+)` \| `([^`]+)` \|", page, re.MULTILINE)
    assert 10 <= len(stops) <= 16
    for file, name in stops:
        nodes = ast.walk(ast.parse((SOURCE / file).read_text()))
        assert name in {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}, (
            f"{file}: {name}"
        )


def test_where_is_it():
    """Every question of the table is answered by a file."""
    page = (ROOT / "docs" / "contributing.md").read_text()
    rows = re.findall(r"^\| ([^|]+\?) \| (.+) \|$", page, re.MULTILINE)
    assert len(rows) >= 10
    for question, answer in rows:
        paths = re.findall(r"`(src/[^`]+)`", answer)
        assert paths and all((ROOT / path).is_file() for path in paths), question
