"""Future targets of clips: made where they are missing, made again where they are of other moments."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.support.carla_clips import NAME, write_clip
from world4scorer import cli
from world4scorer.driving.bench2drive.clip_targets import ensure_targets, missing_targets
from world4scorer.driving.bench2drive.config import city
from world4scorer.driving.bench2drive.train import ClipData, train_clips
from world4scorer.driving.clips.drivable import GridPainter
from world4scorer.driving.clips.errors import ClipError
from world4scorer.driving.clips.prepare import prepare_clips
from world4scorer.driving.clips.prepared import PreparedClips
from world4scorer.jobs.executors import SerialExecutor
from world4scorer.planner.targets.future_targets import FutureTargets, TargetNotes, write_file
from world4scorer.planner.targets.make_targets import target_notes
from world4scorer.planner.training.losses import bench2drive


def prepare(folder: Path, every: int) -> PreparedClips:
    prepare_clips(folder / "clips", folder / "maps", folder / "prepared", every, SerialExecutor())
    return PreparedClips.open(folder / "prepared")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A clip of six seconds, whose front camera sees something."""
    clip = write_clip(tmp_path / "clips")
    for frame in range(61):
        Image.new("RGB", (64, 36), (4 * frame, 90, 30)).save(clip / "camera" / "rgb_front" / f"{frame:05d}.jpg")
    grid = GridPainter("Town05", np.array([-80.0, -80.0]), np.array([80.0, 80.0])).finish()
    grid.save(tmp_path / "maps" / "Town05.npz")
    prepare(tmp_path, every=10)
    return tmp_path


def train(folder: Path, options: str = "") -> int:
    vocab = "" if "--only-targets" in options else "--vocab v.npz"
    words = f"b2d train {folder}/prepared {vocab} --preset city --vit-weights city-masked --accelerator cpu"
    return cli.main([*words.split(), "--out", f"{folder}/run", *options.split()])


def tokens_of(file: Path) -> list[str]:
    return sorted(token.removeprefix(f"{NAME}/") for token in FutureTargets.open(file).tokens)


def written(file: Path, clips: PreparedClips, notes: TargetNotes, count: int | None = None) -> Path:
    tokens = [f"{name}/{frame:05d}" for name in clips.clips for frame in clips[name].moments][:count]
    write_file(file, tokens, np.zeros((len(tokens), 4), np.float16), np.ones(len(tokens), np.bool_), notes)
    return file


def test_made_kept_and_made_again(folder, capsys):
    file = folder / "prepared" / "targets.arrow"
    assert train(folder, "--only-targets") == 0
    assert tokens_of(file) == ["00000", "00010", "00020"] and not (folder / "run").exists()
    before = file.stat().st_mtime_ns
    assert train(folder, "--only-targets") == 0 and file.stat().st_mtime_ns == before
    prepare(folder, every=5)
    capsys.readouterr()
    assert train(folder, "--only-targets") == 0
    assert f"no targets of 2 moments, {NAME}/00005 for one" in capsys.readouterr().err
    assert tokens_of(file) == ["00000", "00005", "00010", "00015", "00020"]
    # Fewer moments than there are targets of need nothing new.
    before = file.stat().st_mtime_ns
    prepare(folder, every=10)
    assert train(folder, "--only-targets") == 0 and file.stat().st_mtime_ns == before


def test_targets_of_another_encoder_are_refused(folder, capsys):
    clips = PreparedClips.open(folder / "prepared")
    own = target_notes("clips", "city")
    file = written(folder / "prepared" / "targets.arrow", clips, replace(own, encoder="f" * 64))
    before = file.read_bytes()
    assert train(folder, "--only-targets") == 1
    said = capsys.readouterr().err
    assert "targets.arrow: targets of another encoder than city-masked (digest ffffffffffff, not " in said
    assert file.read_bytes() == before
    # Who names a file need not say what made it; who says so is taken at their word.
    assert train(folder, f"--only-targets --targets {file}") == 0
    assert train(folder, f"--only-targets --targets {file} --target-encoder city") == 1
    # A released cache does not tell.
    assert missing_targets(clips, written(folder / "other.arrow", clips, TargetNotes()), "city") == ""


def test_a_file_that_was_named_is_not_written_over(folder, capsys):
    file = written(folder / "mine.arrow", PreparedClips.open(folder / "prepared"), target_notes("clips", "city"), 2)
    before = file.read_bytes()
    assert train(folder, f"--targets {file}") == 1
    assert "mine.arrow: no targets of 1 moments" in capsys.readouterr().err and file.read_bytes() == before


def test_several_machines_cannot_make_them(folder, capsys):
    assert train(folder, "--nodes 2 --devices 1") == 1
    assert "targets.arrow: no such file; processes that start together cannot make them" in capsys.readouterr().err
    assert not (folder / "prepared" / "targets.arrow").exists() and not (folder / "run").exists()


def test_without_an_encoder(folder):
    clips = PreparedClips.open(folder / "prepared")
    with pytest.raises(ClipError, match=r"none\.arrow: no such file; give --target-encoder"):
        ensure_targets(clips, folder / "none.arrow", "", "")


def test_training_asks_for_targets_of_its_own_clips(folder):
    """Also where no command looks after them."""
    write_clip(folder / "clips", name="TurnLeft_Town05_Route2_Weather1")
    clips = prepare(folder, every=10)
    file = written(folder / "some.arrow", clips, TargetNotes(), 1)
    config = replace(city(), losses=replace(bench2drive(), bank=0.0))
    with pytest.raises(ClipError, match=r"some\.arrow: no targets of [23] moments"):
        train_clips(config, ClipData(folder / "prepared", targets=file), folder / "run")
    assert not (folder / "run").exists()
