from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from tests.support.model_golden import TINY, tiny_inputs, tiny_planner
from world4scorer.planner.model import paper
from world4scorer.planner.model.config import FROZEN_VIT, ModelConfig
from world4scorer.planner.model.dense_encoder import Perception
from world4scorer.planner.model.frozen_vit import FrozenViT
from world4scorer.planner.model.network import Network
from world4scorer.planner.model.plan_sampling import Cameras
from world4scorer.planner.planner import Planner
from world4scorer.planner.profiling.profile import profile

FROZEN = {"encoder": FROZEN_VIT, "lora_rank": 0, "patch_pooling": 2, "image_width": 70}
"""2 x 5 patches: blocks of 2 x 2 and, at the right edge, 2 x 1."""
NAVTRAIN = 103_288
"""Scenes."""


def test_tokens_are_means_of_blocks_of_patches():
    planner = tiny_planner(**FROZEN)
    config = planner.config
    image, _ = tiny_inputs(config)
    seen = planner.network.encoder.perceive(image)
    with torch.no_grad():
        tokens = planner.network.vit(image[1, :1], torch.zeros(1, 0, config.vit_width))[0, -10:].view(2, 5, -1)
    blocks = [tokens[:, :2], tokens[:, 2:4], tokens[:, 4:]]
    expected = torch.stack([block.mean((0, 1)) for block in blocks], 1)[:, None]
    torch.testing.assert_close(seen.patches[1, 0], expected)
    assert seen.patches.shape == (3, 2, config.vit_width, 1, 3) and seen.features.numel() == 0
    every = FrozenViT(replace(config, patch_pooling=1))
    every.load_state_dict(planner.network.encoder.perceiver.state_dict())
    torch.testing.assert_close(every(image).patches[1, 0].flatten(1).t(), tokens.flatten(0, 1))


@pytest.mark.parametrize(("pooling", "scene", "navtrain"), [(1, 12.09, 1249), (2, 3.02, 312), (4, 0.77, 80)])
def test_disk_cost_on_navsim(pooling, scene, navtrain):
    with torch.device("meta"):
        encoder = FrozenViT(replace(paper(), encoder=FROZEN_VIT, lora_rank=0, patch_pooling=pooling))
    size = 2 * sum(map(math.prod, encoder.shapes))
    assert size == 2 * 4 * 384 * math.ceil(48 / pooling) * math.ceil(82 / pooling)
    assert round(size / 1e6, 2) == scene and round(size * NAVTRAIN / 1e9) == navtrain


def test_scene_queries_learn_and_the_vit_stays():
    network = tiny_planner(**FROZEN).network
    image, ego_status = tiny_inputs(network.config)
    scene = network.encode(image)
    assert scene.tokens.shape == (3, 2 * TINY.scene_queries, TINY.width) and scene.readable is None
    network.train()(image, ego_status).logits.sum().backward()
    moved = {name for name, part in network.named_parameters() if part.grad is not None and name.startswith("encoder.")}
    assert moved == {f"encoder.{name}" for name, _ in network.encoder.named_parameters() if "reader" in name}
    assert not any(part.requires_grad for part in network.vit.parameters()) and not network.vit.training


def test_plans_read_pooled_tokens():
    config = replace(TINY, **{**FROZEN, "image_width": 56}, plan_sampling=True, sampling_width=3)
    torch.manual_seed(0)
    network = Network(config).eval()
    forward = torch.tensor([[0.0, 0, 1], [-1, 0, 0], [0, -1, 0]])
    pinhole = torch.tensor([[28.0, 0, 28], [0, 28, 14], [0, 0, 1]])
    views = 1, config.cameras
    cameras = Cameras(
        pinhole.expand(*views, 3, 3), forward.expand(*views, 3, 3), torch.tensor([0, 0, 1.5]).expand(*views, 3)
    )
    patches = torch.randn(1, config.cameras, config.vit_width, 1, 2)
    plans = torch.tensor([[20.0, 16.0, 0.0], [20.0, -16.0, 0.0]])[None, :, None].expand(1, 2, config.poses, 3)
    readable = network.encode(Perception(patches, torch.zeros(1, 0, 0, 0))).readable
    read = network.plan_sampling.read(plans, readable, cameras).view(2, config.poses, 3, -1)
    for side in range(2):  # left, right
        assert torch.allclose(read[side, ..., :3], readable.patches[0, 0, 0, side], atol=1e-6)
    assert (read[..., 3] == 1).all()


def test_a_saved_planner_keeps_its_vit(tmp_path):
    planner = tiny_planner(**FROZEN)
    image, ego_status = tiny_inputs(planner.config)
    planner.save_pretrained(tmp_path)
    loaded = Planner.from_pretrained(tmp_path)
    torch.testing.assert_close(loaded(image, ego_status).utility(), planner(image, ego_status).utility())
    assert loaded.network.encoder.perceiver.digest() == planner.network.encoder.perceiver.digest()
    assert profile(planner.config).parameters["vit"] == sum(part.numel() for part in planner.network.vit.parameters())
    with pytest.raises(ValueError, match=FROZEN_VIT):
        planner.export_released(tmp_path / "released.safetensors")


def test_digests_tell_sizes_and_weights_apart():
    encoder = tiny_planner(**FROZEN).network.encoder.perceiver

    def digest(**changes) -> str:
        other = FrozenViT(replace(encoder.config, **changes))
        other.load_state_dict(encoder.state_dict())
        return other.digest()

    assert encoder.digest() == digest(proposals=7, width=8)
    assert len({digest(), digest(patch_pooling=1), digest(cameras=1), digest(crop_top=3)}) == 4
    before = encoder.digest()
    encoder.vit.norm.bias.data[0] += 1
    assert encoder.digest() != before


@pytest.mark.parametrize("wrong", [{"lora_rank": 2}, {"train_vit": True}, {"plan_sampling": True, "sampling_fine": 4}])
def test_what_a_frozen_vit_cannot_have_is_refused(wrong):
    with pytest.raises(ValueError, match=f"{FROZEN_VIT}.*(set lora_rank|set it) to 0"):
        ModelConfig(**{"encoder": FROZEN_VIT, "lora_rank": 0, **wrong})
