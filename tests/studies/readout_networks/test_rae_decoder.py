from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from transformers import ViTMAEConfig
from transformers.models.vit_mae.modeling_vit_mae import ViTMAELayer

from world4scorer.planner.model.config import pretrained_city
from world4scorer.planner.model.images import MEAN, STD
from world4scorer.planner.pretrained.image_encoder import ImageEncoder
from world4scorer.studies.readout_networks.rae_decoder import load_rae_decoder

WIDTH, INNER, LAYERS, HEADS, CHANNELS, PATCH = 12, 20, 2, 3, 8, 4


@pytest.fixture
def encoder():
    """Grids of 2 x 2 patches."""
    config = replace(pretrained_city(), image_height=28, image_width=28, crop_top=0, vit_width=CHANNELS, vit_heads=2,
                     vit_layers=1, lora_rank=0)  # fmt: skip
    encoder = ImageEncoder(config)
    with torch.no_grad():
        encoder.vit.norm.weight.copy_(torch.linspace(0.5, 2.0, CHANNELS))
        encoder.vit.norm.bias.copy_(torch.linspace(-1.0, 1.0, CHANNELS))
    return encoder


def tensors(prefix="decoder."):
    generator = torch.Generator().manual_seed(0)
    shapes = {
        "decoder_embed.weight": (WIDTH, CHANNELS),
        "decoder_embed.bias": (WIDTH,),
        "decoder_pos_embed": (1, 5, WIDTH),
        "trainable_cls_token": (1, 1, WIDTH),
        "decoder_norm.weight": (WIDTH,),
        "decoder_norm.bias": (WIDTH,),
        "decoder_pred.weight": (3 * PATCH**2, WIDTH),
        "decoder_pred.bias": (3 * PATCH**2,),
    }
    for layer in range(LAYERS):
        names = {f"attention.attention.{part}": (WIDTH, WIDTH) for part in ("query", "key", "value")}
        names |= {"attention.output.dense": (WIDTH, WIDTH), "intermediate.dense": (INNER, WIDTH)}
        names |= {"output.dense": (WIDTH, INNER), "layernorm_before": (WIDTH,), "layernorm_after": (WIDTH,)}
        for name, shape in names.items():
            shapes[f"decoder_layers.{layer}.{name}.weight"] = shape
            shapes[f"decoder_layers.{layer}.{name}.bias"] = shape[:1]
    return {prefix + name: 0.3 * torch.randn(shape, generator=generator) for name, shape in shapes.items()}


def _new(name):
    """What `transformers` 5 calls a tensor of a file."""
    changed = {"attention.attention.query": "attention.q_proj", "attention.attention.key": "attention.k_proj",
               "attention.attention.value": "attention.v_proj", "attention.output.dense": "attention.o_proj",
               "intermediate.dense": "mlp.fc1", "output.dense": "mlp.fc2"}  # fmt: skip
    stem, _, kind = name.rpartition(".")
    return f"{changed.get(stem, stem)}.{kind}"


def write(folder, content, heads=HEADS):
    save_file(content, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps({"decoder_num_attention_heads": heads}))
    return folder


@pytest.mark.parametrize("prefix", ["decoder.", "", "module.decoder."])
def test_images_are_those_of_the_reference_layers(tmp_path, encoder, prefix):
    content = tensors(prefix)
    decoder = load_rae_decoder(write(tmp_path, content), encoder)
    grid = torch.randn(2, 4, CHANNELS, generator=torch.Generator().manual_seed(1))
    bare = {name.removeprefix(prefix): tensor for name, tensor in content.items()}
    plain = (grid - encoder.vit.norm.bias) / encoder.vit.norm.weight
    tokens = plain @ bare["decoder_embed.weight"].T + bare["decoder_embed.bias"]
    tokens = torch.cat([bare["trainable_cls_token"].expand(2, -1, -1), tokens], 1) + bare["decoder_pos_embed"]
    settings = ViTMAEConfig(hidden_size=WIDTH, intermediate_size=INNER, num_attention_heads=HEADS,
                            hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)  # fmt: skip
    settings._attn_implementation = "eager"
    for number in range(LAYERS):
        layer, start = ViTMAELayer(settings).eval(), f"decoder_layers.{number}."
        layer.load_state_dict({_new(n.removeprefix(start)): t for n, t in bare.items() if n.startswith(start)})
        tokens = layer(tokens)
        tokens = tokens[0] if isinstance(tokens, tuple) else tokens
    norm = torch.nn.functional.layer_norm(
        tokens, (WIDTH,), bare["decoder_norm.weight"], bare["decoder_norm.bias"], 1e-12
    )
    pixels = (norm @ bare["decoder_pred.weight"].T + bare["decoder_pred.bias"])[:, 1:].detach().numpy()
    expected = np.zeros((2, 8, 8, 3))
    for place in range(4):
        row, column = divmod(place, 2)
        tile = pixels[:, place].reshape(2, PATCH, PATCH, 3)
        expected[:, row * PATCH : (row + 1) * PATCH, column * PATCH : (column + 1) * PATCH] = tile
    expected = (expected * STD + MEAN).clip(0, 1)
    assert np.allclose(decoder.images(grid).movedim(1, -1).numpy(), expected, atol=1e-5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"decoder.decoder_norm.bias": None}, "decoder_norm.bias"),
        ({"decoder.decoder_embed.weight": None}, "no decoder of patches"),
        ({"decoder.decoder_embed.weight": torch.zeros(WIDTH, 7)}, "patches of 7 numbers"),
        ({"decoder.decoder_pred.weight": torch.zeros(50, WIDTH)}, "no square of pixels"),
        ({"decoder.decoder_pos_embed": torch.zeros(5, WIDTH)}, "3 axes"),
        ({"decoder.other": torch.zeros(1)}, "not part of the model"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, encoder, change, message):
    content = {name: tensor for name, tensor in (tensors() | change).items() if tensor is not None}
    with pytest.raises(ValueError, match=rf"model\.safetensors: .*{message}"):
        load_rae_decoder(write(tmp_path, content), encoder)


def test_heads_must_divide_the_width(tmp_path, encoder):
    with pytest.raises(ValueError, match="5 attention heads"):
        load_rae_decoder(write(tmp_path, tensors(), heads=5), encoder)
