from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

from tests.support.carla_clips import NAME, box, left_turn, write_clip
from world4scorer.driving.bench2drive.clip_samples import samples_of
from world4scorer.driving.bench2drive.clip_targets import ClipImages
from world4scorer.driving.bench2drive.train import split_clips
from world4scorer.driving.clips.drivable import GridPainter
from world4scorer.driving.clips.errors import ClipError
from world4scorer.driving.clips.prepare import prepare_clips
from world4scorer.driving.clips.prepared import PreparedClips
from world4scorer.engine.outcomes.results import V1_COLUMNS
from world4scorer.jobs.executors import SerialExecutor

OTHER = "TurnLeft_Town99_Route1_Weather1"


def prepare(folder, every=5):
    return prepare_clips(folder / "clips", folder / "maps", folder / "prepared", every, SerialExecutor())


@pytest.fixture
def folder(tmp_path):
    """A clip of six seconds in a town where only y > 0 is drivable."""
    write_clip(tmp_path / "clips")
    painter = GridPainter("Town05", np.array([-80.0, -80.0]), np.array([80.0, 80.0]))
    grid = painter.finish()
    grid.cells[:, grid.cells.shape[1] // 2 :] = True
    grid.save(tmp_path / "maps" / "Town05.npz")
    return tmp_path


def test_moments_have_four_seconds_after_them(folder):
    report = prepare(folder)
    clips = PreparedClips.open(folder / "prepared")
    # 61 frames: the last moment may be frame 20.
    assert (report.clips, report.moments, report.kept) == (1, 5, 0)
    assert clips[NAME].moments.tolist() == [0, 5, 10, 15, 20]
    samples = samples_of(clips, route_point=True)
    assert samples.tokens[1] == f"{NAME}/00005" and samples.ego_status.shape == (5, 13)
    assert samples.images[1][0] == f"{NAME}/camera/rgb_front/00005.jpg"
    assert (samples.sensors / samples.images[1][3]).is_file()
    # Ten logged poses where there are fifty frames, eight where there are forty.
    assert samples.future_poses.tolist() == [10, 10, 10, 9, 8]
    assert samples.future.shape == (5, 10, 3) and (samples.future[:, 7, 1] > 0).all()


def test_the_status_of_the_ego(folder):
    prepare(folder)
    clips = PreparedClips.open(folder / "prepared")
    status = samples_of(clips, route_point=True).ego_status[2]
    np.testing.assert_allclose(status[:7], [0, 0, 0, 5, 0, 0, 1.25], atol=1e-6)
    assert status[7:11].tolist() == [1, 0, 0, 0]
    np.testing.assert_allclose(status[11:], clips[NAME].route_points[10])
    assert np.linalg.norm(status[11:]) == pytest.approx(20.0, abs=1e-4) and status[12] > 0
    np.testing.assert_array_equal(samples_of(clips, route_point=False).ego_status[2], status[:11])


def test_the_experts_own_plan_is_judged(folder):
    """The car turns to the left, away from both boxes; what lies below y = 0 is off the road."""
    prepare(folder)
    clips = PreparedClips.open(folder / "prepared")
    token = f"{NAME}/00000"
    plan = clips.expert_motion(token)[1]
    found = dict(zip(V1_COLUMNS, clips.label(token, plan[None])[0], strict=True))
    assert found["NC"] == found["TTC"] == found["EP"] == found["C"] == 1
    around = clips.surroundings(token)
    assert around.offsets.tolist() == list(range(0, 17, 2))
    # Seen from the rear axle, 1.35 m behind the origin of the world.
    np.testing.assert_allclose(around.boxes[0], [31.35, -3.0, -np.pi / 2, 2.0, 1.0], atol=1e-5)
    world_y = plan[:, 1]  # the ego begins at y = 0 and looks along x
    assert found["DAC"] == pytest.approx((world_y > 0).mean(), abs=1 / 8)


def test_who_is_on_a_bridge_is_no_obstacle(folder):
    def bridge(frame):
        return {
            **left_turn(frame),
            "bounding_boxes": [*left_turn(frame)["bounding_boxes"], box("vehicle", 9, 9, z=6.0)],
        }

    write_clip(folder / "clips", moment=bridge, name="Bridge_Town05_Route1_Weather1")
    prepare(folder)
    clips = PreparedClips.open(folder / "prepared")
    for name in clips.clips:
        assert len(clips[name].boxes_at(5)) == 2


def test_future_images_are_two_seconds_ahead(folder):
    prepare(folder)
    images = dict(ClipImages(PreparedClips.open(folder / "prepared")).images(NAME))
    assert images[f"{NAME}/00010"] == folder / "clips" / NAME / "camera/rgb_front/00030.jpg"
    write_clip(folder / "clips", images=25, name="Short_Town05_Route1_Weather1")
    prepare(folder)
    images = ClipImages(PreparedClips.open(folder / "prepared")).images("Short_Town05_Route1_Weather1")
    assert [path is None for _, path in images] == [False, True, True, True, True]


def test_what_cannot_be_used_is_left_out_and_named(folder):
    write_clip(folder / "clips", name=OTHER)
    broken = write_clip(folder / "clips", name="Broken_Town05_Route2_Weather2")
    (broken / "anno" / "00007.json.gz").write_bytes(b"x")
    write_clip(folder / "clips", frames=30, name="Brief_Town05_Route3_Weather3")
    (folder / "clips" / "Packed_Town05_Route4_Weather4.tar.gz").write_bytes(b"")
    report = prepare(folder)
    assert report.clips == 1
    expected = {
        OTHER: "Town99.npz: no such map",
        "Broken_Town05_Route2_Weather2": "00007.json.gz: not a readable annotation",
        "Brief_Town05_Route3_Weather3": "30 annotations",
        "Packed_Town05_Route4_Weather4.tar.gz": "tar xzf",
    }
    left_out = PreparedClips.open(folder / "prepared").left_out
    assert set(left_out) == set(expected) == set(report.left_out)
    for name, reason in expected.items():
        assert reason in left_out[name] and f"left out: {name}" in str(report)
    # Once the cause is gone, a second run prepares the clip and keeps the rest.
    (broken / "anno" / "00007.json.gz").write_bytes(gzip.compress(json.dumps(left_turn(7)).encode()))
    again = prepare(folder)
    assert (again.clips, again.kept) == (2, 1) and len(again.left_out) == 3


def test_finished_clips_are_kept_unless_options_change(folder):
    prepare(folder)
    path = folder / "prepared" / "clips" / f"{NAME}.npz"
    before = path.stat().st_mtime_ns
    assert prepare(folder).kept == 1 and path.stat().st_mtime_ns == before
    changed = prepare(folder, every=10)
    assert (changed.kept, changed.moments) == (0, 3)
    path.write_bytes(path.read_bytes()[:100])
    assert prepare(folder, every=10).kept == 0 and len(PreparedClips.open(folder / "prepared")[NAME].moments) == 3


def drivable_everywhere(town="Town05"):
    grid = GridPainter(town, np.array([-80.0, -80.0]), np.array([80.0, 80.0])).finish()
    grid.cells[:] = True
    return grid


def test_a_map_that_was_made_again_is_used(folder):
    prepare(folder)
    before = PreparedClips.open(folder / "prepared")[NAME].rasters.copy()
    drivable_everywhere().save(folder / "maps" / "Town05.npz")
    assert prepare(folder).kept == 0
    after = PreparedClips.open(folder / "prepared")[NAME].rasters
    assert np.unpackbits(after).mean() > np.unpackbits(before).mean()
    assert prepare(folder).kept == 1


def test_a_clip_that_was_fetched_again_is_prepared_again(folder):
    prepare(folder)
    file = folder / "clips" / NAME / "anno" / "00007.json.gz"
    file.write_bytes(gzip.compress(json.dumps({**left_turn(7), "speed": 7.25}).encode()))
    assert prepare(folder).kept == 0
    assert PreparedClips.open(folder / "prepared")[NAME].velocity[7, 0] == 7.25
    (folder / "clips" / NAME / "camera" / "rgb_back" / "00012.jpg").unlink()
    assert prepare(folder).moments == 3


def test_the_map_of_another_town_is_refused(folder):
    drivable_everywhere("Town06").save(folder / "maps" / "Town05.npz")
    with pytest.raises(ClipError, match=r"Town05\.npz: the map of Town06, and this clip is of Town05.*--town Town05"):
        prepare(folder)


def test_errors(folder, tmp_path):
    with pytest.raises(ClipError, match="none of 1 clips can be used"):
        (folder / "maps" / "Town05.npz").rename(folder / "maps" / "Town06.npz")
        prepare(folder)
    with pytest.raises(ClipError, match="every: 0"):
        prepare(folder, every=0)
    with pytest.raises(ClipError, match=r"prepared\.json: no such file"):
        PreparedClips.open(tmp_path / "none")
    assert not (tmp_path / "prepared").exists()  # refused commands leave nothing behind
    (tmp_path / "prepared").mkdir()
    (tmp_path / "prepared" / "prepared.json").write_text("{}")
    with pytest.raises(ClipError, match="not a list of prepared clips"):
        PreparedClips.open(tmp_path / "prepared")
    with pytest.raises(ClipError, match="no sample 'a/1'"):
        PreparedClips(tmp_path, tmp_path, {}, {}).expert_motion("a/1")


def test_validation_clips_are_others(tmp_path):
    names = {f"Clip_Town01_Route{number}_Weather1": "" for number in range(40)}
    clips = PreparedClips(tmp_path, tmp_path, names, {})
    training, validation = split_clips(clips, 0.1)
    assert len(validation.clips) == 4 and set(training.clips) | set(validation.clips) == set(names)
    assert not set(training.clips) & set(validation.clips)
    assert sorted(validation.clips) != sorted(names)[:4]  # not one scenario or town, whose names begin alike
    # More clips do not move those that were there from one side to the other.
    fewer = clips.only([*validation.clips, *list(training.clips)[4:]])
    assert set(split_clips(fewer, 0.1)[1].clips) == set(validation.clips)
    assert set(split_clips(clips, 0.3)[1].clips) > set(validation.clips)
    assert set(split_clips(clips, 0.0)[0].clips) == set(names)  # as in the paper: trained on all
    own = next(iter(validation.clips))
    taught, others = split_clips(clips, 0.1, own)
    assert own in taught.clips and own not in others.clips and len(others.clips) == 4
    with pytest.raises(ClipError, match="too few"):
        split_clips(clips.only(sorted(names)[:1]), 0.1)
    with pytest.raises(ClipError, match="validation: 1"):
        split_clips(clips, 1.0)
