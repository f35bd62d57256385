"""Dense views of a small city."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from world4scorer.city.dense.make import CROP_TOP, DenseConfig, make_dense_views, missing_dense_views, view_geometry
from world4scorer.city.streets.errors import CityError
from world4scorer.city.world.config import CityConfig, Share
from world4scorer.datasets.dense.labels import MapBit
from world4scorer.datasets.dense.views_file import DenseViews
from world4scorer.jobs.data_folder import DataFolder

CONFIG = CityConfig(
    shares=(Share("city_train", "trainval", "ingolstadt", 1, 4), Share("city_val", "trainval", "braunschweig", 1, 4)),
    height=64,
    width=96,
    supersample=1,
    warm_up=20.0,
    duration=25.0,
)
DENSE = DenseConfig(perturbed=0.5, twins=0.5)


def files(root):
    return {path.name: path.read_bytes() for path in DataFolder(root).dense.rglob("*.arrow")}


@pytest.fixture(scope="module")
def made(sumo, tmp_path_factory):
    root = tmp_path_factory.mktemp("dense")
    make_dense_views(CONFIG, root, DENSE, workers=1)
    return root


def views_of(root, split):
    return DenseViews.open(sorted((DataFolder(root).dense / split).glob("*.arrow")))


def test_training_frames_are_varied_and_others_are_not(made):
    train, val = views_of(made, "city_train"), views_of(made, "city_val")
    assert train.has_twin.any() and not train.has_twin.all() and not val.has_twin.any()
    assert train.images(0).shape == (4, 48, 96, 3)
    twin = int(np.flatnonzero(train.has_twin)[0])
    assert (train.images(twin) != train.images(twin, twin=True)).mean() > 0.3


def test_the_ego_stands_on_drivable_ground(made):
    for views in (views_of(made, "city_train"), views_of(made, "city_val")):
        under = [views.labels(index).bits[32 + 3, 64] & MapBit.DRIVABLE for index in range(len(views))]
        assert np.mean(np.array(under) > 0) > 0.9


def test_an_interrupted_run_ends_with_the_same_files(made):
    whole = files(made)
    assert len(whole) == 2 and not missing_dense_views(made)
    lost = DataFolder(made).dense_views("city_val", "braunschweig_000")
    kept = DataFolder(made).dense_views("city_train", "ingolstadt_000")
    lost.unlink()
    written = kept.stat().st_mtime_ns
    assert missing_dense_views(made) == ["braunschweig_000"]
    make_dense_views(CONFIG, made, DENSE, workers=1)
    assert files(made) == whole and kept.stat().st_mtime_ns == written


def test_what_a_killed_run_left_among_the_citys_files_is_removed(made):
    layout = DataFolder(made)
    left = [
        path.with_name(f".{path.name}.0a1b2c3d.tmp")
        for path in (layout.city_network("ingolstadt"), layout.city_trips("ingolstadt_000"))
    ]
    for path in left:
        path.touch()
    make_dense_views(CONFIG, made, DENSE, workers=1)
    assert not any(path.exists() for path in left)


def test_other_settings_are_refused(made):
    with pytest.raises(CityError, match="other settings"):
        make_dense_views(replace(CONFIG, quality=50), made, DENSE, workers=1)


def test_sky_is_cropped_as_the_planner_does():
    assert view_geometry(CityConfig(CONFIG.shares)).crop_top == 28 == round(CROP_TOP * 112)
