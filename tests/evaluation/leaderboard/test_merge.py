from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.route_records import crashed, record
from world4scorer.evaluation.leaderboard.merge import merge, result_files
from world4scorer.evaluation.leaderboard.records import write_results
from world4scorer.evaluation.leaderboard.route_set import STREAMING_RADIUS, RouteSet, route_set, split_routes

SET = RouteSet("four", 4, ("1", "2", "3", "4"))


def files(folder, *runs):
    paths = [folder / f"gpu{number}.json" for number in range(len(runs))]
    for path, records in zip(paths, runs, strict=True):
        write_results(path, records)
    return paths


def test_runs_beside_each_other(tmp_path):
    paths = files(tmp_path, [record("4"), crashed("2")], [record("1")])
    results = merge(paths, SET)
    assert [one.route for one in results.records] == ["1", "2", "4"]
    assert (results.crashed, results.missing, results.to_drive) == (("2",), ("3",), ("2", "3"))
    assert result_files([tmp_path]) == paths and result_files(reversed(paths)) == paths[::-1]


@pytest.mark.parametrize("order", [1, -1])
def test_a_finished_record_counts_before_a_crashed_one(tmp_path, order):
    bad = record("1", status="Failed - Agent got blocked", completion=3)
    results = merge(files(tmp_path, [crashed("1")], [bad], [crashed("1")])[::order], SET)
    assert results.records == (bad,) and results.to_drive == ("2", "3", "4")


def test_two_finished_records_are_an_error_unless_they_are_the_same(tmp_path):
    copy = replace(record("1"), other={"index": 7})
    assert len(merge(files(tmp_path, [record("1")], [copy]), SET).records) == 1
    with pytest.raises(ValueError, match=r"gpu1.json: route 1 was finished here and in .*gpu0.json, with different"):
        merge(files(tmp_path, [record("1")], [record("1", status="Completed", red_light=["a"])]), SET)


def test_results_of_another_set(tmp_path):
    with pytest.raises(ValueError, match="four: route 5 is not in it"):
        merge(files(tmp_path, [record("5")]), SET)
    with pytest.raises(ValueError, match="2 routes, by number only: results of 3 routes"):
        merge(files(tmp_path, [record("5"), record("6"), record("7")]), route_set("2"))
    with pytest.raises(ValueError, match="give the routes' XML file"):
        merge(files(tmp_path, [record("5")]), route_set("2")).missing  # noqa: B018


@settings(deadline=None, max_examples=25)
@given(st.lists(st.tuples(st.sampled_from("1234"), st.booleans()), max_size=12))
def test_every_route_is_either_finished_or_to_be_driven(tmp_path_factory, drives):
    folder = tmp_path_factory.mktemp("runs")
    results = merge(files(folder, *([record(route) if done else crashed(route)] for route, done in drives)), SET)
    finished = {route for route, done in drives if done}
    assert set(results.to_drive) == set("1234") - finished
    assert {one.route for one in results.records if not one.crashed} == finished
    assert set(results.missing) == set("1234") - {route for route, _ in drives}


def routes_file(path, towns):
    """Routes with a scenario each, as the benchmark writes them."""
    inside = "".join(
        f'<route id="{route}" town="{town}"><scenarios><scenario name="A_1" type="A"/></scenarios></route>'
        for route, town in towns.items()
    )
    path.write_text(f"<?xml version='1.0'?>\n<routes>{inside}</routes>")
    return path


def test_a_set_by_its_file(tmp_path):
    found = route_set(str(routes_file(tmp_path / "val.xml", {"9": "Town12", "4": "Town01"})))
    assert found.count == 2 and found.routes == ("9", "4")
    assert found.name.startswith("val.xml (2 routes, SHA-256 ")
    assert route_set("220") == RouteSet("220 routes, by number only", 220)


@pytest.mark.parametrize(
    "content", ["", "<routes/>", "<routes><route/></routes>", "<routes><route id='1'/><route id='1'/></routes>"]
)
def test_broken_sets(tmp_path, content):
    (tmp_path / "val.xml").write_text(content)
    with pytest.raises(ValueError, match=r"val\.xml: "):
        route_set(str(tmp_path / "val.xml"))


def test_parts(tmp_path):
    """Towns stay together; routes with another radius are apart; what is done is left out; everything else is kept."""
    towns = {"1": "B", "2": "A", "3": "B", "4": "A", "5": "A", "3800": "A", "24071": "B", "11715": "A"}
    path = routes_file(tmp_path / "val.xml", towns)
    written = split_routes(path, 2, tmp_path / "parts")
    assert {file.name: routes for file, routes in written.items()} == {
        "routes_0.xml": ("2", "4"),
        "routes_1.xml": ("5", "1", "3"),
        "routes_radius_2000.xml": ("3800",),
        "routes_radius_4000.xml": ("24071", "11715"),
    }
    for file, routes in written.items():
        assert route_set(str(file)).routes == routes and 'type="A"' in file.read_text()
    again = split_routes(path, 1, tmp_path / "parts", without=set(towns) - {"5"})
    assert list(again.values()) == [("5",)]
    assert not (tmp_path / "parts" / "routes_radius_4000.xml").exists()
    with pytest.raises(ValueError, match="parts: 0"):
        split_routes(path, 0, tmp_path / "parts")


def test_streaming_radii():
    assert len(STREAMING_RADIUS) == 8 and set(STREAMING_RADIUS.values()) == {2000, 4000}
