"""Attention by blocks against the fused one."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from world4scorer.planner import bf16_attention
from world4scorer.planner.model import city_vit
from world4scorer.planner.model.vision_transformer import VisionTransformer

CONFIG = replace(
    city_vit(), image_height=28, image_width=70, patch=7, vit_width=32, vit_heads=2, vit_layers=2, crop_top=0
)


@pytest.fixture
def blocks_of_five(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bf16_attention, "MIN_TOKENS", 1)
    monkeypatch.setattr(bf16_attention, "BLOCK", 5)
    monkeypatch.setattr(bf16_attention, "_multiplies_bf16_without_amx", lambda: True)


def test_blocks_give_what_fused_attention_gives(blocks_of_five: None, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    vit = VisionTransformer(CONFIG).eval()
    image, extra = torch.randn(2, 3, 28, 70), torch.randn(2, 3, 32)
    with torch.no_grad():
        exact = vit(image, extra)
        vit.bfloat16()
        fused = vit(image.bfloat16(), extra.bfloat16())
        bf16_attention.use_blocks(vit)
        calls = []
        fused_function = bf16_attention.sdpa_attention_forward
        monkeypatch.setattr(
            bf16_attention, "sdpa_attention_forward", lambda *a, **o: calls.append(1) or fused_function(*a, **o)
        )
        blocks = vit(image.bfloat16(), extra.bfloat16())
    assert not calls
    rounding = (fused - exact).abs().max()
    assert 0 < (blocks - exact).abs().max() < 2 * rounding < 0.2


@pytest.mark.parametrize("case", ["float32", "gradients", "few tokens"])
def test_elsewhere_the_fused_one_is_used(blocks_of_five: None, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    if case == "few tokens":
        monkeypatch.setattr(bf16_attention, "MIN_TOKENS", 1000)
    kind = torch.float32 if case == "float32" else torch.bfloat16
    torch.manual_seed(0)
    vit = VisionTransformer(CONFIG).eval().to(kind)
    image, extra = torch.randn(1, 3, 28, 70).to(kind), torch.randn(1, 3, 32).to(kind)
    with torch.set_grad_enabled(case == "gradients"):
        before = vit(image, extra)
        bf16_attention.use_blocks(vit)
        assert torch.equal(vit(image, extra), before)
