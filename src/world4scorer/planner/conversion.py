"""Conversion of planner files, for `w4s import` and `w4s export`.

Nothing is written before everything has been read and checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import torch

from world4scorer.jobs.files import read_json
from world4scorer.jobs.model_folder import WEIGHT_FILES, ModelFolder
from world4scorer.jobs.tensor_files import SAFETENSORS, as_safetensors, write_together
from world4scorer.planner.hub import CARD_FILE, upload
from world4scorer.planner.model import dense_encoder_files
from world4scorer.planner.model.config import PRESETS, ModelConfig
from world4scorer.planner.model_card import encoder_card
from world4scorer.planner.planner import Planner
from world4scorer.planner.pretrained import image_encoder
from world4scorer.planner.pretrained.released import released_tensors
from world4scorer.planner.profiling.profile import count_parameters

HEADS: Final = 1
"""Attention heads of the paper's decoders."""
VIT_HEADS: Final = 6
"""Attention heads of the paper's ViT."""
ENCODER_FORMATS: Final = (dense_encoder_files.FORMAT, image_encoder.FORMAT)
"""Formats of files that say what an encoder is."""


def read_planner(
    path: Path, heads: int | None = None, vit_heads: int | None = None, image_size: tuple[int, int] | None = None
) -> Planner:
    """A planner from its folder, or from a released checkpoint or safetensors file.

    What released files do not tell may be given; a folder tells it.
    """
    if path.is_dir():
        given = {"--heads": heads, "--vit-heads": vit_heads, "--image-size": image_size}
        for option, value in given.items():
            if value is not None:
                config_file = ModelFolder(path).config_file.name
                raise ValueError(f"{option}: {path} is a folder, whose {config_file} says it; leave the option out")
        planner = Planner.from_pretrained(path)
    elif path.is_file() and path.suffix not in WEIGHT_FILES:
        raise ValueError(
            f"{path}: no planner; give the folder of a training run's planner, or a file of weights "
            f"({', '.join(WEIGHT_FILES)})"
        )
    else:
        planner = Planner.from_released(
            path, HEADS if heads is None else heads, VIT_HEADS if vit_heads is None else vit_heads, image_size
        )
    for name, tensor in planner.network.state_dict().items():
        if not tensor.isfinite().all():
            raise ValueError(f"{path}: {name} holds numbers that are not finite; the file is damaged")
    return planner


def encoder_notes(folder: Path) -> dict[str, Any] | None:
    """How the encoder of a folder was made; None if the folder is not that of an encoder."""
    config_file = ModelFolder(folder).config_file
    raw = read_json(config_file) if config_file.is_file() else {}
    return dict(raw.get("made", {})) if raw.get("format") in ENCODER_FORMATS else None


def copy_encoder(source: Path, folder: Path, overwrite: bool = False) -> None:
    """Write the files of an encoder's folder to another one."""
    files = zip(ModelFolder(folder).files, ModelFolder(source).files, strict=True)
    _write({there: here.read_bytes() for there, here in files}, overwrite)


def push_encoder(folder: Path, name: str, notes: Mapping[str, Any], private: bool | None = None) -> str:
    """Upload the folder of an encoder to a repository (user/repo), with a model card; returns its address."""
    files = {path.name: path.read_bytes() for path in ModelFolder(folder).files}
    card = encoder_card(name, notes).encode()
    return upload(name, {**files, CARD_FILE: card}, message="Upload encoder", private=private)


def start_planner(preset: str, dinov2: Path, seed: int) -> Planner:
    """A new planner of a preset with pretrained DINOv2 weights in its ViT; the rest is drawn from the seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        planner = Planner(PRESETS[preset]())
    planner.load_dinov2(dinov2)
    return planner


def save_planner(planner: Planner, folder: Path, overwrite: bool = False) -> None:
    """Write the folder of a planner; one that is there already stays, unless it is the same or may be overwritten."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"--out {folder}: is a file; a folder is needed")
    _write(planner.files(folder), overwrite)


def save_released(planner: Planner, file: Path, overwrite: bool = False) -> None:
    """Write a safetensors file under the released names."""
    if file.suffix != SAFETENSORS:
        raise ValueError(f"--out {file}: must end in {SAFETENSORS}")
    _write({file: as_safetensors(released_tensors(planner.network, file))}, overwrite)


def _write(contents: Mapping[Path, bytes], overwrite: bool) -> None:
    for path, content in contents.items():
        if path.is_dir():
            raise ValueError(f"--out: {path} is a folder; a file is to be written there")
        if not overwrite and path.exists() and not _holds(path, content):
            raise ValueError(f"{path}: there already, and not the same; --overwrite replaces it")
    write_together(contents)


def _holds(path: Path, content: bytes) -> bool:
    return path.stat().st_size == len(content) and path.read_bytes() == content


def description(planner: Planner) -> str:
    """Sizes and parameters, for people."""
    config = planner.config
    sizes = _sizes(config)
    counts = count_parameters(planner.network)
    learning = sum(parameter.numel() for parameter in planner.parameters() if parameter.requires_grad)
    rows = [(name, f"{count:>12,}") for name, count in counts.items()]
    rows += [("all parameters", f"{sum(counts.values()):>12,}"), ("  of them learning", f"{learning:>12,}")]
    wide = max(len(name) for name, _ in (*sizes, *rows))
    return "\n".join(f"{name:<{wide}}  {value}" for name, value in (*sizes, *rows))


def _sizes(config: ModelConfig) -> list[tuple[str, str]]:
    rows, columns = config.grid
    adapters = f", adapters of rank {config.lora_rank}" if config.lora_rank else ""
    return [
        ("views", f"{config.cameras} of {config.image_height} x {config.image_width}, {rows} x {columns} patches"),
        ("ViT", f"{config.vit_layers} blocks, width {config.vit_width}, {config.vit_heads} heads{adapters}"),
        ("scene tokens", f"{config.cameras} x {config.scene_queries}, width {config.width}"),
        ("decoders", f"{config.generator_layers} and {config.predictor_layers} blocks, heads: {config.heads}"),
        ("plans", f"{config.proposals} of {config.poses} poses"),
        ("ego status", f"{config.ego_numbers} numbers"),
        ("visual future", f"{config.future_width} features" if config.readout else "not read out"),
    ]
