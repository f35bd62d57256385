from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.driving.closed_loop.test_film import collision, drive_at
from world4scorer.driving.closed_loop.repeat import SHEET_ROWS, best_by_scenario
from world4scorer.driving.closed_loop.sheet import FRAMES, INTERVAL, draw_sheet, frame_times


@given(st.floats(0.1, 300), st.floats(0, 1), st.sampled_from([0.5, 5.0]))
def test_frames_lie_in_the_drive_and_around_the_moment(duration, share, interval):
    times = frame_times(duration, share * duration, interval)
    assert len(times) == FRAMES and times[0] >= -1e-9 and times[-1] <= duration + 1e-9
    assert np.allclose(np.diff(times), min(interval, duration / (FRAMES - 1)))
    assert times[0] - 1e-9 <= share * duration <= times[-1] + 1e-9


def test_a_long_drive_shows_its_middle_every_five_seconds():
    np.testing.assert_allclose(frame_times(60.0), 30 + INTERVAL * (np.arange(6) - 2.5))


def test_the_first_infraction_is_enlarged():
    good = drive_at(np.zeros(2))
    bad = replace(drive_at(np.zeros(2), infractions=[collision(1.2, (4.0, 0.0))]), driver="theirs")
    plain, enlarged = draw_sheet([good, bad]), draw_sheet([good, bad], enlarged=True)
    assert len(plain.axes) == 2 * (FRAMES + 1) and len(enlarged.axes) == 3 * (FRAMES + 1)
    assert enlarged.axes[2 * (FRAMES + 1)].get_ylabel() == "theirs\nvehicle collision"
    assert all(axis.images for axis in enlarged.axes[:FRAMES])
    assert len(draw_sheet([good], enlarged=True).axes) == FRAMES + 1
    without = replace(good, images=({},) * len(good.images))
    assert draw_sheet([without]).axes[0].texts[0].get_text() == "no camera"


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
