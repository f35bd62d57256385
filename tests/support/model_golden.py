"""The tiny released model of tests/golden/model, and models small enough for tests."""

from __future__ import annotations

import json
from functools import cache

import torch
from safetensors.torch import load_file

from tests.support.golden import COMPACT
from world4scorer.planner.model import ModelConfig
from world4scorer.planner.planner import Planner

FOLDER = COMPACT / "model"
WEIGHTS = FOLDER / "weights.safetensors"

torch.set_num_threads(1)

TINY = ModelConfig(
    image_height=28,
    image_width=42,
    cameras=2,
    vit_width=24,
    vit_layers=2,
    vit_heads=3,
    lora_rank=3,
    scene_queries=2,
    width=16,
    heads=2,
    feed_forward=32,
    generator_layers=1,
    predictor_layers=2,
    proposals=5,
    future_width=24,
)


def golden_planner() -> Planner:
    return Planner.from_released(WEIGHTS, heads=1, vit_heads=3)


@cache
def inputs() -> dict[str, torch.Tensor]:
    return load_file(FOLDER / "inputs.safetensors")


@cache
def outputs() -> dict[str, torch.Tensor]:
    return load_file(FOLDER / "outputs.safetensors")


@cache
def expected() -> dict:
    return json.loads((FOLDER / "expected.json").read_text())


def tiny_planner(**changes) -> Planner:
    """A small planner with random numbers in every tensor, also where training starts from zero."""
    from dataclasses import replace

    torch.manual_seed(5)
    planner = Planner(replace(TINY, **changes))
    for parameter in planner.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    return planner


def tiny_inputs(config: ModelConfig = TINY, scenes: int = 3) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(7)
    image = torch.randn(scenes, config.cameras, 3, config.image_height, config.image_width, generator=generator)
    return image, torch.randn(scenes, config.ego_numbers, generator=generator)
