from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from world4scorer.driving.bench2drive.build_vocabulary import build_vocabulary
from world4scorer.driving.bench2drive.negatives import coarse_round, expert_round
from world4scorer.driving.bench2drive.vocabulary import (
    Vocabulary,
    path_shape,
    ramp_distances,
    scale_shapes,
    speed_targets,
)
from world4scorer.driving.clips.errors import ClipError


def arcs(count: int, seed: int = 0) -> np.ndarray:
    """Drives (S, 8, 3) with a speed and a curvature each; most of them nearly straight."""
    rng = np.random.default_rng(seed)
    speed, bend = rng.uniform(0, 15, count), 0.01 * rng.normal(size=count) ** 3
    way = speed[:, None] * 0.5 * np.arange(1, 9)
    turned = way * bend[:, None]
    safe = np.where(np.abs(bend) < 1e-9, 1e-9, bend)[:, None]
    return np.stack([np.sin(turned) / safe, (1 - np.cos(turned)) / safe, turned], -1)


@settings(deadline=None)
@given(st.floats(0, 30), st.floats(0, 16))
def test_ramps_against_small_steps(speed, target):
    steps, seconds = 4000, 4.0
    v, way, found = speed, 0.0, []
    for step in range(steps):
        dt = seconds / steps
        after = min(target, v + 2 * dt) if target >= v else max(target, v - 4 * dt)
        way += (v + after) / 2 * dt
        v = after
        if (step + 1) % (steps // 8) == 0:
            found.append(way)
    np.testing.assert_allclose(ramp_distances(speed, np.array([target]))[0], found, atol=0.01)


def test_ramps_by_hand():
    """From 4 m/s to rest: 4 m/s^2 for one second, two metres. From rest to 16 m/s: all four seconds at 2 m/s^2."""
    np.testing.assert_allclose(ramp_distances(4.0, np.array([0.0]))[0], [1.5, *[2.0] * 7])
    np.testing.assert_allclose(ramp_distances(0.0, np.array([16.0]))[0], (0.5 * np.arange(1, 9)) ** 2)
    np.testing.assert_allclose(ramp_distances(-0.3, np.array([0.0]))[0], 0.0)


def test_speed_targets():
    targets = speed_targets()
    assert len(targets) == 16 and targets[0] == 0 and targets[-1] == 16


def test_shapes_are_of_length_one_and_evenly_spaced():
    for drive in arcs(20):
        shape = path_shape(drive[:, :2])
        if shape is None:
            assert np.linalg.norm(drive[-1, :2]) < 0.2
            continue
        steps = np.linalg.norm(np.diff(shape, axis=0), axis=1)
        assert shape.shape == (32, 2) and not shape[0].any()
        assert steps.sum() == pytest.approx(1.0, abs=0.02) and steps.std() < 0.01
        np.testing.assert_allclose(shape[-1] / np.linalg.norm(shape[-1]), drive[-1, :2] / np.linalg.norm(drive[-1, :2]))


def test_a_quarter_circle_is_stretched_to_the_way_that_is_covered():
    angle = np.linspace(0, np.pi / 2, 32)
    shape = np.column_stack([np.sin(angle), 1 - np.cos(angle)]) / (np.pi / 2)
    ways = ramp_distances(10.0, np.array([10.0]))
    plan = scale_shapes(shape[None], ways)[0]
    radius = 40.0 / (np.pi / 2)
    turned = ways[0] / radius
    expected = np.column_stack([radius * np.sin(turned), radius * (1 - np.cos(turned)), turned])
    np.testing.assert_allclose(plan, expected, atol=0.03)


def test_standing_still_has_no_shape():
    vocabulary = Vocabulary(np.array([np.column_stack([np.zeros(32), np.linspace(0, 1, 32)])]), speed_targets(), {})
    assert not vocabulary.plans([0], [0], 0.0).any()
    assert vocabulary.plans([0], [15], 0.0)[0, -1] == pytest.approx([0, 16, np.pi / 2])


def test_building_depends_on_paths_and_seed_alone(tmp_path):
    futures = arcs(600)
    vocabulary = build_vocabulary(futures, 32, seed=1, source="arcs")
    again = build_vocabulary(futures, 32, seed=1, source="arcs")
    np.testing.assert_array_equal(vocabulary.shapes, again.shapes)
    assert not np.array_equal(vocabulary.shapes, build_vocabulary(futures, 32, seed=2).shapes)
    assert vocabulary.shapes.shape == (32, 32, 2) and (np.diff(vocabulary.shapes[:, -1, 1]) >= 0).all()
    assert vocabulary.notes["paths"] + vocabulary.notes["left_out"] == 600 and vocabulary.notes["mean_error"] < 0.05
    vocabulary.save(tmp_path / "v.npz")
    read = Vocabulary.open(tmp_path / "v.npz")
    np.testing.assert_array_equal(read.shapes, vocabulary.shapes)
    assert read.notes == vocabulary.notes


def test_more_shapes_come_nearer():
    futures = arcs(600)
    few, many = (build_vocabulary(futures, count).notes["mean_error"] for count in (4, 64))
    assert many < few / 2


def test_the_nearest_shape_is_the_own_one():
    vocabulary = build_vocabulary(arcs(600), 32)
    for number in (0, 7, 31):
        assert vocabulary.nearest(20 * vocabulary.shapes[number][1:])[0] == number
    straightest = vocabulary.nearest(np.zeros((8, 2)))[0]
    assert np.abs(vocabulary.shapes[straightest, :, 1]).max() < 0.05


def test_rounds():
    vocabulary = build_vocabulary(arcs(900), 64)
    shapes, targets = coarse_round(vocabulary, np.random.default_rng(0))
    assert len(set(zip(shapes, targets, strict=True))) == 64
    # One of each four shapes, and one of each four speed targets.
    assert sorted(set(shapes // 4)) == list(range(16)) and sorted(set(targets // 4)) == list(range(4))
    assert not np.array_equal(shapes, coarse_round(vocabulary, np.random.default_rng(1))[0])
    path = 20 * vocabulary.shapes[40][1:]
    shapes, targets = expert_round(vocabulary, path, end_speed=8.0)
    assert 40 in shapes and len(set(zip(shapes, targets, strict=True))) == 64
    assert set(shapes) == set(vocabulary.nearest(path)[:16])
    assert np.abs(vocabulary.speeds[targets] - 8.0).max() < 2.0


def test_a_small_vocabulary_gives_all_it_has():
    vocabulary = build_vocabulary(arcs(100), 3)
    shapes, _ = coarse_round(vocabulary, np.random.default_rng(0))
    assert sorted(set(shapes)) == [0, 1, 2] and len(shapes) == 12
    assert len(expert_round(vocabulary, np.zeros((8, 2)), 0.0)[0]) == 12


def test_what_cannot_be_built_or_read(tmp_path):
    with pytest.raises(ClipError, match=r"fewer than 256 shapes.*--shapes"):
        build_vocabulary(arcs(50))
    with pytest.raises(ClipError, match="w4s b2d vocab"):
        Vocabulary.open(tmp_path / "none.npz")
    (tmp_path / "bad.npz").write_bytes(b"nothing")
    with pytest.raises(ClipError, match=r"bad\.npz: not a vocabulary"):
        Vocabulary.open(tmp_path / "bad.npz")
    np.savez(
        tmp_path / "odd.npz", format="world4scorer-vocabulary-1", shapes=np.zeros((2, 5, 2)), speeds=[1.0], notes="{}"
    )
    with pytest.raises(ClipError, match=r"odd\.npz: shapes"):
        Vocabulary.open(tmp_path / "odd.npz")
