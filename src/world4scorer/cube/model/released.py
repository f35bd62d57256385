"""Import of a released LeWM: its tensors under our names, without further packages.

`stable-worldmodel` keeps a model as a folder of `config.json` and one file of weights, and so do its models on Hugging
Face (`quentinll/lewm-cube`). Sizes are read from the tensors; the configuration only tells the numbers of heads.

Three things differ from `Lewm` and are computed into the weights, which leaves what the network says as it is:

- pictures are normalised by ImageNet's mean and deviation there, about 0.5 here: part of the patch embedding;
- actions first pass through a layer of 10 numbers, with nothing between it and the next: both become one;
- older files name the vision transformer's parts as `transformers` did before its version 5.

The scale of the actions is in no file; it is that of the expert's actions, on which those models were trained, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor

from world4scorer.cube.about import ABOUT, about, digest_of
from world4scorer.cube.episodes import EpisodeKind, read_episodes
from world4scorer.cube.errors import CubeError
from world4scorer.cube.model.lewm import ACTION_BLOCK, Lewm, LewmConfig
from world4scorer.cube.model.world_model import ActionScale, LewmWorldModel
from world4scorer.jobs.files import read_json
from world4scorer.jobs.tensor_files import SAFETENSORS, Tensors, check_tensors, read_tensors

CONFIG: Final = "config.json"
SUFFIXES: Final = (".pt", ".ckpt", SAFETENSORS)
"""Suffixes of weight files."""
WRAPPED: Final = "model."
"""Before every name in a training checkpoint."""
COUNTER: Final = "num_batches_tracked"
"""Counter of batch normalisation, unused here."""
UNUSED: Final = ("encoder.embeddings.mask_token", "encoder.pooler.dense.weight", "encoder.pooler.dense.bias")
"""Tensors of a vision transformer that LeWM has no use for."""
VIT_HEADS: Final = {"tiny": 3, "small": 6, "base": 12, "large": 16, "huge": 16}
"""Attention heads of the vision transformers that a configuration knows by name."""
IMAGENET_MEAN: Final = (0.485, 0.456, 0.406)
IMAGENET_STD: Final = (0.229, 0.224, 0.225)

OLD_LAYER: Final = r"^encoder\.encoder\.layer\.(\d+)\."
OLD_PARTS: Final = (
    ("attention.attention.query.", "attention.q_proj."),
    ("attention.attention.key.", "attention.k_proj."),
    ("attention.attention.value.", "attention.v_proj."),
    ("attention.output.dense.", "attention.o_proj."),
    ("intermediate.dense.", "mlp.fc1."),
    ("output.dense.", "mlp.fc2."),
)
"""Parts of a vision transformer's layer in older files, and in newer ones."""

MODULES: Final = {
    "encoder.layers": "encoder",
    "projector.into": "projector.net.0",
    "projector.norm": "projector.net.1",
    "projector.out": "projector.net.3",
    "predicted_projector.into": "pred_proj.net.0",
    "predicted_projector.norm": "pred_proj.net.1",
    "predicted_projector.out": "pred_proj.net.3",
    "action_encoder.mix": "action_encoder.patch_embed",
    "action_encoder.into": "action_encoder.embed.0",
    "action_encoder.out": "action_encoder.embed.2",
    "predictor.places": "predictor.pos_embedding",
    "predictor.norm": "predictor.transformer.norm",
}
"""Our modules, and what released files call them."""
LAYER: Final = {
    "modulation": "adaLN_modulation.1",
    "attention_norm": "attn.norm",
    "queries_keys_values": "attn.to_qkv",
    "attention_out": "attn.to_out.0",
    "mlp": "mlp.net",
}
"""Names of the parts of a predictor layer."""

PLACES: Final = "predictor.pos_embedding"
PATCHES: Final = "encoder.embeddings.patch_embeddings.projection"
POSITIONS: Final = "encoder.embeddings.position_embeddings"
MIX, INTO = "action_encoder.patch_embed", "action_encoder.embed.0"
FIRST_LAYER: Final = "predictor.transformer.layers.0"


def import_released(source: Path, episodes: Path, out: Path) -> LewmWorldModel:
    """Read a released model and write it to `out` as one of ours.

    Args:
        source: Its folder, or its file of weights with `config.json` beside it.
        episodes: Our episodes; the scale of their expert's actions becomes the model's.
        out: A new folder.

    Raises:
        CubeError: Something is missing or of another kind; the message names file, tensor and remedy.
    """
    scale = ActionScale.of(read_episodes(episodes, EpisodeKind.EXPERT).actions)
    model = LewmWorldModel(load_released(source), scale, camera="stock")
    made_from = {"data": digest_of(episodes / ABOUT), "weights": digest_of(weights_in(source))}
    about(out, model.network.config, "released world model", **made_from).match(CubeError)
    model.save(out)
    return model


def load_released(source: Path) -> Lewm:
    """The network of a released model; takes pictures as ours do; raises CubeError if it is not one."""
    path = weights_in(source)
    tensors = _read(path)
    config = _Sizes(tensors, path).config(*_heads(path.with_name(CONFIG)))
    network = Lewm(config)
    _compute_in(tensors)
    ours = {name: tensor for name, tensor in network.state_dict().items() if not name.endswith(COUNTER)}
    names = {name: _their_name(name) for name in ours}
    try:
        check_tensors(tensors, {names[name]: tensor.shape for name, tensor in ours.items()}, path)
    except ValueError as error:
        raise CubeError(f"{error}; only networks built like the published LeWM can be read") from error
    network.load_state_dict({name: tensors[names[name]] for name in ours}, strict=False)
    return network.eval()


def weights_in(source: Path) -> Path:
    """The one file of weights of a released model; raises CubeError if there is none, or several."""
    if source.is_file():
        return source
    if not source.is_dir():
        raise CubeError(f"{source}: no such folder or file; download the model's {CONFIG} and weights.pt into a folder")
    found = sorted(path for path in source.iterdir() if path.suffix in SUFFIXES)
    if len(found) != 1:
        held = ", ".join(path.name for path in found) or "none"
        raise CubeError(f"{source}: one file of weights ({', '.join(SUFFIXES)}) is needed, found {held}; name the file")
    return found[0]


def _read(path: Path) -> Tensors:
    """Tensors of the model alone, as 32-bit numbers, under the names of today."""
    try:
        tensors = read_tensors(path)
    except ValueError as error:
        raise CubeError(
            f"{error}. If it is a whole pickled model, which runs code when it is read, and you trust whom it is from, "
            "save its tensors alone where stable-worldmodel is installed: "
            f"torch.save(torch.load('{path.name}', weights_only=False).state_dict(), 'weights.pt')"
        ) from error
    if any(name.startswith(WRAPPED) for name in tensors):
        tensors = {name.removeprefix(WRAPPED): one for name, one in tensors.items() if name.startswith(WRAPPED)}
    kept = {_new_name(name): one for name, one in tensors.items() if name not in UNUSED and not name.endswith(COUNTER)}
    return {name: one.float() if one.is_floating_point() else one for name, one in kept.items()}


def _new_name(name: str) -> str:
    if not re.match(OLD_LAYER, name):
        return name
    name = re.sub(OLD_LAYER, r"encoder.layers.\1.", name)
    for old, new in OLD_PARTS:
        name = name.replace(old, new)
    return name


def _their_name(ours: str) -> str:
    layer = re.match(r"predictor\.layers\.(\d+)\.(\w+)(.*)", ours)
    if layer:
        return f"predictor.transformer.layers.{layer[1]}.{LAYER[layer[2]]}{layer[3]}"
    module = next(one for one in MODULES if ours == one or ours.startswith(f"{one}."))
    return MODULES[module] + ours.removeprefix(module)


class _Sizes:
    """Sizes that tensors tell by their shapes."""

    def __init__(self, tensors: Tensors, path: Path) -> None:
        self._tensors, self._path = tensors, path

    def config(self, heads: int, encoder_heads: int) -> LewmConfig:
        if "predictor.transformer.input_proj.weight" in self._tensors:
            raise CubeError(
                f"{self._path}: the predictor is of another width than the latents (tensor "
                "'predictor.transformer.input_proj.weight'); only equal widths, as published, can be read"
            )
        _, context, latent = self._shape(PLACES, 3)
        encoder_width, _, patch, _ = self._shape(f"{PATCHES}.weight", 4)
        _, positions, _ = self._shape(POSITIONS, 3)
        mixed, block, _ = self._shape(f"{MIX}.weight", 3)
        inner, _ = self._shape(f"{FIRST_LAYER}.attn.to_qkv.weight", 2)
        mlp, _ = self._shape(f"{FIRST_LAYER}.mlp.net.1.weight", 2)
        if block != ACTION_BLOCK:
            raise CubeError(
                f"{self._path}: takes action blocks of {block} numbers (tensor '{MIX}.weight'), the cube's have "
                f"{ACTION_BLOCK}; take a model that was trained on OGBench-Cube"
            )
        needed: dict[str, tuple[int, ...]] = {
            f"{MIX}.bias": (mixed,),
            f"{INTO}.weight": (4 * latent, mixed),
            f"{PATCHES}.weight": (encoder_width, 3, patch, patch),
        }
        for name, shape in needed.items():
            found = self._shape(name, len(shape))
            if found != shape:
                raise CubeError(f"{self._path}: tensor {name!r} has shape {found}; {shape} is needed, as published")
        if inner % (3 * heads) or encoder_width % encoder_heads:
            raise CubeError(
                f"{self._path.with_name(CONFIG)}: {heads} and {encoder_heads} attention heads (predictor, encoder) do "
                f"not divide the widths {inner // 3} and {encoder_width} in {self._path.name}"
            )
        return LewmConfig(
            image=patch * round((positions - 1) ** 0.5),
            patch=patch,
            encoder_width=encoder_width,
            encoder_depth=self._count(r"encoder\.layers\.(\d+)\."),
            encoder_heads=encoder_heads,
            latent=latent,
            context=context,
            depth=self._count(r"predictor\.transformer\.layers\.(\d+)\."),
            heads=heads,
            head_width=inner // (3 * heads),
            mlp=mlp,
        )

    def _shape(self, name: str, axes: int) -> tuple[int, ...]:
        if name not in self._tensors:
            raise CubeError(f"{self._path}: tensor {name!r} is missing; is this a LeWM's file of weights?")
        shape = tuple(self._tensors[name].shape)
        if len(shape) != axes:
            raise CubeError(f"{self._path}: tensor {name!r} has shape {shape}; {axes} axes are needed")
        return shape

    def _count(self, layer: str) -> int:
        return 1 + max((int(found[1]) for name in self._tensors if (found := re.match(layer, name))), default=-1)


def _heads(path: Path) -> tuple[int, int]:
    """Attention heads of the predictor and of the encoder."""
    if not path.exists():
        raise CubeError(f"{path} is missing: download it with the weights, it tells the numbers of attention heads")
    config = read_json(path, CubeError)
    model = _part(config, "model") or config  # a training's whole configuration has the model within
    predictor, encoder = _part(model, "predictor").get("heads"), _part(model, "encoder")
    size = encoder.get("size", config.get("encoder_scale"))
    encoder_heads = encoder.get("num_attention_heads", VIT_HEADS.get(str(size)))
    if not isinstance(predictor, int) or predictor < 1:
        raise CubeError(f"{path} does not tell the predictor's attention heads ('predictor': {{'heads': 16}})")
    if not isinstance(encoder_heads, int) or encoder_heads < 1:
        raise CubeError(
            f"{path} does not tell the encoder's attention heads ('encoder': {{'size': …}}, one of "
            f"{', '.join(VIT_HEADS)}; or {{'num_attention_heads': …}})"
        )
    return predictor, encoder_heads


def _part(config: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = config.get(name)
    return part if isinstance(part, Mapping) else {}


def _compute_in(tensors: Tensors) -> None:
    """Turn tensors whose shapes `_Sizes` has seen into what our layers need."""
    tensors[PLACES] = tensors[PLACES][0]
    _join_action_layers(tensors)
    if f"{PATCHES}.bias" in tensors:
        _take_our_pictures(tensors)


def _join_action_layers(tensors: Tensors) -> None:
    """Two linear layers as one, and a first one that changes nothing."""
    mix, mix_bias = tensors[f"{MIX}.weight"][..., 0].double(), tensors[f"{MIX}.bias"].double()
    into = tensors[f"{INTO}.weight"].double()
    if f"{INTO}.bias" in tensors:
        tensors[f"{INTO}.bias"] = (tensors[f"{INTO}.bias"].double() + into @ mix_bias).float()
    tensors[f"{INTO}.weight"] = (into @ mix).float()
    tensors[f"{MIX}.weight"], tensors[f"{MIX}.bias"] = torch.eye(ACTION_BLOCK), torch.zeros(ACTION_BLOCK)


def _take_our_pictures(tensors: Tensors) -> None:
    """Let the patch embedding take channels of (value - 0.5) / 0.5 in place of (value - mean) / deviation."""
    mean, std = (torch.tensor(one, dtype=torch.float64)[:, None, None] for one in (IMAGENET_MEAN, IMAGENET_STD))
    weight = tensors[f"{PATCHES}.weight"].double()
    shift: Tensor = (weight * ((0.5 - mean) / std)).sum((1, 2, 3))
    tensors[f"{PATCHES}.bias"] = (tensors[f"{PATCHES}.bias"].double() + shift).float()
    tensors[f"{PATCHES}.weight"] = (weight * (0.5 / std)).float()
