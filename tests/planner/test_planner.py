from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import world4scorer
from tests.support.model_golden import TINY, tiny_inputs, tiny_planner
from world4scorer.jobs.files import read_json
from world4scorer.planner.bundled import BUNDLED_PLANNERS, planner_folder
from world4scorer.planner.model import COMPONENTS, ModelConfig, baseline, city, city_vit, paper
from world4scorer.planner.model.dense_encoder_files import load_dense_encoder
from world4scorer.planner.planner import Planner, ScoredPlans


def test_public_name():
    assert world4scorer.Planner is Planner


def test_folder_round_trip(tmp_path):
    planner = tiny_planner()
    planner.save_pretrained(tmp_path / "new" / "planner")
    assert sorted(path.name for path in (tmp_path / "new" / "planner").iterdir()) == [
        "config.json",
        "model.safetensors",
    ]
    again = Planner.from_pretrained(tmp_path / "new" / "planner")
    assert again.config == planner.config and not again.training
    assert all(torch.equal(tensor, again.state_dict()[name]) for name, tensor in planner.state_dict().items())
    planner.bfloat16().save_pretrained(tmp_path / "half")
    assert Planner.from_pretrained(tmp_path / "half").network.dtype == torch.bfloat16


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.update(width=12), r"model\.safetensors: tensor .* has shape"),
        (lambda c: c.update(colour=1), "no such setting: 'colour'"),
        (lambda c: c.update(width="wide"), "width: 'wide' is no int"),
        (lambda c: c.update(readout=1), "readout: 1 is no bool"),
        (lambda c: c.update(format="other"), "not a planner's configuration"),
        (lambda c: c.update(image_width=43), "image_width: 43 is no multiple"),
        (lambda c: c.update(predictor_layers=3), r"model\.safetensors: missing: tensor .* and \d+ more"),
        (lambda c: c.update(readout=False), "not part of the model"),
    ],
)
def test_bad_folders(tmp_path, change, message):
    tiny_planner().save_pretrained(tmp_path)
    raw = read_json(tmp_path / "config.json")
    change(raw)
    (tmp_path / "config.json").write_text(json.dumps(raw))
    with pytest.raises(ValueError, match=message):
        Planner.from_pretrained(tmp_path)


def test_missing_and_broken_files(tmp_path):
    with pytest.raises(ValueError, match="not the folder of a planner"):
        Planner.from_pretrained(tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ValueError, match="cannot be read as JSON"):
        Planner.from_pretrained(tmp_path)
    (tmp_path / "config.json").write_text(TINY.to_json())
    with pytest.raises(ValueError, match=r"model\.safetensors: no such file"):
        Planner.from_pretrained(tmp_path)


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    planner = tiny_planner()
    planner.save_pretrained(tmp_path)
    before = (tmp_path / "model.safetensors").read_bytes()

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        tiny_planner(lora_rank=1).save_pretrained(tmp_path)
    assert (tmp_path / "model.safetensors").read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision(dtype):
    planner = tiny_planner()
    image, ego = tiny_inputs()
    whole = planner(image, ego)
    half = planner.to(dtype)(image, ego)
    assert half.plans.dtype == half.utility("v1").dtype == torch.float32
    assert half.states.dtype == dtype
    torch.testing.assert_close(half.plans, whole.plans, rtol=0.1, atol=0.3)
    torch.testing.assert_close(half.utility("v1"), whole.utility("v1"), rtol=0.1, atol=0.3)
    assert planner.readout(half.states.float()).shape == (3, 5, 24)
    assert planner.score(image, ego, whole.plans.double()).plans.dtype == torch.float32


def test_autocast_keeps_plans_exact():
    planner = tiny_planner()
    image, ego = tiny_inputs()
    whole = planner(image, ego)
    with torch.autocast("cpu", torch.bfloat16):
        cast = planner(image, ego)
    assert cast.plans.dtype == torch.float32 and cast.logits["comfort"].dtype == torch.float32
    torch.testing.assert_close(cast.plans, whole.plans, rtol=0.1, atol=0.3)


@pytest.mark.slow
def test_compiled():
    planner = tiny_planner()
    image, ego = tiny_inputs()
    whole = planner(image, ego)
    compiled = torch.compile(planner)(image, ego)
    torch.testing.assert_close(compiled.plans, whole.plans, rtol=0, atol=1e-5)
    torch.testing.assert_close(compiled.utility("v2"), whole.utility("v2"), rtol=0, atol=1e-4)


def test_inference_keeps_no_graph_and_drops_nothing():
    planner = tiny_planner()
    image, ego = tiny_inputs()
    first, second = planner(image, ego), planner(image, ego)
    assert not first.plans.requires_grad and not first.states.requires_grad
    assert torch.equal(first.plans, second.plans)
    planner.train()
    assert not torch.equal(planner(image, ego).plans, first.plans)


def test_scenes_do_not_see_each_other():
    planner = tiny_planner()
    image, ego = tiny_inputs()
    together = planner(image, ego)
    alone = planner(image[1:2], ego[1:2])
    torch.testing.assert_close(together.plans[1:2], alone.plans)
    torch.testing.assert_close(together.states[1:2], alone.states)


def test_one_foreign_plan():
    planner = tiny_planner()
    image, ego = tiny_inputs()
    scored = planner.score(image, ego, torch.randn(3, 1, 8, 3))
    assert scored.states.shape == (3, 1, 16) and scored.choice().tolist() == [0, 0, 0]
    assert set(scored.logits) == set(COMPONENTS)


@pytest.mark.parametrize(
    ("image", "ego", "plans", "message"),
    [
        ((3, 2, 3, 28, 28), (3, 11), None, r"image: shape \(3, 2, 3, 28, 28\); \(scenes, 2, 3, 28, 42\)"),
        ((2, 3, 28, 42), (3, 11), None, "image: shape"),
        ((3, 2, 3, 28, 42), (3, 13), None, r"ego_status: shape \(3, 13\)"),
        ((3, 2, 3, 28, 42), (2, 11), None, "ego_status: 2 scenes, but image has 3"),
        ((3, 2, 3, 28, 42), (3, 11), (3, 8, 3), "plans: shape"),
        ((3, 2, 3, 28, 42), (3, 11), (1, 4, 8, 3), r"\(3, plans, 8, 3\) is needed"),
    ],
)
def test_wrong_shapes(image, ego, plans, message):
    planner = tiny_planner()
    with pytest.raises(ValueError, match=message):
        if plans is None:
            planner(torch.zeros(image), torch.zeros(ego))
        else:
            planner.score(torch.zeros(image), torch.zeros(ego), torch.zeros(plans))


def test_ties_go_to_the_lowest_index():
    logits = {name: torch.tensor([[0.0, 1.0, 1.0, -1.0, 1.0]]) for name in COMPONENTS}
    scored = ScoredPlans(torch.zeros(1, 5, 8, 3), torch.zeros(1, 5, 4), logits)
    assert scored.choice("v1").tolist() == scored.choice("v2").tolist() == [1]
    level = ScoredPlans(scored.plans, scored.states, {name: torch.zeros(2, 64) for name in COMPONENTS})
    assert level.choice().tolist() == [0, 0]


def test_presets():
    assert paper() == ModelConfig()
    assert city_vit().grid == (3, 7) and city().proposals == city_vit().proposals == 64 and city().cameras == 4
    assert not baseline().readout
    assert ModelConfig.from_json(city().to_json(), "here") == city()
    for wrong in ({"encoder": "eyes"}, {"vocabulary": 100}, {"vocabulary": 9, "anchors": True, "encoder": "dense"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            ModelConfig(**wrong)
    for wrong in ({"heads": 3}, {"vit_heads": 5}, {"patch": 16}, {"proposals": 0}, {"dropout": 1.0}, {"width": 2.5}):
        with pytest.raises(ValueError, match=next(iter(wrong)) if "patch" not in wrong else "image_width"):
            ModelConfig(**wrong)


def test_everything_of_the_city_model_learns_but_its_encoder():
    assert all(parameter.requires_grad for parameter in Planner(city_vit()).network.parameters())
    network = Planner(city()).network
    frozen = {name for name, parameter in network.named_parameters() if not parameter.requires_grad}
    assert frozen == {name for name, _ in network.named_parameters() if name.startswith("encoder.perceiver.")} != set()


def test_the_bundled_driver_reads_plans_along_the_route():
    planner = Planner.from_pretrained("city-driver")
    assert planner.config == replace(city(), ego_numbers=21, route_reading=True)
    ahead = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.7, 0.5], [0.5, 0.6]])  # the route turns left
    status = torch.cat([torch.tensor([0, 0, 0, 5.0, 0, 0, 0, 0, 1, 0, 0, 20.0, 0.0]), ahead.flatten()])
    scored = planner(torch.zeros(1, 4, 3, 84, 196), status[None])
    assert scored.plans.shape == (1, 64, 8, 3) and scored.utility("v1").isfinite().all()


def test_the_bundled_planner_is_found_by_name_unless_a_folder_has_that_name(tmp_path, monkeypatch):
    planner = Planner.from_pretrained("city")
    assert planner.config == city()
    encoder = load_dense_encoder("city").state_dict()
    assert all(
        torch.equal(encoder[name], tensor) for name, tensor in planner.network.encoder.perceiver.state_dict().items()
    )
    assert len({tuple(row) for row in planner.network.generator.anchors.flatten(1).tolist()}) == city().vocabulary
    scored = planner(torch.zeros(1, 4, 3, 84, 196), torch.tensor([[0, 0, 0, 5.0, 0, 0, 0, 0, 1, 0, 0]]))
    assert scored.plans.shape == (1, 64, 8, 3) and scored.utility("v2").isfinite().all()
    monkeypatch.chdir(tmp_path)
    assert planner_folder("city") == BUNDLED_PLANNERS["city"] and planner_folder("other") == Path("other")
    tiny_planner().save_pretrained("city")
    assert planner_folder("city") == Path("city") and Planner.from_pretrained("city").config != city()
