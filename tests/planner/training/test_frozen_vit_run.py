"""Training around a frozen ViT: tokens cached once, the same numbers from images."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
import torch

from tests.support.small_training import MACHINE, SMALL
from world4scorer.jobs.checksums import UNSEALED
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.model_folder import ModelFolder
from world4scorer.planner.features.feature_cache import open_features
from world4scorer.planner.model.config import FROZEN_VIT
from world4scorer.planner.model.vision_transformer import VisionTransformer
from world4scorer.planner.planner import Planner
from world4scorer.planner.pretrained.dinov2 import load_vit
from world4scorer.planner.pretrained.image_encoder import save_encoder
from world4scorer.planner.training.augmentation import AugmentationConfig
from world4scorer.planner.training.dataset import PlanningDataset, collate
from world4scorer.planner.training.grid_mask import GridMaskConfig
from world4scorer.planner.training.pools import pool_batches
from world4scorer.planner.training.run import check_start, train
from world4scorer.planner.training.split_samples import split_samples

CONFIG = replace(
    SMALL,
    model=replace(
        SMALL.model,
        encoder=FROZEN_VIT,
        train_vit=False,
        image_height=42,
        image_width=98,
        patch_pooling=2,
        sampling_fine=0,
    ),
    augmentation=AugmentationConfig(),
    grid_mask=GridMaskConfig(probability=0.0),
)
"""3 x 7 patches, pooled to 2 x 4 blocks."""


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """A random ViT for square images, as DINOv2 is."""
    torch.manual_seed(1)
    folder = tmp_path_factory.mktemp("weights")
    square = replace(CONFIG.model, image_height=70, image_width=70)
    vit = VisionTransformer(square)
    for parameter in vit.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    save_encoder(vit, square, *ModelFolder(folder).files)
    return folder


@pytest.fixture(scope="module")
def finished(training_set, weights, tmp_path_factory):
    out = tmp_path_factory.mktemp("frozen") / "run"
    train(replace(CONFIG, vit_weights=str(weights)), training_set.data, out, MACHINE)
    return out


def test_a_run_learns_and_its_vit_stays(finished, weights):
    lines = [json.loads(line) for line in (finished / "history.jsonl").read_text().splitlines()]
    assert lines[-1]["train/total"] < lines[0]["train/total"]
    given = VisionTransformer(CONFIG.model)
    load_vit(given, CONFIG.model, weights)
    kept = Planner.from_pretrained(finished / "planner").network.vit.state_dict()
    assert all(torch.equal(kept[name], tensor) for name, tensor in given.state_dict().items())


def test_the_cache_takes_the_space_that_the_documents_say(training_set, finished):
    data = training_set.data.data
    encoder = Planner.from_pretrained(finished / "planner").network.encoder.perceiver
    for split in ("city_train", "city_val"):
        cache = open_features(encoder, data, split)
        files = list(DataFolder(data).features(encoder.digest(), split).glob("*.npy"))
        around = (128 + len(UNSEALED)) * len(files)  # header and checksum
        scene = 2 * 4 * CONFIG.model.vit_width * math.ceil(3 / 2) * math.ceil(7 / 2)
        assert sum(file.stat().st_size for file in files) == around + len(cache) * scene


def test_images_give_the_numbers_of_the_cache(training_set, finished):
    data = training_set.data
    planner = Planner.from_pretrained(finished / "planner")
    samples = split_samples(data.data, "city_val", data.val_store).at([0, 5, 9])
    (cached,) = pool_batches(samples, planner)
    seen = collate([PlanningDataset(samples, planner.config)[index, 0] for index in range(3)])
    assert cached.views is None and seen.perception is None
    tokens = planner.network.encoder.perceive(seen.image).patches
    torch.testing.assert_close(cached.perception.patches, tokens, atol=1e-4, rtol=2**-10)
    one, other = (planner(batch.image, batch.ego_status, batch.cameras) for batch in (cached, seen))
    torch.testing.assert_close(one.plans, other.plans, atol=5e-3, rtol=5e-3)
    torch.testing.assert_close(one.utility(), other.utility(), atol=5e-3, rtol=5e-3)
    assert (one.utility() - one.utility().mean()).abs().max() > 0.05


def test_a_run_may_start_from_a_planner_with_its_own_vit(training_set, finished, tmp_path):
    started = replace(CONFIG, from_planner=str(finished / "planner"), epochs=1)
    train(started, training_set.data, tmp_path / "run", MACHINE)
    folders = DataFolder(training_set.data.data).all_features("any").parent
    digest = Planner.from_pretrained(tmp_path / "run" / "planner").network.encoder.perceiver.digest()
    assert (folders / digest).is_dir()


def test_what_a_frozen_vit_cannot_do_is_refused():
    with pytest.raises(ValueError, match="needs weights to begin with"):
        check_start(CONFIG)
    for varied in ({"grid_mask": GridMaskConfig()}, {"augmentation": AugmentationConfig(mirror=0.5)}):
        with pytest.raises(ValueError, match="cached"):
            replace(CONFIG, **varied)
