from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import Dinov2WithRegistersConfig, Dinov2WithRegistersModel

from tests.support.model_golden import TINY
from world4scorer.planner.model import Network
from world4scorer.planner.planner import Planner
from world4scorer.planner.pretrained.dinov2 import resample_positions

SIDE = 5
"""Of the square of patches that the foreign weights were made for."""


@pytest.fixture(scope="module")
def teacher():
    torch.manual_seed(11)
    settings = Dinov2WithRegistersConfig(
        hidden_size=24, num_hidden_layers=2, num_attention_heads=3, image_size=14 * SIDE, patch_size=14
    )
    model = Dinov2WithRegistersModel(settings).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    return model


def hub_tensors(model):
    """Under the names that files on the hub have, whatever those of the installed version are."""
    renamed = {
        "attention.q_proj.": "attention.attention.query.",
        "attention.k_proj.": "attention.attention.key.",
        "attention.v_proj.": "attention.attention.value.",
        "attention.o_proj.": "attention.output.dense.",
    }
    tensors = {}
    for name, tensor in model.state_dict().items():
        for ours, theirs in renamed.items():
            name = name.replace(ours, theirs)
        tensors[name] = tensor.clone()
    return tensors


def timm_tensors(model):
    """As timm keeps them: one qkv, positions of patches only, that of the class token added to it."""
    state = model.state_dict()
    positions = state["embeddings.position_embeddings"]
    tensors = {
        "cls_token": state["embeddings.cls_token"] + positions[:, :1],
        "reg_token": state["embeddings.register_tokens"],
        "pos_embed": positions[:, 1:],
        "patch_embed.proj.weight": state["embeddings.patch_embeddings.projection.weight"],
        "patch_embed.proj.bias": state["embeddings.patch_embeddings.projection.bias"],
        "norm.weight": state["layernorm.weight"],
        "norm.bias": state["layernorm.bias"],
    }
    for index in range(2):
        ours, theirs = f"encoder.layer.{index}.", f"blocks.{index}."
        for kind in ("weight", "bias"):
            parts = [state[f"{ours}attention.{letter}_proj.{kind}"] for letter in "qkv"]
            tensors[f"{theirs}attn.qkv.{kind}"] = torch.cat(parts)
            tensors[f"{theirs}attn.proj.{kind}"] = state[f"{ours}attention.o_proj.{kind}"]
            for same in ("norm1", "norm2", "mlp.fc1", "mlp.fc2"):
                tensors[f"{theirs}{same}.{kind}"] = state[f"{ours}{same}.{kind}"]
        for number in (1, 2):
            tensors[f"{theirs}ls{number}.gamma"] = state[f"{ours}layer_scale{number}.lambda1"]
    return {name: tensor.contiguous() for name, tensor in tensors.items()}


def features(network, image):
    with torch.no_grad():
        return network.encoder.vit(image, torch.zeros(len(image), 0, network.config.vit_width))


@pytest.mark.parametrize("size", [(14 * SIDE, 14 * SIDE), (42, 98)])
@pytest.mark.parametrize("naming", [timm_tensors, hub_tensors, lambda model: model.state_dict()])
def test_our_vit_sees_what_theirs_sees(teacher, tmp_path, size, naming):
    save_file(naming(teacher), tmp_path / "model.safetensors")
    planner = Planner(replace(TINY, image_height=size[0], image_width=size[1]))
    planner.load_dinov2(tmp_path)
    image = torch.randn(2, 3, *size)
    with torch.no_grad():
        wanted = teacher(image).last_hidden_state
    # Their position of the class token is added once more to nothing: ours lies in the token.
    torch.testing.assert_close(features(planner.network, image), wanted, rtol=0, atol=2e-5)


def test_prefix_and_pickled_file(teacher, tmp_path):
    tensors = {f"dinov2_with_registers.{name}": tensor for name, tensor in hub_tensors(teacher).items()}
    torch.save(tensors, tmp_path / "pytorch_model.bin")
    planner = Planner(TINY)
    before = {name: tensor.clone() for name, tensor in planner.state_dict().items()}
    planner.load_dinov2(tmp_path)
    after = planner.state_dict()
    changed = {name for name in after if not torch.equal(after[name], before[name])}
    vit = {name for name in after if ".vit." in name and ".down." not in name and ".up." not in name}
    assert changed == vit


def test_resampling_keeps_a_constant_and_the_grid():
    constant = torch.ones(1, SIDE**2, 4)
    torch.testing.assert_close(resample_positions(constant, (3, 7)), torch.ones(1, 21, 4))
    same = torch.randn(1, SIDE**2, 4)
    assert resample_positions(same, (SIDE, SIDE)) is same
    ramp = torch.arange(SIDE, dtype=torch.float32).repeat_interleave(SIDE).view(1, -1, 1)
    rows = resample_positions(ramp, (10, 10)).view(10, 10)
    assert (rows.diff(dim=0)[1:-1] > 0).all() and torch.allclose(rows[:, :1].expand(10, 10), rows, atol=1e-5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.pop("norm.bias"), "missing: tensor 'norm.bias'"),
        (lambda t: t.pop("cls_token"), "missing: tensor 'cls_token'"),
        (lambda t: t.update({"head.weight": torch.zeros(1)}), "not part of the model: tensor 'head.weight'"),
        (lambda t: t.update({"pos_embed": torch.zeros(1, 23, 24)}), "'pos_embed' has 23 positions"),
        (lambda t: t.update({"pos_embed": torch.zeros(25, 24)}), "three axes"),
        (lambda t: t.update({"blocks.0.attn.qkv.bias": torch.zeros(3)}), "'blocks.0.attn.qkv.bias' has shape"),
        (lambda t: t.update({"pos_embed": torch.zeros(1, 25, 8)}), "'pos_embed' has shape"),
    ],
)
def test_bad_files(teacher, tmp_path, change, message):
    tensors = timm_tensors(teacher)
    change(tensors)
    save_file(tensors, tmp_path / "dino.safetensors")
    network = Network(TINY)
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    with pytest.raises(ValueError, match=message) as error:
        Planner.from_network(network).load_dinov2(tmp_path / "dino.safetensors")
    assert "dino.safetensors" in str(error.value)
    assert all(torch.equal(tensor, before[name]) for name, tensor in network.state_dict().items())


def test_a_folder_without_weights(tmp_path):
    with pytest.raises(ValueError, match="holds neither"):
        Planner(TINY).load_dinov2(tmp_path)


def test_without_registers(teacher, tmp_path):
    tensors = timm_tensors(teacher)
    del tensors["reg_token"]
    save_file(tensors, tmp_path / "model.safetensors")
    planner = Planner(replace(TINY, registers=0))
    planner.load_dinov2(tmp_path)
    assert torch.equal(planner.network.encoder.vit.norm.bias, load_file(tmp_path / "model.safetensors")["norm.bias"])
