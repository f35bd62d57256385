from __future__ import annotations

import pickle
from dataclasses import fields, replace

import numpy as np
import pytest

from tests.support.dense_frames import HEIGHT, WIDTH, coloured_views, random_labels, small_geometry, write_frames
from world4scorer.datasets.dense.labels import CELL, CELLS, DenseLabels, cell_centres, encode_depth
from world4scorer.datasets.dense.views_file import DenseFrame, DenseViews, write_dense_views
from world4scorer.datasets.navsim.errors import DatasetError


def same(one: DenseLabels, other: DenseLabels) -> bool:
    return all(np.array_equal(getattr(one, field.name), getattr(other, field.name)) for field in fields(one))


def test_labels_survive_packing():
    labels = random_labels(np.random.default_rng(0))
    assert same(DenseLabels.unpack(labels.pack(), small_geometry().label_shape), labels)


def test_damaged_labels_are_refused():
    packed = random_labels(np.random.default_rng(0)).pack()
    with pytest.raises(ValueError, match="damaged"):
        DenseLabels.unpack(packed[:100], small_geometry().label_shape)
    with pytest.raises(ValueError, match="are needed"):
        DenseLabels.unpack(packed, (4, 5, 6))


def test_depth_is_logarithmic():
    assert encode_depth(np.array([0.2, 1.0, 2.0, 16.0, 1e4, np.inf], np.float32)).tolist() == [0, 0, 32, 128, 255, 255]


def test_cells_count_forward_and_left():
    centres = cell_centres()
    assert centres.shape == (*CELLS, 2)
    assert centres[0, 0].tolist() == [-15.75, -31.75] and centres[1, 1].tolist() == [-15.75 + CELL, -31.75 + CELL]


def test_frames_come_back(tmp_path):
    rng = np.random.default_rng(1)
    labels = [random_labels(rng) for _ in range(3)]
    images = [coloured_views(rng, True) for _ in range(3)]
    poses = rng.normal(size=(3, 3))
    with write_dense_views(tmp_path / "a.arrow", small_geometry()) as append:
        append([DenseFrame("0", "a", poses[0], images[0], None, labels[0])])
        append([DenseFrame(str(k), "b", poses[k], images[k], images[0], labels[k]) for k in (1, 2)])
    views = DenseViews.open([tmp_path / "a.arrow"])
    assert (views.tokens, views.logs) == (("0", "1", "2"), ("a", "b", "b"))
    assert views.has_twin.tolist() == [False, True, True]
    assert np.array_equal(views.poses, poses)
    assert views.images(0).shape == (4, HEIGHT - 16, WIDTH, 3)
    assert np.array_equal(views.images(2, twin=True), views.images(0))
    for row, expected in enumerate(labels):
        assert same(views.labels(row), expected)


def test_views_pass_to_other_processes(tmp_path):
    views = write_frames(tmp_path / "a.arrow", 2)
    views.images(0)
    again = pickle.loads(pickle.dumps(views))
    assert again.tokens == views.tokens and np.array_equal(again.images(1), views.images(1))


def test_several_files_are_one(tmp_path):
    write_frames(tmp_path / "a.arrow", 2, log="a")
    write_frames(tmp_path / "b.arrow", 3, seed=1, log="b")
    views = DenseViews.open([tmp_path / "a.arrow", tmp_path / "b.arrow"])
    assert len(views) == 5 and views.logs == ("a",) * 2 + ("b",) * 3 and len(views.poses) == 5


def test_files_that_cannot_be_used_are_named(tmp_path):
    with pytest.raises(DatasetError, match="w4s city dense"):
        DenseViews.open([])
    (tmp_path / "broken.arrow").write_bytes(b"nonsense")
    with pytest.raises(DatasetError, match=r"broken\.arrow: not a readable file of dense views"):
        DenseViews.open([tmp_path / "broken.arrow"])
    write_frames(tmp_path / "a.arrow", 1)
    whole = (tmp_path / "a.arrow").read_bytes()
    (tmp_path / "half.arrow").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DatasetError, match=r"half\.arrow"):
        DenseViews.open([tmp_path / "half.arrow"])
    with write_dense_views(tmp_path / "other.arrow", replace(small_geometry(), crop_top=20)):
        pass
    with pytest.raises(DatasetError, match="different cameras or image sizes"):
        DenseViews.open([tmp_path / "a.arrow", tmp_path / "other.arrow"])
