from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

import world4scorer as w4s
from tests.support.scenes import make_plans, make_scene
from world4scorer.drawing.birdseye import draw_scene, save
from world4scorer.drawing.ego_frame import EgoFrame
from world4scorer.drawing.faults import Fault, faults_of, forgiven_of
from world4scorer.drawing.surroundings import red_light_in_view
from world4scorer.engine.scene import Light, SceneError, TrackType


def test_scene_alone(tmp_path: Path) -> None:
    for scene in (make_scene(), make_scene(complete=False), make_scene(count=0)):
        save(draw_scene(scene), tmp_path / "scene.png", dpi=50)
        with Image.open(tmp_path / "scene.png") as picture:
            assert picture.size == (520, 260)
            assert np.asarray(picture.convert("L")).std() > 10


@pytest.mark.parametrize("judge", [w4s.label, w4s.pdms, w4s.epdms])
def test_plans_with_outcomes_and_faults(judge, tmp_path: Path) -> None:
    scene = make_scene(3)
    plans = make_plans(scene, 12)
    outcome = judge(scene, plans)
    for chosen in (None, 0, 11):
        figure = draw_scene(scene, plans, outcome, chosen)
        text = " ".join(entry.get_text() for axes in figure.axes for entry in axes.texts)
        plan = int(np.argmax(outcome.score)) if chosen is None else chosen
        assert f"plan {plan}" in text and scene.token in text
        for fault in faults_of(outcome, plan):
            assert fault.text in text
    save(figure, tmp_path / "picture.svg")
    assert (tmp_path / "picture.svg").read_bytes().startswith(b"<?xml")


def test_faults_are_the_causes() -> None:
    scene = make_scene(3)
    plans = make_plans(scene, 12)
    outcome = w4s.epdms(scene, plans)
    found = 0
    for plan in range(12):
        faults = faults_of(outcome, plan)
        assert [fault.number for fault in faults] == list(range(1, len(faults) + 1))
        assert {fault.metric for fault in faults} == {
            name for name, cause in outcome.causes.items() if cause.violated[plan]
        }
        for fault in faults:
            assert (outcome.causes[fault.metric].of(plan) or "").startswith(fault.text.split(",")[0])
        found += len(faults)
    assert found > 0


def test_plans_without_outcome_and_with_utilities() -> None:
    scene = make_scene()
    plans = make_plans(scene, 5)
    draw_scene(scene, plans)
    draw_scene(scene, plans[:1])
    draw_scene(scene, plans[:0])
    figure = draw_scene(scene, plans, w4s.pdms(scene, plans), utilities=[0, 0, 9, 0, 0])
    assert any("plan 2" in entry.get_text() for axes in figure.axes for entry in axes.texts)


def test_bad_arguments() -> None:
    scene = make_scene()
    plans = make_plans(scene, 3)
    with pytest.raises(SceneError, match="chosen: plan 3 of 3"):
        draw_scene(scene, plans, chosen=3)
    with pytest.raises(SceneError, match="outcome: of 3 plans, 2 given"):
        draw_scene(scene, plans[:2], w4s.pdms(scene, plans))
    with pytest.raises(SceneError, match="plans: outcome and utilities belong to plans"):
        draw_scene(scene, utilities=[1.0])


def test_same_picture_every_time() -> None:
    scene = make_scene()
    plans = make_plans(scene, 4)
    pictures = []
    for _ in range(2):
        stream = io.BytesIO()
        draw_scene(scene, plans, w4s.epdms(scene, plans)).savefig(stream, dpi=40)
        pictures.append(stream.getvalue())
    assert pictures[0] == pictures[1]


def test_frame() -> None:
    frame = EgoFrame(100.0, 50.0, np.pi / 2)
    np.testing.assert_allclose(frame.local(np.array([[100.0, 60.0], [90.0, 50.0]])), [[10, 0], [0, 10]], atol=1e-12)
    box = frame.ego_box(np.array([100.0, 50.0, np.pi / 2]))
    np.testing.assert_allclose(box.max(axis=0), [4.049, 2.297 / 2], atol=1e-12)


def test_what_the_human_filter_forgives_is_shown() -> None:
    scene = make_scene(3)
    plans = make_plans(scene, 12)
    outcome = w4s.epdms(scene, plans)
    raw = outcome.raw.copy()
    raw[0, 0] = 0.0
    outcome = replace(outcome, raw=raw, nc=np.ones(12))
    assert "NC" in forgiven_of(outcome, 0)
    figure = draw_scene(scene, plans, outcome, chosen=0)
    assert any("0 → 1" in entry.get_text() for axes in figure.axes for entry in axes.texts)


def texts(figure) -> str:
    return " ".join(entry.get_text() for axes in figure.axes for entry in axes.texts)


def test_another_plan_than_the_choice_is_explained() -> None:
    scene = make_scene(3)
    plans = make_plans(scene, 12)
    outcome = w4s.epdms(scene, plans)
    worst = int(np.argmin(outcome.score))
    best = int(np.argmax(outcome.score))
    other = next(plan for plan in range(12) if plan not in (worst, best))
    figure = draw_scene(scene, plans, outcome, utilities=outcome.score, framewise=other, explained=worst)
    assert f"plan {worst}" in texts(figure) and f"chosen: plan {best}" in texts(figure)
    for fault in faults_of(outcome, worst):
        assert fault.text in texts(figure)
    legend = [entry.get_text() for axes in figure.axes if (key := axes.get_legend()) for entry in key.get_texts()]
    assert {"choice", "plan asked for", "framewise choice", "plans, dark is good"} <= set(legend)
    with pytest.raises(SceneError, match="explained: plan 12 of 12"):
        draw_scene(scene, plans, outcome, explained=12)


def test_a_thumbnail_has_a_score_and_no_column(tmp_path: Path) -> None:
    scene = make_scene(3)
    plans = make_plans(scene, 12)
    outcome = w4s.epdms(scene, plans)
    figure = draw_scene(scene, plans, outcome, thumbnail=True)
    assert f"{outcome.score.max():.2f}" in texts(figure) and scene.token not in texts(figure)
    save(figure, tmp_path / "small.png", dpi=75)
    with Image.open(tmp_path / "small.png") as picture:
        assert picture.size == (240, 180)
        seen = np.asarray(picture.convert("RGB"), int)
    blue = np.abs(seen - [0x00, 0x72, 0xB2]).max(axis=2) < 30
    assert blue.sum() > 100  # the ego and its choice can be seen


def test_cameras_stand_above(tmp_path: Path) -> None:
    images = {name: np.full((36, 64, 3), 40 * place, np.uint8) for place, name in enumerate(("left", "front"))}
    figure = draw_scene(make_scene(), cameras=images)
    assert len(figure.axes) == 4 and "front" in texts(figure)
    view, *_, first, _ = (axes.get_position() for axes in figure.axes)
    assert first.y0 >= view.y1


def test_numbers_stay_in_the_picture() -> None:
    scene = make_scene(3)
    plans = make_plans(scene, 12)
    plans[0, :, 1] = -3.0 * np.arange(1, 9)
    outcome = w4s.epdms(scene, plans)
    axes = draw_scene(scene, plans, outcome, chosen=0).axes[0]
    faults = faults_of(outcome, 0)
    shown = {entry.get_text(): entry.get_position()[1] for entry in axes.texts}
    low, high = axes.get_ylim()
    assert faults and all(low < shown[str(fault.number)] < high for fault in faults)


def test_reasons_in_words() -> None:
    scene = make_scene(3)
    outcome = w4s.epdms(scene, make_plans(scene, 12))
    words = [fault.words for plan in range(12) for fault in faults_of(outcome, plan)]
    assert words and all("{" not in line and line.endswith((" s", ")")) for line in words)


def test_the_step_is_told_for_what_it_is() -> None:
    """The steps of LK and DDC are those at which a row was full; steps of the history are no exact times."""

    def words(metric: str, step: int, name: str = "") -> str:
        return Fault(1, metric, 0.0, step, 0 if name else -1, name).words

    assert words("LK", 24) == "off the lane's middle for 2 s by 2.4 s"
    assert words("DDC", 11) == "outside the route's lanes, by 1.1 s"
    assert words("NC", 13, "7f03ab12") == "hits track 7f03ab12 at 1.3 s"
    assert words("HC", -1, "longitudinal_jerk") == "uncomfortable before now (lon. jerk)"


def legend(figure: Figure) -> set[str]:
    return {entry.get_text() for axes in figure.axes if (key := axes.get_legend()) for entry in key.get_texts()}


def test_the_key_names_only_what_is_in_the_picture() -> None:
    scene = make_scene(3, count=2)
    boxes = scene.tracks.boxes[:, :1].repeat(scene.tracks.steps, axis=1)
    boxes[..., :2] = scene.ego_state[:2] + np.array([12.0, 2.0])
    boxes[..., 3:5] = [2.0, 1.0]
    boxes[..., [2, 5, 6]] = 0.0
    types = np.array([TrackType.BICYCLE, TrackType.PEDESTRIAN])
    tracks = replace(scene.tracks, boxes=boxes, type=types, valid=np.ones(boxes.shape[:2], bool))
    assert {"bicycle", "pedestrian"} <= legend(draw_scene(replace(scene, tracks=tracks)))
    boxes[0, :, 0] += 500.0
    assert legend(draw_scene(replace(scene, tracks=tracks))) & {"bicycle", "pedestrian"} == {"pedestrian"}
    boxes[0, 40, 0] -= 500.0  # it comes: its paler box is seen
    assert "bicycle" in legend(draw_scene(replace(scene, tracks=tracks)))


def test_a_red_light_out_of_the_picture_is_not_in_the_key() -> None:
    scene = make_scene(3)
    status = np.full_like(scene.lights.status, Light.RED)
    scene = replace(scene, lights=replace(scene.lights, status=status))
    frame = EgoFrame.of(scene)
    axes = Figure().subplots()
    axes.set(xlim=(-10.0, 100.0), ylim=(-20.0, 20.0))
    assert red_light_in_view(axes, scene, frame)
    axes.set(xlim=(-10.0, 20.0))
    assert not red_light_in_view(axes, scene, frame)
