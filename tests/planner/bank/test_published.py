from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from tests.support.scenes import make_plans
from world4scorer.datasets.store import SceneStore
from world4scorer.engine.outcomes import label
from world4scorer.jobs.executors import SerialExecutor
from world4scorer.planner.bank import BankError, CandidateBank, copy_bank, label_plans
from world4scorer.planner.bank.candidate_bank import CANDIDATES, FAMILY, MASK, SUBSCORES, TOKENS
from world4scorer.planner.bank.plan_files import PlanFileError, read_plans


@pytest.fixture
def plans(store: Path) -> dict[str, np.ndarray]:
    scenes = SceneStore(store)
    return {token: make_plans(scenes[token], 20 + 10 * i).astype(np.float32) for i, token in enumerate(scenes.tokens)}


def saved(path: Path, content: object) -> Path:
    path.write_bytes(pickle.dumps(content))
    return path


def test_plans_are_labelled_in_their_order(store: Path, plans: dict[str, np.ndarray], tmp_path: Path) -> None:
    given = {**plans, "elsewhere": plans["alpha_0000"]}
    del given["beta_1000"]
    report = label_plans(saved(tmp_path / "c.pkl", given), store, tmp_path / "pack", SerialExecutor())
    assert (report.scenes, report.unknown) == (8, 1)
    pack = CandidateBank.open(tmp_path / "pack")
    assert "beta_1000" not in pack and "elsewhere" not in pack
    scenes = SceneStore(store)
    for token, row in pack.rows.items():
        count = min(len(plans[token]), 64)
        assert pack.mask[row].sum() == count
        if len(plans[token]) <= 64:
            np.testing.assert_array_equal(pack.candidates[row, :count], plans[token])
        expected = label(scenes[token], pack.candidates[row, :count]).table.astype(np.float32)
        np.testing.assert_array_equal(pack.subscores[row, :count], expected)
        assert pack.family is not None and (pack.family[row] == -1).all()
    del given["alpha_0000"]
    with pytest.raises(BankError, match="holds another bank"):
        label_plans(saved(tmp_path / "c.pkl", given), store, tmp_path / "pack", SerialExecutor())


def test_files_of_all_kinds_read_the_same(plans: dict[str, np.ndarray], tmp_path: Path) -> None:
    same = {token: pool[:20] for token, pool in plans.items()}
    np.savez(tmp_path / "by_token.npz", **same)
    np.savez(tmp_path / "stacked.npz", tokens=np.array(list(same)), plans=np.stack(list(same.values())))
    np.savez(tmp_path / "bytes.npz", tokens=np.array(list(same), "S"), plans=np.stack(list(same.values())))
    dump = {t: {"trajectory": p[0], "proposals": p, "pdm_score": np.ones(20, np.float32)} for t, p in same.items()}
    saved(tmp_path / "dump.pkl", dump)
    for name in ("by_token.npz", "stacked.npz", "bytes.npz", "dump.pkl"):
        found = read_plans(tmp_path / name)
        assert list(found) == list(same)
        for token, pool in same.items():
            np.testing.assert_array_equal(found[token], pool)


class Evil:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return exec, ("print('run')",)


def test_files_that_cannot_be_used(tmp_path: Path, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(PlanFileError, match="no such file"):
        read_plans(tmp_path / "none.pkl")
    (tmp_path / "plans.txt").write_text("")
    with pytest.raises(PlanFileError, match=r"\.npz"):
        read_plans(tmp_path / "plans.txt")
    (tmp_path / "bad.npz").write_bytes(b"PK")
    with pytest.raises(PlanFileError, match=r"bad\.npz"):
        read_plans(tmp_path / "bad.npz")
    np.savez(tmp_path / "two.npz", tokens=np.array(["a", "a"]), plans=np.zeros((2, 3, 8, 3)))
    with pytest.raises(PlanFileError, match="'a' appears more than once"):
        read_plans(tmp_path / "two.npz")
    np.savez(tmp_path / "nan.npz", a=np.full((1, 8, 3), np.nan))
    with pytest.raises(PlanFileError, match=r"nan\.npz.*plans of a"):
        read_plans(tmp_path / "nan.npz")
    with pytest.raises(ValueError, match=r"builtins\.exec"):
        read_plans(saved(tmp_path / "evil.pkl", {"a": Evil()}))
    assert capsys.readouterr().out == ""
    with pytest.raises(BankError, match="none of its 1 tokens"):
        label_plans(saved(tmp_path / "far.pkl", {"far": np.zeros((2, 8, 3))}), store, tmp_path / "x", SerialExecutor())


def test_a_pack_is_copied_with_its_labels(packed: Path, tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / MASK).write_bytes(b"left by a run that was killed")
    copy_bank(packed, tmp_path / "copy")
    for name in (TOKENS, CANDIDATES, SUBSCORES, MASK, FAMILY):
        assert (tmp_path / "copy" / name).read_bytes() == (packed / name).read_bytes()
    notes = CandidateBank.open(tmp_path / "copy").notes
    assert notes["source"]["kind"] == "pack" and notes["source"]["notes"]["scenes"] == 9
    with pytest.raises(BankError, match="holds a bank already"):
        copy_bank(packed, tmp_path / "copy")


def test_a_pack_labelled_anew(packed: Path, store: Path, tmp_path: Path) -> None:
    label_plans(packed, store, tmp_path / "pack", SerialExecutor())
    old, new = CandidateBank.open(packed), CandidateBank.open(tmp_path / "pack")
    assert len(new) == 6  # scenes without candidates have nothing to label
    for token, row in new.rows.items():
        np.testing.assert_array_equal(new.candidates[row], old.candidates[old.rows[token]])
        np.testing.assert_array_equal(new.subscores[row], old.subscores[old.rows[token]])
