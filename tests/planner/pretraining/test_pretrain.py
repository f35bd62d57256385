from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from tests.support.picture_dataset import SMALL, SPLIT, make_dataset
from world4scorer.jobs.tensor_files import write_checkpoint
from world4scorer.planner.model.config import pretrained_city
from world4scorer.planner.model.images import ImageError, normalise
from world4scorer.planner.planner import Planner
from world4scorer.planner.pretrained.image_encoder import BUNDLED, MASKED, load_city_encoder, load_encoder
from world4scorer.planner.pretraining import training_loop
from world4scorer.planner.pretraining.batches import Patches, _draw_views, cut_patches, draw_batch
from world4scorer.planner.pretraining.config import PretrainConfig
from world4scorer.planner.pretraining.masked_views import MaskedViews, contrastive_loss, encode_patches
from world4scorer.planner.pretraining.pretrain import pretrain
from world4scorer.planner.pretraining.training_loop import CHECKPOINT_FILE
from world4scorer.planner.pretraining.views import read_views

RECIPE = PretrainConfig(
    steps=12,
    batch=8,
    visible=4,
    predicted=4,
    decoder_width=24,
    decoder_layers=1,
    decoder_heads=2,
    checkpoint_every=5,
    jitter=0.3,
    normalise_views=True,
    group=8,
    contrast=0.3,
)


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Bits depend on the number of threads, and tiny steps are fastest with one."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_dataset(tmp_path_factory.mktemp("pictures"), skipped=3)


@pytest.fixture(scope="module")
def views(data):
    return read_views(data, SPLIT, SMALL)


def run(data, views, out, config=RECIPE, **options):
    return pretrain(data, SPLIT, out, config, SMALL, views=views, **options)


def test_views_know_the_frame_before(views):
    assert views.bytes.shape == (27, 4, 42, 56, 3)
    # Frame 3 of the first log is missing: the frame after the gap has none before it, like the first of a log.
    assert views.before.tolist() == [0, 0, 1, 3, *range(3, 12), 13, *range(13, 26)]


@pytest.mark.parametrize("mirrored", [False, True])
def test_patches_are_those_of_the_whole_view(views, mirrored):
    frame, camera = np.array([1, 5]), np.array([0, 3])
    place = torch.arange(12).expand(2, 12)
    cut = cut_patches(views.bytes, frame, camera, np.array([mirrored] * 2), place, 14)
    image = normalise(torch.from_numpy(views.bytes[frame, camera]))
    image = image.flip(-1) if mirrored else image
    assert torch.equal(cut, torch.nn.functional.unfold(image, 14, stride=14).transpose(1, 2))


def test_all_patches_visible_is_the_ordinary_pass(views):
    vit = MaskedViews(SMALL, RECIPE).vit
    image = normalise(torch.from_numpy(views.bytes[:1, 0]))
    numbers = torch.nn.functional.unfold(image, 14, stride=14).transpose(1, 2)
    ours = encode_patches(vit, Patches(numbers, torch.arange(12).expand(1, 12)))
    assert torch.allclose(ours, vit(image, image.new_zeros(1, 0, 24)), atol=1e-5)


def test_hidden_patches_are_not_seen(views):
    batch = draw_batch(views, 14, replace(RECIPE, visible_before=6), 3)
    assert batch.before is not None
    for seen, hidden in zip(batch.seen.place.tolist(), batch.hidden.place.tolist(), strict=True):
        assert len(seen) == len(hidden) == 4
        assert not set(seen) & set(hidden)


def test_views_of_a_group_are_of_one_log_and_camera(views):
    config = replace(RECIPE, batch=12, group=3)
    for step in range(5):
        frame, camera = _draw_views(views, config, torch.Generator().manual_seed(step))
        log = np.searchsorted(views.starts, frame, "right") - 1
        for rows in (log, camera):
            assert (rows.reshape(4, 3) == rows.reshape(4, 3)[:, :1]).all()
        assert all(len(set(group)) == 3 for group in frame.reshape(4, 3).tolist())


def test_light_changes_what_is_seen_and_not_what_is_predicted(views):
    plain, changed = (draw_batch(views, 14, replace(RECIPE, jitter=jitter), 2) for jitter in (0.0, 0.5))
    assert torch.equal(plain.hidden.numbers, changed.hidden.numbers)
    assert not torch.allclose(plain.seen.numbers, changed.seen.numbers)
    assert torch.equal(plain.seen.place, changed.seen.place)


def test_telling_apart_ignores_what_a_group_shares():
    torch.manual_seed(0)
    one, noise = torch.randn(8, 6), torch.randn(2, 1, 6).expand(-1, 4, -1).flatten(0, 1)
    same = contrastive_loss(one, one + 5 * noise, 4, 0.1)
    assert same < 0.1 < 1.0 < contrastive_loss(one, one.roll(1, 0), 4, 0.1)


def test_same_seed_same_bits_other_seed_others(data, views, tmp_path):
    first, second = run(data, views, tmp_path / "a"), run(data, views, tmp_path / "b")
    other = run(data, views, tmp_path / "c", replace(RECIPE, seed=1))
    assert first.digest == second.digest != other.digest
    assert first.curve == second.curve


def test_interrupted_run_ends_the_same(data, views, tmp_path):
    whole = run(data, views, tmp_path / "whole")
    assert run(data, views, tmp_path / "parts", stop_after=7) is None
    assert run(data, views, tmp_path / "parts", stop_after=2) is None
    parts = run(data, views, tmp_path / "parts")
    assert parts.digest == whole.digest
    ends = [torch.load(tmp_path / name / CHECKPOINT_FILE, weights_only=True) for name in ("whole", "parts")]
    assert ends[0]["terms"] == ends[1]["terms"]
    for name, tensor in ends[0]["network"].items():
        assert torch.equal(tensor, ends[1]["network"][name]), name


def test_a_run_that_was_stopped_behind_its_last_checkpoint_has_its_whole_history(data, views, tmp_path, monkeypatch):
    run(data, views, tmp_path / "whole")

    def stopped(content, path):
        write_checkpoint(content, path)
        if content["step"] == RECIPE.steps:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(training_loop, "write_checkpoint", stopped)
        run(data, views, tmp_path / "stopped")
    run(data, views, tmp_path / "stopped")
    histories = [(tmp_path / name / training_loop.HISTORY_FILE).read_bytes() for name in ("whole", "stopped")]
    assert histories[0] == histories[1]


def test_other_settings_do_not_continue_a_run(data, views, tmp_path):
    run(data, views, tmp_path, stop_after=1)
    with pytest.raises(ValueError, match="other settings"):
        run(data, views, tmp_path, replace(RECIPE, learning_rate=1e-4))


def test_damaged_checkpoint_is_named(data, views, tmp_path):
    (tmp_path / CHECKPOINT_FILE).write_bytes(b"nonsense")
    with pytest.raises(ValueError, match=r"checkpoint\.pt: not a readable checkpoint"):
        run(data, views, tmp_path)


@pytest.mark.parametrize("options", [{"contrast": 0.0}, {"normalise_views": False, "visible_before": 6}])
def test_loss_falls(data, views, tmp_path, options):
    report = run(
        data, views, tmp_path, replace(RECIPE, steps=120, checkpoint_every=1000, learning_rate=3e-3, **options)
    )
    assert report.last_loss < 0.7 * report.first_loss


def test_encoder_folder_drops_into_a_planner(data, views, tmp_path):
    run(data, views, tmp_path)
    planner = Planner(replace(SMALL, train_vit=True, scene_queries=2, width=32, feed_forward=32))
    planner.load_dinov2(tmp_path)
    encoder = load_encoder(tmp_path)
    assert encoder.config.grid == (3, 4) and encoder.config.crop_top == 14
    for name, tensor in encoder.vit.state_dict().items():
        assert torch.equal(tensor, planner.network.encoder.vit.state_dict()[name]), name


def test_bad_image_is_named_with_its_token(tmp_path):
    data = make_dataset(tmp_path, logs=1, frames=3)
    path = next((data / "sensor_blobs").rglob("CAM_B0/*1.jpg"))
    path.write_bytes(b"no image")
    with pytest.raises(ImageError, match=rf"{path.name}.*token '{path.stem}'"):
        read_views(data, SPLIT, SMALL)


def test_too_many_patches_are_refused():
    with pytest.raises(ValueError, match="a view has 12 patches"):
        MaskedViews(SMALL, replace(RECIPE, visible=10))


def test_committed_encoder_starts_a_city_planner():
    planner = Planner(pretrained_city())
    load_city_encoder(planner.network)
    encoder = load_encoder(MASKED)
    assert BUNDLED[MASKED].stat().st_size < 5_000_000
    tensors = load_file(str(BUNDLED[MASKED]))
    assert all(torch.isfinite(tensor.float()).all() for tensor in tensors.values())
    for name, tensor in encoder.vit.state_dict().items():
        assert torch.equal(tensor, planner.network.encoder.vit.state_dict()[name]), name
    with pytest.raises(ValueError, match="vit_width: 192"):
        load_city_encoder(Planner(replace(pretrained_city(), vit_width=192)).network)
