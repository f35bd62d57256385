from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.driving.closed_loop.test_film import collision, drive_at
from world4scorer.driving.closed_loop.repeat import SHEET_ROWS, best_by_scenario
from world4scorer.driving.closed_loop.sheet import sheet_drive
from world4scorer.driving.sheets.draw import COMPARED_FRAMES, ENLARGED_RADIUS, FRAMES, INTERVAL, draw_sheet, frame_times
from world4scorer.evaluation.leaderboard.infractions import Infraction


@given(st.floats(0.1, 300), st.floats(0, 1), st.sampled_from([0.5, 5.0]))
def test_frames_lie_in_the_drive_and_around_the_moment(duration, share, interval):
    times = frame_times(duration, FRAMES, share * duration, interval)
    assert len(times) == FRAMES and times[0] >= -1e-9 and times[-1] <= duration + 1e-9
    assert np.allclose(np.diff(times), min(interval, duration / (FRAMES - 1)))
    assert times[0] - 1e-9 <= share * duration <= times[-1] + 1e-9


def test_a_long_drive_shows_its_middle_every_five_seconds():
    np.testing.assert_allclose(frame_times(60.0, FRAMES), 30 + INTERVAL * (np.arange(6) - 2.5))


def test_the_first_infraction_is_enlarged():
    good = sheet_drive(drive_at(np.zeros(2)))
    bad = drive_at(np.zeros(2), infractions=[collision(1.2, (4.0, 0.0)), collision(1.5, (6.0, 0.0))])
    drives = [good, sheet_drive(replace(bad, driver="theirs"))]
    plain, compared = draw_sheet(drives), draw_sheet(drives, compared=True)
    columns = COMPARED_FRAMES + 1
    assert len(plain.axes) == 2 * (FRAMES + 1) and len(compared.axes) == 3 * columns
    assert compared.axes[2 * columns].get_ylabel() == "theirs\nvehicle collision"
    assert np.isclose(np.mean(compared.axes[-1].get_xlim()), 4.0)
    assert np.ptp(compared.axes[-1].get_ylim()) == pytest.approx(2 * ENLARGED_RADIUS)
    assert all(axis.images for axis in compared.axes[:COMPARED_FRAMES])
    names = [text.get_text() for text in compared.legends[0].get_texts()]
    assert names[0] == "route" and names[-1] == "infraction" and "driven by theirs; frames" in names
    alone = draw_sheet([good], compared=True)
    assert len(alone.axes) == columns and "infraction" not in [t.get_text() for t in alone.legends[0].get_texts()]


def test_slowness_is_no_infraction():
    slow = collision(1.2, (4.0, 0.0))
    drive = sheet_drive(drive_at(np.zeros(2), infractions=[replace(slow, kind=Infraction.SLOW), slow]))
    assert [fault.words for fault in drive.faults] == ["vehicle collision"]


def test_a_drive_without_images_says_so():
    drive = drive_at(np.zeros(2))
    for images in ((), ({},) * len(drive.images)):
        figure = draw_sheet([sheet_drive(replace(drive, images=images))])
        assert figure.axes[0].texts[0].get_text() == "no camera"


def test_nothing_to_draw():
    with pytest.raises(ValueError, match="no drive"):
        draw_sheet([])


@pytest.mark.parametrize("count", [3, 9])
def test_the_best_route_of_each_scenario(count):
    rng = np.random.default_rng(count)
    routes = [SimpleNamespace(name=f"r{k}", scenario=f"s{k % count}") for k in range(3 * count)]
    scores = rng.integers(0, 100, len(routes)).astype(float)
    records = [SimpleNamespace(crashed=k == 0, scores=SimpleNamespace(composed=s)) for k, s in enumerate(scores)]
    scores[0] = -1.0
    drives = SimpleNamespace(routes=routes, records={"ours": records})
    picked = best_by_scenario(drives, SimpleNamespace(name="ours"))
    assert len(picked) == min(count, SHEET_ROWS) and len({route.scenario for route in picked}) == len(picked)
    for route in picked:
        rivals = [scores[k] for k, other in enumerate(routes) if other.scenario == route.scenario]
        assert scores[int(route.name[1:])] == max(rivals)
