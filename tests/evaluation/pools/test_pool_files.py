from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from world4scorer.evaluation.pools import LogPool, PoolError, PoolFolder, ScoredPools
from world4scorer.evaluation.pools.pool_files import ACTIVITY
from world4scorer.jobs.resumable import resumable

from .conftest import make_pool


def test_a_log_comes_back_as_it_was_written(folder, store):
    assert folder.logs == ["alpha", "beta", "gaps"]
    for name in folder.logs:
        wrote, read = make_pool(store, name), folder.read(name)
        for field in LogPool._fields:
            np.testing.assert_array_equal(getattr(read, field), getattr(wrote, field), err_msg=field)
        assert folder.read(name, states=False).states is None


def test_only_what_there_is(folder, store):
    pool = make_pool(store, "alpha")._replace(log_name="bare", logits=None, states=None)
    folder.write(pool)
    read = folder.read("bare")
    assert read.logits is None and read.states is None
    half = make_pool(store, "alpha")._replace(log_name="half", states=pool.plans.reshape(5, 9, 24).astype(np.float16))
    folder.write(half)
    assert folder.read("half").states.dtype == np.float16


def test_the_file_is_plain_arrow(folder, store):
    """What docs/pools.md says, read without our code."""
    with pa.memory_map(str(folder.path("alpha"))) as stream:
        table = pa.ipc.open_file(stream).read_all()
    assert table.column_names == ["token", "time_us", "plans", "logits", "utility_v1", "utility_v2", "states"]
    plans = np.asarray(table["plans"].combine_chunks().flatten()).reshape(5, 9, 8, 3)
    np.testing.assert_array_equal(plans, make_pool(store, "alpha").plans)


def test_another_planner_may_not_write_into_it(folder):
    with pytest.raises(PoolError, match='weights: "abc", now "xyz"'):
        PoolFolder.begin(folder.folder, {**folder.about, "weights": "xyz"})
    moved = PoolFolder.begin(folder.folder, {**folder.about, "planner": "renamed", "store": "elsewhere"})
    assert moved.logs == folder.logs and PoolFolder(folder.folder).about["store"] == "elsewhere"


def test_unfinished_and_damaged_folders_are_refused(folder, tmp_path):
    with pytest.raises(PoolError, match="w4s pools"):
        PoolFolder(tmp_path / "nowhere")
    folder.path("beta").unlink()
    with pytest.raises(PoolError, match="holds 8 of 13 frames"):
        ScoredPools.open(folder.folder)
    folder.path("alpha").write_bytes(b"ARROW1 but not really")
    with pytest.raises(PoolError, match=r"alpha\.arrow"):
        ScoredPools.open(folder.folder)
    (folder.folder / "pools.json").write_text("{")
    with pytest.raises(PoolError, match=r"pools\.json: cannot be read as JSON"):
        PoolFolder(folder.folder)


def test_what_is_not_finite_is_refused(folder, store):
    pool = make_pool(store, "alpha")
    pool.utility_v2[3, 2] = np.nan
    with pytest.raises(PoolError, match=f"utility_v2 of '{pool.tokens[3]}' are not all finite"):
        folder.write(pool)


def test_log_names_cannot_leave_the_folder(folder):
    with pytest.raises(PoolError, match="cannot be a file name"):
        folder.path("../elsewhere")


def test_pools_of_other_scenes_or_images_are_not_continued(tmp_path: Path) -> None:
    PoolFolder.begin(tmp_path / "old", {"planner": "x"})
    PoolFolder.begin(tmp_path / "old", {"planner": "x", "scenes": "a", "images": "b"})  # as 0.1.0 left them
    PoolFolder.begin(tmp_path / "new", {"planner": "x", "scenes": "a", "images": "b"})
    with pytest.raises(PoolError, match=r'pools\.json: made with other settings \(scenes: "a", now "c"\)'):
        PoolFolder.begin(tmp_path / "new", {"planner": "x", "scenes": "c", "images": "b"})


def test_a_second_process_may_not_begin(folder, tmp_path):
    with resumable(tmp_path / "new", ACTIVITY), pytest.raises(PoolError, match="another run is making these pools"):
        PoolFolder.begin(tmp_path / "new", {"planner": "x"})
    with resumable(folder.folder, ACTIVITY):
        PoolFolder.begin(folder.folder, folder.about)  # has nothing to write
