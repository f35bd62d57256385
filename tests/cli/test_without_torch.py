"""What needs no planner works in a base install, without torch; what does says what to install."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.stored_pools import store_pools
from world4scorer.evaluation.pools.pool_files import INFO, digest_of_planner
from world4scorer.jobs.files import read_json

WITHOUT_TORCH = """
import json, sys
from importlib.machinery import PathFinder

class BaseInstall(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        extra = ("torch", "lightning", "tensorboard", "transformers", "safetensors")
        return None if name.partition(".")[0] in extra else PathFinder.find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = BaseInstall
from world4scorer import cli

for line in json.loads(sys.argv[1]):
    print(cli.main(line.split()), file=sys.stderr)
"""
STUDIES = ("reranking", "calibration", "consecutive", "lambda", "history")
WITH_IMAGES = ("disagreement", "taxonomy")
"""Studies that ask the encoder of a run."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs with pools, with pools of another planner, with unfinished ones, and without any."""
    root = tmp_path_factory.mktemp("runs")
    pools = store_pools(root, logits=True)
    for name in ("run", "former", "unfinished", "unasked"):
        run = root / name
        (run / "planner").mkdir(parents=True)
        for file in ("model.safetensors", "config.json"):
            (run / "planner" / file).write_text("{}")
        (run / "config.json").write_text("{}")
        (run / "data.json").write_text(json.dumps({"val_split": "mini"}))
        if name != "unasked":
            shutil.copytree(pools, run / "pools" / "mini")
            about = read_json(pools / INFO) | {"weights": digest_of_planner(run / "planner")}
            (run / "pools" / "mini" / INFO).write_text(json.dumps(about))
    (root / "former" / "planner" / "model.safetensors").write_text("{ }")
    next((root / "unfinished" / "pools" / "mini").glob("*.arrow")).unlink()
    return root


def said_without_torch(folder: Path, lines: list[str]) -> list[str]:
    """What command lines say on stderr, each followed by its exit code."""
    words = [sys.executable, "-c", WITHOUT_TORCH, json.dumps(lines)]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [line for line in done.stderr.splitlines() if not line.startswith("compiling kernels")]


def test_pools_of_a_run_are_judged(folder: Path) -> None:
    lines = ["evaluate run --draws 20", *(f"study {name} run --draws 20" for name in STUDIES)]
    assert said_without_torch(folder, lines) == ["0"] * len(lines)
    assert (folder / "run" / "evaluation" / "evaluation.json").is_file()
    assert (folder / "run" / "studies" / "history.json").is_file()


def test_what_cannot_be_used_is_said(folder: Path) -> None:
    expected = {
        "evaluate former": "former/pools/mini: made by a former planner",
        "evaluate unfinished": "unfinished/pools/mini: holds 10 of 15 frames",
        "evaluate unasked": "unasked/pools/mini: making pools needs torch: pip install 'world4scorer[train]'",
        "evaluate run --split other --out out": "run/pools/other: making pools needs torch",
        "evaluate run --data elsewhere --out out": "run/pools/mini: making pools needs torch",
        "study interventions nothing": "nothing: no such folder; give a training run or a folder of pools",
        "study interventions unasked": "unasked/pools/mini: making pools needs torch",
        "pools run": "w4s pools needs torch",
        "report run": "w4s report needs torch",
        "report nothing": "nothing: no such folder",
        "evaluate nothing": "nothing: no such folder; give a training run or a folder of pools",
    }
    expected |= {
        f"study {name} nothing": "nothing: no such folder; give a training run or" for name in (*STUDIES, *WITH_IMAGES)
    }
    expected |= {f"study {name} unasked": "unasked/pools/mini: making pools needs torch" for name in STUDIES}
    expected |= {f"study {name} run": f"w4s study {name} of a run (not of a folder" for name in WITH_IMAGES}
    said = said_without_torch(folder, list(expected))
    assert said[1::2] == ["1"] * len(expected)
    for line, message in zip(said[::2], expected.values(), strict=True):
        assert line.startswith(f"w4s: {message}")
