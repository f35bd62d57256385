"""The release kit agrees with itself: one version, a pin for every dependency, readable templates and workflow."""

from __future__ import annotations

import ast
import importlib
import re
import runpy
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version

from world4scorer import __version__

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "world4scorer"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
NOT_PINNED = {"ray"}
"""Of the extra `cluster`, which the tests do not install."""
NOT_PUBLIC = {"cli.completion"}
"""Folders whose names are for the package itself."""


def test_the_version_has_one_source():
    assert "version" not in PROJECT and "version" in PROJECT["dynamic"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert str(citation["version"]) == __version__
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[1]
    assert newest in (__version__, "Unreleased")


def test_the_citation_names_paper_and_software():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors", "license"} <= set(citation)
    assert citation["license"] == PROJECT["license"]
    paper = citation["preferred-citation"]
    assert paper["title"].startswith("World4Scorer: ") and len(paper["authors"]) == 15
    assert all({"given-names", "family-names"} == set(author) for author in paper["authors"])


def requirements() -> list[Requirement]:
    everything = [*PROJECT["dependencies"], *(line for lines in EXTRAS.values() for line in lines)]
    found = [Requirement(line) for line in everything]
    return [one for one in found if one.name not in {PROJECT["name"], *NOT_PINNED}]


def test_every_dependency_has_a_tested_version():
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines), "no hosts, files or local versions"
    pins = {name.lower().replace("_", "-"): Version(version) for name, version in (line.split("==") for line in lines)}
    for one in requirements():
        assert pins[one.name.lower()] in one.specifier, one


def test_templates_and_workflow():
    """Forms with the fields that the host requires; CI runs what contributors run."""
    forms = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
    for path in forms:
        form = yaml.safe_load(path.read_text())
        if path.name != "config.yml":
            assert {"name", "description", "body"} <= set(form)
            ids = [field["id"] for field in form["body"] if field["type"] != "markdown"]
            assert ids and len(set(ids)) == len(ids)
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())["jobs"]
    pythons = {line.rsplit(" ", 1)[1] for line in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", line)}
    assert set(jobs["checks"]["strategy"]["matrix"]["python"]) == pythons
    assert any(step.get("run") == ".ci/run" for step in jobs["checks"]["steps"])
    base = next(step["run"] for step in jobs["base"]["steps"] if "run" in step)
    assert base.startswith("make release-check EXTRAS=base")
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    assert [hook["entry"].split()[0] for hook in hooks] == [".venv/bin/ruff", ".venv/bin/ruff", ".venv/bin/mypy"]


PROOF = runpy.run_path(str(ROOT / ".ci" / "release_check.py"))["PROOF"]


def test_release_check_knows_every_extra():
    assert set(PROOF) == {"base", *EXTRAS}


@pytest.mark.parametrize("extra", EXTRAS)
def test_what_release_check_imports_of_us_is_there(extra):
    pytest.importorskip("torch", reason="some of the modules need it")
    for node in ast.walk(ast.parse(PROOF[extra])):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("world4scorer"):
            assert all(hasattr(importlib.import_module(node.module), name.name) for name in node.names)
        elif isinstance(node, ast.Import):
            for name in node.names:
                if name.name.startswith("world4scorer"):
                    importlib.import_module(name.name)


def exported() -> dict[str, list[str]]:
    """Names of `__all__`, by folder of the package; read, not imported."""
    found = {}
    for path in sorted(SOURCE.rglob("__init__.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                found[".".join(path.parent.relative_to(SOURCE).parts)] = ast.literal_eval(node.value)
    return found


ENTRIES = re.findall(r"^::: world4scorer\.(\S+)$", (ROOT / "docs" / "api.md").read_text(), re.MULTILINE)


def test_the_reference_has_every_public_name():
    described = set(ENTRIES) | {entry.rpartition(".")[0] for entry in ENTRIES}  # module.name.name: a file of that name
    names = {entry.rpartition(".")[2] for entry in ENTRIES}
    for folder, public in exported().items():
        if folder in NOT_PUBLIC:
            continue
        here = names if folder == "" else {entry.removeprefix(f"{folder}.") for entry in described}
        missing = set(public) - here - {"__version__"}
        assert not missing, f"docs/api.md lacks {sorted(missing)} of world4scorer.{folder}"


@pytest.mark.parametrize("entry", ENTRIES)
def test_entries_of_the_reference_exist(entry):
    pytest.importorskip("torch", reason="some of the modules need it")
    module, _, name = f"world4scorer.{entry}".rpartition(".")
    try:
        home = importlib.import_module(module)
    except ModuleNotFoundError:  # a function hides the module of the same name
        home = importlib.import_module(module.rpartition(".")[0])
    assert hasattr(home, name) or home.__name__ == module
