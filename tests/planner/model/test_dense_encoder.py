from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional

from tests.support.dense_frames import NARROW, small_geometry
from world4scorer.city.render.cameras import DEFAULT_CAMERAS, CameraRig
from world4scorer.planner.model.config import city
from world4scorer.planner.model.dense_encoder import DenseEncoder
from world4scorer.planner.model.dense_encoder_config import (
    FINE_STRIDE,
    LIFT_SCALE,
    MAP_CLASSES,
    SHARP_STRIDE,
    DenseEncoderConfig,
)
from world4scorer.planner.model.dense_encoder_files import (
    is_dense_encoder,
    load_dense_encoder,
    save_dense_encoder,
)
from world4scorer.planner.model.lift import LIFT_HEIGHTS, Lift, grid_points
from world4scorer.planner.planner import Planner
from world4scorer.planner.pretrained.image_encoder import load_encoder
from world4scorer.planner.pretraining.dense_batches import encoder_config

SMALL = encoder_config(small_geometry(), NARROW)
MIRRORED = [0, 1, 3, 2]


@pytest.fixture(scope="module")
def encoder():
    torch.manual_seed(0)
    return DenseEncoder(SMALL).eval()


def views(scenes=2, seed=0):
    return torch.randn(scenes, 4, 3, 48, 96, generator=torch.Generator().manual_seed(seed))


def places(lifted):
    """Lifted features (B, readings * L, X, Y) by height and place (B, heights, L, 2X, 2Y)."""
    heights = lifted.unflatten(1, (len(LIFT_HEIGHTS), LIFT_SCALE, LIFT_SCALE, -1))
    return heights.permute(0, 1, 4, 5, 2, 6, 3).flatten(-2).flatten(-3, -2)


def test_shapes(encoder):
    with torch.no_grad():
        seen = encoder(views())
        assert seen.patches.shape == (2, 4, 12, *SMALL.patches) and SMALL.patches == (3, 6)
        assert seen.features.shape == (2, 8, 40, 32) and (seen.features >= 0).all()
        assert encoder.heads(seen.features).shape == (2, len(MAP_CLASSES), 160, 128)
        assert encoder.heads.directions(seen.features).shape == (2, 2, 80, 64)
    with pytest.raises(ValueError, match=r"\(scenes, 4, 3, 48, 96\) is needed"):
        encoder(views()[:, :3])


def test_default_grid_covers_the_view():
    config = DenseEncoderConfig()
    assert config.patches == (6, 13) and config.fine_grid == (21, 49) and config.map_cells == (40, 32)


@pytest.mark.parametrize(("config", "height", "width"), [(DenseEncoderConfig(), 112, 196), (SMALL, 64, 96)])
def test_calibration_is_that_of_the_city(config, height, width):
    rig = CameraRig.default().select(DEFAULT_CAMERAS)
    intrinsics = rig.intrinsics(height, width)
    intrinsics[:, 1, 2] -= config.crop_top
    for ours, theirs in zip(config.cameras, (intrinsics, rig.rotation, rig.translation), strict=True):
        assert np.allclose(ours[0].numpy(), theirs, atol=1e-5)


@pytest.mark.parametrize("stride", [FINE_STRIDE, SHARP_STRIDE])
def test_lift_reads_where_a_cell_appears(stride):
    lift = Lift(SMALL, stride)
    rig = CameraRig.default().select(DEFAULT_CAMERAS)
    intrinsics = rig.intrinsics(64, 96)
    fine = torch.randn(1, 4, 3, 48 // stride, 96 // stride, generator=torch.Generator().manual_seed(1))
    lifted = places(lift(fine))[0]
    seen = 0
    for level, height in enumerate(LIFT_HEIGHTS):
        points = grid_points(LIFT_SCALE, height).double().numpy()
        for index in range(0, len(points), 97):
            row, column = divmod(index, lifted.shape[-1])
            best = None
            for camera in range(4):
                x, y, z = rig.rotation[camera].T @ (points[index] - rig.translation[camera])
                if z <= 0.1:
                    continue
                u, v, _ = intrinsics[camera] @ [x / z, y / z, 1.0]
                if 0 <= u < 96 and 0 <= v - 16 < 48 and (best is None or abs(2 * u / 96 - 1) < best[0]):
                    best = (abs(2 * u / 96 - 1), camera, u, v - 16)
            found = lifted[level, :, row, column]
            if best is None:
                assert (found == 0).all()
                continue
            _, camera, u, v = best
            place = torch.tensor([[[[2 * u / 96 - 1, 2 * v / 48 - 1]]]], dtype=torch.float32)
            expected = functional.grid_sample(fine[0, camera][None], place, padding_mode="border", align_corners=False)
            assert torch.allclose(found, expected.flatten(), atol=2e-4), index
            seen += 1
    assert seen > 30


def test_mirrored_views_lift_to_a_mirrored_map(encoder):
    assert encoder.lift.visible.any() and not encoder.lift.visible.all()
    assert torch.equal(encoder.lift.visible, encoder.lift.visible.flip(1))
    fine = torch.randn(2, 4, SMALL.lifted, *SMALL.fine_grid)
    mirrored = places(encoder.lift(fine[:, MIRRORED].flip(-1)))
    assert torch.allclose(mirrored, places(encoder.lift(fine)).flip(-1), atol=1e-3)


def test_sharp_features_reach_the_map(encoder):
    with torch.no_grad():
        seen = encoder.encode_views(views())
        assert seen.sharp.shape == (8, SMALL.sharp, 24, 48)
        moved = encoder.perceive(seen._replace(sharp=seen.sharp + 1.0))
        assert not torch.allclose(moved.features, encoder.perceive(seen).features)
        blunt = DenseEncoder(replace(SMALL, sharp=0)).eval()
        assert blunt.encode_views(views()).sharp is None and blunt(views()).features.shape == moved.features.shape


def test_other_cameras_are_refused():
    SMALL.check_cameras(SMALL.cameras)
    pinhole, rotation, translation = SMALL.cameras
    for other in (
        SMALL.cameras._replace(intrinsics=pinhole * torch.tensor([1.01, 1.0, 1.0])[:, None]),
        SMALL.cameras._replace(rotation=rotation.flip(1)),
        SMALL.cameras._replace(translation=translation + 0.1),
    ):
        with pytest.raises(ValueError, match="cameras: not those of the city"):
            SMALL.check_cameras(other)


def test_files_keep_encoder_and_digest(tmp_path):
    torch.manual_seed(0)
    encoder, halved = DenseEncoder(NARROW), DenseEncoder(NARROW)
    halved.load_state_dict({name: tensor.half().float() for name, tensor in encoder.state_dict().items()})
    save_dense_encoder(encoder, tmp_path / "model.safetensors", tmp_path / "config.json", {"steps": 3})
    assert is_dense_encoder(tmp_path)
    loaded = load_dense_encoder(tmp_path)
    assert loaded.config == NARROW and loaded.digest() == halved.digest() != encoder.digest()
    assert not loaded.training and not any(parameter.requires_grad for parameter in loaded.parameters())
    single = load_encoder(tmp_path)
    assert single.grid == NARROW.patches and single.digest() == loaded.digest()
    image = torch.randn(1, 4, 3, 84, 196)
    with torch.no_grad():
        patches = loaded(image).patches[:, 0].flatten(2).transpose(1, 2)
    assert torch.allclose(single.patches(image[:, 0]), patches, atol=1e-5)
    with pytest.raises(ValueError, match="no class token"):
        single.pooled(image[:, 0], "class")


def test_damaged_files_are_named(encoder, tmp_path):
    save_dense_encoder(encoder, tmp_path / "model.safetensors", tmp_path / "config.json")
    (tmp_path / "config.json").write_text('{"format": "world4scorer-dense-encoder-1", "sizes": {"mounts": 3}}')
    with pytest.raises(ValueError, match="sizes beside it are damaged"):
        load_dense_encoder(tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ValueError, match=r"config\.json: cannot be read as JSON"):
        load_dense_encoder(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ValueError, match="not a dense encoder"):
        load_dense_encoder(tmp_path)


def test_a_planner_leaves_the_frozen_encoder_as_it_is():
    network = Planner(city()).network
    before = {name: tensor.clone() for name, tensor in network.encoder.perceiver.state_dict().items()}
    network.train()
    network.encoder(torch.randn(1, 4, 3, 84, 196))
    assert all(torch.equal(tensor, before[name]) for name, tensor in network.encoder.perceiver.state_dict().items())
    assert not any(parameter.requires_grad for parameter in network.encoder.perceiver.parameters())
    assert not network.encoder.perceiver.training and network.encoder.reader.training


def test_a_fused_encoder_is_the_same_encoder():
    torch.manual_seed(0)
    encoder = DenseEncoder()
    with torch.no_grad():
        encoder(torch.randn(4, 4, 3, 84, 196))  # some statistics
        for name, tensor in encoder.state_dict().items():
            if name.endswith((".weight", ".bias")) and tensor.ndim == 1:
                tensor.add_(0.1 * torch.randn_like(tensor))
        image = torch.randn(2, 4, 3, 84, 196)
        encoder.eval()
        fused = encoder.fused()
        for ours, theirs in zip(fused(image), encoder(image), strict=True):
            torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=1e-3)
    assert sum(type(module).__name__ == "Norm" for module in fused.modules()) == 1  # after a sum, not a convolution
