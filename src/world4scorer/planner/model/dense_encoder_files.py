"""Files of dense encoders, and the one that comes with the package."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import torch

from world4scorer.jobs.files import read_json, write_json
from world4scorer.jobs.model_folder import ModelFolder
from world4scorer.jobs.tensor_files import COPY_AGAIN, check_tensors, read_tensors, write_tensors
from world4scorer.planner.hub import cached_folder
from world4scorer.planner.model.dense_encoder import DenseEncoder
from world4scorer.planner.model.dense_encoder_config import DenseEncoderConfig

FORMAT: Final = "world4scorer-dense-encoder-1"
CITY: Final = "city"
"""Name of the bundled encoder."""
CITY_FILE: Final = Path(__file__).parent / "weights" / "city_encoder.safetensors"


def dense_encoder_file(source: str | os.PathLike[str]) -> Path:
    """The weights of the bundled encoder (its name), of a file or folder, or of a repository in the hub cache."""
    path = CITY_FILE if str(source) == CITY else cached_folder(source) or Path(source)
    return ModelFolder(path).files[0] if path.is_dir() else path


def is_dense_encoder(source: str | os.PathLike[str]) -> bool:
    """Whether a source names a dense encoder."""
    return _notes(dense_encoder_file(source)).get("format") == FORMAT


def load_dense_encoder(source: str | os.PathLike[str]) -> DenseEncoder:
    """The bundled encoder (its name), or one that `save_dense_encoder` wrote; frozen."""
    path = dense_encoder_file(source)
    notes = _notes(path)
    if notes.get("format") != FORMAT:
        raise ValueError(f"{path}: not a dense encoder ({FORMAT!r} expected as 'format' in the file beside it)")
    try:
        mounts = tuple(map(tuple, notes["sizes"].pop("mounts")))
        encoder = DenseEncoder(DenseEncoderConfig(**notes["sizes"], mounts=mounts))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path}: the sizes beside it are damaged ({error})") from error
    tensors = {name: tensor.float() for name, tensor in read_tensors(path).items()}
    check_tensors(tensors, {name: tensor.shape for name, tensor in encoder.state_dict().items()}, path)
    encoder.load_state_dict(tensors)
    return encoder.requires_grad_(False).eval()


def save_dense_encoder(
    encoder: DenseEncoder,
    weights: str | os.PathLike[str],
    sizes: str | os.PathLike[str],
    notes: Mapping[str, Any] | None = None,
    dtype: torch.dtype = torch.float16,
) -> None:
    """Write weights (.safetensors) and sizes (.json); `notes` say how it was made."""
    write_tensors({name: tensor.to(dtype) for name, tensor in encoder.state_dict().items()}, weights)
    write_json(sizes, {"format": FORMAT, "sizes": asdict(encoder.config), "made": dict(notes or {})}, 2)


def _notes(path: Path) -> dict[str, Any]:
    beside = path.with_suffix(".json")
    config_file = beside if beside.is_file() else ModelFolder(path.parent).config_file
    return read_json(config_file, remedy=COPY_AGAIN) if config_file.is_file() else {}
