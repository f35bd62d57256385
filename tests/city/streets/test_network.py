from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from world4scorer.city.streets import network as module
from world4scorer.city.streets.errors import CityError
from world4scorer.city.streets.network import build_network, round_corners
from world4scorer.city.streets.places import INGOLSTADT, PLACES
from world4scorer.city.streets.street_map import LaneUse, StreetMap, Turn, read_streets


def turns(points: np.ndarray) -> np.ndarray:
    step = np.diff(points, axis=0)
    heading = np.arctan2(step[:, 1], step[:, 0])
    return np.abs((np.diff(heading) + np.pi) % (2 * np.pi) - np.pi)


@given(st.lists(st.floats(-1.2, 1.2), min_size=1, max_size=6), st.floats(20.0, 80.0))
def test_rounded_corners_keep_the_ends_and_turn_gently(angles: list[float], length: float) -> None:
    heading = np.cumsum([0.0, *angles])
    points = np.concatenate([[[0.0, 0.0]], np.cumsum(length * np.stack([np.cos(heading), np.sin(heading)], 1), axis=0)])
    rounded = round_corners(points)
    assert np.array_equal(rounded[[0, -1]], points[[0, -1]])
    kinks = turns(rounded)
    assert kinks.max() <= max(module.MIN_CORNER_ANGLE, 0.9 * max(np.abs(angles)))
    assert kinks.sum() <= np.abs(angles).sum() + 1e-6


def test_a_straight_street_stays_as_it_is() -> None:
    points = np.array([[0.0, 0.0], [50.0, 0.5], [100.0, 0.0]])
    assert np.array_equal(round_corners(points), points)


def test_streets_of_a_network(ingolstadt: StreetMap) -> None:
    uses = {lane.use for lane in ingolstadt.lanes.values()}
    assert {LaneUse.DRIVE, LaneUse.BICYCLE, LaneUse.WALK, LaneUse.CROSSING, LaneUse.WALKING_AREA} <= uses
    assert ingolstadt.crs == "epsg:32632"
    longitude_like = ingolstadt.offset / [1e5, 1e6]
    assert 6 < longitude_like[0] < 7 and 5 < longitude_like[1] < 6
    assert any(way.link is not None for way in ingolstadt.connections)
    for way in (way for way in ingolstadt.connections if way.use is LaneUse.DRIVE):
        gap_before = np.linalg.norm(way.shape[0] - ingolstadt.lanes[way.from_lane].shape[-1])
        gap_after = np.linalg.norm(way.shape[-1] - ingolstadt.lanes[way.to_lane].shape[0])
        assert max(gap_before, gap_after) < 1.2  # SUMO shifts some lanes where their width changes


def test_nobody_turns_around_where_there_is_another_way(ingolstadt: StreetMap) -> None:
    ways = [way for way in ingolstadt.connections if way.use is LaneUse.DRIVE]
    around = [way for way in ways if way.turn is Turn.AROUND]
    assert len(around) < 0.1 * len(ways)


def test_the_same_network_twice_has_the_same_bytes(ingolstadt_network: Path, tmp_path: Path) -> None:
    again = build_network(INGOLSTADT, tmp_path / "again.net.xml")
    assert again.read_bytes() == ingolstadt_network.read_bytes()


def test_an_existing_network_is_kept(ingolstadt_network: Path) -> None:
    before = ingolstadt_network.stat().st_mtime_ns
    build_network(INGOLSTADT, ingolstadt_network)
    assert ingolstadt_network.stat().st_mtime_ns == before


def test_places_do_not_share_streets() -> None:
    for one in PLACES.values():
        for other in PLACES.values():
            if one is other or one.network is not other.network:
                continue
            apart = one.area[2] < other.area[0] or other.area[2] < one.area[0]
            assert apart or one.area[3] < other.area[1] or other.area[3] < one.area[1]


@pytest.mark.parametrize("damage", ["cut", "empty", "text"])
def test_a_damaged_network_is_refused(ingolstadt_network: Path, tmp_path: Path, damage: str) -> None:
    whole = ingolstadt_network.read_bytes()
    path = tmp_path / "damaged.net.xml"
    path.write_bytes({"cut": whole[: len(whole) // 2], "empty": b"<net></net>", "text": b"no network"}[damage])
    with pytest.raises(CityError, match=r"damaged\.net\.xml.*make it again"):
        read_streets(path)


def test_a_damaged_source_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = module.sumo_home()
    source = tmp_path / "tools" / "game" / "broken.net.xml"
    source.parent.mkdir(parents=True)
    source.write_text("<net><edge id='a'")
    (tmp_path / "bin").symlink_to(home / "bin")
    monkeypatch.setattr(module, "sumo_home", lambda: tmp_path)
    network = module.Network("broken", "broken.net.xml", "de-nowhere", "sg-one-north")
    with pytest.raises(CityError, match="netconvert cannot build the network"):
        build_network(network, tmp_path / "out.net.xml")
    assert not (tmp_path / "out.net.xml").exists()
    missing = module.Network("missing", "missing.net.xml", "de-nowhere", "sg-one-north")
    with pytest.raises(CityError, match=r"missing\.net\.xml.*force-reinstall"):
        build_network(missing, tmp_path / "out.net.xml")
