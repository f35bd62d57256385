from __future__ import annotations

import pytest

from world4scorer.cli.console_tables import print_published
from world4scorer.evaluation.scores.paper import paper
from world4scorer.evaluation.scores.published import published_table

ROWS = {"table-1": 21, "bench2drive": 14, "compute": 8, "cube": 5}


@pytest.mark.parametrize("name", ROWS)
def test_tables_are_whole_and_name_their_source(name, capsys):
    table = published_table(name)
    assert len(table.rows) == ROWS[name] and len({row[0] for row in table.rows}) >= ROWS[name] - 1
    assert "Published, not ours" in table.title and "World4Scorer: Outcome-Grounded" in table.title
    print_published(name)
    assert table.rows[0][0] in capsys.readouterr().out


def test_rows_are_those_that_findings_show_beside_ours():
    """Two files hold some of the same values: they must not drift apart."""
    table = {row[0]: row[4:] for row in published_table("table-1").rows}
    reported = paper("navsim")
    assert published_table("table-1").columns[4:] == tuple(reported["columns"])
    for name, key in (
        ("World4Scorer", "ours_framewise"),
        ("World4Scorer + inertial re-ranking", "ours_reranked"),
        ("DrivoR", "drivor"),
        ("Drive-JEPA", "drive_jepa"),
        ("TransFuser", "transfuser"),
    ):
        assert table[name] == tuple("" if value is None else f"{value:.1f}" for value in reported[key])
    driving = {row[0]: float(row[1]) for row in published_table("bench2drive").rows}
    assert driving["World4Scorer"] == paper("bench2drive")["driving_score"]
    cube = {row[0]: float(row[1]) for row in published_table("cube").rows}
    assert (cube["LeWM"], cube["World4Scorer"]) == (paper("cube")["lewm"], paper("cube")["ours"])
