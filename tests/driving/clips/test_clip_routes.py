from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.support.carla_clips import left_turn, write_clip
from world4scorer.driving.bench2drive.scan import scan_distances
from world4scorer.driving.clips.clip import read_clip
from world4scorer.driving.clips.clip_route import clip_route, route_points
from world4scorer.driving.clips.errors import ClipError
from world4scorer.driving.clips.prepared import PreparedClips
from world4scorer.engine.routes import Route, RouteCursor


@pytest.fixture
def clip(tmp_path):
    return read_clip(write_clip(tmp_path, frames=6))


def corner(clip, frames=101):
    """A drive of 100 m: 50 m along x, then 50 m along y, a metre per frame; command points at both ends of a bend."""
    way = np.arange(frames, dtype=float)
    poses = np.where(way[:, None] <= 50, np.column_stack([way, 0 * way, 0 * way]), 0.0)
    poses[51:] = np.column_stack([np.full(frames - 51, 50.0), way[51:] - 50, np.full(frames - 51, np.pi / 2)])
    near = np.where(way[:, None] < 46, (50.0, 0.0), (50.0, 50.0))
    far = np.where(way[:, None] < 46, (50.0, 50.0), (50.0, 70.0))
    return replace(clip, poses=poses, near=near, far=far)


def test_routes_lead_from_the_first_pose_to_the_last_far_point(clip):
    route = clip_route(corner(clip))
    assert route.length == pytest.approx(120.0) and len(route) == 121
    np.testing.assert_allclose(route.points[[0, 50, 100, 120]], [[0, 0], [50, 0], [50, 50], [50, 70]], atol=1e-9)


def test_unknown_and_repeated_points_are_passed_over(clip):
    drive = corner(clip)
    near = drive.near.copy()
    near[[0, 20, 70]] = np.nan
    far = drive.far.copy()
    far[-1] = np.nan
    np.testing.assert_array_equal(clip_route(replace(drive, near=near, far=far)).points, clip_route(drive).points)
    with pytest.raises(ClipError, match="command point"):
        clip_route(replace(drive, near=0 * near + np.nan, far=0 * far + np.nan))
    still = np.zeros((101, 2))
    with pytest.raises(ClipError, match="no route"):
        clip_route(replace(drive, near=still, far=still))


def test_route_points_of_a_corner(clip):
    drive = corner(clip)
    points = route_points(clip_route(drive), drive.poses)
    np.testing.assert_allclose(points[0], [20.0, 0.0], atol=1e-9)
    # From (40, 0): 10 m ahead to the corner, then to the left as far as 20 m of beeline go.
    np.testing.assert_allclose(points[40], [10.0, np.sqrt(300.0)], atol=1e-9)
    np.testing.assert_allclose(points[60], [20.0, 0.0], atol=1e-9)
    assert np.linalg.norm(points, axis=1) == pytest.approx(20.0)


def test_the_route_point_is_that_of_driving(clip):
    drive = corner(clip)
    route = clip_route(drive)
    cursor = RouteCursor(route)
    for frame, pose in enumerate(drive.poses):
        cursor.advance(pose[:2])
        np.testing.assert_array_equal(route_points(route, drive.poses[: frame + 1])[-1], cursor.route_point(pose))
        if frame == 55:
            break


def test_a_left_turn_has_its_point_on_the_left(tmp_path):
    clip = read_clip(write_clip(tmp_path / "more", frames=61, moment=left_turn))
    assert (route_points(clip_route(clip), clip.poses)[:, 1] > 0).all()


def test_scan_counts_sides_and_ends(tmp_path, monkeypatch):
    """Ten metres of route are left at the last of three frames; one point of two left turns lies to the left."""

    class Drive:
        commands = np.array([1, 1, 4], np.int8)
        route = Route([(0.0, 0.0), (30.0, 0.0), (30.0, 40.0)]).points
        poses = np.array([[20.0, 0.0, 0.0], [0.0, 0.0, 0.5], [30.0, 30.0, np.pi / 2]])

    monkeypatch.setattr(PreparedClips, "__getitem__", lambda self, name: Drive)
    near, far = scan_distances(PreparedClips(tmp_path, tmp_path, {"a": "a"}, {}), (8.0, 20.0))
    assert (near.frames, near.left_frames, near.right_frames) == (3, 2, 0) and np.isnan(near.right)
    assert (near.ended, far.ended) == (0.0, pytest.approx(1 / 3))
    assert (near.left, far.left) == (0.0, 0.5)
