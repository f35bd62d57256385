from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.random_pools import random_pools
from tests.support.run_folder import write_run
from tests.support.small_training import TrainingSet
from world4scorer.datasets.navsim.cameras import FRONT, VIEWS
from world4scorer.datasets.navsim.logs import read_log
from world4scorer.datasets.navsim.splits import find_split
from world4scorer.datasets.store import SceneStore
from world4scorer.evaluation.pools import ScoredPools
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.run_folder import RunFolder
from world4scorer.planner.pretrained.image_encoder import load_encoder
from world4scorer.planner.targets.future_targets import FutureTargets
from world4scorer.planner.targets.make_targets import make_targets
from world4scorer.studies.shared.scene_change import scene_change


@pytest.fixture(scope="module")
def pools(training_set: TrainingSet) -> ScoredPools:
    """Pools whose frames are those of the validation split, and one that nobody knows."""
    tokens = (*SceneStore(training_set.data.val_store).tokens, "nowhere")
    return replace(random_pools(logs=1, frames=len(tokens), plans=2), tokens=tokens)


def expected_change(training_set: TrainingSet, token: str) -> float:
    """From the two images themselves; NaN where the log ends sooner."""
    data, encoder = training_set.data, load_encoder("city")
    split = find_split(data.val_split, data.data).data_split
    name = SceneStore(data.val_store).log_of(token)
    log = read_log(DataFolder(data.data).log(split, name))
    now = next(row for row, frame in enumerate(log.frames) if frame.token == token)
    later = log.rows_after(4)[now]
    if later < 0:
        return float("nan")
    views = [
        encoder.image(DataFolder(data.data).sensors(split) / log.frames[row].cameras[VIEWS[FRONT]].path)
        for row in (now, later)
    ]
    a, b = (encoder.pooled(view[None])[0].double().numpy() for view in views)
    return float(1 - a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def test_change_is_that_of_the_images(training_set, pools, tmp_path):
    run = write_run(tmp_path / "run", training_set, training_set.data)
    found = scene_change(run, pools)
    assert found.shape == (len(pools),)
    for place in range(0, len(pools) - 1, 5):
        expected = expected_change(training_set, pools.tokens[place])
        np.testing.assert_allclose(found[place], expected, atol=2e-3)  # features are kept as float16
    assert np.isnan(found[-1])
    assert np.nanmax(found) > 10 * 2e-3
    made = {path.name: path.stat().st_ino for path in (run / "features").iterdir()}
    digest = load_encoder("city").digest()[:8]
    assert sorted(made) == [f"city_val-val-{frame}-{digest}.arrow" for frame in ("current", "future")]
    np.testing.assert_array_equal(scene_change(run, pools), found)
    # Read, not made again: that would have put new files in their place.
    assert {path.name: path.stat().st_ino for path in (run / "features").iterdir()} == made


def kept_features(run: Path, encoder: str) -> Path:
    return run / "features" / f"city_val-val-future-{load_encoder(encoder).digest()[:8]}.arrow"


def test_the_encoder_is_that_of_the_run(training_set, pools, tmp_path):
    data = training_set.data
    targets = tmp_path / "contrast.arrow"
    make_targets(data.data, data.split, "city-contrast", targets, pooling="class", store=data.store)
    run = write_run(tmp_path / "run", training_set, replace(data, targets=targets))
    contrast = scene_change(run, pools)
    notes = FutureTargets.open(kept_features(run, "city-contrast")).notes
    assert (notes.encoder, notes.pooling) == (load_encoder("city-contrast").digest(), "class")
    # Told of another encoder, it makes the features anew.
    write_run(tmp_path / "other", training_set, replace(data, targets=None))
    RunFolder(run).data_file.write_text(RunFolder(tmp_path / "other").data_file.read_text())
    plain = scene_change(run, pools)
    notes = FutureTargets.open(kept_features(run, "city")).notes
    assert (notes.encoder, notes.pooling) == (load_encoder("city").digest(), "patches")
    assert np.nanmax(np.abs(plain - contrast)) > 1e-3
    assert kept_features(run, "city-contrast").is_file()  # side by side


def test_a_folder_that_is_no_run_knows_no_images(pools, tmp_path):
    assert scene_change(tmp_path, pools) is None
    assert not RunFolder(tmp_path).features.exists()
