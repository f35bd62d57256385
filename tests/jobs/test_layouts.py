"""Folder layouts: where files of a dataset and of a training run lie, and that nothing else spells these names."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from world4scorer.jobs.data_folder import DataFolder, split_name
from world4scorer.jobs.model_folder import ModelFolder
from world4scorer.jobs.run_folder import RunFolder

DATA, RUN = DataFolder(Path("data")), RunFolder(Path("run"))


def test_a_dataset_folder_has_the_layout_of_navsim_and_what_is_made_from_it() -> None:
    assert DATA.log("mini", "a") == Path("data/navsim_logs/mini/a.pkl")
    assert DATA.sensors("mini") == Path("data/sensor_blobs/mini")
    assert DATA.splits == Path("data/config/train_test_split")
    assert DATA.store("navtest") == Path("data/store/navtest")
    assert DATA.bank("navtrain") == Path("data/bank/navtrain")
    assert DATA.targets("navtrain", "future") == Path("data/targets/navtrain-future.arrow")
    assert DATA.city_manifest == Path("data/city/city.json")
    assert DATA.city_network("berlin") == Path("data/city/networks/berlin.net.xml")
    assert DATA.city_simulation("x") == Path("data/city/simulations/x.json")
    assert DATA.city_trips("x") == Path("data/city/simulations/x.rou.xml")


def test_splits_may_be_given_by_their_yaml_files() -> None:
    assert split_name("splits/navtest.yaml") == split_name("navtest") == "navtest"
    assert split_name("mini.v2") == "mini.v2"
    assert DATA.store("/elsewhere/mine.yaml") == Path("data/store/mine")
    assert RUN.pools("/elsewhere/mine.yml") == Path("run/pools/mine")


def test_a_run_folder_has_one_place_for_everything() -> None:
    assert (RUN.config_file, RUN.data_file) == (Path("run/config.json"), Path("run/data.json"))
    assert RUN.last_checkpoint == Path("run/checkpoints/last.ckpt")
    assert RUN.best_checkpoint == Path("run/checkpoints/best.ckpt")
    assert RUN.history_file == Path("run/history.jsonl") and RUN.tensorboard == Path("run/tensorboard")
    assert (RUN.planner, RUN.best_planner) == (Path("run/planner"), Path("run/planner_best"))
    assert RUN.pools("mini") == Path("run/pools/mini") and RUN.branches("mini") == Path("run/branches/mini")
    assert RUN.evaluation_file == Path("run/evaluation/evaluation.json")
    assert RUN.study_file("lambda") == Path("run/studies/lambda.json")
    assert RUN.variants("parts") == Path("run/variants/parts")
    assert (RUN.features, RUN.readouts, RUN.frames) == (Path("run/features"), Path("run/readouts"), Path("run/frames"))
    assert (RUN.film_file, RUN.report_file) == (Path("run/film.mp4"), Path("run/report.html"))


def test_a_run_is_known_by_its_two_files_and_finished_once_its_planner_is_saved(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.config_file.write_text("{}")
    assert not run.exists
    run.data_file.write_text(json.dumps({"data": "data", "val_split": "splits/mini.yaml"}))
    assert run.exists and not run.trained_on_clips and run.validation_split() == "mini"
    with pytest.raises(ValueError, match=r"planner: no planner there; .* run `w4s train` again"):
        run.finished_planner()
    planner = ModelFolder(run.planner)
    run.planner.mkdir()
    planner.config_file.write_text("{}")
    assert run.is_finished and run.finished_planner() == run.planner and not planner.exists
    planner.weights_file.write_bytes(b"")
    assert planner.exists


def test_a_run_on_clips_has_no_validation_split(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    assert not run.trained_on_clips
    run.data_file.write_text(json.dumps({"clips": "prepared"}))
    assert run.trained_on_clips
    with pytest.raises(ValueError, match=r"data\.json: names no validation split .* give --split"):
        run.validation_split()
    with pytest.raises(ValueError, match="run `w4s b2d train` again"):
        run.finished_planner()


@pytest.mark.parametrize("text", ["", "[]", "3", '{"val_split": 3}'])
def test_damaged_data_files_are_named(text: str, tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.data_file.write_text(text)
    assert not run.trained_on_clips
    with pytest.raises(ValueError, match=r"data\.json: names no validation split"):
        run.validation_split()


def test_layouts_import_nothing_heavy() -> None:
    check = "import sys, world4scorer.jobs.run_folder; print({'torch', 'numpy', 'numba', 'pyarrow'} & set(sys.modules))"
    printed = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "set()"
