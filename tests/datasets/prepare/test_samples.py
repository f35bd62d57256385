from __future__ import annotations

import pickle
import shutil
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.picture_dataset import HISTORY, SPLIT, make_dataset
from world4scorer.datasets.navsim.agent_input import future_poses
from world4scorer.datasets.navsim.cameras import VIEWS
from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.datasets.navsim.filters import Split, windows
from world4scorer.datasets.navsim.logs import read_log
from world4scorer.datasets.navsim.splits import find_split
from world4scorer.datasets.prepare.log_samples import FILE
from world4scorer.datasets.prepare.samples import Samples
from world4scorer.jobs.executors import SerialExecutor

FRAMES = 17


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_dataset(tmp_path_factory.mktemp("samples"), frames=FRAMES)


def split_of(data, ahead: int = 9) -> Split:
    split = find_split(SPLIT, data)
    return replace(split, filter=replace(split.filter, num_future_frames=ahead))


def of(data, folder, ahead: int = 9) -> Samples:
    return Samples.of_split(data, split_of(data, ahead), folder, SerialExecutor())


@pytest.mark.parametrize("frames_ahead", [8, 9, 12])
def test_samples_are_what_the_logs_say(data, tmp_path, frames_ahead):
    samples = of(data, tmp_path, frames_ahead)
    split = split_of(data, frames_ahead)
    found = 0
    for name in sorted(set(samples.log_names)):
        log = read_log(data / "navsim_logs" / split.data_split / f"{name}.pkl")
        for window in windows(log, split.filter):
            ahead = len(window) - HISTORY
            now = window[HISTORY - 1]
            place = samples.index_of[now.token]
            assert samples.future_poses[place] == min(ahead, 10)
            driven = future_poses(window, min(ahead, 10), HISTORY)
            np.testing.assert_array_equal(samples.future[place, : len(driven)], driven)
            np.testing.assert_array_equal(samples.future[place, len(driven) :], driven[-1:].repeat(10 - len(driven), 0))
            wanted = np.concatenate([np.zeros(3), now.velocity, now.acceleration, now.command])
            np.testing.assert_allclose(samples.ego_status[place], wanted, rtol=1e-6)
            for view, camera in enumerate(VIEWS):
                assert samples.images[place][view] == now.cameras[camera].path
                np.testing.assert_array_equal(samples.intrinsics[place, view], now.cameras[camera].intrinsics)
                np.testing.assert_array_equal(samples.translation[place, view], now.cameras[camera].translation)
                np.testing.assert_array_equal(samples.rotation[place, view], now.cameras[camera].rotation)
            found += 1
    assert found == len(samples) > 0


def test_the_file_is_used_again_and_made_again_when_it_must(data, tmp_path, monkeypatch):
    first = of(data, tmp_path)
    written = (tmp_path / FILE).read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr("world4scorer.datasets.prepare.source.read_log", None)
        again = of(data, tmp_path)
    for field in fields(Samples):
        one, other = getattr(first, field.name), getattr(again, field.name)
        np.testing.assert_array_equal(one, other)
    (tmp_path / FILE).write_bytes(written[: len(written) // 2])
    assert of(data, tmp_path).tokens == first.tokens and (tmp_path / FILE).read_bytes() == written


def test_a_log_that_changed_is_not_taken_for_the_one_that_was_read(data, tmp_path):
    copy = Path(shutil.copytree(data, tmp_path / "data"))  # with times of its own
    store = tmp_path / "store"
    before = of(data, store)
    assert of(copy, store).tokens == before.tokens
    log = next((copy / "navsim_logs").glob("*/*.pkl"))
    frames = pickle.loads(log.read_bytes())
    frames[6]["ego_dynamic_state"][0] += 1.0
    log.write_bytes(pickle.dumps(frames))
    with pytest.raises(
        DatasetError, match=rf"{log.name}: changed since .*delete .*{log.stem}\.arrow and run `w4s prepare"
    ):
        of(copy, store)


def test_other_images_under_the_same_paths_are_told_apart(data, tmp_path):
    samples = of(data, tmp_path / "store")
    copy = replace(samples, sensors=Path(shutil.copytree(samples.sensors, tmp_path / "images")))
    assert copy.images_digest() == samples.images_digest()
    (copy.sensors / samples.images[0][0]).write_bytes(b"another image")
    assert copy.images_digest() != samples.images_digest()


def test_some_of_them(data, tmp_path):
    samples = of(data, tmp_path)
    some = samples.at([2, 0])
    assert some.tokens == (samples.tokens[2], samples.tokens[0]) and len(some) == 2
    np.testing.assert_array_equal(some.future, samples.future[[2, 0]])


def test_splits_that_see_too_little_of_the_future(data, tmp_path):
    with pytest.raises(DatasetError, match="8 frames to come"):
        of(data, tmp_path, 7)


def test_missing_images_are_named(data, tmp_path):
    samples = of(data, tmp_path)
    path = samples.sensors / samples.images[0][0]
    content = path.read_bytes()
    path.unlink()
    try:
        with pytest.raises(DatasetError, match=f"{path.name}.*sensor blobs"):
            of(data, tmp_path / "elsewhere")
    finally:
        path.write_bytes(content)
