"""A released LeWM read as ours says what the official modules said.

`data/released_lewm.npz` was written with the modules of stable-worldmodel 0.1.1 (`wm/lewm`, `wm/loss.py`) from random
weights: latents of 24 numbers, two layers, a context of three frames, action sequences of six blocks, so that the
context slides. Pictures were normalised as that package does.
"""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch

from world4scorer.cube.episodes import EpisodeConfig, EpisodeKind, make_episodes, read_episodes
from world4scorer.cube.errors import CubeError
from world4scorer.cube.model.lewm import Sigreg
from world4scorer.cube.model.outcome_head import candidate_features
from world4scorer.cube.model.released import import_released, load_released
from world4scorer.cube.model.world_model import ActionScale, LewmWorldModel

GOLDEN = Path(__file__).parent / "data" / "released_lewm.npz"
CONFIG = {
    "_target_": "stable_worldmodel.wm.lewm.LeWM",
    "encoder": {"_target_": "stable_pretraining.backbone.utils.vit_hf", "size": "tiny", "num_attention_heads": 2},
    "predictor": {"_target_": "stable_worldmodel.wm.lewm.module.Predictor", "heads": 3, "num_frames": 3},
}
OLD_NAMES = {
    "attention.q_proj": "attention.attention.query",
    "attention.k_proj": "attention.attention.key",
    "attention.v_proj": "attention.attention.value",
    "attention.o_proj": "attention.output.dense",
    "mlp.fc1": "intermediate.dense",
    "mlp.fc2": "output.dense",
}
CLOSE = {"rtol": 2e-5, "atol": 2e-5}


def golden() -> dict[str, torch.Tensor]:
    with np.load(GOLDEN, allow_pickle=False) as arrays:
        return {name: torch.from_numpy(arrays[name]) for name in arrays.files}


def weights() -> dict[str, torch.Tensor]:
    return {name.removeprefix("weights/"): one for name, one in golden().items() if name.startswith("weights/")}


def folder(path: Path, tensors: dict[str, torch.Tensor], config: dict[str, object] = CONFIG) -> Path:
    path.mkdir(exist_ok=True)
    torch.save(tensors, path / "weights.pt")
    (path / "config.json").write_text(json.dumps(config))
    return path


def model(source: Path) -> LewmWorldModel:
    return LewmWorldModel(load_released(source), ActionScale(np.zeros(5), np.ones(5)), "stock")


def refusal(source: Path) -> str:
    with pytest.raises(CubeError) as caught:
        load_released(source)
    return str(caught.value)


def test_sizes_come_from_tensors(tmp_path: Path) -> None:
    sizes = load_released(folder(tmp_path, weights())).config
    assert (sizes.image, sizes.patch, sizes.encoder_width, sizes.encoder_depth, sizes.encoder_heads) == (
        28,
        7,
        16,
        2,
        2,
    )
    assert (sizes.latent, sizes.context, sizes.depth, sizes.heads, sizes.head_width, sizes.mlp) == (24, 3, 2, 3, 8, 40)


def test_pictures_are_encoded_as_officially(tmp_path: Path) -> None:
    said = golden()
    latents = model(folder(tmp_path, weights())).encode(said["pictures"].numpy())
    torch.testing.assert_close(latents, said["encoded"], **CLOSE)


def test_predictions_are_the_official_ones(tmp_path: Path) -> None:
    said = golden()
    network = load_released(folder(tmp_path, weights()))
    with torch.inference_mode():
        predicted = network.predict(said["encoded"][None, :3], said["actions"][0, :1, :3])
    torch.testing.assert_close(predicted, said["predicted"], **CLOSE)


def test_rollouts_and_costs_are_the_official_ones(tmp_path: Path) -> None:
    said = golden()
    ours = model(folder(tmp_path, weights()))
    latents = ours.encode(said["pictures"].numpy())
    with torch.inference_mode():
        rolled = ours.network.roll_out(latents[:2], said["actions"])
    torch.testing.assert_close(rolled, said["rolled"][:, :, 1:], **CLOSE)
    cost = (ours.imagine(latents[:2], said["actions"])[:, :, -1] - latents[3:5, None]).square().sum(-1)
    torch.testing.assert_close(cost, said["cost"], **CLOSE)


def test_sigreg_is_the_official_one() -> None:
    said = golden()
    torch.testing.assert_close(Sigreg(6).along(said["directions"], said["latents"]), said["sigreg"], **CLOSE)


def test_older_names_and_a_training_checkpoint_are_read(tmp_path: Path) -> None:
    said = golden()
    old = {}
    for name, tensor in weights().items():
        if name.startswith("encoder.layers."):
            name = name.replace("encoder.layers.", "encoder.encoder.layer.")
            for new_part, old_part in OLD_NAMES.items():
                name = name.replace(new_part, old_part)
        old[f"model.{name}"] = tensor
    tensors = {"state_dict": old | {"sigreg.t": torch.zeros(17), "model.encoder.pooler.dense.bias": torch.zeros(16)}}
    source = folder(tmp_path, tensors, {"model": CONFIG})
    torch.testing.assert_close(model(source).encode(said["pictures"].numpy()), said["encoded"], **CLOSE)


def test_an_imported_model_is_one_of_ours(tmp_path: Path) -> None:
    said = golden()
    source = folder(tmp_path / "released", weights())
    make_episodes(tmp_path / "episodes", EpisodeConfig(expert=1, noisy=1, steps=30), workers=1, progress=False)
    out = tmp_path / "model"
    imported = import_released(source, tmp_path / "episodes", out)
    loaded = LewmWorldModel.load(out)
    assert loaded.camera == "stock"
    scale = ActionScale.of(read_episodes(tmp_path / "episodes", EpisodeKind.EXPERT).actions)
    assert np.array_equal(loaded.scale.mean, scale.mean) and np.array_equal(loaded.scale.std, scale.std)
    pictures = said["pictures"].numpy()
    assert torch.equal(loaded.encode(pictures), imported.encode(pictures))


def test_candidates_of_the_published_size_have_819_features() -> None:
    final, goal, cost, candidates = (
        torch.randn(2, 7, 192),
        torch.randn(2, 192),
        torch.rand(2, 7),
        torch.randn(2, 7, 5, 25),
    )
    assert candidate_features(final, goal, cost, candidates).shape == (2, 7, 819)


def test_a_missing_tensor_is_named(tmp_path: Path) -> None:
    tensors = weights()
    del tensors["pred_proj.net.1.running_var"]
    said = refusal(folder(tmp_path, tensors))
    assert "weights.pt" in said and "'pred_proj.net.1.running_var'" in said


def test_another_shape_is_named(tmp_path: Path) -> None:
    tensors = weights() | {"projector.net.3.weight": torch.zeros(24, 39)}
    said = refusal(folder(tmp_path, tensors))
    assert "'projector.net.3.weight' has shape (24, 39); (24, 40) is needed" in said


def test_a_model_of_another_environment_is_refused(tmp_path: Path) -> None:
    tensors = weights() | {"action_encoder.patch_embed.weight": torch.zeros(10, 10, 1)}
    assert "action blocks of 10 numbers" in refusal(folder(tmp_path, tensors))


def test_another_predictor_width_is_refused(tmp_path: Path) -> None:
    tensors = weights() | {"predictor.transformer.input_proj.weight": torch.zeros(32, 24)}
    assert "another width" in refusal(folder(tmp_path, tensors))


def test_a_configuration_without_heads_is_refused(tmp_path: Path) -> None:
    assert "config.json does not tell the predictor's" in refusal(folder(tmp_path, weights(), {}))
    without = CONFIG | {"encoder": {"size": "enormous"}}
    assert "config.json does not tell the encoder's" in refusal(folder(tmp_path, weights(), without))


def test_heads_that_do_not_divide_are_refused(tmp_path: Path) -> None:
    wrong = CONFIG | {"predictor": {"heads": 5}}
    assert "do not divide" in refusal(folder(tmp_path, weights(), wrong))


def test_a_whole_pickled_model_is_not_loaded(tmp_path: Path) -> None:
    (tmp_path / "lewm_object.ckpt").write_bytes(pickle.dumps(CubeError("not tensors"), protocol=2))
    said = refusal(tmp_path)
    assert "lewm_object.ckpt" in said and "state_dict()" in said


def test_a_folder_must_hold_one_file_of_weights_and_its_configuration(tmp_path: Path) -> None:
    assert "no such folder" in refusal(tmp_path / "nowhere")
    assert "found none" in refusal(tmp_path)
    source = folder(tmp_path, weights())
    (source / "config.json").unlink()
    assert "config.json is missing" in refusal(source)
    torch.save(weights(), source / "weights_epoch_2.pt")
    assert "weights.pt, weights_epoch_2.pt" in refusal(source)
