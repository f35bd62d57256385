from __future__ import annotations

import json
import math

import numpy as np
import pytest

from tests.support.cube_results import head_report, window, windows
from world4scorer.cube.comparison import OutcomeScore, compare
from world4scorer.cube.errors import CubeError
from world4scorer.cube.evaluate import Player
from world4scorer.cube.success import Starts, count_successes, gains_by_seed, measure_gain, median_miss
from world4scorer.cube.tune import TunedWeight
from world4scorer.evaluation.scores.paper import paper

AT_GOAL, HELD, BY_NOTHING = {0}, {1, 2}, {5}
"""Of every seed: window 0 is solved at the start, windows 1 and 2 are held, windows 3 to 5 are neither; doing nothing
solves window 5."""


def seed(outcomes):
    return windows(outcomes, AT_GOAL, HELD, BY_NOTHING)


@pytest.fixture
def results():
    return {
        Player.ANCHOR: {42: seed("++----"), 0: seed("+-+-+-"), 1: seed("+----+")},
        Player.OURS: {42: seed("++++--"), 0: seed("+-+--+"), 1: seed("-----+")},
        Player.RANDOM: {42: seed("+-----"), 0: seed("+-----"), 1: seed("+-----")},
        Player.SIMULATOR: {42: seed("++++++")},
    }


def test_successes_by_start(results):
    found = {starts: count_successes(results, Player.ANCHOR, starts) for starts in Starts}
    assert [(one.solved, one.windows) for one in found.values()] == [(7, 18), (4, 15), (3, 12), (2, 6), (2, 9)]
    assert found[Starts.HELD].share.value == pytest.approx(2 / 6)
    assert found[Starts.PUBLISHED].share.low < 7 / 18 < found[Starts.PUBLISHED].share.high


def test_one_seed_has_no_interval(results):
    found = count_successes(results, Player.SIMULATOR, Starts.MODERATE)
    assert (found.solved, found.windows) == (5, 5)
    assert math.isnan(found.share.low)


def test_rescued_and_lost(results):
    # Seed 42 rescues windows 2 and 3; seed 0 rescues 5 and loses 4; seed 1 loses 0, which was solved at the start.
    found = {starts: measure_gain(results, Player.OURS, Player.ANCHOR, starts) for starts in Starts}
    assert [(one.rescued, one.lost) for one in found.values()] == [(3, 2), (3, 1), (2, 1), (1, 0), (2, 1)]
    assert [(one.before, one.after) for one in found.values()] == [(7, 8), (4, 6), (3, 4), (2, 3), (2, 3)]
    assert found[Starts.MODERATE].share.value == pytest.approx(2 / 15)


def test_gain_by_seed_and_its_interval(results):
    found = gains_by_seed(results, Player.OURS, Player.ANCHOR)
    assert {number: one.after - one.before for number, one in found.items()} == {42: 2, 0: 0, 1: -1}
    # Three seeds drawn three times: each extreme comes up in 1 of 27 draws, more often than 2.5 %.
    interval = measure_gain(results, Player.OURS, Player.ANCHOR).share
    assert interval == pytest.approx((1 / 18, -1 / 6, 2 / 6))


def test_only_common_seeds_are_paired(results):
    found = measure_gain(results, Player.SIMULATOR, Player.ANCHOR)
    assert (found.windows, found.before, found.after) == (6, 2, 6)


def test_windows_must_be_the_same(results):
    results[Player.OURS][0] = results[Player.OURS][0][::-1]
    with pytest.raises(CubeError, match=r"seed 0.*different windows"):
        measure_gain(results, Player.OURS, Player.ANCHOR)


def test_median_miss(results):
    some = [window(0, True), *(window(i, False, final=metres) for i, metres in enumerate((0.1, 0.3, 0.2), 1))]
    assert median_miss({Player.ANCHOR: {0: some}}, Player.ANCHOR) == pytest.approx(0.2)
    assert math.isnan(median_miss({Player.ANCHOR: {0: some[:1]}}, Player.ANCHOR))


def test_finding_is_written(results, tmp_path):
    report = head_report([1, 1, 2, 2, 3, 3], 0.2)
    tuned = TunedWeight(0.5, {0.0: 10, 0.3: 11, 0.5: 12}, 20)
    scores = {Player.OURS: OutcomeScore(report, tuned, 0.5)}
    protocols = {"strict": {"rule": "a rule", "windows": 12, "digest": 64 * "a"}}
    finding = compare(results, scores, {"collect": 90.0}, protocols)
    finding.save(tmp_path, "w4s cube evaluate study")
    page, numbers = (tmp_path / "cube.md").read_text(), json.loads((tmp_path / "cube.json").read_text())["numbers"]
    assert (tmp_path / "cube.png").exists()
    assert numbers["gains"]["ours - lewm"]["published"]["rescued"] == 3
    assert numbers["players"]["simulator"]["seeds"] == [42]
    assert numbers["players"]["simulator"]["median_miss_metres"] is None
    assert numbers["scores"]["ours"]["head"]["compared"] == "cost + 0.5 head"
    assert "| 0.5 (chosen) | 12 of 20 | 60.0 |" in page
    assert "| collect | 1.5 |" in page
    assert "| search in the simulator | 6 of 6 | 5 of 5 | 4 of 4 | 2 of 2 | 3 of 3 |" in page
    assert "Not all players played all 18 windows: search in the simulator 6." in page
    assert f"| rescued, lost | 3, 2 | {paper('cube')['rescued']}, {paper('cube')['lost']} |" in page
    assert "random actions solve 0 and LeWM's search 4 of 15 windows" in page
    assert "| strict | a rule | 12 | aaaaaaaaaaaaaaaa |" in page
    assert "success rises on 1 seed, is equal on 1 and falls on 1" in page


def test_words_follow_the_interval(results):
    unclear = compare(results, {}, {}).remarks[0]
    assert "an interval with zero in it: these windows do not tell the two apart" in unclear
    results[Player.OURS] = {number: seed("++++++") for number in results[Player.ANCHOR]}
    assert "an interval without zero." in compare(results, {}, {}).remarks[0]
    alone = {player: {42: some[42]} for player, some in results.items()}
    assert "one seed gives no interval" in compare(alone, {}, {}).remarks[0]


def test_players_may_be_missing(results):
    finding = compare({Player.ANCHOR: results[Player.ANCHOR]}, {}, {})
    assert [table.title for table in finding.tables] == ["Success", "Windows solved"]
    assert finding.numbers["scores"] == {}


def test_head_changes_are_paired_by_group():
    episodes = np.repeat(np.arange(8), 3)
    results = {Player.ANCHOR: {0: seed("++----")}}
    score = OutcomeScore(head_report(episodes, 0.2), None, 0.3)
    head = compare(results, {Player.OURS: score}, {}).numbers["scores"]["ours"]["head"]
    assert head["compared"] == "cost + 0.3 head"
    # The same shift in every group: no spread is left once they are paired.
    assert head["changes"]["rank correlation"] == pytest.approx({"value": 0.2, "low": 0.2, "high": 0.2})
    assert head["changes"]["chosen: distance"]["value"] == pytest.approx(-0.02)
    remarks = compare(results, {Player.OURS: OutcomeScore(head_report(episodes, 0.0), None, 0.3)}, {}).remarks
    assert any("change +0.000 [+0.000, +0.000], an interval with zero in it" in remark for remark in remarks)
