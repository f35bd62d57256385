from __future__ import annotations

import pytest
import torch

from tests.support.model_golden import expected, golden_planner, inputs, outputs
from world4scorer.planner.model import COMPONENTS

TOLERANCE = 2e-5


def close(given, wanted):
    torch.testing.assert_close(given, wanted, rtol=0, atol=TOLERANCE)


@pytest.fixture(scope="module")
def planner():
    return golden_planner()


def test_sizes_are_read_from_shapes(planner):
    config, given = planner.config, expected()["config"]
    assert [config.image_height, config.image_width] == given["image_hw"]
    pairs = {
        "vit_width": "vit_dim",
        "vit_layers": "vit_layers",
        "registers": "registers",
        "lora_rank": "lora_rank",
        "width": "width",
        "feed_forward": "ffn",
        "scene_queries": "scene_tokens",
        "cameras": "cameras",
        "ego_numbers": "ego_dim",
        "proposals": "proposals",
        "generator_layers": "decoder_layers",
        "predictor_layers": "predictor_layers",
        "poses": "poses",
        "future_width": "future_dim",
    }
    assert {ours: getattr(config, ours) for ours in pairs} == {ours: given[theirs] for ours, theirs in pairs.items()}


def test_outputs(planner):
    given, wanted = inputs(), outputs()
    scored = planner(given["image"], given["ego_status"])
    with torch.no_grad():
        close(planner.network.encode(given["image"]).tokens, wanted["scene_tokens"])
    close(scored.plans, wanted["proposals"])
    close(scored.states, wanted["states"])
    for name in COMPONENTS:
        close(scored.logits[name], wanted[f"logit.{name}"])
    for benchmark in ("v1", "v2"):
        close(scored.utility(benchmark), wanted[f"utility.{benchmark}"])
        assert scored.choice(benchmark).tolist() == wanted[f"utility.{benchmark}"].argmax(1).tolist()


def test_readout_of_the_executed_plan(planner):
    given = inputs()
    states = planner.score(given["image"], given["ego_status"], given["trajectory"][:, None]).states
    close(planner.readout(states[:, 0]), outputs()["future_readout"])


def test_scoring_its_own_plans_changes_nothing(planner):
    given = inputs()
    own = planner(given["image"], given["ego_status"])
    again = planner.score(given["image"], given["ego_status"], own.plans)
    assert torch.equal(own.states, again.states)
    assert all(torch.equal(own.logits[name], again.logits[name]) for name in COMPONENTS)
    judged = planner.judge(own.states, given["ego_status"])
    assert all(torch.equal(own.logits[name], judged[name]) for name in COMPONENTS)


def test_merged_adapters_plan_the_same(planner, tmp_path):
    given = inputs()
    own, merged = planner(given["image"], given["ego_status"]), planner.merged()
    assert merged.config.lora_rank == 0 and planner.config.lora_rank == 4
    assert not any(".down." in name or ".up." in name for name in merged.state_dict())
    merged.save_pretrained(tmp_path)
    for other in (merged, type(planner).from_pretrained(tmp_path)):
        same = other(given["image"], given["ego_status"])
        torch.testing.assert_close(same.plans, own.plans, rtol=0, atol=1e-5)
        torch.testing.assert_close(same.utility("v1"), own.utility("v1"), rtol=0, atol=1e-5)
