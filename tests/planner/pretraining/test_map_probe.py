from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from tests.support.dense_frames import NARROW, small_geometry, write_frames
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.planner.model.config import ModelConfig
from world4scorer.planner.model.dense_encoder import DenseEncoder
from world4scorer.planner.model.dense_encoder_config import MAP_CLASSES
from world4scorer.planner.model.images import normalise
from world4scorer.planner.model.lift import grid_points
from world4scorer.planner.pretrained.image_encoder import DenseImageEncoder, ImageEncoder, load_encoder
from world4scorer.planner.pretraining import map_probe
from world4scorer.planner.pretraining.dense_batches import encoder_config
from world4scorer.planner.pretraining.map_probe import MapProbe, features_of
from world4scorer.planner.pretraining.patch_grid import PatchGrid
from world4scorer.planner.pretraining.probe import patch_colours, patch_features, random_encoder
from world4scorer.planner.pretraining.probe_report import probe_report

VIT = ModelConfig(
    image_height=48, image_width=96, crop_top=16, patch=12, vit_width=24, vit_layers=1, vit_heads=2, lora_rank=0
)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    root = tmp_path_factory.mktemp("data")
    write_frames(DataFolder(root).dense / "city_train" / "a.arrow", 12)
    write_frames(DataFolder(root).dense / "city_val" / "b.arrow", 5, seed=5)
    return root


@pytest.fixture(scope="module")
def probe(data):
    from world4scorer.planner.pretraining.dense_pretrain import open_dense_views

    return MapProbe(open_dense_views(data, "city_train"), open_dense_views(data, "city_val"))


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(map_probe, "HEAD_STEPS", 60)


def test_patches_of_the_dense_encoder():
    encoder = load_encoder("city")
    grid = PatchGrid.of(encoder)
    assert (len(grid), grid.side, grid.row_edges[-2:].tolist()) == (78, 16, [80, 84])
    assert (grid.centres[-1] == [194.0, 82.0]).all()
    views = np.random.default_rng(0).integers(0, 255, (2, 84, 196, 3), dtype=np.uint8)
    colours = patch_colours(views, grid)
    assert colours.shape == (2, 78, 3)
    assert colours[1, 14, 2] == pytest.approx(views[1, 16:32, 16:32, 2].mean() / 255, rel=1e-5)
    assert colours[0, 77, 0] == pytest.approx(views[0, 80:, 192:, 0].mean() / 255, rel=1e-5)
    assert patch_features(encoder, views).shape == (2, 78, 96)
    assert random_encoder(encoder).digest() == random_encoder(encoder).digest() != encoder.digest()


def test_lifted_patches_are_those_where_the_ground_appears(probe):
    encoder = ImageEncoder(VIT)
    lifted = features_of(encoder, probe.train)(probe.train, [0, 1])
    assert lifted.shape == (2, 24, 40, 32)
    cell = (16, 16)  # 17 m ahead, a metre to the left
    point = grid_points(1, 0.0).view(40, 32, 3)[cell].numpy()
    assert point.tolist() == [17.0, 1.0, 0.0]
    focal = encoder_config(small_geometry()).focal_to_width * 96
    column, row = 48 - focal * 1.0 / (17.0 - 1.95), 16 + focal * 1.5 / (17.0 - 1.95)
    patches = encoder.patches(normalise(torch.from_numpy(probe.train.images(1)[:1])))[0].unflatten(0, (4, 8))
    place = torch.tensor([[[[2 * column / 96 - 1, 2 * row / 48 - 1]]]], dtype=torch.float32)
    expected = torch.nn.functional.grid_sample(
        patches.permute(2, 0, 1)[None], place, padding_mode="border", align_corners=False
    )
    assert torch.allclose(lifted[1, :, cell[0], cell[1]], expected.flatten(), atol=1e-3)


def test_heads_read_what_features_hold_and_places_do_not(probe):
    """Streets are wide or narrow, which only the colour of the views tells."""
    torch.manual_seed(0)
    seen = probe.fitted(features_of(ImageEncoder(VIT), probe.train))
    blind = probe.fitted(None)
    assert seen["near"]["drivable"] > 0.9 > blind["near"]["drivable"] > 0.2
    assert set(seen["all"]) == {"drivable", "lane"}


def test_views_of_another_size_are_refused(probe):
    with pytest.raises(ValueError, match="views of 48 x 96 pixels"):
        features_of(load_encoder("city-masked"), probe.train)


def test_report_needs_dense_views_alone(data, tmp_path, monkeypatch):
    monkeypatch.setattr(DenseImageEncoder, "__init__", _bare)
    encoder = DenseImageEncoder(DenseEncoder(encoder_config(small_geometry(), NARROW)).eval())
    found = probe_report(
        encoder, data, data / "store", "city_train", "city_val", tmp_path / "report", command="w4s probe"
    )
    assert len(found) == 1 and [row[0] for row in found[0].rows] == list(MAP_CLASSES)
    content = json.loads((tmp_path / "report.json").read_text())
    assert list(content["maps"]) == ["encoder", "random", "place"] and content["frames"] == 5
    assert (tmp_path / "report.png").is_file() and "## Maps" in (tmp_path / "report.md").read_text()


def _bare(self, encoder):
    """Without the configuration of a ViT, which does not fit views as small as these."""
    torch.nn.Module.__init__(self)
    self.encoder = encoder
