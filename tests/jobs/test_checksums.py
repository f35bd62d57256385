"""Every file that we write carries a checksum, and a file that was changed is refused by name."""

from __future__ import annotations

import io
import json
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch

from world4scorer.jobs import checksums
from world4scorer.jobs.array_files import map_array, write_array
from world4scorer.jobs.arrow_files import map_arrow, write_arrow
from world4scorer.jobs.checksums import MARK, UNSEALED, check_checksum, is_intact, seal
from world4scorer.jobs.files import json_content, json_lines, parse_json, read_json, read_json_lines, write_json
from world4scorer.jobs.tensor_files import read_checkpoint, read_tensors, write_checkpoint, write_tensors

CONTENT = {"name": "x", "numbers": [1.5, 2.25, 3.125], "nested": {"deep": [True, None]}}
ARRAY = np.arange(600, dtype=np.float32).reshape(20, 30)
TENSORS = {"weight": torch.arange(200.0).reshape(20, 10), "bias": torch.ones(20)}


def _write_array(path: Path) -> None:
    with write_array(path, ARRAY.dtype, ARRAY.shape) as append:
        append(ARRAY[:7])
        append(ARRAY[7:])


def _write_arrow(path: Path) -> None:
    table = pa.table({"token": [f"t{i}" for i in range(50)], "value": np.arange(50.0)})
    with write_arrow(path, table.schema.with_metadata({b"notes": b"{}"})) as writer:
        writer.write_table(table.slice(0, 20))
        writer.write_table(table.slice(20))


def _read_arrow(path: Path) -> Any:
    with map_arrow(path, ValueError, "table") as reader:
        table = reader.read_all()
        table.validate(full=True)
        return table.to_pydict()


def _plain(value: Any) -> Any:
    return {name: part.tolist() for name, part in value.items()}


FORMATS: dict[str, tuple[Callable[[Path], Any], Callable[[Path], Any]]] = {
    "a.json": (lambda path: write_json(path, CONTENT), read_json),
    "compact.json": (lambda path: write_json(path, CONTENT, None), read_json),
    "a.npy": (_write_array, lambda path: map_array(path).tolist()),
    "a.arrow": (_write_arrow, _read_arrow),
    "a.safetensors": (lambda path: write_tensors(TENSORS, path), lambda path: _plain(read_tensors(path))),
    "a.ckpt": (lambda path: write_checkpoint(TENSORS, path), lambda path: _plain(read_checkpoint(path))),
}


def damage(content: bytes, rng: random.Random) -> bytes:
    """One of the ways in which disks and copies damage files."""
    changed = bytearray(content)
    kind = rng.choice(["cut", "flip", "flips", "zeros", "more"])
    if kind == "cut":
        del changed[rng.choice([rng.randrange(len(changed)), len(changed) - 1, len(changed) - 34]) :]
    elif kind == "zeros":
        begin = rng.randrange(len(changed))
        length = min(rng.choice([8, 512]), len(changed) - begin)
        changed[begin : begin + length] = bytes(length)
    elif kind == "more":
        changed += rng.randbytes(64)
    else:
        for _ in range(1 if kind == "flip" else 8):
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


@pytest.mark.parametrize("name", FORMATS)
def test_damage_is_an_error_or_makes_no_difference(name: str, tmp_path: Path) -> None:
    write, read = FORMATS[name]
    path = tmp_path / name
    write(path)
    assert check_checksum(path)
    content, expected = path.read_bytes(), read(path)
    rng = random.Random(name)
    refused = 0
    for _ in range(400):
        path.write_bytes(damage(content, rng))
        try:
            assert read(path) == expected
        except ValueError as error:
            refused += 1
            assert str(path) in str(error)
    assert refused > 300


@pytest.mark.parametrize("name", FORMATS)
def test_the_same_content_gives_the_same_bytes(name: str, tmp_path: Path) -> None:
    write, _ = FORMATS[name]
    write(tmp_path / name)
    once = (tmp_path / name).read_bytes()
    write(tmp_path / name)
    assert (tmp_path / name).read_bytes() == once


def test_a_number_that_changed_is_named_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_json(path, CONTENT)
    path.write_text(path.read_text().replace("2.25", "2.26"))
    with pytest.raises(ValueError, match=r"a\.json: damaged or changed .* make it; .* remove its field 'checksum'"):
        read_json(path, remedy="make it")


def test_a_file_changed_on_purpose_is_read_without_its_checksum(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_json(path, CONTENT)
    changed = {name: value for name, value in json.loads(path.read_bytes()).items() if name != "checksum"}
    path.write_text(json.dumps({**changed, "name": "y"}))
    assert read_json(path) == {**CONTENT, "name": "y"}


def test_files_of_others_are_read(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", ARRAY)
    np.testing.assert_array_equal(map_array(tmp_path / "a.npy"), ARRAY)
    torch.save(TENSORS, tmp_path / "a.ckpt")
    assert read_checkpoint(tmp_path / "a.ckpt").keys() == TENSORS.keys()
    (tmp_path / "a.json").write_text('{"format": "world4scorer-pools-1", "checksum": "of another kind"}')
    assert read_json(tmp_path / "a.json") == {"format": "world4scorer-pools-1"}
    assert not any(check_checksum(path) for path in tmp_path.iterdir())


def test_a_file_may_quote_the_mark_of_another() -> None:
    inner = json_content(CONTENT).decode()
    outer = json_content({"quoted": inner})
    assert parse_json(outer, "outer") == {"quoted": inner}
    assert is_intact(io.BytesIO(outer.replace(b"1.5", b"1.6"))) is False


def test_a_damaged_mark_is_not_taken_for_none() -> None:
    sealed = seal(b'{"a": 1, "checksum": "%b"}' % UNSEALED)
    assert is_intact(io.BytesIO(sealed)) is True
    broken = sealed.replace(MARK, MARK.replace(b"this", b"thas"))
    assert is_intact(io.BytesIO(broken)) is False
    assert is_intact(io.BytesIO(b'{"a": 1}')) is None


def test_long_files_are_hashed_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = seal(b"%b%b" % (bytes(5000), UNSEALED))
    for chunk in (4999, 5025, 5030):  # before, within and behind the mark and its digits
        monkeypatch.setattr(checksums, "CHUNK", chunk)
        assert seal(b"%b%b" % (bytes(5000), UNSEALED)) == whole
        assert is_intact(io.BytesIO(whole)) is True
        assert is_intact(io.BytesIO(whole.replace(bytes(5000), bytes(4999) + b"x"))) is False


def test_a_writer_without_a_mark_is_a_mistake() -> None:
    with pytest.raises(AssertionError, match="no mark"):
        seal(b"nothing here")


def test_lines_that_are_missing_are_found(tmp_path: Path) -> None:
    rows, path = [{"epoch": epoch} for epoch in range(3)], tmp_path / "history.jsonl"
    path.write_bytes(json_lines(rows))
    assert read_json_lines(path, "make it again") == rows
    lines = path.read_bytes().splitlines(keepends=True)
    for kept in (lines[:2], lines[:1], lines[1:], [], [*lines, lines[0]]):
        path.write_bytes(b"".join(kept))
        with pytest.raises(ValueError, match=r"history\.jsonl: cut short.*make it again"):
            read_json_lines(path, "make it again")


def test_lines_of_earlier_versions_do_not_say_how_many_they_are(tmp_path: Path) -> None:
    (tmp_path / "history.jsonl").write_text('{"epoch": 1}\n{"epoch": 2}\n')
    assert read_json_lines(tmp_path / "history.jsonl", "") == [{"epoch": 1}, {"epoch": 2}]


def test_a_header_cut_short_is_no_array(tmp_path: Path) -> None:
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (2,".ljust(117) + b"\n"
    (tmp_path / "a.npy").write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(16))
    with pytest.raises(ValueError, match=r"a\.npy: cannot be read as an array"):
        map_array(tmp_path / "a.npy")


def test_an_arrow_file_without_a_batch_is_named(tmp_path: Path) -> None:
    with write_arrow(tmp_path / "a.arrow", pa.schema([("x", pa.int64())])):
        pass
    with (
        pytest.raises(ValueError, match=r"a\.arrow: not a readable file of numbers"),
        map_arrow(tmp_path / "a.arrow", ValueError, "file of numbers") as reader,
    ):
        reader.get_batch(0)
