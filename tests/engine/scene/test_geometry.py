"""Properties of the plane geometry that all rooms share."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from world4scorer.engine.scene import geometry
from world4scorer.engine.scene.geometry import (
    arc_length,
    arc_length_hypot,
    box_corners,
    direction,
    plan_of_steps,
    relative_points,
    relative_poses,
    rotate,
    to_ego_axes,
    to_global_axes,
    turn,
)

metres = st.floats(-1e5, 1e5)
angles = st.floats(-50.0, 50.0)
lines = st.integers(1, 30).flatmap(lambda n: arrays(np.float64, (n, 2), elements=metres))
poses = st.tuples(metres, metres, angles).map(np.array)


@given(lines)
@pytest.mark.parametrize("length", [arc_length, arc_length_hypot])
def test_arc_length_starts_at_zero_and_never_falls(length, line):
    along = length(line)
    assert along.shape == (len(line),) and along[0] == 0.0 and (np.diff(along) >= 0.0).all()
    assert along[-1] >= np.linalg.norm(line[-1] - line[0]) * (1 - 1e-9)


@given(lines)
def test_both_arc_lengths_agree_up_to_rounding(line):
    np.testing.assert_allclose(arc_length(line), arc_length_hypot(line), rtol=1e-12, atol=1e-150)


def test_arc_length_of_a_square():
    assert arc_length(np.array([[0, 0], [3, 4], [3, 4], [0, 4]])).tolist() == [0.0, 5.0, 5.0, 8.0]


@given(angles)
@pytest.mark.parametrize("wrap", [geometry.wrap, geometry.wrap_modulo])
def test_wrapped_angles_point_the_same_way(wrap, angle):
    wrapped = wrap(angle)
    assert -np.pi <= wrapped <= np.pi
    np.testing.assert_allclose(direction(wrapped), direction(angle), atol=1e-12)
    if abs(angle) < 3:
        assert wrapped == pytest.approx(angle, abs=1e-14)


@given(lines, poses)
def test_to_the_ego_frame_and_back(points, pose):
    np.testing.assert_allclose(to_global_axes(to_ego_axes(points, pose), pose), points, atol=1e-9)
    np.testing.assert_allclose(to_ego_axes(points, pose), relative_points(points, pose), atol=1e-9)


@given(lines, angles)
def test_rotation_keeps_lengths_and_both_forms_agree(points, heading):
    turned = rotate(points, heading)
    np.testing.assert_allclose(np.hypot(*turned.T), np.hypot(*points.T), rtol=1e-12, atol=1e-150)
    np.testing.assert_allclose(np.stack(turn(*points.T, heading), 1), turned, atol=1e-9)
    upright = np.column_stack([points, points[:, 0]])
    np.testing.assert_array_equal(rotate(upright, heading)[:, 2], points[:, 0])


def test_forward_is_x_and_left_is_y():
    pose = np.array([10.0, 5.0, np.pi / 2])
    np.testing.assert_allclose(to_ego_axes(np.array([10.0, 8.0]), pose), [3.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(relative_poses(np.array([9.0, 5.0, np.pi]), pose), [0.0, 1.0, np.pi / 2], atol=1e-12)


@given(poses)
def test_a_pose_seen_from_itself_is_the_origin(pose):
    np.testing.assert_array_equal(relative_poses(pose[None], pose), np.zeros((1, 3)))


@given(poses, st.floats(0.1, 9.0), st.floats(0.1, 9.0), st.floats(0.1, 3.0))
def test_corners_lie_at_the_edges_of_the_box(pose, front, rear, side):
    corners = to_ego_axes(box_corners(pose, front, rear, side), pose)
    np.testing.assert_allclose(corners, [[front, side], [-rear, side], [-rear, -side], [front, -side]], atol=1e-9)


def test_corners_of_many_boxes_are_those_of_each():
    rng = np.random.default_rng(3)
    boxes, sizes = rng.normal(size=(5, 3)), rng.uniform(1, 5, size=(5, 3))
    many = box_corners(boxes, *sizes.T)
    for box, size, corners in zip(boxes, sizes, many, strict=True):
        np.testing.assert_array_equal(box_corners(box, *size), corners)


def test_a_plan_of_steps_has_every_fifth_pose_ahead():
    steps = np.stack([np.arange(51.0), np.zeros(51), np.zeros(51)], axis=1)
    plan = plan_of_steps(steps, np.array([2.0, 1.0, 0.0]))
    np.testing.assert_allclose(plan, np.stack([np.arange(5.0, 41.0, 5.0) - 2.0, np.full(8, -1.0), np.zeros(8)], axis=1))
