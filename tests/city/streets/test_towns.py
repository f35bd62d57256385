"""Generated towns, and where on the globe all places lie."""

from __future__ import annotations

import gzip
import re
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import shapely
from pyproj import Transformer

from world4scorer.city.streets.errors import CityError
from world4scorer.city.streets.network import FICTIONAL_PROJECTION, build_network
from world4scorer.city.streets.places import PLACES, TOWNS, Network, Place
from world4scorer.city.streets.street_map import LaneUse, StreetMap, read_streets
from world4scorer.city.streets.sumo import sumo_home
from world4scorer.city.streets.town_plan import StreetClass, TownPlan
from world4scorer.city.streets.towns import TOWN_PLANS
from world4scorer.city.world.config import PRESETS

LOCATION = re.compile(rb'<location netOffset="([^"]*)".*?projParameter="([^"]*)"')
MIN_GAP = 90.0
"""Least distance between streets of training and of other splits [m]."""
SMALL = TownPlan(
    layout=("--grid", "--grid.number", "3", "--grid.length", "120", "--grid.attach-length", "70"),
    size=(420.0, 400.0),
    seed=5,
    main=StreetClass(speed=50, lanes=2, lane_width=3.4, bicycle_lane=1.6),
    side=StreetClass(speed=30),
    signals=0.4,
    roundabouts=2,
    jitter=10.0,
    bend=0.1,
)


def build(plan: TownPlan, folder: Path) -> Path:
    return build_network(Network("town", plan, "town", origin=(300_000.0, 0.0)), folder / "town.net.xml")


@pytest.fixture(scope="module")
def network(sumo: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(SMALL, tmp_path_factory.mktemp("town"))


@pytest.fixture(scope="module")
def town(network: Path) -> StreetMap:
    return read_streets(network)


def test_a_plan_gives_the_same_bytes_each_time(network: Path, tmp_path: Path) -> None:
    assert build(SMALL, tmp_path).read_bytes() == network.read_bytes()


@pytest.mark.parametrize("change", [{"seed": 6}, {"bend": 0.0}, {"signals": 0.0}, {"size": (410.0, 400.0)}])
def test_another_plan_is_another_town(network: Path, tmp_path: Path, change: dict[str, float]) -> None:
    assert build(replace(SMALL, **change), tmp_path).read_bytes() != network.read_bytes()  # type: ignore[arg-type]


def test_a_town_has_what_its_plan_says(town: StreetMap) -> None:
    uses = {lane.use for lane in town.lanes.values()}
    assert {LaneUse.DRIVE, LaneUse.BICYCLE, LaneUse.WALK, LaneUse.CROSSING} <= uses
    driving = [lane for lane in town.lanes.values() if lane.use is LaneUse.DRIVE and not lane.internal]
    assert {round(lane.speed * 3.6) for lane in driving} == {30, 50}
    assert max(lane.index for lane in driving) >= 2  # sidewalk and bicycle lane, then two lanes for cars
    assert any(junction.has_signals for junction in town.junctions.values())
    rings = {name.split(".")[0] for name in town.junctions if "." in name}
    assert len(rings) == SMALL.roundabouts
    low, high = np.array(town.bounds[:2]), np.array(town.bounds[2:])
    assert (low > -15.0).all() and (high < np.array(SMALL.size) + 15.0).all()


def test_streets_bend_gently(town: StreetMap) -> None:
    for lane in town.lanes.values():
        if lane.use is LaneUse.DRIVE and not lane.internal and lane.speed > 10.0:
            step = np.diff(lane.shape, axis=0)
            turned = np.abs(np.diff(np.unwrap(np.arctan2(step[:, 1], step[:, 0]))))
            assert turned.max(initial=0.0) < 0.25


def test_cars_reach_all_of_a_town(town: StreetMap) -> None:
    following: dict[str, set[str]] = {}
    for connection in town.connections:
        if connection.use is LaneUse.DRIVE:
            source, target = town.lanes[connection.from_lane].edge, town.lanes[connection.to_lane].edge
            following.setdefault(source, set()).add(target)
    entries = set(following) - {edge for edges in following.values() for edge in edges}
    seen, queue = set(entries), list(entries)
    while queue:
        new = following.get(queue.pop(), set()) - seen
        seen |= new
        queue += new
    assert entries and seen == set(following) | {edge for edges in following.values() for edge in edges}


def test_impossible_plans_are_refused(sumo: None, tmp_path: Path) -> None:
    with pytest.raises(CityError, match="roundabouts wanted"):
        build(replace(SMALL, roundabouts=40), tmp_path)
    with pytest.raises(CityError, match="netgenerate cannot build"):
        build(replace(SMALL, layout=("--hexagons",)), tmp_path)


def test_towns_lie_apart_from_each_other() -> None:
    origins = [place.network.origin for place in PLACES.values() if place.network.origin is not None]
    assert len(set(origins)) == len(origins) == len(TOWNS) + 3
    assert {plan.seed for plan in TOWN_PLANS.values()} == {network.source.seed for network in TOWNS.values()}  # type: ignore[union-attr]


def test_training_streets_are_not_in_other_splits(sumo: None) -> None:
    """By longitude and latitude, for two networks may show the same streets."""
    areas = {name: on_globe(place) for name, place in PLACES.items()}
    for config in (config for name, config in PRESETS.items() if name != "tiny"):
        training = {share.place for share in config.shares if share.split == "city_train"}
        others = {share.place for share in config.shares} - training
        for one in training:
            for other in others:
                assert areas[one].distance(areas[other]) > MIN_GAP, (one, other)
    for one, other in combinations(areas, 2):
        assert not areas[one].intersects(areas[other]), (one, other)


def test_the_centre_of_braunschweig_would_overlap_and_is_not_used(sumo: None) -> None:
    everything = (0.0, 0.0, 1594.0, 1090.0)
    centre = on_globe(replace(PLACES["braunschweig"], network=Network("bs", "bs3d/bs.net.xml", "bs"), area=everything))
    assert centre.contains(on_globe(PLACES["braunschweig"]))
    assert not any(str(place.network.source).startswith("bs3d") for place in PLACES.values())


def on_globe(place: Place) -> shapely.Polygon:
    """The area of a place in UTM zone 32 [m], true near central Europe; invented places lie far outside."""
    if place.network.origin is None:
        source = sumo_home() / "tools" / "game" / str(place.network.source)
        data = source.read_bytes()
        found = LOCATION.search(gzip.decompress(data) if source.suffix == ".gz" else data)
        assert found is not None
        offset, projection = [float(value) for value in found[1].split(b",")], found[2].decode()
    else:
        offset, projection = [-value for value in place.network.origin], FICTIONAL_PROJECTION
    x0, y0, x1, y1 = place.area
    points = np.array([(x0, y0), (x1, y0), (x1, y1), (x0, y1)]) - offset
    return shapely.Polygon(
        np.column_stack(Transformer.from_crs(projection, "EPSG:32632", always_xy=True).transform(*points.T))
    )
