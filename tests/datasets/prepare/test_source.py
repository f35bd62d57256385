"""From a dataset folder to a store and back."""

from __future__ import annotations

import os
import pickle
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.navsim_golden import DATA_SPLIT, NavsimGolden
from world4scorer.datasets.navsim.city_map import CityMap
from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.datasets.navsim.filters import Split
from world4scorer.datasets.navsim.logs import Log, log_paths
from world4scorer.datasets.navsim.pickles import load_restricted
from world4scorer.datasets.prepare.fill_store import prepare
from world4scorer.datasets.prepare.scene_builder import build_scenes
from world4scorer.datasets.prepare.source import NavsimSource
from world4scorer.datasets.store import PreparedScene, SceneStore
from world4scorer.engine.outcomes import pdms
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.executors import ProcessExecutor, SerialExecutor


def test_stored_scenes_are_the_prepared_ones(
    compact: NavsimGolden, split: Split, logs: list[Log], city: CityMap, tmp_path: Path
) -> None:
    report = prepare(NavsimSource(compact.dataset, split), tmp_path, ProcessExecutor(2), show_progress=False)
    assert (report.logs, report.scenes, report.skipped) == (4, 90, {})
    store = SceneStore(tmp_path)
    want = compact.progress("v1")
    for log in logs:
        for scene in build_scenes(log, city, split.filter):
            stored = store[scene.token]
            assert stored.map.ids == scene.map.ids and stored.tracks.ids == scene.tracks.ids
            np.testing.assert_array_equal(
                stored.tracks.boxes[stored.tracks.valid], scene.tracks.boxes[scene.tracks.valid]
            )
            np.testing.assert_array_equal(stored.reference, scene.reference)
            assert (stored.reference_v2 is None) == (scene.reference_v2 is None)
            assert (stored.tracks_v2 is None) == (scene.tracks_v2 is None)
            np.testing.assert_array_equal(stored.lights.status, scene.lights.status)
            extras = store.extras(scene.token)
            assert extras["pdm_progress"] == pytest.approx(want[scene.token]["pdm_progress_official_v1_rule"], abs=1e-8)
            plan = np.zeros((1, 8, 3))
            assert pdms(stored, plan).score[0] == pdms(scene, plan).score[0]


def test_what_cannot_be_prepared_is_counted(compact: NavsimGolden, split: Split, tmp_path: Path) -> None:
    root = tmp_path / "data"
    logs = DataFolder(root).logs(DATA_SPLIT)
    logs.mkdir(parents=True)
    (root / "maps").symlink_to(compact.dataset / "maps")
    source = log_paths(DataFolder(compact.dataset).logs(DATA_SPLIT))[0]
    frames = load_restricted(source)
    frames[5]["roadblock_ids"] = ["777"]
    (logs / source.name).write_bytes(pickle.dumps(frames))
    found = NavsimSource(root, split)
    assert len(found.missing_logs()) == 3 and found.log_names() == [source.stem]
    report = prepare(found, tmp_path / "store", SerialExecutor(), show_progress=False)
    assert report.scenes == 22
    (reason,) = report.skipped
    assert "block 777" in reason and report.skipped[reason] == 1


def test_logs_that_changed_are_prepared_again(compact: NavsimGolden, split: Split, tmp_path: Path) -> None:
    root = tmp_path / "data"
    logs = DataFolder(root).logs(DATA_SPLIT)
    logs.mkdir(parents=True)
    (root / "maps").symlink_to(compact.dataset / "maps")
    log = log_paths(DataFolder(compact.dataset).logs(DATA_SPLIT))[0]
    copied = Path(shutil.copy(log, logs))
    few = replace(split, filter=replace(split.filter, max_scenes=3))

    def again() -> tuple[int, int]:
        source = NavsimSource(root, few, progress=False)
        report = prepare(source, tmp_path / "store", SerialExecutor(), data=root, show_progress=False)
        return report.logs, report.kept

    assert again() == (1, 0)
    before = SceneStore(tmp_path / "store").digest
    os.utime(copied)
    assert again() == (0, 1) and SceneStore(tmp_path / "store").digest == before  # the same log at another time
    frames = load_restricted(copied)
    frames[3]["ego_dynamic_state"] = np.asarray(frames[3]["ego_dynamic_state"]) + 0.5
    copied.write_bytes(pickle.dumps(frames))
    assert again() == (1, 0) and SceneStore(tmp_path / "store").digest != before
    assert again() == (0, 1)


def test_limits(compact: NavsimGolden, split: Split) -> None:
    few = NavsimSource(compact.dataset, replace(split, filter=replace(split.filter, max_scenes=30)))
    counts = [sum(isinstance(item, PreparedScene) for item in few.scenes(name)) for name in few.log_names()]
    assert counts == [23, 7]
    assert few.options() != NavsimSource(compact.dataset, split).options()
    assert pickle.loads(pickle.dumps(few)).log_names() == few.log_names()
    other = replace(split, filter=replace(split.filter, log_names=("elsewhere",)))
    with pytest.raises(DatasetError, match="holds no log"):
        NavsimSource(compact.dataset, other).log_names()
