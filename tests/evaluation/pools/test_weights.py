"""Which planner of a run, the best or the last, and where its pools and results lie. Nothing here needs torch."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.support.stored_pools import store_pools
from world4scorer.evaluation.pools.open import kept_pools, planners_of_run, pools_of_weights
from world4scorer.evaluation.pools.pool_files import INFO, describe_planner, digest_of_planner
from world4scorer.evaluation.pools.scored import ScoredPools, weights_words
from world4scorer.jobs.files import read_json
from world4scorer.jobs.run_folder import RunFolder


def write_planner(folder: Path, weights: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_text(weights)


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    """A run whose best planner is not its last."""
    run = RunFolder(tmp_path / "run")
    write_planner(run.planner, "last")
    write_planner(run.best_planner, "best")
    run.config_file.write_text("{}")
    run.data_file.write_text(json.dumps({"val_split": "val"}))
    return run


def keep_pools(run: RunFolder, made: Path, planner: Path, folder: Path) -> Path:
    shutil.copytree(made, folder)
    about = read_json(made / INFO) | describe_planner(planner)
    (folder / INFO).write_text(json.dumps(about))
    return folder


def test_the_best_planner_unless_the_last_is_asked_for(run: RunFolder, caplog) -> None:
    assert run.finished_planner() == run.best_planner and run.finished_planner("last") == run.planner
    assert planners_of_run(run.root) == {
        digest_of_planner(run.planner): "last",
        digest_of_planner(run.best_planner): "best",
    }
    shutil.rmtree(run.best_planner)
    with caplog.at_level("INFO"):
        assert run.finished_planner() == run.planner
    assert "was not validated" in caplog.text
    shutil.rmtree(run.planner)
    with pytest.raises(ValueError, match="not finished"):
        run.finished_planner()


def test_pools_of_both_lie_apart_unless_they_are_the_same(run: RunFolder) -> None:
    assert pools_of_weights(run.root, "val", "last") == run.pools("val")
    assert pools_of_weights(run.root, "val", "best") == run.all_pools / "val-best"
    write_planner(run.best_planner, "last")
    assert pools_of_weights(run.root, "val", "best") == run.pools("val")


def test_results_of_other_splits_and_weights_lie_apart(run: RunFolder) -> None:
    for split, weights, expected in (
        (None, "best", ""),
        ("val", "best", ""),
        ("splits/val.yaml", "best", ""),
        ("test", "best", "test"),
        (None, "last", "last"),
        ("test", "last", "test-last"),
    ):
        assert run.results(run.studies, split, weights) == run.studies / expected
    pools = RunFolder(run.pools("val"))
    assert pools.results(pools.studies, None, "last") == pools.studies


def test_results_say_which_weights(run: RunFolder, tmp_path: Path) -> None:
    made = store_pools(tmp_path / "made")
    folder = keep_pools(run, made, run.best_planner, run.pools("val", "best"))
    about = ScoredPools.open(folder).about
    digest = digest_of_planner(run.best_planner)[:12]
    assert f"run (best weights {digest}, chosen on val)" in ScoredPools.open(folder).describe()
    assert weights_words(about | {"checkpoint": "last", "selected_on": None}) == f" (last weights {digest})"
    assert weights_words({"planner": "submission.pkl"}) == ""


def test_pools_that_are_there_are_taken(run: RunFolder, tmp_path: Path) -> None:
    made = store_pools(tmp_path / "made")
    last = keep_pools(run, made, run.planner, run.pools("val"))
    keep_pools(run, made, run.planner, run.pools("other"))
    assert kept_pools(run.root) == last  # as runs of 0.1.0 have them
    best = keep_pools(run, made, run.best_planner, run.pools("val", "best"))
    assert kept_pools(run.root) == best and kept_pools(run.root, weights="last") == last
    write_planner(run.best_planner, "trained again")
    with pytest.raises(ValueError, match="val-best: made by a former planner"):
        kept_pools(run.root)
