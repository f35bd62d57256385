"""Scoring, stores, re-ranking and submissions work in a base install; what needs an extra names it in a line."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support.stored_pools import store_pools
from world4scorer.jobs.extras import EXTRA_OF

ROOT = Path(__file__).parents[2]
GOLDEN = next(iter(sorted((ROOT / "tests" / "golden" / "outcomes").glob("*.npz"))))
RUN = """
import json, sys
from importlib.machinery import PathFinder

class BaseInstall(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in MISSING else PathFinder.find_spec(name, path, target)

MISSING = json.loads(sys.argv[2])
sys.meta_path[sys.meta_path.index(PathFinder)] = BaseInstall
from world4scorer import cli

for line in json.loads(sys.argv[1]):
    print(cli.main(line.split()), file=sys.stderr)
assert not [name for name in MISSING if name in sys.modules]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store and pools."""
    root = tmp_path_factory.mktemp("base")
    store_pools(root, logits=True)
    return root


def said(folder: Path, lines: list[str]) -> list[str]:
    """What command lines say on stderr in a base install, each followed by its exit code."""
    words = [sys.executable, "-c", RUN, json.dumps(lines), json.dumps(sorted(EXTRA_OF))]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [line for line in done.stderr.splitlines() if not line.startswith("compiling kernels")]


def test_plans_are_scored_and_submitted(folder: Path) -> None:
    lines = [
        f"score {GOLDEN} --out scores",
        f"rerank {GOLDEN} --out chosen",
        "submit pools --out submission.pkl",
        "evaluate submission.pkl --store store --metric epdms-v2.2 --out scores.csv",
        "which submission.pkl --store store --out rules",
        "doctor --store store",
    ]
    printed = said(folder, lines)
    assert [line for line in printed if line.isdigit()] == ["0"] * len(lines), printed
    assert (folder / "scores.csv").is_file() and (folder / "rules" / "which.json").is_file()


def test_pools_are_evaluated_without_the_chart(folder: Path) -> None:
    *warnings, code = said(folder, ["evaluate pools --draws 20 --out evaluation"])
    assert code == "0" and (folder / "evaluation" / "evaluation.md").is_file()
    assert "its chart needs matplotlib: pip install 'world4scorer[pictures]'" in warnings[-1]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("study reranking pools", "w4s study needs matplotlib: pip install 'world4scorer[pictures]'"),
        ("show store alpha_00", "w4s: drawing needs matplotlib: pip install 'world4scorer[pictures]'"),
        (
            "prepare --data data --split mini --store out",
            "w4s: preparing scenes needs Pillow: pip install 'world4scorer[maps]'",
        ),
    ],
)
def test_what_is_missing_is_named(folder: Path, line: str, message: str) -> None:
    (folder / "data").mkdir(exist_ok=True)
    *_, last, code = said(folder, [line])
    assert code == "1" and last.startswith("w4s: ") and message in last, last


def test_every_extra_is_one_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(EXTRA_OF.values()) <= set(project["optional-dependencies"])
    base = " ".join(project["dependencies"]).lower()
    assert not [name for name in EXTRA_OF if name in base]
