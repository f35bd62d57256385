from __future__ import annotations

import subprocess
import sys

import pytest

import world4scorer


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_import_is_light():
    loaded = run("import sys, world4scorer; print(sorted(sys.modules))")
    for heavy in ("'numba'", "'numpy'", "'torch'", "'tyro'"):
        assert heavy not in loaded


def test_scoring_needs_no_torch():
    code = "import sys; sys.modules['torch'] = None; from world4scorer import label, InertialReranker; print('fine')"
    assert run(code).strip() == "fine"


def test_planner_without_torch_says_what_to_install():
    code = "import sys; sys.modules['torch'] = None; import world4scorer\ntry: world4scorer.Planner\n"
    assert "pip install 'world4scorer[train]'" in run(code + "except ImportError as error: print(error)")


def test_every_public_name_is_there():
    for name in world4scorer.__all__:
        assert getattr(world4scorer, name) is not None
    assert set(world4scorer.__all__) <= set(dir(world4scorer))
    with pytest.raises(AttributeError, match="no attribute 'lable'"):
        world4scorer.lable  # noqa: B018
