from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image, ImageColor

from world4scorer.city.streets.places import INGOLSTADT
from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.drawing import style
from world4scorer.driving.closed_loop.drive_view import INFRACTION_TEXTS, CandidateRollouts, DriveView
from world4scorer.driving.closed_loop.film import DRIVE_LEGEND, film_drive, make_drive_view
from world4scorer.driving.closed_loop.infraction_monitor import InfractionEvent
from world4scorer.driving.closed_loop.recording import DriveRecording
from world4scorer.engine.scene.indices import State, TrackType
from world4scorer.evaluation.leaderboard.infractions import Infraction, outside_lanes
from world4scorer.reporting.film.frame_layout import FrameLayout

ROWS, SPEED = 31, 5.0
"""Three seconds at 5 m/s."""
SIZE = (200, 240)


def is_colour(pixels, colour, tolerance=24):
    return np.abs(np.asarray(pixels, int) - ImageColor.getrgb(colour)).max(axis=-1) < tolerance


def jpeg(red):
    file = io.BytesIO()
    Image.fromarray(np.full((36, 64, 3), [red, 90, 200], np.uint8)).save(file, "JPEG", quality=95)
    return file.getvalue()


def drive_at(start, heading=0.0, signals=None, infractions=()):
    """Straight on for 3 s along a route of 20 m; a car ahead all the time, and somebody on foot from 1 s on."""
    ahead = np.array([np.cos(heading), np.sin(heading)])
    polyline = np.arange(ROWS)[:, None] * 0.1 * SPEED * ahead + start
    states = np.zeros((ROWS, len(State)))
    states[:, [State.X, State.Y]], states[:, State.HEADING] = polyline, heading
    states[:, State.VELOCITY_X] = SPEED
    poses, there = np.zeros((2, ROWS, 3)), np.ones((2, ROWS), np.bool_)
    there[1, :10] = False
    poses[0], poses[1] = [*(start + 30 * ahead), heading], [*(start + 5 * ahead), heading]
    poses[~there] = 0.0
    decided = np.arange(0, ROWS - 1, 5)
    turns = np.array([0.0, 0.2, -0.2, 0.4])
    along = SPEED * 0.5 * np.arange(1, 9)
    plans = np.stack([np.column_stack([along, t * along / 4, np.full(8, t / 4)]) for t in turns]).astype(np.float32)
    return DriveRecording(
        route="route_7",
        driver="ours",
        scenario="signal",
        network=INGOLSTADT.name,
        status="Completed",
        score=60.0,
        points=start + np.array([[0.0], [20.0]]) * ahead,
        states=states,
        tokens=("car", "walker"),
        types=np.array([TrackType.VEHICLE, TrackType.PEDESTRIAN], np.int8),
        sizes=np.array([[4.5, 1.9], [0.6, 0.6]]),
        poses=poses,
        there=there,
        signals=({} if signals is None else signals,) * ROWS,
        decided=decided,
        plans=np.stack([plans] * len(decided)),
        utility=np.tile([-1.0, -0.5, -2.0, -3.0], (len(decided), 1)),
        chosen=np.zeros(len(decided), np.int64),
        commands=np.ones(len(decided), np.int64),
        images=tuple({"CAM_F0": jpeg(40 * number)} for number in range(len(decided))),
        infractions=tuple(infractions),
    )


@pytest.fixture(scope="module")
def lamps(city):
    """Lane connectors with a signal, and the state texts of all signals, by their letter."""
    start = np.zeros(2)
    index = make_drive_view(city, drive_at(start), SIZE, 80.0).index
    lengths: dict[str, int] = {}
    for link in index.signal.values():
        lengths[link.signal] = max(lengths.get(link.signal, 0), link.index + 1)
    return index, {letter: {name: letter * length for name, length in lengths.items()} for letter in "rG"}


@pytest.fixture(scope="module")
def stop(city, lamps):
    """Place and heading 10 m before a signal's stop line."""
    index, _ = lamps
    streets = make_drive_view(city, drive_at(np.zeros(2)), SIZE, 80.0).streets
    line = streets.stop_lines[str(next(iter(index.signal)))]
    across = (line[1] - line[0]) / np.linalg.norm(line[1] - line[0])
    ahead = np.array([across[1], -across[0]])
    return line.mean(axis=0) + streets.origin - 10 * ahead, float(np.arctan2(ahead[1], ahead[0]))


@pytest.fixture(scope="module")
def view_of(city):
    def view(recording) -> DriveView:
        return make_drive_view(city, recording, SIZE, 80.0)

    return view


def collision(time, place):
    return InfractionEvent(Infraction.VEHICLE_COLLISION, time, tuple(place), "Agent collided against a vehicle")


def test_film(city, lamps, stop, tmp_path):
    start, heading = stop
    slow = InfractionEvent(
        Infraction.SLOW, 0.5, tuple(start), "Average speed is 40.00% of the surrounding traffic's one"
    )
    recording = drive_at(start, heading, lamps[1]["G"], [slow, collision(1.0, start)])
    recording.save(tmp_path / "drive.npz")
    report = film_drive(city, DriveRecording.load(tmp_path / "drive.npz"), tmp_path / "film.webp", height=360)
    assert report.cameras == ("CAM_F0",)
    assert report.frames == ROWS + 20  # the end stays for two seconds
    film = Image.open(report.path)
    pictures = []
    for number in range(film.n_frames):
        film.seek(number)
        pictures.append(np.array(film.convert("RGB")))
    page = FrameLayout.of(360, report.cameras, (*DRIVE_LEGEND, ("choice",)))
    left, top, right, low = page.cameras["CAM_F0"]
    front = [int(picture[(top + low) // 2, (left + right) // 2, 0]) for picture in pictures[: ROWS - 1]]
    assert front == pytest.approx(np.repeat([0, 40, 80, 120, 160, 200], 5), abs=8)  # a new image every half second
    left, top, right, _ = page.dashboard
    bar = [is_colour(picture[top : top + 3, left:right], style.FAULT, 40).sum() for picture in pictures]
    assert max(bar[:10]) == 0 < min(bar[10:])  # the collision from 1 s on; slowness never
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["drive.npz", "film.webp"]


def test_part_of_a_drive(city, lamps, stop, tmp_path):
    recording = drive_at(*stop, lamps[1]["G"])
    report = film_drive(city, recording, tmp_path / "film.gif", height=200, start=1.0, duration=1.0, speed=2.0)
    assert report.frames == 6
    alone = replace(recording, plans=recording.plans[:, :1], utility=recording.utility[:, :1])
    assert film_drive(city, alone, tmp_path / "film.gif", height=200, duration=0.2).frames == 3


def test_red_lights(view_of, lamps, stop):
    seen = []
    for letter in "Gr":
        view = view_of(drive_at(*stop, lamps[1][letter]))
        seen.append(is_colour(view.draw(0.0, None), style.RED_LIGHT, 40).sum())
    assert seen[0] == 0 < seen[1]


def test_plans_and_choice(view_of, lamps, stop):
    """Rolled out from where the ego decided; utility alone would have taken another plan."""
    recording = drive_at(*stop, lamps[1]["G"])
    pool = CandidateRollouts.of(recording, 2)
    assert pool.rollouts.shape[:2] == (4, 41)
    assert pool.rollouts[:, 0] == pytest.approx(np.tile(recording.states[10], (4, 1)))
    assert (pool.chosen, pool.framewise) == (0, 1)
    view = view_of(recording)
    bare, drawn = (np.array(view.draw(1.0, each)) for each in (None, pool))
    blue = [is_colour(picture, style.EGO).sum() for picture in (bare, drawn)]
    assert blue[1] > 1.5 * blue[0]
    assert CandidateRollouts.of(replace(recording, plans=recording.plans[:, :0]), 2) is None


def test_between_the_rows(view_of, stop):
    start, heading = stop
    view = view_of(drive_at(start, heading))
    ego, boxes, types = view.interpolated(0.25)
    assert ego == pytest.approx([*(start + 1.25 * np.array([np.cos(heading), np.sin(heading)])), heading])
    assert types.tolist() == [TrackType.VEHICLE] and boxes[0, 3:] == pytest.approx([4.5, 1.9])
    assert len(view.interpolated(0.94)[2]) == 1
    ego, boxes, types = view.interpolated(0.96)  # who comes into sight comes where they are then
    assert boxes[1, :2] == pytest.approx(view.recording.poses[1, 10, :2]) and len(types) == 2
    assert view.interpolated(99.0)[0] == pytest.approx(view.recording.states[-1, [State.X, State.Y, State.HEADING]])
    assert view.speed(1.0) == SPEED and view.duration == pytest.approx(3.0)


def test_headings_go_the_short_way(view_of, stop):
    recording = drive_at(stop[0])
    recording.states[0, State.HEADING], recording.states[1, State.HEADING] = np.pi - 0.1, 0.1 - np.pi
    assert abs(view_of(recording).interpolated(0.05)[0][2]) == pytest.approx(np.pi)


def test_how_far_the_ego_has_come(view_of, stop):
    """15 of 20 m, to the nearest metre of the route."""
    completion = view_of(drive_at(*stop)).completion
    assert (np.diff(completion) >= 0).all()
    assert completion == pytest.approx(np.arange(ROWS) * 0.1 * SPEED / 20, abs=0.5 / 20 + 1e-9)


def test_infractions_as_they_happen(view_of, lamps, stop):
    start, heading = stop
    outside = InfractionEvent(Infraction.OUTSIDE_LANES, 3.0, tuple(start), outside_lanes(3.0, 0.25))
    late = InfractionEvent(Infraction.RED_LIGHT, 2.0, tuple(start), "Agent ran a red light")
    view = view_of(drive_at(start, heading, lamps[1]["G"], [late, collision(1.0, start), outside]))
    assert [len(view.infractions_until(time)) for time in (0.0, 0.99, 1.0, 2.5, 3.0)] == [0, 0, 1, 2, 3]
    marked = [is_colour(view.draw(time, None), style.FAULT, 30).sum() for time in (0.9, 1.1, 2.1)]
    assert marked[0] == 0 < marked[1] < marked[2]
    assert set(INFRACTION_TEXTS) == set(Infraction) - {Infraction.SLOW}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"out": "film.avi"}, "a film ends in"),
        ({"cameras": ("CAM_F9",)}, "camera 'CAM_F9' is unknown"),
        ({"start": 9.0}, "begins at 9 s"),
    ],
)
def test_errors_are_clear(city, stop, tmp_path, changes, message):
    settings = {"out": "film.webp", **changes}
    settings["out"] = tmp_path / settings["out"]
    with pytest.raises(DatasetError, match=message):
        film_drive(city, drive_at(*stop), **settings)
    assert not list(tmp_path.iterdir())


def test_unknown_streets(city, stop, tmp_path):
    with pytest.raises(DatasetError, match="network 'atlantis' of the drive is unknown"):
        film_drive(city, replace(drive_at(*stop), network="atlantis"), tmp_path / "film.webp")
