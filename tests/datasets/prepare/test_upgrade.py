"""Stores of schema 1 are read, say what they lack, and are upgraded to what would be prepared today."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.support.navsim_golden import NavsimGolden
from world4scorer.datasets.navsim.filters import Split
from world4scorer.datasets.prepare.fill_store import prepare
from world4scorer.datasets.prepare.source import NavsimSource
from world4scorer.datasets.store import SceneStore
from world4scorer.datasets.store.digest import digest
from world4scorer.datasets.store.schema import ADDED_IN_2, META_CHECKSUM, META_SOURCES, META_VERSION
from world4scorer.datasets.store.shard import CHECKED_METADATA
from world4scorer.engine.outcomes import epdms
from world4scorer.engine.scene import SceneError
from world4scorer.jobs import arrow_files
from world4scorer.jobs.executors import SerialExecutor


def to_schema_1(path: Path) -> None:
    """Write a shard as version 1 did."""
    with pa.memory_map(str(path)) as source:
        batch = pa.ipc.open_file(source).get_batch(0)
        added = (arrow_files.META_CHECKSUM, META_SOURCES)
        notes = {name: value for name, value in batch.schema.metadata.items() if name not in added}
        kept = [name for name in batch.schema.names if name not in ADDED_IN_2]
    schema = pa.schema([batch.schema.field(name) for name in kept])
    older = pa.RecordBatch.from_arrays([batch.column(name) for name in kept], schema=schema)
    notes[META_VERSION] = b"1"
    notes[META_CHECKSUM] = digest(older, *(notes[name] for name in CHECKED_METADATA)).encode()
    path.unlink()
    with pa.ipc.new_file(str(path), schema.with_metadata(notes)) as writer:
        writer.write_batch(older)


def test_upgrade(compact: NavsimGolden, split: Split, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = NavsimSource(compact.dataset, split)
    fresh, older = tmp_path / "fresh", tmp_path / "older"
    prepare(source, fresh, SerialExecutor(), show_progress=False)
    shutil.copytree(fresh, older)
    for path in older.glob("*.arrow"):
        to_schema_1(path)
    store = SceneStore(older)
    store.verify()
    token = store.tokens[0]
    assert store[token].lanes is None
    with pytest.raises(SceneError, match="has no lanes"):
        epdms(store[token], np.zeros((1, 8, 3)), traffic="reactive")

    monkeypatch.setattr(NavsimSource, "_prepare", None)  # an upgrade builds no scene anew
    report = prepare(source, older, SerialExecutor(), show_progress=False)
    assert report.scenes == len(store) and report.kept == 0
    for path in fresh.glob("*.arrow"):
        assert (older / path.name).read_bytes() == path.read_bytes()
    assert prepare(source, older, SerialExecutor(), show_progress=False).kept == len(list(fresh.glob("*.arrow")))
