from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.support.dense_frames import NARROW, random_labels, small_geometry, write_frames
from world4scorer import cli
from world4scorer.datasets.dense.labels import CELLS, MapBit
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.planner.model.dense_encoder import DenseEncoder
from world4scorer.planner.model.dense_encoder_config import MAP_CLASSES, PIXEL_CLASSES
from world4scorer.planner.model.dense_encoder_files import load_dense_encoder
from world4scorer.planner.model.images import normalise
from world4scorer.planner.pretraining.dense_batches import (
    DenseBatches,
    apply_light,
    encoder_config,
    light_table,
    mirror_labels,
    mirrored_cameras,
    read_ahead,
)
from world4scorer.planner.pretraining.dense_config import DensePretrainConfig
from world4scorer.planner.pretraining.dense_losses import (
    cell_weights,
    contrast_loss,
    decode_direction,
    direction_loss,
    map_losses,
    map_targets,
    pixel_losses,
)
from world4scorer.planner.pretraining.dense_pretrain import (
    DenseTeacher,
    pretrain_dense,
    take_weights,
    validation_iou,
)
from world4scorer.planner.pretraining.map_iou import BINS, best_thresholds, count_cells, iou_of, spread_frames
from world4scorer.planner.pretraining.training_loop import CHECKPOINT_FILE, HISTORY_FILE

SIZES = encoder_config(small_geometry(), NARROW)
RECIPE = DensePretrainConfig(
    steps=6, batch=2, queue=5, warm_up=0.2, checkpoint_every=4, validate_every=3, validation_frames=2
)


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def train(tmp_path_factory):
    return write_frames(tmp_path_factory.mktemp("train") / "a.arrow", 8)


@pytest.fixture(scope="module")
def val(tmp_path_factory):
    return write_frames(tmp_path_factory.mktemp("val") / "a.arrow", 3, seed=9)


def test_a_batch_depends_on_seed_and_step_alone(train):
    batches = DenseBatches(train, RECIPE, SIZES)
    one, again = batches.draw(7), DenseBatches(train, RECIPE, SIZES).draw(7)
    assert torch.equal(one.image, again.image) and torch.equal(one.twin_of, again.twin_of)
    assert one.image.shape == (2, 4, 3, 48, 96) and one.classes.shape == (2, 4, 12, 24)
    other = DenseBatches(train, replace(RECIPE, seed=1), SIZES).draw(7)
    assert not torch.equal(one.image, other.image)


def test_an_epoch_shows_every_frame_once(train):
    batches = DenseBatches(train, RECIPE, SIZES)
    for epoch in (0, 3):
        assert sorted(batches._order(epoch).tolist()) == list(range(8))
    twins = sum(len(batches.draw(step).twin_of) for step in range(4))
    assert twins == train.has_twin.sum()


def test_without_jitter_light_is_the_planners(train):
    views = train.images(0)
    ours = apply_light(views, light_table(None, np.random.default_rng(0)))
    assert np.allclose(ours, normalise(torch.from_numpy(views)).numpy(), atol=1e-5)
    changed = apply_light(views, light_table(RECIPE, np.random.default_rng(0)))
    assert np.abs(changed - ours).max() > 0.05


def test_mirroring_twice_changes_nothing():
    labels, cameras = random_labels(np.random.default_rng(0)), mirrored_cameras(SIZES)
    assert cameras == [0, 1, 3, 2]
    once = mirror_labels(labels, cameras)
    twice = mirror_labels(once, cameras)
    for name in ("classes", "depth", "bits", "direction", "velocity"):
        assert np.array_equal(getattr(twice, name), getattr(labels, name)), name
    heading, there = decode_direction(torch.from_numpy(labels.direction))
    mirrored, _ = decode_direction(torch.from_numpy(once.direction))
    assert torch.allclose(mirrored.flip(1)[there], -heading[there], atol=1e-5)
    with pytest.raises(ValueError, match="--no-mirror"):
        mirrored_cameras(replace(SIZES, mounts=SIZES.mounts[:3]))


def test_read_ahead_keeps_order_and_errors():
    def read(step):
        if step == 6:
            raise ValueError("damaged")
        return 10 * step

    with read_ahead(read, 2, 9) as take:
        assert [take(step) for step in range(2, 6)] == [20, 30, 40, 50]
        with pytest.raises(ValueError, match="damaged"):
            take(6)


def test_map_loss_ignores_hidden_road_users_and_follows_weights():
    bits = torch.zeros(1, *CELLS, dtype=torch.uint8)
    bits[0, 100, 64], bits[0, 120, 64] = int(MapBit.VEHICLE), int(MapBit.HIDDEN)
    logits = torch.full((1, len(MAP_CLASSES), *CELLS), -20.0)
    weights = cell_weights(torch.ones(80, 64, dtype=torch.bool), 0.05, 3.0, 32.0)
    assert weights[32, 64] == 3 and weights[159, 0] == 1
    missed = map_losses(logits, bits, weights)
    assert missed.argmax() == MAP_CLASSES.index("vehicle") and float(missed.sum()) == pytest.approx(
        float(missed.max()), rel=1e-3
    )
    logits[0, 3, 100, 64] = 20.0
    assert map_losses(logits, bits, weights).max() < 1e-4
    logits[0, 3, 120, 64] = 20.0
    assert map_losses(logits, bits, weights).max() < 1e-4
    unseen = cell_weights(torch.zeros(80, 64, dtype=torch.bool), 0.05, 3.0, 32.0)
    assert torch.allclose(unseen, 0.05 * weights)


def test_direction_and_pixel_losses_are_zero_for_the_truth():
    rng = np.random.default_rng(0)
    codes = torch.from_numpy(rng.integers(0, 256, (2, 80, 64), np.uint8))
    heading, there = decode_direction(codes)
    right = torch.stack([heading.cos(), heading.sin()], 1)
    visible = torch.ones(80, 64, dtype=torch.bool)
    assert direction_loss(right, codes, visible) < 1e-10
    assert float(direction_loss(-right, codes, visible)) == pytest.approx(4.0, rel=1e-5)
    assert direction_loss(torch.where(there[:, None], right, 9.0), codes, visible) < 1e-10
    classes = torch.from_numpy(rng.integers(0, PIXEL_CLASSES, (3, 12, 24), np.uint8))
    depth = torch.from_numpy(rng.integers(0, 256, (3, 12, 24), np.uint8))
    scores = 50.0 * torch.nn.functional.one_hot(classes.long(), PIXEL_CLASSES).movedim(-1, 1)
    losses = pixel_losses(torch.cat([scores, depth[:, None] / 128.0], 1), classes, depth)
    assert max(losses) < 1e-6


def test_contrast_asks_for_the_scene_and_not_for_the_weather():
    generator = torch.Generator().manual_seed(0)
    scene, weather = torch.randn(8, 16, generator=generator), torch.randn(2, 16, generator=generator)
    queue = torch.randn(40, 16, generator=generator)
    twin_of = torch.arange(8)

    def loss(of_scene, of_weather):
        frames, twins = (of_scene * scene + of_weather * weather[k] for k in range(2))
        return float(contrast_loss(twins, frames, queue * of_scene, twin_of, 0.1))

    assert loss(1.0, 0.0) < 0.05
    assert loss(0.1, 1.0) > loss(1.0, 0.3) > loss(1.0, 0.0)
    swapped = contrast_loss(scene, scene, queue, twin_of.roll(1), 0.1)
    assert swapped > 5.0


def test_queue_holds_the_last_frames(train):
    teacher = DenseTeacher(RECIPE, SIZES)
    for number in range(4):
        teacher._enqueue(torch.full((2, SIZES.patch_width), float(number)))
    assert int(teacher.filled) == 5
    assert teacher.queue[:, 0].tolist() == [3, 3, 2, 2, 1]


def test_training_lowers_the_loss(train, val, tmp_path):
    config = replace(
        RECIPE, steps=50, batch=4, learning_rate=2e-2, checkpoint_every=100, validate_every=100, contrast=0.0
    )
    report = pretrain_dense(train, val, tmp_path, config, NARROW)
    assert report.last_loss < 0.7 * report.first_loss
    assert (tmp_path / "curves.png").is_file()
    measured = json.loads((tmp_path / HISTORY_FILE).read_text())["measured"]
    assert [one["step"] for one in measured] == [50]
    # Weights are written as float16, so a class on the edge may fall to the other side.
    again = validation_iou(load_dense_encoder(tmp_path), val, spread_frames(val, RECIPE.validation_frames))
    assert again["all"]["drivable"] == pytest.approx(measured[0]["iou"]["all"]["drivable"], abs=0.05)


def test_interrupted_run_ends_the_same(train, val, tmp_path):
    whole = pretrain_dense(train, val, tmp_path / "whole", RECIPE, NARROW)
    assert pretrain_dense(train, val, tmp_path / "parts", RECIPE, NARROW, stop_after=5) is None
    parts = pretrain_dense(train, val, tmp_path / "parts", RECIPE, NARROW)
    assert parts.digest == whole.digest
    ends = [torch.load(tmp_path / name / CHECKPOINT_FILE, weights_only=True) for name in ("whole", "parts")]
    for name, tensor in ends[0]["network"].items():
        assert torch.equal(tensor, ends[1]["network"][name]), name
    assert ends[0]["terms"] == ends[1]["terms"] and ends[0]["measured"] == ends[1]["measured"]
    assert (tmp_path / "whole" / HISTORY_FILE).read_text() == (tmp_path / "parts" / HISTORY_FILE).read_text()
    with pytest.raises(ValueError, match="other settings"):
        pretrain_dense(train, val, tmp_path / "parts", replace(RECIPE, learning_rate=1e-4), NARROW)


def test_training_starts_from_another_encoder(train, tmp_path):
    torch.manual_seed(5)
    start = DenseEncoder(replace(SIZES, sharp=0))
    fresh = DenseEncoder(SIZES)
    before = {name: tensor.clone() for name, tensor in fresh.state_dict().items()}
    take_weights(fresh, start)
    taken, given = fresh.state_dict(), start.state_dict()
    assert torch.equal(taken["views.fine.0.weight"], given["views.fine.0.weight"])
    for own in ("map.inner.0.0.weight", "views.sharpen.0.weight"):  # of another shape, and new
        assert torch.equal(taken[own], before[own])
    alone = pretrain_dense(train, None, tmp_path / "alone", RECIPE, NARROW)
    helped = pretrain_dense(train, None, tmp_path / "helped", RECIPE, NARROW, start=start)
    assert alone.digest != helped.digest
    notes = json.loads((tmp_path / "helped" / "config.json").read_text())["made"]
    assert notes["start"] == start.digest()
    with pytest.raises(ValueError, match="other settings"):
        pretrain_dense(train, None, tmp_path / "helped", RECIPE, NARROW)


def test_persons_are_wider_than_they_are():
    bits = torch.zeros(1, *CELLS, dtype=torch.uint8)
    bits[0, 100, 64], bits[0, 0, 0] = int(MapBit.PERSON), int(MapBit.PERSON)
    persons = map_targets(bits)[0][0, MAP_CLASSES.index("person")]
    assert persons[99:102, 63:66].all() and persons[:2, :2].all() and persons.sum() == 9 + 4


def test_validation_frames_are_not_learned_from(train, val, tmp_path):
    with_val = pretrain_dense(train, val, tmp_path / "with", RECIPE, NARROW)
    without = pretrain_dense(train, None, tmp_path / "without", RECIPE, NARROW)
    assert with_val.digest == without.digest


def test_iou_counts_cells(val):
    visible = torch.ones(CELLS, dtype=torch.bool)
    bits = np.stack([val.labels(frame).bits for frame in range(3)])
    truth = map_targets(torch.from_numpy(bits))[0]

    def guess(frames):
        wrong = truth[list(frames)].clone()
        wrong[:, 0, :32] = 1 - wrong[:, 0, :32]
        return 8 * wrong - 4

    counts = count_cells(guess, val, [0, 1, 2], visible)
    found = iou_of(counts, np.full(len(MAP_CLASSES), BINS // 2))
    guessed, true = guess(range(3))[:, 0] > 0, truth[:, 0] > 0
    assert found[0, 0] == pytest.approx(float((guessed & true).sum() / (guessed | true).sum()))
    assert found[1, 0] == 1.0 and found[0, 1] == 1.0 and np.isnan(found[0, 3])
    assert (iou_of(counts, best_thresholds(counts))[0, :2] >= found[0, :2]).all()


def test_command_uses_a_folder_of_dense_views(tmp_path, capsys):
    dense = DataFolder(tmp_path / "data").dense
    write_frames(dense / "city_train" / "a_000.arrow", 4)
    write_frames(dense / "city_val" / "b_000.arrow", 2)
    words = ["pretrain", "--data", str(tmp_path / "data"), "--out", str(tmp_path / "out")]
    assert cli.main([*words, "--steps", "2", "--batch", "2", "--validation-frames", "1"]) == 0
    assert "2 steps on 16 views" in capsys.readouterr().out
    (dense / "simulations.json").write_text('{"a_000": "city_train", "c_000": "city_train"}')
    assert cli.main(words) == 1
    assert "dense views of 1 simulations are missing, such as c_000" in capsys.readouterr().err
    assert cli.main(["pretrain", "--data", str(tmp_path), "--out", str(tmp_path / "out")]) == 1
    assert "--recipe masked" in capsys.readouterr().err


@pytest.mark.parametrize("change", [{"steps": 0}, {"vehicle": -1.0}, {"temperature": 0.0}, {"warm_up": 1.0}])
def test_impossible_settings_are_refused(change):
    with pytest.raises(ValueError):
        replace(RECIPE, **change)
