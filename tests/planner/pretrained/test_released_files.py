from __future__ import annotations

import json
import math
import pickle

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.support.model_golden import FOLDER, WEIGHTS, golden_planner, tiny_inputs, tiny_planner
from world4scorer.planner.model import Network, paper
from world4scorer.planner.planner import Planner
from world4scorer.planner.pretrained.names import released_names, to_theirs

HEADS = {"heads": 1, "vit_heads": 3}
PREFIX = "agent._drivor_model."


@pytest.fixture(scope="module")
def weights():
    return load_file(WEIGHTS)


def write_checkpoint(path, tensors):
    torch.save({"state_dict": {PREFIX + name: tensor for name, tensor in tensors.items()}, "epoch": 23}, path)
    return path


def test_round_trip_is_exact_to_the_bit(weights, tmp_path):
    golden_planner().export_released(tmp_path / "again.safetensors")
    again = load_file(tmp_path / "again.safetensors")
    assert set(again) == set(weights)
    assert all(torch.equal(again[name], weights[name]) for name in weights)


def test_checkpoint_and_safetensors_give_the_same_planner(weights, tmp_path):
    planner = Planner.from_released(write_checkpoint(tmp_path / "epoch.ckpt", weights), **HEADS)
    assert planner.config == golden_planner().config
    wanted = golden_planner().state_dict()
    assert all(torch.equal(tensor, wanted[name]) for name, tensor in planner.state_dict().items())


def test_full_size_names_and_shapes():
    with torch.device("meta"):
        network = Network(paper())
    state = network.state_dict()
    ours = {name: list(tensor.shape) for name, tensor in to_theirs(state, released_names(state)).items()}
    assert ours == json.loads((FOLDER / "full_size_keys.json").read_text())
    assert sum(math.prod(shape) for shape in ours.values()) == 35_520_926


def test_full_size_checkpoint_is_recognised(tmp_path):
    shapes = json.loads((FOLDER / "full_size_keys.json").read_text())
    # One number in storage, however large the tensor: the file stays small.
    tensors = {name: torch.zeros(1).expand(*shape) for name, shape in shapes.items()}
    planner = Planner.from_released(write_checkpoint(tmp_path / "full.ckpt", tensors))
    assert planner.config == paper()


def test_base_is_frozen_and_adapters_are_not():
    trained = {name for name, parameter in golden_planner().network.named_parameters() if parameter.requires_grad}
    vit = {name for name in trained if name.startswith("encoder.vit.")}
    assert vit and all(".down." in name or ".up." in name for name in vit)


def test_a_model_without_adapters_or_future_makes_the_trip_too(tmp_path):
    planner = tiny_planner(lora_rank=0, readout=False, predictor_norm=False)
    planner.export_released(tmp_path / "plain.safetensors")
    again = Planner.from_released(tmp_path / "plain.safetensors", heads=2, vit_heads=3, image_size=(28, 42))
    image, ego = tiny_inputs()
    assert again.config.lora_rank == 0 and not again.config.readout
    assert torch.equal(again(image, ego).states, planner(image, ego).states)
    with pytest.raises(ValueError, match="without a visual readout"):
        again.readout(torch.zeros(1, 16))


def test_plan_sampling_has_no_released_names(tmp_path):
    with pytest.raises(ValueError, match="plan_sampling"):
        tiny_planner(plan_sampling=True).export_released(tmp_path / "sampling.safetensors")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.pop("hist_encoding.weight"), "missing: tensor 'hist_encoding.weight'"),
        (lambda t: t.pop("traj_head.0.mlp.6.bias"), "missing: tensor 'traj_head.0.mlp.6.bias'"),
        (lambda t: t.update(extra=torch.zeros(1)), "not part of the model: tensor 'extra'"),
        (lambda t: t.update({"pos_embed.2.bias": torch.zeros(7)}), r"'pos_embed.2.bias' has shape \(7,\); \(32,\)"),
        (lambda t: t.update({"scene_embeds": torch.zeros(3)}), "'scene_embeds' has shape .* 4 axes"),
        (lambda t: t.update({"hist_encoding.bias": torch.zeros(32, dtype=torch.int64)}), "'hist_encoding.bias' holds"),
        (lambda t: [t.pop(n) for n in list(t) if n.startswith("trajectory_dec")], "missing: .*trajectory_decoder"),
        (lambda t: [t.pop(n) for n in list(t) if ".layers.1." in n], None),
        (lambda t: t.update({"pos_embed.0.weight": torch.zeros(64, 25)}), "'pos_embed.0.weight' has shape"),
    ],
)
def test_bad_tensors_are_named(weights, tmp_path, change, message):
    tensors = dict(weights)
    change(tensors)
    for path in (tmp_path / "bad.safetensors", tmp_path / "bad.ckpt"):
        if path.suffix == ".ckpt":
            write_checkpoint(path, tensors)
        else:
            save_file(tensors, path)
        if message is None:  # fewer layers are a smaller model
            assert Planner.from_released(path, **HEADS).config.predictor_layers == 1
            continue
        with pytest.raises(ValueError, match=message) as error:
            Planner.from_released(path, **HEADS)
        assert str(path) in str(error.value)
        assert len(str(error.value)) < 500


def test_heads_and_image_size_must_fit():
    with pytest.raises(ValueError, match=r"weights\.safetensors.*heads: 5 does not divide"):
        Planner.from_released(WEIGHTS, heads=5, vit_heads=3)
    with pytest.raises(ValueError, match="24 positions"):
        Planner.from_released(WEIGHTS, **HEADS, image_size=(56, 98))
    assert Planner.from_released(WEIGHTS, **HEADS, image_size=(42, 112)).config.grid == (3, 8)


class Malicious:
    def __reduce__(self):
        return (print, ("this must never be printed",))


def test_files_that_are_no_weights(weights, tmp_path, capsys):
    (tmp_path / "code.ckpt").write_bytes(pickle.dumps({"state_dict": Malicious()}, protocol=2))
    torch.save({"state_dict": {"a": torch.zeros(1)}, "hyper": Malicious()}, tmp_path / "zip.ckpt")
    torch.save([1, 2], tmp_path / "list.ckpt")
    torch.save({"state_dict": {"a": 1}}, tmp_path / "number.ckpt")
    (tmp_path / "empty.ckpt").write_bytes(b"")
    (tmp_path / "junk.ckpt").write_bytes(b"junk" * 100)
    whole = WEIGHTS.read_bytes()
    (tmp_path / "cut.safetensors").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "empty.safetensors").write_bytes(b"")
    checkpoint = write_checkpoint(tmp_path / "cut.ckpt", weights)
    checkpoint.write_bytes(checkpoint.read_bytes()[:5000])
    for path in [*tmp_path.iterdir(), tmp_path / "absent.ckpt", tmp_path]:
        with pytest.raises(ValueError, match=str(path)):
            Planner.from_released(path, **HEADS)
    assert "never" not in capsys.readouterr().out
