"""What `w4s drive` makes of its options."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.small_training import SMALL
from world4scorer import cli
from world4scorer.cli.drive import _find_planner
from world4scorer.driving.bench2drive.train import ClipData
from world4scorer.jobs.run_folder import RunFolder
from world4scorer.planner.training.run import TrainData, claim_run_folder
from world4scorer.planner.training.run_files import read_run


@pytest.fixture
def of_clips(tmp_path: Path) -> Path:
    """A run of `w4s b2d train` that is not finished."""
    run = tmp_path / "b2d"
    claim_run_folder(SMALL, ClipData(tmp_path / "prepared", tmp_path / "v.npz", tmp_path / "targets.arrow"), run)
    return run


def test_a_run_on_clips_drives_in_the_city_that_is_given(of_clips: Path, tmp_path: Path, capsys) -> None:
    words = ["drive", "--checkpoint", str(of_clips), "--out", str(tmp_path / "out")]
    assert cli.main([*words, "--data", str(tmp_path)]) == 1
    assert "planner: no planner there; this run is not finished, run `w4s b2d train` again" in capsys.readouterr().err
    (of_clips / "planner").mkdir()
    (of_clips / "planner" / "config.json").touch()
    assert cli.main(words) == 2
    assert f"--data: {of_clips} was trained on clips; name the city" in capsys.readouterr().err
    assert _find_planner(of_clips, tmp_path, "best") == (None, of_clips / "planner", tmp_path)
    with pytest.raises(ValueError, match=rf"b2d: was trained on clips .* give {of_clips / 'planner'}"):
        read_run(of_clips)


def test_a_run_on_scenes_knows_its_city(tmp_path: Path) -> None:
    run = tmp_path / "city"
    claim_run_folder(SMALL, TrainData(tmp_path / "data", "a", tmp_path / "s", "b", tmp_path / "v"), run)
    (run / "planner").mkdir()
    (run / "planner" / "config.json").touch()
    assert not RunFolder(run).trained_on_clips and not RunFolder(tmp_path).trained_on_clips
    assert _find_planner(run, None, "best") == (run, run / "planner", tmp_path / "data")
    assert _find_planner(run, tmp_path, "best") == (run, run / "planner", tmp_path)
