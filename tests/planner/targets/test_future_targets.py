from __future__ import annotations

import shutil
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from tests.support.picture_dataset import HISTORY, SMALL, SPLIT, make_dataset
from tests.support.scenes import make_log
from world4scorer.datasets.navsim.cameras import VIEWS
from world4scorer.datasets.navsim.logs import read_log
from world4scorer.datasets.store import SceneStore, write_shard
from world4scorer.planner.pretrained.image_encoder import ImageEncoder, load_encoder, save_encoder
from world4scorer.planner.targets.future_targets import FutureTargets, TargetError, TargetNotes, write_file
from world4scorer.planner.targets.make_targets import make_targets, targets_finished
from world4scorer.planner.training.prepare_data import check_targets

FRAMES = 14


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_dataset(tmp_path_factory.mktemp("pictures"), frames=FRAMES, skipped=9)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("encoder")
    torch.manual_seed(0)
    save_encoder(ImageEncoder(SMALL).vit, SMALL, folder / "model.safetensors", folder / "config.json")
    return folder


@pytest.fixture(scope="module")
def log(data):
    return read_log(data / "navsim_logs/trainval/log-1.pkl")


def path_of(data, frame):
    return data / "sensor_blobs/trainval" / frame.cameras[VIEWS[0]].path


def tokens_of(number, indices):
    return [f"{number:08x}{index:08x}" for index in indices]


@pytest.mark.parametrize("pooling", ["patches", "all", "class"])
def test_targets_are_what_the_encoder_sees_two_seconds_on(data, encoder, log, tmp_path, pooling):
    report = make_targets(data, SPLIT, encoder, tmp_path / "t.arrow", pooling=pooling)
    targets = FutureTargets.open(tmp_path / "t.arrow")
    loaded = load_encoder(encoder)
    tokens = loaded(loaded.image(path_of(data, log.frames[5 + 4]))[None])[0]
    expected = {"patches": tokens[3:].mean(0), "all": tokens.mean(0), "class": tokens[0]}[pooling]
    features, valid = targets.features([log.frames[5].token])
    assert features.dtype == torch.float32 and valid.tolist() == [True]
    assert torch.allclose(features[0], expected, atol=2e-3)
    assert targets.notes.pooling == pooling and targets.notes.encoder == loaded.digest()
    assert (targets.notes.height, targets.notes.width, targets.notes.crop_top) == (42, 56, 14)
    assert report.scenes == len(targets) and report.valid == targets.valid


def test_scenes_without_such_a_frame_have_no_target(data, encoder, tmp_path):
    make_targets(data, SPLIT, encoder, tmp_path / "t.arrow")
    targets = FutureTargets.open(tmp_path / "t.arrow")
    # Scenes are the frames 3 .. 12; the logs end with frame 13, and the first lacks frame 9.
    _, valid = targets.features(tokens_of(1, range(HISTORY - 1, FRAMES - 1)))
    assert valid.tolist() == [True] * 7 + [False] * 3
    _, valid = targets.features(tokens_of(0, [4, 5, 6, 8]))
    assert valid.tolist() == [True, False, True, True]
    features, valid = targets.features(["unknown", *tokens_of(1, [13])])
    assert not valid.any() and not features.any()


def test_current_frame_is_the_control(data, encoder, log, tmp_path):
    make_targets(data, SPLIT, encoder, tmp_path / "now.arrow", frame="current")
    make_targets(data, SPLIT, encoder, tmp_path / "future.arrow")
    now, future = FutureTargets.open(tmp_path / "now.arrow"), FutureTargets.open(tmp_path / "future.arrow")
    assert now.valid == len(now) > future.valid
    later, earlier = log.frames[9].token, log.frames[5].token
    assert torch.equal(now.features([later])[0], future.features([earlier])[0])


def test_centring_takes_the_mean_off(data, encoder, tmp_path):
    plain_report = make_targets(data, SPLIT, encoder, tmp_path / "plain.arrow")
    report = make_targets(data, SPLIT, encoder, tmp_path / "centred.arrow", centre=True)
    plain, centred = FutureTargets.open(tmp_path / "plain.arrow"), FutureTargets.open(tmp_path / "centred.arrow")
    tokens = tokens_of(1, [4, 5])
    difference = plain.features(tokens)[0] - centred.features(tokens)[0]
    assert torch.allclose(difference, torch.from_numpy(plain.mean()).expand(2, -1), atol=1e-6)
    assert torch.equal(plain.centred(plain.mean()).features(tokens)[0], centred.features(tokens)[0])
    assert report.mean_cosine < 0.2 < plain_report.mean_cosine


def test_mean_cosine_is_over_pairs_of_different_scenes(data, encoder, tmp_path):
    report = make_targets(data, SPLIT, encoder, tmp_path / "t.arrow")
    targets = FutureTargets.open(tmp_path / "t.arrow")
    features, valid = targets.features(tokens_of(0, range(14)) + tokens_of(1, range(14)))
    unit = torch.nn.functional.normalize(features[valid], dim=1)
    cosines = (unit @ unit.T)[~torch.eye(len(unit), dtype=torch.bool)]
    assert report.mean_cosine == pytest.approx(float(cosines.mean()), abs=1e-4)
    assert 0 < report.between_logs < 0.5  # pictures of both logs are drawn alike


def test_bad_image_is_named_and_the_rest_is_kept(encoder, tmp_path):
    data = make_dataset(tmp_path / "data")
    log = read_log(data / "navsim_logs/trainval/log-1.pkl")
    path = path_of(data, log.frames[9])
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    out = tmp_path / "t.arrow"
    with pytest.raises(TargetError, match=rf"1 of 2 logs failed[\s\S]*{path.name}[\s\S]*token '{log.frames[5].token}'"):
        make_targets(data, SPLIT, encoder, out)
    assert not out.exists()
    # The finished log is not made again: without its images, a second run succeeds.
    path.write_bytes(whole)
    for image in (data / "sensor_blobs/trainval/log-0/CAM_F0").iterdir():
        image.unlink()
    make_targets(data, SPLIT, encoder, out)
    assert FutureTargets.open(out).valid == 14
    assert [item.name for item in tmp_path.iterdir() if item.name.startswith(".")] == []


def test_a_file_that_was_not_finished_is_swept(data, encoder, tmp_path):
    (tmp_path / ".t.arrow.0a1b2c3d.tmp").touch()
    (tmp_path / ".other.arrow.0a1b2c3d.tmp").touch()  # maybe another process is writing it
    make_targets(data, SPLIT, encoder, tmp_path / "t.arrow")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".other.arrow.0a1b2c3d.tmp", "t.arrow"]


def test_targets_are_finished_when_nothing_is_left_of_making_them(data, encoder, tmp_path, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    out = tmp_path / "t.arrow"
    assert not targets_finished(out)
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(shutil, "rmtree", stop)  # which comes once the file is there
        make_targets(data, SPLIT, encoder, out)
    assert out.is_file() and not targets_finished(out)
    make_targets(data, SPLIT, encoder, out)
    assert targets_finished(out)


def test_parts_of_other_settings_are_made_again(encoder, tmp_path):
    data = make_dataset(tmp_path / "data")
    out = tmp_path / "t.arrow"
    path = path_of(data, read_log(data / "navsim_logs/trainval/log-1.pkl").frames[9])
    whole = path.read_bytes()
    path.unlink()
    with pytest.raises(TargetError, match="missing or incomplete"):
        make_targets(data, SPLIT, encoder, out, pooling="all")
    path.write_bytes(whole)
    make_targets(data, SPLIT, encoder, out)
    make_targets(data, SPLIT, encoder, tmp_path / "fresh.arrow")
    assert out.read_bytes() == (tmp_path / "fresh.arrow").read_bytes()


def test_released_cache_is_read_as_it_is(tmp_path):
    cache = {token: torch.randn(384).half() for token in ("aa", "bb")}
    torch.save(cache, tmp_path / "cache.pt")
    targets = FutureTargets.open(tmp_path / "cache.pt")
    features, valid = targets.features(["bb", "cc", "aa"])
    assert targets.width == 384 and valid.tolist() == [True, False, True]
    assert torch.equal(features[0], cache["bb"].float()) and torch.equal(features[2], cache["aa"].float())


def test_the_released_cache_is_no_control(tmp_path):
    """Its features are of the future frame, so that it cannot stand for those of the current one."""
    from tests.support.small_training import SMALL as TRAINING
    from world4scorer.planner.training.inputs import open_targets

    width = TRAINING.model.future_width
    torch.save({token: torch.randn(width).half() for token in ("aa", "bb")}, tmp_path / "cache.pt")
    samples = SimpleNamespace(tokens=("aa",))
    assert open_targets(TRAINING, tmp_path / "cache.pt", samples) is not None
    with pytest.raises(ValueError, match=r"a released cache.*w4s targets --frame current"):
        open_targets(replace(TRAINING, auxiliary_target="current"), tmp_path / "cache.pt", samples)


def test_files_of_another_kind_are_refused(tmp_path):
    (tmp_path / "t.arrow").write_bytes(b"nonsense")
    with pytest.raises(TargetError, match="not a readable file of targets"):
        FutureTargets.open(tmp_path / "t.arrow")
    with pytest.raises(TargetError, match="no such file"):
        FutureTargets.open(tmp_path / "none.arrow")
    torch.save({"a": torch.zeros(3), "b": torch.zeros(4)}, tmp_path / "odd.pt")
    with pytest.raises(TargetError, match="one vector per token"):
        FutureTargets.open(tmp_path / "odd.pt")


def test_dinov2_weights_are_used_at_their_native_size(tmp_path):
    wide = replace(SMALL, image_height=70, image_width=70, crop_top=0, vit_width=128, vit_layers=2)
    save_encoder(ImageEncoder(wide).vit, wide, tmp_path / "model.safetensors", tmp_path / "unused.json")
    config = load_encoder(tmp_path).config
    assert (config.image_height, config.image_width, config.crop_top) == (518, 518, 0)
    assert (config.vit_width, config.vit_layers, config.vit_heads, config.registers) == (128, 2, 2, 2)
    assert np.prod(config.grid) == 37 * 37


def test_targets_of_other_scenes_or_of_another_encoder_are_refused(tmp_path):
    write_shard(tmp_path / "store", "alpha", make_log("alpha", 2))
    store, path = SceneStore(tmp_path / "store"), tmp_path / "t.arrow"
    encoder = load_encoder("city-masked").digest()

    def write(**notes):
        write_file(path, ["a"], np.zeros((1, 4), np.float16), np.ones(1, np.bool_), TargetNotes(**notes))

    write(scenes=store.digest, encoder=encoder)
    check_targets(path, store.folder, "city-masked")
    write()  # a file of 0.1.0 does not say
    check_targets(path, store.folder, "city-masked")
    write(scenes="other")
    with pytest.raises(TargetError, match=r"t\.arrow: made from other scenes .*`w4s targets`"):
        check_targets(path, store.folder, None)
    write(encoder="other")
    with pytest.raises(TargetError, match=r"t\.arrow: made from other features \(encoder city-masked\)"):
        check_targets(path, store.folder, "city-masked")
