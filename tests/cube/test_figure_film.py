from __future__ import annotations

import sys
from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest
from PIL import Image

from tests.support.cube_results import window, windows
from world4scorer.cube.cases import NothingRescued, ReplayTrace, replay_trace, rescued_cases, rescued_pairs
from world4scorer.cube.episodes import EpisodeConfig, EpisodeKind, make_episodes, read_episodes
from world4scorer.cube.errors import CubeError
from world4scorer.cube.evaluate import Player
from world4scorer.cube.figure import FRAMES_PER_ROW, draw_cases, frame_steps, players_figure
from world4scorer.cube.film import END_HOLD_SECONDS, FPS, FRAME_SIDE, HEADER_HEIGHT, film_cases, shown_steps
from world4scorer.cube.model.planners import ExpertReplay, ZeroPlanner
from world4scorer.cube.play import play_windows
from world4scorer.cube.simulator.cube_env import this_process_simulator
from world4scorer.cube.windows import draw_windows

COLOUR = (30, 60, 200)


class PlainCamera:
    """Pictures of one colour: what is drawn around them can be tested where nothing can be rendered."""

    def __init__(self, simulator, side, quality="fast"):
        self.side = side

    def picture(self, goal=None):
        assert goal is not None
        return np.full((self.side, self.side, 3), COLOUR, np.uint8)

    def close(self):
        pass


@pytest.fixture
def camera(monkeypatch):
    module = ModuleType("world4scorer.cube.simulator.camera")
    module.Camera = PlainCamera
    monkeypatch.setitem(sys.modules, module.__name__, module)


@pytest.fixture(scope="session")
def episodes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cube_episodes")
    make_episodes(folder, EpisodeConfig(expert=3, noisy=1, steps=60), workers=1, progress=False)
    return folder


@pytest.fixture(scope="session")
def results(episodes):
    """Doing nothing in place of LeWM, the expert in place of outcome scores."""
    some = draw_windows(read_episodes(episodes, EpisodeKind.EXPERT), 0, 6)
    simulator = this_process_simulator()
    return {
        Player.ANCHOR: {0: play_windows(some, ZeroPlanner(), simulator)},
        Player.OURS: {0: play_windows(some, ExpertReplay(), simulator)},
    }


def test_chart_shows_shares_and_seeds():
    results = {
        Player.ANCHOR: {42: windows("++--"), 0: windows("+---")},
        Player.OURS: {42: windows("++++"), 0: windows("-+--")},
    }
    shares, seeds = players_figure(results).axes
    assert [label.get_text() for label in shares.get_yticklabels()] == ["LeWM", "LeWM + outcome score"]
    assert shares.get_lines()[0].get_xdata() == pytest.approx([37.5, 62.5])
    assert [bar.get_height() for bar in seeds.patches[:2]] == pytest.approx([50, 0])
    assert len(players_figure({Player.ZERO: {1: windows("+-")}}).axes) == 1
    with pytest.raises(CubeError, match="no results"):
        players_figure({})


def test_worst_misses_come_first_one_of_an_episode():
    before = [window(i, False, final=metres) for i, metres in enumerate((0.1, 0.3, 0.2))]
    after = windows("+++")
    again = [replace(one, step=9, final_metres=0.15) for one in before[1:2]]
    results = {
        Player.ANCHOR: {0: before, 1: again},
        Player.OURS: {0: after, 1: [replace(after[1], step=9)]},
    }
    assert [(pair.seed, pair.before.episode) for pair in rescued_pairs(results)] == [(0, 1), (0, 2), (0, 0)]


def test_nothing_rescued_is_said(tmp_path):
    results = {Player.ANCHOR: {0: windows("+-")}, Player.OURS: {0: windows("+-")}}
    with pytest.raises(NothingRescued, match=r"rescued no window.*evaluate more seeds"):
        draw_cases(tmp_path, results, tmp_path / "cases.png")
    with pytest.raises(NothingRescued):
        film_cases(tmp_path, results, tmp_path / "film.webp")
    with pytest.raises(CubeError, match="lewm and ours must have played"):
        film_cases(tmp_path, {Player.ANCHOR: results[Player.ANCHOR]}, tmp_path / "film.webp")
    assert not list(tmp_path.iterdir())


def test_drop_is_where_the_cube_stays_released():
    held = (True, False, True, True, False, False, False, True)
    assert ReplayTrace((0.1,) * 8, held).drop == 4
    assert ReplayTrace((0.1,) * 8, (False,) * 8).drop is None
    assert ReplayTrace((0.1,) * 4, (True, True, False, False)).drop is None  # too late to tell


def test_frames_hold_start_drop_and_end():
    held = (True,) * 18 + (False,) * 33
    steps = frame_steps(ReplayTrace((0.1,) * 51, held))
    assert steps == [0, 7, 14, 18, 29, 36, 43, 50]
    assert len(steps) == FRAMES_PER_ROW
    assert frame_steps(ReplayTrace((0.1,) * 4, (True,) * 4)) == [0, 1, 2, 3]


def test_courses_end_where_they_did(episodes, results):
    cases = rescued_cases(episodes, results, 2)
    assert cases[0].before.final_metres >= cases[1].before.final_metres
    simulator = this_process_simulator()
    for case in cases:
        for _, played in case.played():
            course = replay_trace(simulator, case.window, played)
            assert course.metres[-1] == played.final_metres  # to the bit
            assert course.last == played.steps
            assert course.metres[0] == pytest.approx(played.start_metres)
    wrong = replace(cases[0].after, final_metres=0.5)
    with pytest.raises(CubeError, match=r"not 50\.0 cm as played"):
        replay_trace(simulator, cases[0].window, wrong)


def test_other_episodes_are_refused(episodes, results):
    others = {
        player: {0: [replace(one, start_metres=one.start_metres + 0.01) for one in some[0]]}
        for player, some in results.items()
    }
    with pytest.raises(CubeError, match="was not played on the episodes in"):
        rescued_cases(episodes, others, 1)


def test_cases_are_drawn(camera, episodes, results, tmp_path):
    path = tmp_path / "cases.png"
    assert draw_cases(episodes, results, path, count=2) == 2
    picture = Image.open(path)
    assert picture.mode == "P"
    pixels = np.asarray(picture.convert("RGB"), int)
    blue = (np.abs(pixels - COLOUR).max(-1) < 24).mean()
    assert 0.5 < blue < 0.95
    with pytest.raises(CubeError, match="is a PNG"):
        draw_cases(episodes, results, tmp_path / "cases.jpg")


def test_film_runs_both_ways_and_pauses(camera, episodes, results, tmp_path):
    path = tmp_path / "film.webp"
    assert film_cases(episodes, results, path, count=1) == 1
    case = rescued_cases(episodes, results, 1)[0]
    film = Image.open(path)
    assert film.n_frames == len(shown_steps(case.before.steps)) + round(END_HOLD_SECONDS * FPS)
    film.seek(film.n_frames - 1)
    red, green = (film.convert("RGB").getpixel((x, HEADER_HEIGHT + FRAME_SIDE - 12)) for x in (14, film.width - 14))
    assert red[0] > red[1] and green[1] > green[0]
    assert shown_steps(5) == [0, 2, 4, 5]
    assert shown_steps(4) == [0, 2, 4]
