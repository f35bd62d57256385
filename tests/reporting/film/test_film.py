from __future__ import annotations

import copy
import importlib.util
import shutil
import sys

import numpy as np
import pytest
import shapely
from PIL import Image, ImageColor

from tests.support.images import write_image
from tests.support.navsim_fixtures import compact  # noqa: F401
from tests.support.navsim_golden import DATA_SPLIT, LOCATION
from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.datasets.navsim.logs import Log, read_log
from world4scorer.drawing import style
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.reporting.film.birdseye import Birdseye
from world4scorer.reporting.film.files import write_film
from world4scorer.reporting.film.frame_layout import FrameLayout
from world4scorer.reporting.film.log_film import film_log, film_times, find_data_split
from world4scorer.reporting.film.motion import LogMotion, interpolate_poses
from world4scorer.reporting.film.street_layers import crosswalk_stripes, read_street_layers, without_holes

LOG = "2021.06.03.11.30.00_veh-38_00200_00220"
BARE_LOG = "2021.05.12.10.00.00_veh-35_00100_00120"
"""Without images."""


@pytest.fixture(scope="module")
def dataset(compact, tmp_path_factory):  # noqa: F811
    """The golden dataset; the log's front camera has an image in each of its first frames, the right one is missing."""
    root = tmp_path_factory.mktemp("film") / "data"
    shutil.copytree(compact.dataset, root)
    layout = DataFolder(root)
    log = read_log(layout.log(DATA_SPLIT, LOG))
    for number, frame in enumerate(log.frames[:6]):
        for name in ("CAM_F0", "CAM_B0", "CAM_L0"):
            pixels = np.full((36, 64, 3), [40 * number, 90, 200], np.uint8)
            write_image(layout.sensors(DATA_SPLIT), frame.cameras[name].path, pixels)
    shutil.rmtree(layout.sensors(DATA_SPLIT) / LOG / "CAM_R0", ignore_errors=True)
    return root


@pytest.fixture(scope="module")
def motion(dataset):
    return LogMotion(read_log(DataFolder(dataset).log(DATA_SPLIT, LOG)))


def is_colour(pixels, colour, tolerance=24):
    return np.abs(np.asarray(pixels, int) - ImageColor.getrgb(colour)).max(axis=-1) < tolerance


def pictures_of(path):
    film = Image.open(path)
    times = []
    for number in range(film.n_frames):
        film.seek(number)
        film.load()
        times.append(film.info["duration"])
        yield np.array(film.convert("RGB"))
    assert sum(times) == 1100


def test_film_as_webp(dataset, tmp_path):
    out = tmp_path / "new" / "film.webp"
    report = film_log(dataset, LOG, out, height=360, duration=1.0)
    assert (report.frames, report.duration) == (11, pytest.approx(1.1))
    assert report.cameras == ("CAM_F0", "CAM_L0", "CAM_B0")
    assert "11 pictures" in str(report) and "front left" in str(report)
    pictures = list(pictures_of(out))
    assert len(pictures) == 11 and pictures[0].shape == (360, report.size[0], 3)
    assert [path.name for path in out.parent.iterdir()] == ["film.webp"]

    page = FrameLayout.of(360, report.cameras)
    left, top, right, low = page.cameras["CAM_F0"]
    front = [int(picture[(top + low) // 2, (left + right) // 2, 0]) for picture in pictures]
    assert front == pytest.approx([0] * 5 + [40] * 5 + [80], abs=8)  # a new image every half second

    left, top, right, low = page.view
    view = pictures[5][top:low, left:right]
    rows, columns = np.nonzero(is_colour(view, style.EGO))
    assert columns.mean() == pytest.approx((right - left) / 2, abs=1.5)
    assert np.ptp(rows) < 0.12 * (low - top)
    # Street and ego stay apart: the picture moves on between two images of the cameras.
    assert (np.abs(pictures[6].astype(int) - pictures[5]).max(axis=-1) > 40)[top:low, left:right].any()


def test_film_as_gif_and_playing_faster(dataset, tmp_path):
    report = film_log(dataset, BARE_LOG, tmp_path / "film.gif", height=200, duration=2.0, speed=2.0)
    assert report.frames == 11 and report.cameras == ()
    pictures = list(pictures_of(report.path))
    left, top, right, low = FrameLayout.of(200, ()).view
    assert is_colour(pictures[3][top:low, left:right], style.EGO, 4).any()


@pytest.mark.skipif(importlib.util.find_spec("av") is None, reason="PyAV is not installed")
def test_film_as_mp4(dataset, tmp_path):
    import av

    report = film_log(dataset, LOG, tmp_path / "film.mp4", height=200, duration=1.0, fps=20.0)
    with av.open(str(report.path)) as film:
        video = film.streams.video[0]
        assert (video.codec_context.name, float(video.average_rate)) == ("h264", 20.0)
        frames = [frame.to_ndarray(format="rgb24") for frame in film.decode(video=0)]
    assert len(frames) == report.frames == 21
    left, top, right, low = FrameLayout.of(200, report.cameras).view
    columns = np.nonzero(is_colour(frames[0][top:low, left:right], style.EGO, 40))[1]
    assert columns.mean() == pytest.approx((right - left) / 2, abs=2.0)


def test_mp4_without_pyav_says_what_to_do(dataset, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(DatasetError, match=r"world4scorer\[city\].*\.webp"):
        film_log(dataset, LOG, tmp_path / "film.mp4")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"out": "film.avi"}, r"film.avi: a film ends in .mp4, .webp, .gif"),
        ({"out": "film.gif", "fps": 15.0}, "hundredths"),
        ({"log_name": "nobody"}, f"no log 'nobody'; there are 4 logs, e.g. {BARE_LOG[:10]}"),
        ({"log_name": "../x"}, "no name of a log"),
        ({"data_split": "mini"}, "mini.*no such log"),
        ({"cameras": ("CAM_F9",)}, "camera 'CAM_F9' is unknown"),
        ({"cameras": ("CAM_F0", "CAM_F0")}, "different"),
        ({"height": 33}, "height 33"),
        ({"fps": 0.0}, "0 pictures a second"),
        ({"metres": 1.0}, "1 m of street"),
        ({"start": 1e4}, "begins at 10000 s"),
        ({"duration": 0.0}, "more than 0"),
    ],
)
def test_errors_are_clear(dataset, tmp_path, changes, message):
    settings = {"log_name": LOG, "out": "film.webp", **changes}
    settings["out"] = tmp_path / settings["out"]
    with pytest.raises(DatasetError, match=message):
        film_log(dataset, **settings)
    assert not list(tmp_path.iterdir())


def test_missing_map_and_no_dataset(dataset, tmp_path):
    (tmp_path / "data" / "maps").mkdir(parents=True)
    shutil.copytree(dataset / "navsim_logs", tmp_path / "data" / "navsim_logs")
    with pytest.raises(DatasetError, match=r"nuplan-maps.*No such file"):
        film_log(tmp_path / "data", LOG, tmp_path / "film.webp")
    with pytest.raises(DatasetError, match="is no NAVSIM dataset"):
        film_log(tmp_path / "nowhere", LOG, tmp_path / "film.webp")


def test_a_log_in_two_folders_must_be_named(dataset, tmp_path):
    for split in ("mini", "trainval"):
        (tmp_path / "navsim_logs" / split).mkdir(parents=True)
        shutil.copy(DataFolder(dataset).log(DATA_SPLIT, LOG), tmp_path / "navsim_logs" / split)
    with pytest.raises(DatasetError, match=r"mini, trainval.*--split mini"):
        find_data_split(DataFolder(tmp_path), LOG)
    assert find_data_split(DataFolder(dataset), LOG) == DATA_SPLIT


def test_an_interrupted_film_leaves_nothing(tmp_path):
    def broken():
        yield Image.new("RGB", (8, 8))
        raise RuntimeError("lights out")

    with pytest.raises(RuntimeError, match="lights out"):
        write_film(tmp_path / "film.webp", broken(), 10.0)
    assert not list(tmp_path.iterdir())


def test_webp_keeps_pixels_that_do_not_change(tmp_path):
    """Rectangles at odd places, and a picture that equals the last."""
    pictures = [Image.new("RGB", (41, 31), "#204060")]
    for number in range(3):
        following = pictures[-1].copy()
        following.paste("#c0a020", (5 + 9 * number, 3, 12 + 9 * number, 21))
        pictures.append(following)
    pictures.append(pictures[-1])
    assert write_film(tmp_path / "film.webp", pictures, 3.0) == 5
    film = Image.open(tmp_path / "film.webp")
    assert film.n_frames == 5 and film.size == (41, 31)
    for number, picture in enumerate(pictures):
        film.seek(number)
        difference = np.abs(np.array(film.convert("RGB"), int) - np.array(picture, int))
        assert np.median(difference) <= 3 and difference.mean() < 6


def test_times_of_a_film():
    assert film_times(2.0, 10.0, 0.0, None) == pytest.approx(np.arange(21) / 10)
    assert film_times(2.0, 2.5, 1.0, 0.5) == pytest.approx([1.0, 1.4])
    assert film_times(0.0, 10.0, 0.0, None) == [0.0]


def test_motion_meets_the_frames_and_is_smooth_between(motion):
    frames = motion.log.frames
    for number in (0, 3, len(frames) - 1):
        moment = motion.at(float(motion.times[number]))
        assert moment.frame == number
        assert moment.ego_pose == pytest.approx(frames[number].ego_pose, abs=1e-6)
        assert len(moment.boxes) == len(frames[number].track_tokens)
    fine = np.array([motion.ego_at(time)[:2] for time in np.arange(1.0, 3.0, 0.05)])
    assert np.abs(np.diff(fine, n=2, axis=0)).max() < 0.02
    half = motion.at(float(motion.times[3:5].mean()))
    assert half.nearest == 4 and half.frame == 3
    assert motion.at(1e9).ego_pose == pytest.approx(frames[-1].ego_pose)


def test_curve_between_two_poses():
    here, there = np.array([[0.0, 0.0, 3.0, 2.0, 0.0]]), np.array([[1.0, 0.0, -3.0, 2.0, 0.0]])
    middle = interpolate_poses(here, there, 0.5, 0.5)[0]
    assert middle[:2] == pytest.approx([0.5, 0.0])
    assert abs(middle[2]) == pytest.approx(np.pi)  # the short way round


def test_nothing_is_invented_in_a_gap(dataset):
    log = read_log(DataFolder(dataset).log(DATA_SPLIT, LOG))
    motion = LogMotion(Log(log.name, log.path, (*log.frames[:2], *log.frames[6:8])))
    before, after = float(motion.times[1]), float(motion.times[2])
    assert motion.at(before + 0.4 * (after - before)).ego_pose == pytest.approx(log.frames[1].ego_pose)
    assert motion.at(before + 0.6 * (after - before)).ego_pose == pytest.approx(log.frames[6].ego_pose)


def test_red_light_is_drawn_across_its_lane(dataset, motion):
    streets = read_street_layers(DataFolder(dataset).maps, LOCATION, motion.ego[:, :2], 80.0)
    connector, line = min(
        streets.stop_lines.items(),
        key=lambda item: np.linalg.norm(item[1].mean(axis=0) + streets.origin - motion.ego[-1, :2]),
    )
    ends = line + streets.origin
    assert np.linalg.norm(ends[1] - ends[0]) == pytest.approx(3.0)
    log = motion.log
    raw = copy.deepcopy(log.frames[-1].raw)
    seen = []
    for red in (False, True):
        raw["traffic_lights"] = [(int(connector), red)]
        frame = type(log.frames[-1]).from_raw(raw, "frame")
        view = Birdseye(streets, (200, 240), 160.0, LogMotion(Log(log.name, log.path, (frame,))))
        seen.append(is_colour(view.draw(view.motion.at(0.0)), style.RED_LIGHT, 40).sum())
    assert seen[0] == 0 < seen[1]


def test_holes_stay_open():
    ring = shapely.box(0, 0, 10, 10) - shapely.box(2, 2, 4, 4) - shapely.box(6, 5, 8, 9)
    pieces = without_holes(ring)
    assert not any(piece.interiors for piece in pieces)
    assert shapely.union_all(pieces).symmetric_difference(ring).area < 1e-9


def test_stripes_lie_across_the_long_side():
    crosswalk = np.array([shapely.box(0, 0, 3, 10)], object)
    stripes = crosswalk_stripes(crosswalk)
    assert len(stripes) == 10
    assert {tuple(np.round(np.ptp(shapely.get_coordinates(stripe), axis=0), 6)) for stripe in stripes} == {(3.0, 0.5)}


@pytest.mark.parametrize("count", range(5))
@pytest.mark.parametrize("height", [120, 360, 722])
def test_page_has_no_overlaps(count, height):
    page = FrameLayout.of(height, ("CAM_F0", "CAM_L0", "CAM_B0", "CAM_R0")[:count])
    boxes = [shapely.box(*each) for each in (page.title, *page.cameras.values(), page.view, page.dashboard)]
    assert all(box.area > 0 for box in boxes)
    assert sum(box.area for box in boxes) == pytest.approx(shapely.union_all(boxes).area)
    assert shapely.box(0, 0, *page.size).contains(shapely.union_all(boxes))
    assert page.size[0] % 2 == 0 and page.size[1] == height
