from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from world4scorer.planner.bank import CandidateBank, Family, bank_statistics
from world4scorer.planner.bank import candidate_bank as pack_module
from world4scorer.planner.bank.candidate_bank import CANDIDATES, FAMILY, MASK, SUBSCORES, TOKENS


@pytest.fixture
def handmade(tmp_path: Path) -> Path:
    """Four scenes: none; 4 unsafe and 12 others; 20 unsafe and 4 others; 32 and 32."""
    labels, mask = np.ones((4, 64, 7), np.float32), np.zeros((4, 64), np.bool_)
    family = np.full((4, 64), Family.UNKNOWN, np.int8)
    for row, (bad, good) in enumerate([(0, 0), (4, 12), (20, 4), (32, 32)]):
        mask[row, : bad + good] = True
        labels[row, :bad, [0, 6]] = 0.0
        family[row, :bad], family[row, bad : bad + good] = Family.WRONG_BRANCH, Family.DELAY
    arrays = {TOKENS: np.array([b"a", b"b", b"c", b"d"]), CANDIDATES: np.zeros((4, 64, 8, 3), np.float32)}
    for name, array in (arrays | {SUBSCORES: labels, MASK: mask, FAMILY: family}).items():
        np.save(tmp_path / name, array)
    return tmp_path


@pytest.mark.parametrize("chunk", [1, 3, 2048])
def test_numbers(handmade: Path, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pack_module, "CHUNK_SCENES", chunk)
    found = bank_statistics(CandidateBank.open(handmade))
    assert (found.scenes, found.without, found.candidates) == (4, 1, 104)
    assert found.valid == pytest.approx((16 + 24 + 64) / 3)
    assert found.seen == pytest.approx((1 + 16 / 24 + 16 / 64) / 3)
    assert (found.unsafe, found.collisions, found.off_road) == pytest.approx((56 / 104, 56 / 104, 0.0))
    assert (found.short, found.short_unsafe, found.short_other) == pytest.approx((2 / 3, 1 / 3, 1 / 3))
    assert found.histogram[0] == 56 and found.histogram[-1] == 48 and sum(found.histogram) == 104
    assert found.families is not None and list(found.families) == ["delay", "wrong branch"]
    assert found.families["wrong branch"].unsafe == 1.0 and found.families["delay"].share == pytest.approx(48 / 104)


def test_published_packs_tell_no_families(handmade: Path) -> None:
    (handmade / FAMILY).unlink()
    assert bank_statistics(CandidateBank.open(handmade)).families is None
