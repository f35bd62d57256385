from __future__ import annotations

import os
import pickle
import shutil
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import world4scorer as w4s
from tests.support.scenes import make_log, make_map, make_plans, make_scene
from tests.support.tampering import tamper
from world4scorer.datasets.store import PreparedScene, SceneStore, StoreError, UnknownTokenError, schema, write_shard
from world4scorer.datasets.store.index import INDEX_NAME
from world4scorer.engine.scene import Lights, PolygonMap, Scene, Tracks
from world4scorer.engine.scene.checks import SceneError


def assert_same(a: Any, b: Any, where: str = "") -> None:
    """Every field equal to the bit; boxes where they are valid."""
    assert type(a) is type(b), where
    if isinstance(a, Tracks):
        assert a.ids == b.ids
        for name in ("type", "valid"):
            assert_same(getattr(a, name), getattr(b, name), name)
        assert a.boxes[a.valid].tobytes() == b.boxes[b.valid].tobytes()
        assert a.boxes.shape == b.boxes.shape
    elif isinstance(a, Scene | PolygonMap | Lights):
        for field in fields(a):
            assert_same(getattr(a, field.name), getattr(b, field.name), f"{where}.{field.name}")
    elif isinstance(a, np.ndarray):
        assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes()), where
        assert b.flags.c_contiguous
    else:
        assert a == b, where


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number, name in enumerate(["alpha", "beta", "gamma"]):
        write_shard(tmp_path, name, make_log(name, 4, seed=number), {"options": {"split": "mini"}})
    return tmp_path


def test_scenes_come_back_to_the_bit(folder: Path) -> None:
    store = SceneStore(folder)
    assert store.logs == ["alpha", "beta", "gamma"]
    assert len(store) == 12 and len(store.tokens) == 12
    for number, name in enumerate(store.logs):
        for written, read in zip(make_log(name, 4, seed=number), store.scenes(name), strict=True):
            assert_same(written, read)
            assert_same(written, store[written.token])
            assert store.log_of(written.token) == name
            assert store.time_us(written.token) == written.time_us
            np.testing.assert_array_equal(written.on_route, read.on_route)
            for a, b in zip(written.packed_map, read.packed_map, strict=True):
                assert_same(a, b)
    assert [scene.token for scene in store.scenes()] == store.tokens
    store.verify()


def test_scores_of_a_stored_scene_are_identical(folder: Path) -> None:
    store = SceneStore(folder)
    for scene in make_log("beta", 4, seed=1):
        plans = make_plans(scene, 6)
        kept = store[scene.token]
        assert w4s.pdms(scene, plans).table.tobytes() == w4s.pdms(kept, plans).table.tobytes()
        assert w4s.epdms(scene, plans).table.tobytes() == w4s.epdms(kept, plans).table.tobytes()


@settings(max_examples=25, deadline=None)
@given(
    seeds=st.lists(st.integers(0, 999), min_size=1, max_size=4, unique=True),
    complete=st.booleans(),
    changing_size=st.booleans(),
    count=st.integers(0, 4),
    maps=st.integers(1, 3),
)
def test_any_mixture_comes_back(
    tmp_path_factory: pytest.TempPathFactory,
    seeds: list[int],
    complete: bool,
    changing_size: bool,
    count: int,
    maps: int,
) -> None:
    folder = tmp_path_factory.mktemp("store")
    scenes = [
        make_scene(
            seed,
            time_us=i,
            polygons=make_map(seed % maps),
            complete=complete != (i == 1),
            count=count + i % 2,
            changing_size=changing_size,
        )
        for i, seed in enumerate(seeds)
    ]
    write_shard(folder, "log", scenes)
    store = SceneStore(folder)
    for scene in scenes:
        assert_same(scene, store[scene.token])
    store.verify()


def test_scenes_are_kept_in_time_order(tmp_path: Path) -> None:
    scenes = make_log("log", 3)
    write_shard(tmp_path, "log", scenes[::-1])
    assert SceneStore(tmp_path).tokens == [scene.token for scene in scenes]


def test_extras_and_provenance(tmp_path: Path) -> None:
    scene = make_scene()
    extras = {"pdm_progress": 0.1 + 0.2, "scene_token": "abc", "stage": {"initial": None, "frames": [1, 2]}}
    write_shard(tmp_path, "log", [PreparedScene(scene, extras)], {"source": "made up"})
    store = SceneStore(tmp_path)
    assert store.extras(scene.token) == extras
    assert store.provenance("log")["source"] == "made up"
    assert store.provenance("log")["world4scorer"] == w4s.__version__
    with pytest.raises(StoreError, match=r"extras of 'log_0000'"):
        write_shard(tmp_path, "log", [PreparedScene(scene, {"array": np.zeros(2)})])


def test_what_scenes_share_is_written_once(tmp_path: Path) -> None:
    one = write_shard(tmp_path, "one", make_log("one", 1))
    many = write_shard(tmp_path, "many", make_log("many", 9))
    batch = pa.ipc.open_file(str(tmp_path / "many.arrow")).get_batch(0)
    assert len(batch.column("new_vertices").values) == len(make_map().vertices)
    assert len(batch.column("centerline").values) == len(make_scene().centerline)
    assert many.bytes < 9 * one.bytes


def test_unknown_token_and_log(folder: Path) -> None:
    store = SceneStore(folder)
    assert "nowhere" not in store
    with pytest.raises(UnknownTokenError, match="no scene 'nowhere' among the 12"):
        store["nowhere"]
    with pytest.raises(KeyError):
        store["nowhere"]
    with pytest.raises(StoreError, match="no log 'delta'"):
        store.scenes("delta")
    with pytest.raises(StoreError, match="no such store"):
        SceneStore(folder / "elsewhere")


def test_store_can_be_sent_to_another_process(folder: Path) -> None:
    store = SceneStore(folder)
    assert pickle.loads(pickle.dumps(store)).tokens == store.tokens


def test_index_is_only_a_shortcut(folder: Path) -> None:
    tokens = SceneStore(folder).tokens
    (folder / INDEX_NAME).write_bytes(b"nonsense")
    assert SceneStore(folder).tokens == tokens
    (folder / INDEX_NAME).unlink()
    assert SceneStore(folder).tokens == tokens
    (folder / "beta.arrow").unlink()
    assert SceneStore(folder).logs == ["alpha", "gamma"]
    write_shard(folder, "alpha", make_log("alpha", 2, seed=7))
    assert len(SceneStore(folder).tokens_of("alpha")) == 2


def test_damaged_index_is_made_anew(folder: Path) -> None:
    tokens = SceneStore(folder).tokens
    content = (folder / INDEX_NAME).read_bytes()
    place = content.index(tokens[0].encode())
    (folder / INDEX_NAME).write_bytes(content[:place] + b"X" + content[place + 1 :])
    assert SceneStore(folder).tokens == tokens
    assert (folder / INDEX_NAME).read_bytes() == content


def test_store_on_a_disk_that_may_only_be_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> Any:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("world4scorer.datasets.store.index.atomic_write", refuse)
    assert len(SceneStore(folder)) == 12
    assert not (folder / INDEX_NAME).exists()


def test_moved_store_works(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    moved = shutil.copytree(folder, tmp_path_factory.mktemp("elsewhere") / "store")
    shutil.rmtree(folder)
    assert next(SceneStore(moved).scenes("alpha")).log_name == "alpha"


def test_half_written_files_are_never_read(folder: Path) -> None:
    (folder / ".delta.arrow.1234.tmp").write_bytes(b"ARROW1")
    assert SceneStore(folder).logs == ["alpha", "beta", "gamma"]


def test_writer_that_fails_leaves_nothing(folder: Path) -> None:
    before = (folder / "alpha.arrow").read_bytes()

    def broken() -> Any:
        yield make_scene(log_name="alpha")
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError):
        write_shard(folder, "alpha", broken())
    assert (folder / "alpha.arrow").read_bytes() == before
    assert not list(folder.glob(".*"))


@pytest.mark.parametrize("kept", [0, 7, 1000, -1])
def test_truncated_shard(folder: Path, kept: int) -> None:
    path = folder / "beta.arrow"
    content = path.read_bytes()
    path.write_bytes(content[:kept])
    with pytest.raises(StoreError, match=r"beta\.arrow: (not a readable shard|damaged)"):
        SceneStore(folder)


def test_verify_names_the_damaged_shard(folder: Path) -> None:
    store = SceneStore(folder)
    path = folder / "beta.arrow"
    content = bytearray(path.read_bytes())
    place = content.index(np.float64(make_log("beta", 4, seed=1)[2].ego_state[3]).tobytes())
    content[place] ^= 1
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"beta\.arrow: damaged") as caught:
        store.verify()
    assert "alpha" not in str(caught.value)
    with pytest.raises(StoreError, match=r"beta\.arrow: damaged .*`w4s prepare`"):
        store[store.tokens_of("beta")[0]]  # found without `verify`, too
    tamper(path, bytes)  # as a file of 0.1.0, whose checksum is that of the values alone
    with pytest.raises(StoreError, match=r"beta\.arrow: damaged"):
        store.verify()


@settings(max_examples=60, deadline=None)
@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_any_flipped_bit_is_found_or_harmless(tmp_path_factory: pytest.TempPathFactory, place: float, bit: int) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    scenes = make_log("log", 2)
    write_shard(folder, "log", scenes)
    path = folder / "log.arrow"
    content = bytearray(path.read_bytes())
    content[int(place * len(content))] ^= 1 << bit
    path.write_bytes(content)
    try:
        store = SceneStore(folder)
        store.verify()
    except StoreError as error:
        assert "log.arrow" in str(error)
        return
    for scene in scenes:  # padding, or a part of the framing that says nothing
        assert_same(scene, store[scene.token])


def test_other_schema_version(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("world4scorer.datasets.store.shard_writer.SCHEMA_VERSION", schema.SCHEMA_VERSION + 1)
        write_shard(folder, "beta", make_log("beta", 2))
    with pytest.raises(
        StoreError, match=r"beta\.arrow: written with schema version 3, this world4scorer reads versions up to 2"
    ):
        SceneStore(folder)


def test_foreign_files(folder: Path) -> None:
    (folder / "notes.txt").write_text("mine")
    assert len(SceneStore(folder)) == 12
    table = pa.table({"a": [1]})
    with pa.ipc.new_file(str(folder / "other.arrow"), table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(StoreError, match=r"other\.arrow: an Arrow file, but not a shard"):
        SceneStore(folder)


def test_shard_under_another_name(folder: Path) -> None:
    os.rename(folder / "beta.arrow", folder / "delta.arrow")
    with pytest.raises(StoreError, match="holds log 'beta'"):
        SceneStore(folder)


def test_writer_refuses(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no scenes"):
        write_shard(tmp_path, "log", [])
    with pytest.raises(StoreError, match="belongs to log 'log'"):
        write_shard(tmp_path, "other", [make_scene()])
    with pytest.raises(StoreError, match="occurs twice"):
        write_shard(tmp_path, "log", [make_scene(), make_scene()])
    with pytest.raises(SceneError, match="cannot be a file name"):
        make_scene(log_name="../log")
    assert not list(tmp_path.iterdir())


def test_a_token_in_two_logs_is_refused(tmp_path: Path) -> None:
    scene = make_scene(log_name="a")
    write_shard(tmp_path, "a", [scene])
    twin = make_scene(log_name="b")
    object.__setattr__(twin, "token", scene.token)
    write_shard(tmp_path, "b", [twin])
    with pytest.raises(StoreError, match="lies in logs 'a' and 'b'"):
        SceneStore(tmp_path)
