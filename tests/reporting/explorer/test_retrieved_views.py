"""What a plan predicts to be seen is the view of the training whose features are nearest to its state's readout."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from world4scorer.evaluation.pools.pool_files import digest_of_planner
from world4scorer.jobs.model_folder import ModelFolder
from world4scorer.jobs.run_folder import RunFolder
from world4scorer.reporting.explorer import retrieved_views
from world4scorer.reporting.explorer.retrieved_views import RetrievedViews, can_retrieve

torch = pytest.importorskip("torch")

FEATURES, WIDTH, VIEWS = 6, 4, 30


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    """A run with a planner's readout and targets; of every third view the image is not known."""
    from safetensors.torch import save_file

    from world4scorer.planner.targets.future_targets import TargetNotes, write_file

    rng = np.random.default_rng(0)
    folder = RunFolder(tmp_path)
    planner = ModelFolder(folder.planner)
    folder.planner.mkdir()
    planner.config_file.write_text(json.dumps({"readout": True}))
    readout = {"readout.weight": torch.randn(FEATURES, WIDTH), "readout.bias": torch.randn(FEATURES)}
    save_file(readout, planner.weights_file)
    tokens = [f"t{number}" for number in range(VIEWS)]
    features = rng.normal(size=(VIEWS, FEATURES)).astype(np.float16)
    write_file(tmp_path / "targets.arrow", tokens, features, np.arange(VIEWS) != 1, TargetNotes())
    known = {
        "data": str(tmp_path),
        "split": "train",
        "store": str(tmp_path),
        "targets": str(tmp_path / "targets.arrow"),
    }
    folder.data_file.write_text(json.dumps(known))
    folder.config_file.write_text("{}")
    images = {token: tmp_path / f"{token}.jpg" for number, token in enumerate(tokens) if number % 3}
    monkeypatch.setattr(retrieved_views, "_images", lambda data, split, store: images)
    return folder


def test_the_nearest_view_by_cosine(run: RunFolder) -> None:
    weights = digest_of_planner(run.planner)
    views = RetrievedViews.of_run(run, weights)
    assert can_retrieve(run, weights) and views is not None
    names = [int(path.stem[1:]) for path in views.images]
    assert names == [number for number in range(VIEWS) if number % 3 and number != 1]  # 1 has no target
    for state in np.random.default_rng(1).normal(size=(20, WIDTH)):
        predicted = views.weight @ state + views.bias
        cosines = [view @ predicted / np.linalg.norm(predicted) for view in views.features]
        assert views.nearest(state) == views.images[int(np.argmax(cosines))]


def test_runs_without_predictions_have_no_views(run: RunFolder, tmp_path: Path) -> None:
    weights = digest_of_planner(run.planner)
    assert not can_retrieve(run, "another planner") and RetrievedViews.of_run(run, "another planner") is None
    (tmp_path / "targets.arrow").unlink()
    assert not can_retrieve(run, weights) and RetrievedViews.of_run(run, weights) is None
    ModelFolder(run.planner).config_file.write_text(json.dumps({"readout": False}))
    assert not can_retrieve(run, digest_of_planner(run.planner))
