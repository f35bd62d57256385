from __future__ import annotations

import numpy as np
import pytest

from tests.support.picture_dataset import SMALL
from world4scorer.city.render.cameras import CameraRig
from world4scorer.datasets.navsim.cameras import Camera
from world4scorer.planner.pretrained.image_encoder import ImageEncoder
from world4scorer.planner.pretraining.linear_probe import area_under_curve, between_logs, dimensions, probe, r_squared
from world4scorer.planner.pretraining.patch_grid import PatchGrid
from world4scorer.planner.pretraining.probe import probe_encoder
from world4scorer.planner.pretraining.probe_labels import (
    PATCH_QUESTIONS,
    SCENE_QUESTIONS,
    SPREAD_QUESTIONS,
    FrontView,
    ProbeSet,
    _in_outlines,
)
from world4scorer.planner.pretraining.probe_report import describe, table


def test_area_under_curve_counts_pairs():
    rng = np.random.default_rng(0)
    scores, answers = rng.integers(0, 6, 50).astype(np.float32), (rng.random(50) < 0.4).astype(np.float32)
    pairs = [(a > b) + 0.5 * (a == b) for a in scores[answers == 1] for b in scores[answers == 0]]
    assert area_under_curve(scores, answers) == pytest.approx(np.mean(pairs))
    assert np.isnan(area_under_curve(scores, np.zeros(50, np.float32)))


def test_probe_reads_what_is_linear_and_nothing_else():
    rng = np.random.default_rng(1)
    features = rng.normal(size=(600, 5)).astype(np.float32)
    linear, noise = features[:, 0] - 2 * features[:, 3] + 1, rng.normal(size=600).astype(np.float32)
    answers = np.stack([linear, (linear > 0).astype(np.float32), noise], 1)
    answers[7] = np.nan
    groups = np.arange(600) // 20
    found = probe(features[:400], answers[:400], groups[:400], features[400:], answers[400:], ["R2", "AUC", "R2"])
    assert found[0] > 0.99 and found[1] > 0.97 and found[2] < 0.05
    assert r_squared(linear, linear) == 1.0


def test_spread_of_features():
    rng = np.random.default_rng(2)
    log = np.repeat(np.arange(20), 50)
    within = rng.normal(size=(1000, 3)).astype(np.float32)
    assert between_logs(within, log) < 0.05
    assert between_logs(within + 10 * rng.normal(size=(20, 3)).astype(np.float32)[log], log) > 0.95
    assert dimensions(within) == pytest.approx(3.0, abs=0.05)
    assert dimensions(within * [10, 0.1, 0.1]) == pytest.approx(1.0, abs=0.01)


@pytest.fixture(scope="module")
def front():
    rig = CameraRig.default(("CAM_F0",))
    intrinsics = rig.intrinsics(56, 56)[0]
    camera = Camera("CAM_F0", "", rig.rotation[0], rig.translation[0], intrinsics, np.zeros(5))
    return FrontView(camera, 56, 56, SMALL, PatchGrid.of(ImageEncoder(SMALL)))


def test_ground_of_a_patch_projects_back_to_its_centre(front):
    ground = front.ground()
    below = np.isfinite(ground[:, 0])
    assert 0 < below.sum() < len(below)
    points = np.column_stack([ground[below], np.zeros(below.sum())])
    assert np.allclose(front.project(points), front.centres[below])
    assert (ground[below, 0] > 0).all()


def test_outline_covers_the_patches_where_a_car_is(front):
    car = np.array([[12.0, 0.0, 0.8, 4.5, 2.0, 1.6, 0.0]])
    inside = _in_outlines(car, front).reshape(3, 4)
    assert inside.sum() == 0 or inside[:, 1:3].sum() == inside.sum()
    assert _in_outlines(car * [0.4, 1, 1, 1, 1, 1, 1], front).sum() > 0
    assert _in_outlines(car * [-1, 1, 1, 1, 1, 1, 1], front).sum() == 0


def test_every_question_is_asked_of_every_source():
    def probe_set(seed, scenes):
        rng = np.random.default_rng(seed)
        views = rng.integers(0, 255, (scenes, 42, 56, 3), dtype=np.uint8)
        bright = views.reshape(scenes, 3, 14, 4, 14, 3).mean((2, 4, 5)).reshape(scenes, 12)
        return ProbeSet(
            views,
            np.arange(scenes) // 4,
            {name: (bright.mean(1) > 127).astype(float) for name in SCENE_QUESTIONS},
            {name: (bright > 127.5).astype(float) for name in PATCH_QUESTIONS},
        )

    result = probe_encoder(ImageEncoder(SMALL), probe_set(0, 80), probe_set(1, 40))
    assert len(result) == len(PATCH_QUESTIONS) + 2 * len(SCENE_QUESTIONS) + len(SPREAD_QUESTIONS)
    assert result["drivable"]["pixels"] > 0.95 > 0.65 > result["drivable"]["place"]
    assert len(table(result).rows) == len(result)
    assert describe("turn (mean)")[1] == "R2"
