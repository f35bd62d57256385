"""Kernels compiled ahead are taken where they fit, and compiled where they do not."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from world4scorer.engine.kernels import BASELINES

MACHINE = platform.machine().lower()
pytestmark = pytest.mark.skipif(MACHINE not in BASELINES, reason=f"no baseline processor for {MACHINE}")

SOURCE = """
from world4scorer.engine.kernels import kernel, leaf

@leaf
def term(x):
    return 3.0 * x

@kernel
def total(values):
    result = 0.0
    for n in range(values.size):
        result += term(values[n])
    return result
"""
CALL = """
import sys
from pathlib import Path
import numba
import numpy as np
from llvmlite import binding
from world4scorer.engine import kernels
kernels.AHEAD = Path(sys.argv[1])
{patch}
import small
assert small.total(np.arange(4.0)) == 18.0
print(*(sum(kernel.stats.cache_hits.values()) for kernel in (small.total, small.term)))
"""
NOTHING_WRITABLE = "numba.core.caching.CompileResultCacheImpl._locator_classes = []"
OLD_PROCESSOR = "binding.get_host_cpu_features = lambda: binding.FeatureMap(avx2=False)"


@pytest.fixture(scope="module")
def ahead(tmp_path_factory):
    """A folder with a module of two kernels, and these compiled ahead."""
    folder = tmp_path_factory.mktemp("ahead")
    (folder / "small.py").write_text(SOURCE)
    baseline = {"NUMBA_CPU_NAME": BASELINES[MACHINE][0], "NUMBA_CPU_FEATURES": ""}
    call(folder, folder / "cache", **baseline)
    (folder / "compiled").mkdir()
    for path in (folder / "cache").rglob("*.nb?"):
        shutil.copyfile(path, folder / "compiled" / path.name)
    return folder


def use(folder: Path, cache: Path, patch: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
    """Use the kernels in a new process."""
    path = os.pathsep.join([str(folder), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", CALL.format(patch=patch), str(folder / "compiled")],
        env=os.environ | {"NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": path} | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


def call(folder: Path, cache: Path, patch: str = "", **variables: str) -> list[int]:
    """The same; how many came from a cache: `total`, and `term` inside it."""
    return [int(word) for word in use(folder, cache, patch, **variables).stdout.split()]


def test_a_new_user_compiles_nothing(ahead, tmp_path):
    assert call(ahead, tmp_path) == [1, 0]
    assert not list(tmp_path.rglob("*.nb?"))


def test_nor_where_no_folder_can_be_written(ahead, tmp_path):
    assert call(ahead, tmp_path, NOTHING_WRITABLE) == [1, 0]
    (tmp_path / "small.py").write_text(SOURCE)
    said = use(tmp_path, tmp_path, NOTHING_WRITABLE)  # nothing was compiled ahead here
    assert said.stdout.split() == ["0", "0"] and said.stderr.count("compiled anew in every process") == 1


def test_an_older_processor_compiles_for_itself(ahead, tmp_path):
    if not BASELINES[MACHINE][1]:
        pytest.skip("every processor of this kind runs the baseline")
    assert call(ahead, tmp_path, OLD_PROCESSOR) == [0, 0]
    assert call(ahead, tmp_path, OLD_PROCESSOR) == [1, 0]


def test_changed_sources_are_compiled(ahead, tmp_path):
    shutil.copytree(ahead / "compiled", tmp_path / "compiled")
    (tmp_path / "small.py").write_text(SOURCE + "\n# changed\n")
    assert call(tmp_path, tmp_path / "cache") == [0, 0]


def test_another_numba_compiles(ahead, tmp_path):
    assert call(ahead, tmp_path, "numba.__version__ = '0.0.0'") == [0, 0]
