"""Archives of arrays that declare more than they should are refused before memory is taken."""

from __future__ import annotations

import contextlib
import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from world4scorer.engine.scene.checks import SceneError
from world4scorer.engine.scene.exchange import read_exchange
from world4scorer.jobs import array_files
from world4scorer.jobs.array_files import open_archive
from world4scorer.jobs.files import load_json, read_json


def write_archive(path: Path, shape: tuple[int, ...], content: bytes) -> Path:
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": shape})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("time_us.npy", stream.getvalue() + content)
    return path


@pytest.mark.parametrize("shape", [(2**50,), (2**31, 2**31), (3,)])
def test_arrays_larger_than_their_entry(tmp_path: Path, shape: tuple[int, ...]) -> None:
    path = write_archive(tmp_path / "a.npz", shape, bytes(8))
    with pytest.raises(ValueError, match="an array of "), open_archive(path):
        pass
    with pytest.raises(SceneError, match=r"a\.npz: not a readable exchange file.*an array of"):
        read_exchange(path)


def test_archives_that_unpack_to_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_archive(tmp_path / "a.npz", (2**17,), bytes(2**20))
    with open_archive(path) as arrays:
        assert arrays["time_us"].shape == (2**17,)
    monkeypatch.setattr(array_files, "MAX_UNPACKED", 2**19)
    with pytest.raises(ValueError, match="unpacks to 1,048,7"), open_archive(path):
        pass


def test_a_flipped_bit_in_an_archive_is_found(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", numbers=np.arange(1000.0))
    content = bytearray((tmp_path / "a.npz").read_bytes())
    content[4000] ^= 1
    (tmp_path / "a.npz").write_bytes(content)
    with (
        pytest.raises(ValueError, match=r"damaged \.npz archive \(Bad CRC-32"),
        open_archive(tmp_path / "a.npz") as arrays,
    ):
        arrays["numbers"]


def test_json_nested_too_deeply(tmp_path: Path) -> None:
    for opening in ("[", '{"a":'):
        with pytest.raises(ValueError, match="nested too deeply"):
            load_json(opening * 300_000)
    (tmp_path / "a.json").write_text("[" * 300_000)
    with pytest.raises(ValueError, match=r"a\.json: cannot be read as JSON \(nested too deeply\)"):
        read_json(tmp_path / "a.json")


def test_damaged_archives_are_one_error(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez_compressed(path, x=np.random.default_rng(0).integers(0, 9, 2000))
    content = path.read_bytes()
    for place in range(40, len(content), 23):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :])
        with contextlib.suppress(ValueError), open_archive(path) as arrays:
            for name in arrays.files:
                arrays[name]
