"""The study of stability on the tiny city, with a planner of random weights."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.support.small_training import TrainingSet
from world4scorer.cli.run import main
from world4scorer.jobs.run_folder import RunFolder
from world4scorer.planner.model.images import normalise
from world4scorer.planner.planner import Planner
from world4scorer.planner.stability import Geometry
from world4scorer.planner.training.dataset import collate
from world4scorer.planner.training.losses import INVALID_TTC
from world4scorer.planner.training.supervision import TrainedScenes
from world4scorer.studies.shared.options import StabilityOptions
from world4scorer.studies.stability.scenes import KINDS, KeptScenes, Measure, RivalRadii, SceneRadii
from world4scorer.studies.stability.study import stability
from world4scorer.studies.stability.surface_figure import shown_plans
from world4scorer.studies.stability.surfaces import pick_scene, read_surfaces

FEW = StabilityOptions(supervised=3, scenes=2, rivals=2, detailed=1, mu=1.0, scales=(5.0,), draws=50)
FLAGS = ["--supervised", "3", "--scenes", "2", "--rivals", "2", "--detailed", "1", "--mu", "1.0", "--scales", "5.0"]


@pytest.fixture(scope="module")
def run(training_set: TrainingSet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was not trained: its planner's weights are random."""
    folder = tmp_path_factory.mktemp("stability") / "run"
    folder.mkdir()
    RunFolder(folder).config_file.write_text(training_set.config.to_json())
    known = {
        name: None if value is None else str(value)
        for name, value in asdict(training_set.data).items()
        if name != "rollouts"
    }
    RunFolder(folder).data_file.write_text(json.dumps(known))
    torch.manual_seed(0)
    planner = Planner(training_set.config.model)
    for parameter in planner.parameters():
        torch.nn.init.normal_(parameter, std=0.15)
    planner.save_pretrained(folder / "planner")
    return folder


def test_supervision_is_that_of_training(run):
    trained = TrainedScenes.of_run(run)
    planner = Planner.from_pretrained(run / "planner")
    places = trained.draw(4)
    names = trained.dataset.samples.log_names
    assert len({names[place] for place in places}) == min(4, len(set(names)))
    assert trained.draw(4) == places != trained.draw(4, seed=1)
    scenes = trained.scenes(planner, places)
    batch = collate([trained.dataset[place, trained.config.epochs - 1] for place in places])
    assert torch.equal(scenes.bank, batch.bank) and torch.equal(scenes.executed, batch.trajectory)
    plans = planner(normalise(batch.views), batch.ego_status, batch.cameras).plans
    table = trained.labels.submit(batch.tokens, plans).result()
    assert torch.equal(scenes.ttc_valid, table[..., 3] != INVALID_TTC)
    held = trained.supervision(planner, places)
    assert held.scenes == 4 and len(held.outcomes) == 2 and held.future_weight == trained.config.losses.future
    with pytest.raises(ValueError, match="supervised: 1000 scenes wanted"):
        trained.draw(1000)


def test_plan_sampling_is_part_of_the_function(run):
    """The same logits as the planner's own, and a gradient for the layer behind what was read."""
    trained = TrainedScenes.of_run(run)
    planner = Planner.from_pretrained(run / "planner")
    scenes = trained.scenes(planner, trained.draw(2))
    scorer = trained.supervision(planner, trained.draw(1)).scorer
    network = planner.network
    with torch.no_grad():
        scene, ego = network.encode(scenes.image), network.encode_ego(scenes.ego_status)
        plans = network.propose(scene, ego)
        expected = network.score(network.predict(plans, scene, ego, scenes.cameras), ego)
    found = scorer.observe(scorer.theta, scorer.call(plans, scene, ego, scenes.cameras), "logits")
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    assert "sampled.weight" in scorer.names and not any("reduce" in name or "fine" in name for name in scorer.names)
    with pytest.raises(ValueError, match="cameras: missing"):
        scorer.call(plans, scene, ego)


def test_the_study(run, tmp_path, monkeypatch):
    out = tmp_path / "out"
    assert main(["study", "stability", str(run), *FLAGS, "--draws", "50", "--other", str(run), "--out", str(out)]) == 0
    content = json.loads((out / "stability.json").read_text())
    numbers = content["numbers"]
    assert numbers["scenes"] == 2 and numbers["pairs"] == 4 == numbers["not_larger"]
    assert numbers["proven_smaller"] <= numbers["condition_holds"] == 4
    assert 0 < numbers["ratio"]["value"] < 1 and numbers["widest_bracket"] <= 1e-4
    assert numbers["woodbury_pairs"] == 1 and numbers["woodbury_error"] < 1e-3
    assert set(numbers["taken_off_by_labels"]) == set(KINDS)
    assert all(one["value"] >= 0 for one in numbers["taken_off_by_labels"].values())
    assert numbers["ratio_nearest_by_mu"].keys() == {"1", "5"}
    assert numbers["other_choice_differs"]["value"] == 0 and numbers["other_auc"] is None  # the same planner
    shares = [one["out_future"]["value"] for one in numbers["certified"].values()]
    assert shares == sorted(shares, reverse=True)
    assert all(one["out"]["value"] <= one["out_future"]["value"] for one in numbers["certified"].values())
    assert (out / "stability.png").stat().st_size > 5000
    assert (out / "stability_surfaces.png").stat().st_size > 5000

    # Again: nothing is measured that is there.
    monkeypatch.setattr(Measure, "__call__", lambda *_: pytest.fail("measured again"))
    monkeypatch.setattr("world4scorer.studies.stability.study.Geometry.of", lambda *_: pytest.fail("prepared again"))
    again = stability(run, replace(FEW, other=run), out)
    assert json.loads(json.dumps(again.numbers)) == numbers
    # What is damaged, or of another question, would be.
    file = sorted((out / "stability_scenes").glob("*.json"))[0]
    signature = json.loads(file.read_text())["signature"]
    assert KeptScenes(file.parent, signature).read(file.stem) is not None
    assert KeptScenes(file.parent, "another").read(file.stem) is None
    file.write_text("{")
    assert KeptScenes(file.parent, signature).read(file.stem) is None


def test_surfaces_disagree_only_without_futures(run, tmp_path):
    """At a budget between the two critical ones, the lead of the choice over its rival turns only without futures."""
    stability(run, FEW, tmp_path)
    file = tmp_path / "stability_scenes" / "surfaces.json"
    surfaces = read_surfaces(file, json.loads(file.read_text())["signature"])
    scene = KeptScenes(file.parent, surfaces_signature(file)).read(surfaces.token)
    pair = scene.nearest
    assert (surfaces.choice, surfaces.rival) == (scene.choice, pair.rival)
    assert pair.critical_out < surfaces.epsilon < pair.critical
    for future, radius in ((False, pair.out), (True, pair.both)):
        towards_choice, towards_rival = (one[scene.choice] - one[pair.rival] for one in surfaces.surfaces(future))
        assert towards_choice - pair.lead == pytest.approx(surfaces.epsilon * radius, rel=1e-3)
        assert pair.lead - towards_rival == pytest.approx(surfaces.epsilon * radius, rel=1e-3)
        assert (towards_rival > 0) == future
    assert {scene.choice, pair.rival} <= set(shown_plans(surfaces).tolist())
    assert read_surfaces(file, "another") is None


def test_a_stopped_study_ends_with_the_same_numbers(run, tmp_path, monkeypatch):
    """Scenes are solved in the groups that they would have been in, and kept ones stay."""
    question = replace(FEW, scenes=3)
    stability(run, question, tmp_path)
    folder = tmp_path / "stability_scenes"
    whole = {path.name: path.read_bytes() for path in folder.glob("*.json")}
    groups = []

    def recorded(measure, tokens, *rest):
        groups.append(list(tokens))
        return plain(measure, tokens, *rest)

    plain = Measure.__call__
    monkeypatch.setattr(Measure, "__call__", recorded)
    scenes = [KeptScenes(folder, surfaces_signature(folder / "surfaces.json")).read(name[:-5]) for name in whole]
    detailed = {one.token for one in scenes if one is not None and one.scales}
    lost = next(one.token for one in scenes if one is not None and not one.scales)
    for name in (f"{lost}.json", "surfaces.json"):
        (folder / name).unlink()
    (folder / ".surfaces.json.0a1b2c3d.tmp").touch()
    stability(run, question, tmp_path)
    assert {path.name: path.read_bytes() for path in folder.glob("*.json")} == whole
    assert [set(group) for group in groups] == [{one.token for one in scenes if one is not None} - detailed]
    assert not list(folder.glob(".*.tmp"))


def surfaces_signature(file):
    return json.loads(file.read_text())["signature"].split()[0]


def test_the_scene_of_the_surfaces():
    def scene(lead, out, both, smaller=True):
        pair = RivalRadii(1, False, lead, out, both, 0.0, smaller, 1.0, 1)
        return SceneRadii("token", 0, 9.0, (pair,), (), {}, {}, None)

    scenes = [scene(1.0, 2.0, 1.9), scene(1.0, 2.0, 1.5), scene(1.0, 2.0, 1.0, smaller=False), scene(0.0, 2.0, 1.0)]
    assert pick_scene(scenes, [True] * 4) == 1
    assert pick_scene(scenes, [True, False, True, True]) == 0
    assert pick_scene(scenes[2:], [True, True]) is None


def test_errors(run, tmp_path):
    for change, message in (
        ({"supervised": 0}, "supervised: 0; at least 1"),
        ({"mu": -1.0}, "mu: -1.0; above 0"),
        ({"scenes": 10_000}, "scenes: 10000 wanted"),
    ):
        with pytest.raises(ValueError, match=message):
            stability(run, replace(FEW, **change), tmp_path)


def test_the_planners_own_way(run):
    """As docs/model.md shows it."""
    planner = Planner.from_pretrained(run / "planner")
    trained = TrainedScenes.of_run(run)
    geometry = Geometry.of(trained.supervision(planner, trained.draw(2)), mu=1.0, tests=20)
    scenes = trained.scenes(planner, trained.draw(2, seed=1))
    held = planner.stability(scenes.image, scenes.ego_status, geometry, scenes.cameras, epsilon=0.003)
    chosen = planner(scenes.image, scenes.ego_status, scenes.cameras).choice("v1")
    assert torch.equal(held.choice, chosen)
    assert held.radius.shape == (2, 3) and (held.radius <= held.radius_out * (1 + 1e-4)).all()
    assert not (held.certified & held.fragile).any()
    np.testing.assert_allclose(held.critical, (held.lead / held.radius).min(1).values)
