"""The notebooks run from top to bottom, in any folder, and hold nothing of the machine that they were last run on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat", reason="the extra `dev` is not installed")

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
MINUTES = "from_city_to_studies"
"""Makes a city."""
MAX_BYTES = 150_000
PATHS = re.compile(r"(?:^|[\s'\"(=])(?:/(?:home|root|tmp|work|usr|content|Users)/|[A-Z]:\\)")

RUN = [pytest.param(path, id=path.stem, marks=pytest.mark.slow if path.stem == MINUTES else ()) for path in NOTEBOOKS]


@pytest.mark.parametrize("path", RUN)
def test_it_runs(path, tmp_path, monkeypatch):
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))  # no history or profile of the user
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    assert any(cell.get("outputs") for cell in notebook.cells)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_is_kept_is_small_and_of_no_machine(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert path.stat().st_size < MAX_BYTES
    first = next(cell for cell in notebook.cells if cell.cell_type == "code")
    assert "%pip install" in first.source and "ModuleNotFoundError" in first.source
    for cell in notebook.cells:
        assert not PATHS.search(cell.source)
        for output in cell.get("outputs", ()):
            assert output.output_type != "error" and output.get("name") != "stderr"
            shown = output.get("text", "") + output.get("data", {}).get("text/plain", "")
            assert not PATHS.search(shown), shown
            assert len(shown) < 3000


def test_each_is_described():
    page = (ROOT / "docs" / "notebooks.md").read_text()
    assert len(NOTEBOOKS) == 3 and all(f"../notebooks/{path.name}" in page for path in NOTEBOOKS)


def test_machine_paths_are_noticed():
    assert PATHS.search("written: /tmp/x/y") and PATHS.search("'/home/a/b'") and not PATHS.search("m/s, and/or")
