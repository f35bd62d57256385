from __future__ import annotations

import pytest

from tests.support.route_records import record
from world4scorer.driving.results.figure import INFRACTION_COLOURS, draw_drives
from world4scorer.evaluation.leaderboard.merge import Results
from world4scorer.evaluation.leaderboard.route_set import RouteSet
from world4scorer.evaluation.scores.route_results import WORDS, measure


def numbers_of(*records):
    return measure(Results(RouteSet("some", len(records)), records), draws=200)


def test_every_driver_has_a_row():
    careful = numbers_of(record("1"), record("2", red_light=["a"], status="Completed"))
    wild = numbers_of(record("1", collisions_vehicle=["a", "b"], status="Completed"), record("2", completion=20))
    figure = draw_drives({"careful": careful, "wild": wild})
    scores, faults = figure.axes
    assert [text.get_text() for text in scores.get_yticklabels()] == ["careful", "wild"]
    assert scores.get_ylim()[0] > scores.get_ylim()[1]  # the first is on top
    dots, rates = (line.get_xdata() for line in scores.get_lines()[:2])
    assert dots == pytest.approx([(100 + 70) / 2, (36 + 20) / 2])
    assert rates == pytest.approx([50, 50])
    drawn = {bars.get_label(): [bar.get_width() for bar in bars] for bars in faults.containers}
    assert set(drawn) == {"collisions with vehicles", "red lights run"}
    assert drawn["collisions with vehicles"] == pytest.approx([0, 2 / 0.24])
    assert drawn["red lights run"] == pytest.approx([1 / 0.4, 0])


def test_nobody_is_guilty_or_there():
    draw_drives({"perfect": numbers_of(record("1"), record("2"))}).canvas.draw()
    with pytest.raises(ValueError, match="no driver"):
        draw_drives({})
    assert set(INFRACTION_COLOURS) == set(WORDS)
