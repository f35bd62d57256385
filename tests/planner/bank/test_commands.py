from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.support.scenes import make_plans
from tests.support.stored_pools import write_pools
from world4scorer import cli
from world4scorer.datasets.store import SceneStore
from world4scorer.engine.outcomes import label
from world4scorer.evaluation.pools.pool_files import LogPool
from world4scorer.planner.bank import CandidateBank


def test_make_and_info(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "pack")
    words = ["bank", "make", "--store", str(store), "--out", out, "--executor", "serial", "--proposals", "70"]
    assert cli.main([*words, "--brake", "4", "6"]) == 0
    assert CandidateBank.open(out).notes["config"]["brake"] == [4.0, 6.0]
    capsys.readouterr()
    assert cli.main(["bank", "info", out, "--out", str(tmp_path / "info.md")]) == 0
    printed = capsys.readouterr().out
    assert "hard brake" in printed and "scenes without candidates" in printed
    assert "| scenes | 9 |" in (tmp_path / "info.md").read_text()
    assert cli.main(["bank", "info", out, "--out", str(tmp_path / "info.json")]) == 0
    assert json.loads((tmp_path / "info.json").read_text())["without"] == 3
    assert cli.main(["bank", "info", out, "--out", str(tmp_path / "info.txt")]) == 1


def test_import_and_histogram(store: Path, packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scenes = SceneStore(store)
    plans = {token: make_plans(scenes[token], 5).astype(np.float32) for token in scenes.tokens}
    dump, first = tmp_path / "pool.pkl", tmp_path / "first.npz"
    dump.write_bytes(pickle.dumps({token: {"proposals": pool} for token, pool in plans.items()}))
    np.savez(first, tokens=np.array(["alpha_0000"]), plans=plans["alpha_0000"][None])
    made = str(tmp_path / "pack")
    assert cli.main(["bank", "import", str(dump), "--out", made]) == 2
    assert "--store" in capsys.readouterr().err
    words = ["--store", str(store), "--out", made, "--executor", "serial"]
    assert cli.main(["bank", "import", str(dump), *words]) == 0
    assert CandidateBank.open(made).mask.sum() == 45
    assert cli.main(["bank", "import", str(packed), "--out", str(tmp_path / "copy")]) == 0

    out = tmp_path / "figure.png"
    words = ["bank", "histogram", str(packed), "--generated", str(dump), str(first), "--store", str(store)]
    assert cli.main([*words, "--out", str(out)]) == 0
    assert out.read_bytes().startswith(b"\x89PNG")
    numbers = json.loads(out.with_suffix(".json").read_text())
    assert (numbers["scenes"], numbers["left_out"]) == (6, 3)
    assert numbers["generated"]["candidates"] == 30 and sum(numbers["generated"]["histogram"]) == 30
    banked = [token for token in plans if scenes[token].human_future is not None]
    expected = np.mean([label(scenes[token], plans[token]).score for token in banked])
    assert numbers["generated"]["pdms"] == pytest.approx(expected)
    bank = CandidateBank.open(packed)
    assert numbers["bank"]["pdms"] == pytest.approx(float(bank.subscores[..., 6][bank.mask].mean()), rel=1e-5)
    assert "w4s bank histogram" in out.with_suffix(".md").read_text()
    utility = np.zeros((len(plans), 5), np.float32)
    log = LogPool("alpha", tuple(plans), np.arange(len(plans)), np.stack(list(plans.values())), utility, utility)
    pools = write_pools(tmp_path / "pools", store, [log])
    words[words.index(str(dump))] = str(pools)
    assert cli.main([*words, "--out", str(out)]) == 0
    again = json.loads(out.with_suffix(".json").read_text())
    assert again["generated"] == numbers["generated"] and "pools" in again["command"]
    assert cli.main([*words, "--out", str(tmp_path / "figure.txt")]) == 1


def test_wrong_folders_are_named(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bank", "info", str(tmp_path / "none")]) == 1
    assert "no such folder" in capsys.readouterr().err
    assert cli.main(["bank", "make", "--store", str(tmp_path / "none"), "--out", str(tmp_path / "pack")]) == 1
    assert "no such store" in capsys.readouterr().err


def test_needs_no_torch() -> None:
    modules = "world4scorer.planner.bank, world4scorer.cli.bank"
    code = f"import sys; sys.modules['torch'] = None; import {modules}; print('fine')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "fine"
