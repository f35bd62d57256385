from __future__ import annotations

import gzip
import json
import math

import numpy as np
import pytest

from tests.support.carla_clips import NAME, RADIUS, SPEED, box, left_turn, write_clip, yaw_matrix
from world4scorer.driving.clips import annotation, ego_car
from world4scorer.driving.clips.annotation import Obstacle, parse_annotation
from world4scorer.driving.clips.axes import (
    compass_from_heading,
    heading_from_compass,
    heading_from_yaw,
    yaw_from_heading,
)
from world4scorer.driving.clips.clip import clip_town, find_clips, read_clip
from world4scorer.driving.clips.errors import ClipError
from world4scorer.driving.clips.rig import CAMERA_SENSORS, carla_matrix, from_carla, mounted_cameras, read_cameras
from world4scorer.engine.scene.geometry import relative_poses


def test_a_left_turn_turns_left(tmp_path):
    clip = read_clip(write_clip(tmp_path))
    assert clip.town == "Town05" and len(clip) == 61
    # The car begins at the origin and looks along x; its rear axle lies behind.
    np.testing.assert_allclose(clip.poses[0], [-1.35, 0.0, 0.0], atol=1e-12)
    turned = SPEED * 6.0 / RADIUS
    middle = [RADIUS * math.sin(turned), RADIUS * (1 - math.cos(turned)), turned]
    np.testing.assert_allclose(ego_car.centre(clip.poses[60]), middle, atol=1e-9)
    ahead = relative_poses(clip.poses[10:], clip.poses[0])
    assert (np.diff(ahead[:, 1]) > 0).all() and (np.diff(ahead[:, 2]) > 0).all()
    np.testing.assert_allclose(clip.velocity[3], [SPEED, 0.0])
    np.testing.assert_allclose(clip.acceleration[3], [0.0, SPEED**2 / RADIUS])
    np.testing.assert_allclose(clip.near[0], [20.0, 20.0])
    np.testing.assert_allclose(clip.far[0], [20.0, 60.0])
    assert set(clip.commands) == {1}


def test_vehicles_and_walkers_are_obstacles(tmp_path):
    clip = read_clip(write_clip(tmp_path, frames=2))
    boxes = clip.boxes_at(1)
    assert len(boxes) == 2
    np.testing.assert_allclose(boxes[0], [30.0, -3.0, -math.pi / 2, 2.0, 1.0, 0.8])
    np.testing.assert_allclose(boxes[1], [-10.0, 4.0, 0.0, 0.2, 0.3, 0.8])


def test_directions():
    """North is CARLA's -y, our +y; a compass counts clockwise from there, yaw clockwise from east."""
    for heading, compass, yaw in ((0.0, math.pi / 2, 0.0), (math.pi / 2, 0.0, -90.0), (-math.pi / 2, math.pi, 90.0)):
        assert heading_from_compass(compass) == pytest.approx(heading)
        assert heading_from_yaw(yaw) == pytest.approx(heading)
        assert compass_from_heading(heading) == pytest.approx(compass)
        assert yaw_from_heading(heading) == pytest.approx(yaw)


def changed(**fields):
    return {**left_turn(4), **fields}


def test_holes_that_can_be_filled():
    whole = parse_annotation(left_turn(4), "here")
    same = (
        changed(theta=math.nan),
        changed(theta=None),
        changed(x=math.nan, y=None),
        changed(bounding_boxes={"all": left_turn(4)["bounding_boxes"]}),
        changed(bounding_boxes={str(number): one for number, one in enumerate(left_turn(4)["bounding_boxes"])}),
    )
    for raw in same:
        found = parse_annotation(raw, "here")
        np.testing.assert_allclose(found.pose, whole.pose, atol=1e-9)
        np.testing.assert_array_equal(found.obstacles, whole.obstacles)
    alone = parse_annotation(changed(bounding_boxes=[]), "here")
    np.testing.assert_allclose(alone.pose, whole.pose, atol=1e-9)
    for command in (None, math.nan, -1, 0, 77, "left"):
        assert parse_annotation(changed(next_command=command), "here").command == 4
    assert [parse_annotation(changed(next_command=command), "here").command for command in (1, 2, 3, 5.0)] == [
        1,
        2,
        3,
        5,
    ]
    long = parse_annotation(changed(theta=10**400, speed=-(10**400), next_command=10**400), "here")
    np.testing.assert_allclose(long.pose, whole.pose, atol=1e-9)
    assert math.isnan(long.speed) and long.command == 4
    bare = box("walker", 1.0, 2.0, half=(0.0, math.nan))
    del bare["center"]
    (walker,) = parse_annotation(changed(bounding_boxes=[bare]), "here").obstacles
    assert (walker[[Obstacle.HALF_LENGTH, Obstacle.HALF_WIDTH]] == 0.2).all() and walker[Obstacle.Y] == -2.0


def test_an_ego_that_is_called_a_vehicle_is_no_obstacle():
    raw = left_turn(4)
    raw["bounding_boxes"][0]["class"] = "vehicle"
    assert len(parse_annotation(raw, "here").obstacles) == 2


def test_missing_motion_comes_from_the_moments_around(tmp_path):
    def silent(frame):
        return {**left_turn(frame), "speed": None, "acceleration": [math.nan, math.nan, 9.8]}

    clip = read_clip(write_clip(tmp_path, moment=silent))
    # The rear axle of a car on a circle is a little further out than its middle.
    assert clip.velocity[30, 0] == pytest.approx(SPEED, rel=0.01)
    np.testing.assert_allclose(clip.acceleration[30], [0.0, SPEED**2 / RADIUS], atol=0.02)


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"x": None, "bounding_boxes": []}, "where the ego is"),
        ({"theta": math.nan, "bounding_boxes": []}, "where the ego looks"),
        (
            {"bounding_boxes": [{**box("vehicle", 1, 2), "center": None, "location": [1]}]},
            "neither center nor location",
        ),
        ({"bounding_boxes": [{**box("vehicle", 1, 2), "rotation": [0, 0]}]}, "pitch, roll, yaw"),
    ],
)
def test_holes_that_cannot(fields, named):
    with pytest.raises(ClipError, match=f"here.*{named}"):
        parse_annotation(changed(**fields), "here")


@pytest.mark.parametrize("field", ["image_size_x", "intrinsic", "cam2ego"])
def test_cameras_of_numbers_that_nothing_can_hold(field):
    camera = {"image_size_x": 1600, "image_size_y": 900, "intrinsic": np.eye(3).tolist(), "cam2ego": np.eye(4).tolist()}
    camera[field] = 10**400 if field == "image_size_x" else [[10**400] * 4] * 4
    with pytest.raises(ClipError, match=f"here: sensors.{CAMERA_SENSORS[0]}: .*fetch this clip again"):
        read_cameras(dict.fromkeys(CAMERA_SENSORS, camera), "here")


def test_an_annotation_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    clip = write_clip(tmp_path, frames=5)
    monkeypatch.setattr(annotation, "MAX_BYTES", 100)
    with pytest.raises(ClipError, match=r"00000\.json\.gz: .* unpacks to more than 100 bytes"):
        read_clip(clip)


def test_files_that_cannot_be_read(tmp_path):
    clip = write_clip(tmp_path, frames=5)
    (clip / "anno" / "00002.json.gz").write_bytes(b"nothing")
    with pytest.raises(ClipError, match=r"00002\.json\.gz: not a readable annotation"):
        read_clip(clip)
    (clip / "anno" / "00002.json.gz").write_bytes(gzip.compress(json.dumps([1]).encode()))
    with pytest.raises(ClipError, match="holds a list"):
        read_clip(clip)
    (clip / "anno" / "00002.json.gz").unlink()
    with pytest.raises(ClipError, match=r"frame 00002 is missing before 00003\.json\.gz"):
        read_clip(clip)
    with pytest.raises(ClipError, match="as in HardBreakRoute_Town05_Route68_Weather8"):
        clip_town("holiday")
    assert clip_town("ParkingExit_Town10HD_Route3_Weather1") == "Town10HD"


def test_clips_are_found_and_archives_named(tmp_path):
    (tmp_path / f"{NAME}.tar.gz").write_bytes(b"")
    with pytest.raises(ClipError, match="tar xzf"):
        find_clips(tmp_path)
    clip = write_clip(tmp_path / "v1", frames=1)
    (tmp_path / "Other_Town01_Route1_Weather1.tar.gz").write_bytes(b"")
    found, archives = find_clips(tmp_path)
    assert found == [clip] and [path.name for path in archives] == ["Other_Town01_Route1_Weather1.tar.gz"]
    assert find_clips(clip)[0] == [clip]
    write_clip(tmp_path / "v2", frames=1)
    with pytest.raises(ClipError, match="two clips"):
        find_clips(tmp_path)


def pixel(cameras, number, point):
    seen = (np.asarray(point) - cameras.translation[number]) @ cameras.rotation[number]
    image = cameras.intrinsics[number] @ seen
    return image[:2] / image[2], image[2] > 0


def test_cameras_see_to_their_side():
    """Points in ego axes: forward, left, up of the rear axle."""
    cameras = mounted_cameras()
    (u, v), ahead = pixel(cameras, 0, (20.0, 2.0, 0.0))
    assert ahead and u < 800 and v > 450
    focal = 800 / math.tan(math.radians(35))
    assert u == pytest.approx(800 - focal * 2.0 / (20.0 - 2.15)) and v == pytest.approx(450 + focal * 1.6 / (20 - 2.15))
    assert pixel(cameras, 1, (-20.0, 0.0, 1.6))[0] == pytest.approx([800, 450])
    assert pixel(cameras, 2, (10.0, 12.0, 1.6))[1] and not pixel(cameras, 2, (10.0, -30.0, 1.6))[1]
    assert pixel(cameras, 3, (10.0, -12.0, 1.6))[1] and not pixel(cameras, 3, (10.0, 30.0, 1.6))[1]


def test_annotated_cameras_are_used(tmp_path):
    sensors = {
        name: {
            "intrinsic": [[900.0, 0, 50], [0, 900, 40], [0, 0, 1]],
            "cam2ego": yaw_matrix(yaw, 0.8, 0.1, 1.6),
            "image_size_x": 100,
            "image_size_y": 80,
        }
        for name, yaw in zip(CAMERA_SENSORS, (0.0, 180.0, -55.0, 55.0), strict=True)
    }
    cameras = read_cameras(sensors, "here")
    np.testing.assert_allclose(cameras.rotation, mounted_cameras().rotation, atol=1e-12)
    np.testing.assert_allclose(cameras.translation[0], [0.8 + 1.35, -0.1, 1.6])
    assert cameras.image_size.tolist() == [100, 80] and cameras.intrinsics[0, 0, 0] == 900
    again = from_carla(cameras.intrinsics[2], carla_matrix(cameras.rotation[2], cameras.translation[2]), (100, 80))
    np.testing.assert_allclose(again.rotation[0], cameras.rotation[2], atol=1e-12)
    np.testing.assert_allclose(again.translation[0], cameras.translation[2], atol=1e-12)
    del sensors["CAM_BACK"]["cam2ego"]
    with pytest.raises(ClipError, match=r"here: sensors\.CAM_BACK: no field 'cam2ego'"):
        read_cameras(sensors, "here")
