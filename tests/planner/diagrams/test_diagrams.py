"""Diagrams say what autograd and the network say."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
import torch

from tests.support.small_training import SMALL
from world4scorer.cli.run import main
from world4scorer.planner.diagrams import gradient_figure
from world4scorer.planner.diagrams.gradient_figure import FUTURES, OUTCOMES, OWN, draw_gradient_routes, panels_of
from world4scorer.planner.diagrams.gradient_routes import (
    ACTION_ENCODER,
    EGO_ENCODER,
    EXCHANGE,
    GENERATOR,
    IMAGE_ENCODER,
    PLAN_SAMPLING,
    PREDICTOR,
    READOUT,
    SCENE_TOKENS,
    SCORE_HEADS,
    SCREEN,
    gradient_routes,
)
from world4scorer.planner.diagrams.model_facts import model_facts
from world4scorer.planner.diagrams.overview_figure import draw_overview
from world4scorer.planner.model.encoded import SceneFeatures
from world4scorer.planner.model.network import Network
from world4scorer.planner.training.config import baseline, city, city_vit, paper
from world4scorer.planner.training.losses import LossConfig

SCORED = {SCENE_TOKENS, EGO_ENCODER, ACTION_ENCODER, PREDICTOR, EXCHANGE, SCORE_HEADS}
IMITATED = {SCENE_TOKENS, EGO_ENCODER, GENERATOR}


def test_routes_of_the_paper():
    """Section 3.3: plans enter without gradient, the future sees scenes without; one query exchanges nothing."""
    reached = gradient_routes(paper()).reached
    assert reached == {
        "imitation": IMITATED,
        "score": SCORED,
        "bank": SCORED,
        "future": {ACTION_ENCODER, PREDICTOR, READOUT},
    }
    assert list(reached) == ["imitation", "score", "bank", "future"]


def test_routes_of_other_configurations():
    assert gradient_routes(baseline()).reached == {"imitation": IMITATED, "score": SCORED}
    small_city = gradient_routes(city())
    assert small_city.reached["screen"] == {SCREEN}
    assert small_city.reached["future"] == {PLAN_SAMPLING, ACTION_ENCODER, PREDICTOR, READOUT}
    assert IMAGE_ENCODER in small_city.parts and IMAGE_ENCODER not in small_city.trained
    assert IMAGE_ENCODER in gradient_routes(city_vit()).reached["score"]  # trained with the planner
    covering = replace(paper(), losses=LossConfig(coverage=1.0))
    assert gradient_routes(covering).reached["coverage"] == IMITATED


def test_routes_are_measured(monkeypatch):
    """A model whose future path sees the scene with gradient has another diagram."""
    monkeypatch.setattr(SceneFeatures, "detach", lambda self: self)
    assert SCENE_TOKENS in gradient_routes(paper()).reached["future"]


def test_measuring_leaves_random_numbers_alone():
    torch.manual_seed(1)
    before = torch.random.get_rng_state()
    gradient_routes(baseline())
    assert torch.equal(torch.random.get_rng_state(), before)


def test_panels():
    assert list(panels_of(paper())) == [OUTCOMES, FUTURES, OWN]
    assert list(panels_of(baseline())) == [OWN]
    assert list(panels_of(replace(paper(), auxiliary_target="none"))) == [OUTCOMES, OWN]


def test_the_figure_has_a_mark_for_each_part_that_a_loss_reaches():
    figure = draw_gradient_routes(paper(), "title")
    marks = [line.get_gid() for line in figure.axes[0].lines if line.get_gid()]
    wanted = [
        f"{loss}:{part}"
        for one in panels_of(paper()).values()
        for loss, parts in gradient_routes(one).reached.items()
        for part in parts
    ]
    assert sorted(marks) == sorted(wanted)
    words = [text.get_text() for text in figure.axes[0].texts]
    assert "0.5 x bank" in words and "outcomes of 16 bank plans" in words


def test_the_current_view_is_named_as_such():
    config = replace(paper(), auxiliary_target="current")
    assert gradient_figure.supervision(config)["future"].startswith("current view")


def test_facts_are_those_of_a_network():
    facts, network = model_facts(SMALL.model), Network(SMALL.model)
    assert sum(facts.parameters.values()) == sum(part.numel() for part in network.parameters())
    assert facts.parameters[READOUT] == sum(part.numel() for part in network.readout.parameters())
    assert facts.shapes.plans == (SMALL.model.proposals, SMALL.model.poses, 3)
    assert facts.shapes.states == (SMALL.model.proposals, SMALL.model.width)


@pytest.mark.parametrize("config", [paper(), city()], ids=["paper", "city"])
def test_the_overview_tells_sizes(config):
    texts = [text.get_text() for text in draw_overview(config, "title").axes[0].texts]
    said = "\n".join(texts)
    model = config.model
    assert f"{model.image_height} x {model.image_width}" in said and f"{model.future_width} features" in said
    assert f"outcomes of {config.bank_draw.count} bank plans" in said and f"{model.proposals} plans x" in said
    trained = next(text for text in texts if text.startswith("view 2 s later"))
    named = re.sub(r"\s+", " ", trained.partition("trains ")[2])
    assert set(named.split(", ")) == gradient_routes(config).reached["future"]


def test_the_overview_of_a_baseline_has_neither_future_nor_bank():
    said = "\n".join(text.get_text() for text in draw_overview(baseline(), "title").axes[0].texts)
    assert "readout" not in said and "bank plans" not in said and "outcomes of 64 generated plans" in said


def test_command(tmp_path, capsys):
    assert main(["diagram", "--preset", "baseline", "--out", str(tmp_path / "made"), "--format", "svg"]) == 0
    assert {path.name for path in (tmp_path / "made").iterdir()} == {"gradient_routes.svg", "overview.svg"}
    (tmp_path / "config.json").write_text(replace(SMALL, losses=LossConfig(future=0.0)).to_json())
    assert main(["diagram", "--run", str(tmp_path), "--out", str(tmp_path / "own")]) == 0
    assert (tmp_path / "own" / "overview.png").stat().st_size > 10_000
    assert main(["diagram", "--run", str(tmp_path / "made"), "--out", str(tmp_path / "own")]) != 0
    assert "not the folder of a training run" in capsys.readouterr().err
    assert main(["diagram", "--preset", "city", "--run", str(tmp_path), "--out", str(tmp_path)]) != 0
