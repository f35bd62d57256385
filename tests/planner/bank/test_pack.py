from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from world4scorer.planner.bank import BankError, CandidateBank
from world4scorer.planner.bank.candidate_bank import CANDIDATES, FAMILY, MASK, NOTES, PARTS, SUBSCORES, TOKENS


@pytest.fixture
def folder(packed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(packed, tmp_path / "pack"))


def test_types_and_shapes(packed: Path) -> None:
    shapes = {TOKENS: (9,), CANDIDATES: (9, 64, 8, 3), SUBSCORES: (9, 64, 7), MASK: (9, 64), FAMILY: (9, 64)}
    kinds = {TOKENS: "S", CANDIDATES: "float32", SUBSCORES: "float32", MASK: "bool", FAMILY: "int8"}
    for name, shape in shapes.items():
        array = np.load(packed / name, allow_pickle=False)
        assert array.shape == shape and (array.dtype == kinds[name] or array.dtype.kind == kinds[name])


def test_published_packs_have_no_notes_and_families(folder: Path) -> None:
    (folder / NOTES).unlink()
    (folder / FAMILY).unlink()
    pack = CandidateBank.open(folder)
    assert pack.notes == {} and pack.family is None
    assert pack.draw(pack.tokens[0], np.random.default_rng(0)).has_bank


def test_tokens_as_text_and_double_labels(folder: Path) -> None:
    np.save(folder / TOKENS, np.load(folder / TOKENS).astype(np.str_))
    np.save(folder / SUBSCORES, np.load(folder / SUBSCORES).astype(np.float64))
    pack = CandidateBank.open(folder)
    assert "alpha_0000" in pack
    assert pack.draw("alpha_0000", np.random.default_rng(0)).labels.dtype == np.float32


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        (MASK, lambda array: array[:5], r"bank_mask.npy: shape \(5, 64\); expected \(9, 64\)"),
        (MASK, lambda array: array.astype(np.uint8), "bank_mask.npy: holds uint8"),
        (CANDIDATES, lambda array: array[..., :2], "bank_candidates.npy: shape"),
        (CANDIDATES, lambda array: array.astype(np.float64), "bank_candidates.npy: holds float64"),
        (SUBSCORES, lambda array: array[..., :6], "bank_subscores.npy: shape"),
        (TOKENS, lambda array: np.repeat(array[:3], 3), "tokens.npy: token 'alpha_0000' appears more than once"),
        (TOKENS, lambda array: np.arange(9), "tokens.npy: holds int64"),
        (FAMILY, lambda array: array[:, :3], "bank_family.npy: shape"),
    ],
)
def test_broken_arrays(folder: Path, name: str, change, message: str) -> None:
    np.save(folder / name, change(np.load(folder / name)))
    with pytest.raises(BankError, match=message):
        CandidateBank.open(folder)


@pytest.mark.parametrize("name", [TOKENS, CANDIDATES, SUBSCORES, MASK])
def test_missing_and_truncated_files(folder: Path, name: str) -> None:
    whole = (folder / name).read_bytes()
    for part in (b"", whole[:40], whole[:-10]):
        (folder / name).write_bytes(part)
        with pytest.raises(BankError, match=f"{name}: (cannot be read|damaged)"):
            CandidateBank.open(folder)
    (folder / name).unlink()
    with pytest.raises(BankError, match=f"{name}: missing"):
        CandidateBank.open(folder)


def test_a_flipped_bit_in_any_file(folder: Path) -> None:
    for path in (path for path in folder.iterdir() if not path.name.startswith(".")):
        whole = path.read_bytes()
        changed = bytearray(whole)
        changed[int(0.7 * len(whole))] ^= 4
        path.write_bytes(changed)
        with pytest.raises(BankError, match=f"{path.name}: damaged"):
            CandidateBank.open(folder)
        path.write_bytes(whole)


def test_tokens_that_are_no_text(folder: Path) -> None:
    tokens = np.load(folder / "tokens.npy")
    tokens[0] = b"\xff\xfe"
    np.save(folder / "tokens.npy", tokens)
    with pytest.raises(BankError, match=r"tokens\.npy: damaged: 'utf-8' codec"):
        CandidateBank.open(folder)


def test_arrays_of_objects_are_not_unpickled(folder: Path) -> None:
    np.save(folder / MASK, np.array([{}] * 9, object), allow_pickle=True)
    with pytest.raises(BankError, match="cannot be read"):
        CandidateBank.open(folder)


def test_unfinished_and_absent(folder: Path, tmp_path: Path) -> None:
    (folder / PARTS).mkdir()
    with pytest.raises(BankError, match="not finished"):
        CandidateBank.open(folder)
    with pytest.raises(BankError, match="no such folder"):
        CandidateBank.open(tmp_path / "nowhere")


def test_damaged_notes(folder: Path) -> None:
    for text in ("{", "[]"):
        (folder / NOTES).write_text(text)
        with pytest.raises(BankError, match=r"bank\.json"):
            CandidateBank.open(folder)


def test_verify_finds_what_is_not_finite(folder: Path) -> None:
    CandidateBank.open(folder).verify()
    labels = np.load(folder / SUBSCORES)
    labels[1, 3, 2] = np.nan
    np.save(folder / SUBSCORES, labels)
    with pytest.raises(BankError, match="candidate 3 of 'alpha_0001'"):
        CandidateBank.open(folder).verify()
