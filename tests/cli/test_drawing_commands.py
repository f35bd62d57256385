"""show and film, as a user runs them: a scene store, pools on it, and the dataset they are of."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.support.images import write_image
from tests.support.navsim_golden import DATA_SPLIT, unpack_compact
from tests.support.random_pools import random_pools
from tests.support.scenes import make_plans
from tests.support.stored_pools import store_pools, write_pools
from world4scorer.cli.run import main
from world4scorer.datasets.navsim.cameras import VIEWS
from world4scorer.datasets.navsim.logs import log_paths, read_log
from world4scorer.datasets.navsim.submissions import write_submission
from world4scorer.datasets.store import SceneStore
from world4scorer.evaluation.pools.choices import framewise, inertial
from world4scorer.evaluation.pools.pool_files import LogPool
from world4scorer.evaluation.pools.scored import ScoredPools
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.files import read_json
from world4scorer.reporting.film.decisions import Decisions, most_dynamic_log

LOG = "2021.06.03.11.30.00_veh-38_00200_00220"
PLANS = 9


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = unpack_compact(tmp_path_factory.mktemp("navsim")).dataset
    layout = DataFolder(root)
    for path in log_paths(layout.logs(DATA_SPLIT)):
        for frame in read_log(path).frames:
            for name in VIEWS:
                write_image(layout.sensors(DATA_SPLIT), frame.cameras[name].path, np.full((18, 32, 3), 120, np.uint8))
    return root


@pytest.fixture(scope="module")
def pools(dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pools of one log of the dataset."""
    folder = tmp_path_factory.mktemp("pools")
    words = ["prepare", "--data", str(dataset), "--split", "synth_mini", "--store", str(folder / "store")]
    assert main([*words, "--executor", "serial"]) == 0
    scenes = list(SceneStore(folder / "store").scenes(LOG))
    utility = np.random.default_rng(0).normal(size=(len(scenes), PLANS)).astype(np.float32)
    log = LogPool(
        LOG,
        tuple(scene.token for scene in scenes),
        np.array([scene.time_us for scene in scenes]),
        np.stack([make_plans(scene, PLANS, place) for place, scene in enumerate(scenes)]).astype(np.float32),
        -utility,
        utility,
    )
    write_pools(folder / "pools", folder / "store", [log])
    about = read_json(folder / "pools" / "pools.json")
    about |= {"data": str(dataset), "split": "synth_mini"}
    (folder / "pools" / "pools.json").write_text(json.dumps(about))
    return folder / "pools"


def size(path: Path) -> tuple[int, int]:
    with Image.open(path) as picture:
        return picture.size


def test_show_a_store(pools: Path, tmp_path: Path, capsys: Any) -> None:
    store = pools.parent / "store"
    token = SceneStore(store).tokens[30]
    assert main(["show", str(store), token, "--out", str(tmp_path / "x.png")]) == 0
    assert size(tmp_path / "x.png") == (1560, 780)
    assert "human, epdms-v2.2" in capsys.readouterr().out
    write_submission(tmp_path / "s.pkl", {token: np.zeros((8, 3))}, version="v1.1")
    words = ["show", str(store), token, "--submission", str(tmp_path / "s.pkl"), "--metric", "pdms-v1.1"]
    assert main([*words, "--out", str(tmp_path / "y.svg")]) == 0
    assert "submission, pdms-v1.1" in capsys.readouterr().out


def test_show_pools_in_a_folder_with_cameras_and_small(pools: Path, tmp_path: Path, capsys: Any) -> None:
    scored = ScoredPools.open(pools)
    chosen = inertial(scored, scored.utility_v2)
    assert main(["show", str(pools), *scored.tokens[:2], "--out", str(tmp_path), "--cameras"]) == 0
    printed = capsys.readouterr().out
    for place in (0, 1):
        path = tmp_path / f"{scored.tokens[place]}.png"
        assert f"{path}: plan {chosen[place]} of {PLANS} (reranked), epdms-v2.2" in printed
        assert size(path)[1] > 780 - 45
    words = ["show", str(pools), scored.tokens[3], "--plan", "5", "--selection", "framewise", "--thumbnail"]
    assert main([*words, "--out", str(tmp_path / "small.png")]) == 0
    assert size(tmp_path / "small.png") == (480, 360)
    printed = capsys.readouterr().out
    assert f"plan {framewise(scored.utility_v2)[3]} of {PLANS} (framewise)" in printed
    assert "asked for: plan 5, number" in printed


def test_show_says_what_is_wrong(pools: Path, tmp_path: Path, capsys: Any) -> None:
    store, token = str(pools.parent / "store"), ScoredPools.open(pools).tokens[0]
    out = ["--out", str(tmp_path / "x.png")]
    for words, message, code in (
        ([str(pools)], r"which moments? Name tokens after it, e.g. w4s show", 2),
        ([str(pools)], "evaluation/frames.csv", 2),
        ([store], "which moments?", 2),
        ([str(pools), "none", *out], "token 'none': not among the", 1),
        ([store, "none", *out], "no scene 'none'", 1),
        ([str(pools), token, token, *out], "one picture, but 2 tokens", 2),
        ([str(pools), token, "--plan", "9", *out], "--plan 9: there are plans 0 to 8", 1),
        ([str(pools), token, "--submission", "x", *out], "has plans of its own", 2),
        ([store, token, "--plan", "1", *out], "belong to runs and pools", 2),
        ([store, token, "--cameras", *out], "name it with --data", 1),
        ([str(pools), token, "--cameras", "--thumbnail", *out], "not possible with --thumbnail", 2),
        ([str(pools), token, "--out", str(tmp_path / "x.jpg")], "x.jpg: pictures are .png, .svg, .pdf", 2),
        ([str(pools), token, "--metric", "pdms-v1.1", "--selection", "reranked", *out], "belongs to EPDMS", 2),
        ([store, token, "--selection", "reranked", *out], "belong to runs and pools", 2),
        ([str(tmp_path), token], "neither a training run, nor pools, nor a scene store", 1),
        ([str(tmp_path / "nothing"), token], "no such store", 1),
    ):
        assert main(["show", *words]) == code
        assert message in capsys.readouterr().err
    assert not (tmp_path / "x.png").exists() and not (tmp_path / "x.jpg").exists()


def test_the_choice_for_pdms_is_framewise_by_its_own_utility(pools: Path, tmp_path: Path, capsys: Any) -> None:
    scored = ScoredPools.open(pools)
    chosen = framewise(scored.utility_v1)
    assert chosen[3] != framewise(scored.utility_v2)[3]
    assert main(["show", str(pools), scored.tokens[3], "--metric", "pdms-v1.1", "--out", str(tmp_path)]) == 0
    assert f"plan {chosen[3]} of {PLANS} (framewise), pdms-v1.1" in capsys.readouterr().out


def test_pools_of_a_run_are_found_without_torch(tmp_path: Path, capsys: Any) -> None:
    """What draws asks no planner."""
    run = tmp_path / "run"
    made = store_pools(tmp_path)
    for split in ("mini", "other"):
        shutil.copytree(made, run / "pools" / split)
    (run / "config.json").write_text("{}")
    (run / "data.json").write_text(json.dumps({"val_split": "mini"}))
    token = ScoredPools.open(made).tokens[0]
    for split in (None, "other"):
        code = (
            "import sys\nfor name in ('torch', 'lightning', 'tensorboard'): sys.modules[name] = None\n"
            "from pathlib import Path\nfrom world4scorer.cli.look import frames, show\n"
            f"show(Path({str(run)!r}), ({token!r},), out=Path({str(tmp_path / 'x.png')!r}), split={split!r})\n"
            f"frames(Path({str(run)!r}), split={split!r})"
        )
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
        assert (run / "frames" / (split or "mini") / f"{token}.json").is_file()
    assert main(["show", str(run), token, "--split", "third"]) == 1
    assert "there are pools of mini, other; make them: w4s pools" in capsys.readouterr().err


def test_film_pools(pools: Path, tmp_path: Path, capsys: Any) -> None:
    with_plans, without = tmp_path / "plans.webp", tmp_path / "plain.webp"
    start = ["--start", "2", "--duration", "1", "--height", "240"]
    assert main(["film", str(pools), "--out", str(with_plans), *start]) == 0
    assert "11 pictures" in capsys.readouterr().out
    log = DataFolder(Path(ScoredPools.open(pools).about["data"])).log(DATA_SPLIT, LOG)
    assert main(["film", str(log), "--out", str(without), *start]) == 0
    with Image.open(with_plans) as film, Image.open(without) as plain:
        assert film.n_frames == plain.n_frames == 11
        assert film.size[1] == plain.size[1] == 240


def test_film_a_log_that_is_in_two_folders(pools: Path, dataset: Path, tmp_path: Path, capsys: Any) -> None:
    root = tmp_path / "data"
    shutil.copytree(dataset, root)
    (root / "navsim_logs" / "another").mkdir()
    shutil.copy(DataFolder(root).log(DATA_SPLIT, LOG), root / "navsim_logs" / "another")
    rest = ["--duration", "0.2", "--height", "120", "--out", str(tmp_path / "film.webp")]
    assert main(["film", str(root), "--log", LOG, *rest]) == 1
    assert "--split another" in capsys.readouterr().err
    assert main(["film", str(root), "--log", LOG, "--split", DATA_SPLIT, *rest]) == 0
    assert main(["film", str(pools), "--data", str(root), *rest]) == 0  # the pools say of which split they are


def test_film_says_what_is_wrong(pools: Path, dataset: Path, tmp_path: Path, capsys: Any) -> None:
    log = DataFolder(dataset).log(DATA_SPLIT, LOG)
    for words, message, code in (
        ([str(pools), "--log", "nobody"], "--log nobody: no pools of it", 1),
        ([str(pools), "--data", str(tmp_path / "x")], "name it with --data", 1),
        ([str(dataset)], "which log?", 2),
        ([str(dataset / f"{LOG}.pkl"), "--log", LOG], "alone", 2),
        ([str(log), "--split", DATA_SPLIT], "alone", 2),
        ([str(log), "--selection", "framewise"], "belong to runs and pools", 2),
        ([str(log), "--store", str(tmp_path)], "belong to runs and pools", 2),
        ([str(dataset), "--log", LOG, "--selection", "reranked"], "belong to runs and pools", 2),
        ([str(dataset), "--log", LOG, "--split", "nowhere"], "nowhere", 1),
        ([str(tmp_path), "--log", LOG], "is no NAVSIM dataset", 1),
    ):
        assert main(["film", *words, "--out", str(tmp_path / "film.webp")]) == code
        assert message in capsys.readouterr().err
    assert not (tmp_path / "film.webp").exists()


def test_decisions_are_those_of_the_pools(pools: Path) -> None:
    scored = ScoredPools.open(pools)
    for selection, chosen in (
        ("reranked", inertial(scored, scored.utility_v2)),
        ("framewise", framewise(scored.utility_v2)),
    ):
        decisions = Decisions(scored, SceneStore(scored.about["store"]), selection)
        for place in (0, 5):
            decision = decisions.of(scored.tokens[place])
            assert decision is not None and decision.chosen == chosen[place]
            assert decision.score == pytest.approx(scored.epdms(chosen)[place])
            np.testing.assert_allclose(decision.outcome.table[:, :-2], scored.v2[place, :, :-2])
            assert [fault.number for fault in decision.faults] == list(range(1, len(decision.faults) + 1))
        assert decisions.of("unknown") is None


def test_the_liveliest_log_is_the_one_that_accelerates() -> None:
    pools = random_pools(2, logs=3, frames=6)
    steady = np.zeros((18, 3))
    steady[:, 0] = np.tile(np.arange(6) * 5.0, 3)
    pools.ego_pose[:] = steady
    pools.ego_pose[6:12, 0] = [0, 5, 10, 12, 12, 12]  # the second log brakes
    assert most_dynamic_log(pools) == "log1"
