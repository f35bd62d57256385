"""Pretrained DINOv2 weights for the ViT, from files under timm's names or Hugging Face's.

Positions are resampled once to the grid of the model's images and kept; a position of the class token is added to it.
Positions that are no square but as many as the grid has patches are kept as they are: ours were made for that grid.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from torch import Tensor
from torch.nn import functional

from world4scorer.jobs.model_folder import ModelFolder
from world4scorer.jobs.tensor_files import Tensors, check_tensors, read_tensors
from world4scorer.planner.model.config import ModelConfig
from world4scorer.planner.model.network import Network
from world4scorer.planner.model.vision_transformer import VisionTransformer
from world4scorer.planner.pretrained.names import Names, hugging_face_names, timm_names, to_ours, to_theirs

_PREFIX: Final = "dinov2_with_registers."
_UNUSED: Final = ("mask_token", "embeddings.mask_token")
"""Of pretraining."""
_ADAPTERS: Final = (".down.weight", ".up.weight")


def load_dinov2(network: Network, path: str | os.PathLike[str]) -> None:
    """Put pretrained weights into the network's ViT; adapters stay as they are."""
    load_vit(network.vit, network.config, path)


def load_vit(vit: VisionTransformer, config: ModelConfig, path: str | os.PathLike[str]) -> None:
    """Put pretrained weights into a ViT; adapters stay as they are."""
    path = weights_file(path)
    tensors = {name.removeprefix(_PREFIX): tensor for name, tensor in read_tensors(path).items()}
    tensors = {name: tensor for name, tensor in tensors.items() if name not in _UNUSED}
    state = {name: tensor for name, tensor in vit.state_dict().items() if not name.endswith(_ADAPTERS)}
    if not config.registers:
        del state["register_tokens"]
    names = _names(tensors, state)
    needed = {their: tuple(tensor.shape) for their, tensor in to_theirs(state, names).items()}
    where = {ours[0]: their for their, ours in names.items()}
    _fit_positions(tensors, where["positions"], where["class_token"], config.grid, path)
    check_tensors(tensors, needed, path)
    vit.load_state_dict(to_ours(tensors, names), strict=False)


def resample_positions(positions_1PV: Tensor, grid: tuple[int, int]) -> Tensor:
    """Positions of a square grid of patches on another grid: bicubic, antialiased, as timm and Hugging Face do."""
    side = math.isqrt(positions_1PV.shape[1])
    if (side, side) == grid:
        return positions_1PV
    image = positions_1PV.float().unflatten(1, (side, side)).permute(0, 3, 1, 2)
    image = functional.interpolate(image, size=grid, mode="bicubic", align_corners=False, antialias=True)
    return image.permute(0, 2, 3, 1).flatten(1, 2).to(positions_1PV.dtype)


def _fit_positions(tensors: Tensors, positions: str, class_token: str, grid: tuple[int, int], path: Path) -> None:
    for name in (positions, class_token):
        if name not in tensors:
            raise ValueError(f"{path}: missing: tensor {name!r}")
        if tensors[name].ndim != 3:
            raise ValueError(f"{path}: tensor {name!r} has shape {tuple(tensors[name].shape)}; three axes are needed")
    given = tensors[positions]
    count = given.shape[1]
    if math.isqrt(count) ** 2 != count:
        if count == math.prod(grid):
            return
        if count == 0 or math.isqrt(count - 1) ** 2 != count - 1:
            raise ValueError(f"{path}: tensor {positions!r} has {count} positions, which are no square of patches")
        tensors[class_token] = tensors[class_token] + given[:, :1]
        given = given[:, 1:]
    tensors[positions] = resample_positions(given, grid)


def _names(tensors: Tensors, ours: Iterable[str]) -> Names:
    if "embeddings.cls_token" not in tensors:
        return timm_names(ours)
    return hugging_face_names(ours, of_hub="encoder.layer.0.attention.q_proj.weight" not in tensors)


def weights_file(path: str | os.PathLike[str]) -> Path:
    """The file of weights in a folder, or the file itself."""
    path = Path(path)
    if not path.is_dir():
        return path
    files = ModelFolder(path).weights_file, path / "pytorch_model.bin"
    for file in files:
        if file.is_file():
            return file
    raise ValueError(f"{path}: holds neither {' nor '.join(file.name for file in files)}")
