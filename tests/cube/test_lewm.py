"""The world model: what sees what, imagining step by step and at once, SIGReg, training that resumes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from world4scorer.cube.errors import CubeError
from world4scorer.cube.model import train_world_model as module
from world4scorer.cube.model.lewm import Lewm, LewmConfig, Sigreg
from world4scorer.cube.model.train_world_model import train_world_model
from world4scorer.cube.model.world_model import MAX_BATCH, LewmWorldModel
from world4scorer.cube.presets import SMOKE
from world4scorer.cube.study import Study

SMALL = SMOKE.world_model.sizes


def lively(config: LewmConfig) -> Lewm:
    """A network with open gates: at the start of training the conditions have no effect at all."""
    torch.manual_seed(0)
    network = Lewm(config).eval()
    for layer in network.predictor.layers:
        torch.nn.init.normal_(layer.modulation.weight, std=0.3)
    return network


@torch.inference_mode()
@pytest.mark.parametrize("context", [2, 3, 5])
def test_imagining_is_predicting_again_and_again(context: int) -> None:
    """With the last frames that fit the context, all computed anew for every block."""
    network = lively(replace(SMALL, context=context))
    start, actions = torch.randn(2, SMALL.latent), torch.randn(2, 3, 5, 25)
    frames = [start[:, None].expand(2, 3, -1).flatten(0, 1)]
    flat = actions.flatten(0, 1)
    for block in range(5):
        first = max(0, block + 1 - context)
        predicted = network.predict(torch.stack(frames[first:], 1), flat[:, first : block + 1])
        frames.append(predicted[:, -1])
    expected = torch.stack(frames[1:], 1).view(2, 3, 5, -1)
    torch.testing.assert_close(network.roll_out(start, actions), expected, rtol=1e-4, atol=1e-5)


@torch.inference_mode()
def test_predictions_do_not_see_the_future() -> None:
    network = lively(SMALL)
    latents, actions = torch.randn(1, 5, SMALL.latent), torch.randn(1, 5, 25)
    before = network.predict(latents, actions)
    latents[:, 3:] += 1
    actions[:, 3:] += 1
    after = network.predict(latents, actions)
    torch.testing.assert_close(before[:, :3], after[:, :3])
    assert (before[:, 3:] - after[:, 3:]).abs().min() > 0


@torch.inference_mode()
def test_many_candidates_are_imagined_in_pieces(untrained: LewmWorldModel) -> None:
    starts, candidates = 3, MAX_BATCH // 2 + 1
    start, actions = torch.randn(starts, untrained.latent), torch.randn(starts, candidates, 5, 25)
    whole = untrained.network.roll_out(start, actions)
    torch.testing.assert_close(untrained.imagine(start, actions), whole, rtol=1e-4, atol=1e-5)


def test_sigreg_likes_a_gaussian_best() -> None:
    torch.manual_seed(0)
    sigreg = Sigreg(32)
    gaussian = torch.randn(2000, 1, 4)
    others = {
        "collapsed": 0 * gaussian,
        "wide": 2 * gaussian,
        "off": gaussian + 1,
        "uniform": 4 * torch.rand(2000, 1, 4) - 2,
    }
    assert all(sigreg(values) > 3 * sigreg(gaussian) for values in others.values())


def test_sizes_of_the_published_model() -> None:
    """Predictor and action encoder of the published sizes, from the widths of their layers."""
    network = Lewm(LewmConfig(encoder_depth=1))
    width, inner, mlp = 192, 16 * 64, 2048
    layer = 7 * width + 6 * width * width + 6 * width + 3 * width * inner  # norms' and modulation, queries
    layer -= 3 * width  # two norms have parameters, of weight and bias each
    layer += inner * width + width + 2 * width * mlp + mlp + width
    predictor = 6 * layer + 3 * width + 2 * width
    assert sum(tensor.numel() for tensor in network.predictor.parameters()) == predictor


@torch.inference_mode()
def test_pictures_are_encoded() -> None:
    sizes = LewmConfig(
        image=28, patch=14, encoder_width=12, encoder_depth=1, encoder_heads=2, latent=6, depth=1, heads=1
    )
    network = Lewm(sizes).eval()
    assert network.encode(torch.randn(2, 3, 3, 28, 28)).shape == (2, 3, 6)


def test_pictures_that_patches_do_not_fill_are_refused() -> None:
    with pytest.raises(CubeError, match="patches"):
        LewmConfig(image=225)


def test_training_resumes_to_the_same_bits(begun: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHECKPOINT_STEPS", 5)
    config = replace(SMOKE.world_model, steps=12)
    whole = train_world_model(begun.episodes, tmp_path / "whole", config, begun.held_out, progress=False)

    calls = []

    def stop_at_eight(*given: object) -> None:
        calls.append(given)
        if len(calls) == 9:
            raise KeyboardInterrupt
        step(*given)  # type: ignore[arg-type]

    step = module._step
    monkeypatch.setattr(module, "_step", stop_at_eight)
    with pytest.raises(KeyboardInterrupt):
        train_world_model(begun.episodes, tmp_path / "broken", config, begun.held_out, progress=False)
    monkeypatch.setattr(module, "_step", step)
    resumed = train_world_model(begun.episodes, tmp_path / "broken", config, begun.held_out, progress=False)
    for name, tensor in whole.network.state_dict().items():
        assert torch.equal(tensor, resumed.network.state_dict()[name]), name


def test_training_stopped_after_its_last_checkpoint_keeps_its_history(
    begun: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = replace(SMOKE.world_model, steps=2)

    def stop(*given: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(module, "write_json", stop)
        train_world_model(begun.episodes, tmp_path, config, begun.held_out, progress=False)
    train_world_model(begun.episodes, tmp_path, config, begun.held_out, progress=False)
    assert [row["step"] for row in module.read_history(tmp_path)] == [2]


def test_training_learns_to_predict(begun: Study, tmp_path: Path) -> None:
    """On the few episodes it sees, a small model soon predicts better than assuming no change."""
    config = replace(SMOKE.world_model, steps=400, rate=3e-3, batch=32)
    network = train_world_model(begun.episodes, tmp_path, config, begun.held_out, progress=False).network
    history = module.read_history(tmp_path)
    assert history[-1]["step"] == 400
    assert history[-1]["one_block"] < 0.8
    assert not network.training


def test_a_model_survives_its_files(untrained: LewmWorldModel, tmp_path: Path) -> None:
    untrained.save(tmp_path)
    loaded = LewmWorldModel.load(tmp_path)
    np.testing.assert_array_equal(loaded.scale.mean, untrained.scale.mean)
    seen = np.random.default_rng(0).normal(size=(2, 28)).astype(np.float32)
    torch.testing.assert_close(loaded.encode(seen), untrained.encode(seen))
    (tmp_path / "lewm.safetensors").write_bytes(b"garbage")
    with pytest.raises(CubeError, match="does not hold a world model"):
        LewmWorldModel.load(tmp_path)


def test_action_units(untrained: LewmWorldModel) -> None:
    actions = np.random.default_rng(0).uniform(-1, 1, (3, 25, 5))
    blocks = torch.from_numpy(untrained.scale.to_model(actions).reshape(3, 5, 25))
    np.testing.assert_allclose(untrained.scale.to_simulator(blocks), actions, atol=1e-12)
    low, high = untrained.scale.bounds()
    edges = untrained.scale.to_simulator(torch.stack([low, high])[:, None])
    np.testing.assert_allclose(edges, np.broadcast_to([[[-1.0]], [[1.0]]], edges.shape), atol=1e-6)
