"""Presets, their shares and seeds; which frames and segments become training scenes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from world4scorer.city.streets.errors import CityError
from world4scorer.city.streets.network import build_network
from world4scorer.city.streets.places import PLACES, TOWNS
from world4scorer.city.streets.street_map import StreetMap, read_streets
from world4scorer.city.world.config import PRESETS, CityConfig, Share, preset
from world4scorer.city.world.demand import write_demand
from world4scorer.city.world.global_plan import CityRoutes
from world4scorer.city.world.info import city_info
from world4scorer.city.world.make import make_city
from world4scorer.city.world.recording import Recording, record
from world4scorer.city.world.segment_balance import TARGET_SHARES, Candidates, choose_balanced
from world4scorer.city.world.segments import LogSegment, _thinned, select_segments
from world4scorer.datasets.navsim.splits import find_split
from world4scorer.datasets.prepare.fill_store import prepare
from world4scorer.datasets.prepare.source import NavsimSource
from world4scorer.jobs.executors import SerialExecutor

TOWN = "old-town"
WANTED = 300


def training(name: str) -> list[Share]:
    return [share for share in PRESETS[name].shares if share.split == "city_train"]


@pytest.mark.parametrize(
    ("name", "towns", "scenes"), [("tiny", 1, 60), ("quick", 6, 8000), ("standard", 12, 35_000), ("large", 12, 150_000)]
)
def test_presets_train_on_many_towns(name: str, towns: int, scenes: int) -> None:
    shares = training(name)
    assert len({share.place for share in shares}) >= towns and sum(share.decisions for share in shares) == scenes
    if name != "tiny":
        assert max(shares, key=lambda share: share.decisions).place == "berlin-east"
        assert all(share.selection == "balanced" for share in shares)
        assert all(share.decisions / share.simulations <= 1200 for share in shares)


@pytest.mark.parametrize(
    ("name", "places", "seeds"),
    [
        ("tiny", ["braunschweig"], [101]),
        ("quick", ["berlin-west", "ingolstadt", "braunschweig"], [101, 201, 301]),
        (
            "standard",
            ["berlin-west"] * 3 + ["ingolstadt"] * 3 + ["braunschweig"] * 3,
            [201, 202, 203, 301, 302, 303, 401, 402, 403],
        ),
    ],
)
def test_validation_and_test_keep_their_seeds_and_sizes(name: str, places: list[str], seeds: list[int]) -> None:
    others = [one for one in PRESETS[name].simulations if one.share.split != "city_train"]
    assert [one.share.place for one in others] == places and [one.seed for one in others] == seeds
    assert all(one.share.selection == "ranked" for one in others)
    shares = [(share.split, share.decisions) for share in PRESETS[name].shares if share.split != "city_train"]
    assert (
        shares
        == {
            "tiny": [("city_val", 30)],
            "quick": [("city_val", 1000), ("city_test", 150), ("city_test", 150)],
            "standard": [("city_val", 3000), ("city_test", 1000), ("city_test", 1000)],
        }[name]
    )


def test_large_shares_validation_and_test_with_standard() -> None:
    standard, large = (
        [one for one in PRESETS[name].simulations if one.share.split != "city_train"] for name in ("standard", "large")
    )
    assert standard == large


def test_the_devkit_gets_four_networks_and_as_many_scenes() -> None:
    config = preset("standard", devkit_maps=True)
    networks = {PLACES[share.place].network for share in config.shares}
    assert len(networks) <= 4 and all(network.devkit_location for network in networks)
    assert sum(share.decisions for share in config.shares) == sum(s.decisions for s in PRESETS["standard"].shares)
    others = [one for one in config.simulations if one.share.split != "city_train"]
    assert others == [one for one in PRESETS["standard"].simulations if one.share.split != "city_train"]
    with pytest.raises(CityError, match="four maps only, and none for circles"):
        CityConfig(shares=(Share("a", "test", "circles", 1, 5),), devkit_maps=True)


def test_of_flagged_frames_in_a_row_some_stay() -> None:
    flags = np.array([0, 1, 1, 1, 1, 1, 1, 1, 0, 1, 0], np.bool_)
    assert _thinned(flags, 2, 6).astype(int).tolist() == [1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1]
    assert _thinned(~flags, 1, 1).all()


def test_rare_situations_are_preferred_until_they_have_their_share() -> None:
    names = list(TARGET_SHARES)
    counts = np.zeros((300, len(names)))
    right, left, straight = range(20), range(20, 120), range(120, 300)
    counts[right, names.index("right_turn")] = counts[left, names.index("left_turn")] = 10
    counts[straight, names.index("fast")] = 20
    plain = np.zeros(300, np.int64)
    candidates = Candidates(counts, np.full(300, 20.0), plain + 33, np.arange(300), plain)
    chosen = np.array(choose_balanced(candidates, 1000))
    assert len(chosen) == 50 and len(set(chosen.tolist())) == 50
    by_kind = [np.isin(chosen, kind).sum() for kind in (right, left, straight)]
    assert by_kind[0] >= 15 and by_kind[1] >= 15 and by_kind[2] >= 8
    everything = choose_balanced(candidates, 10**6)
    assert len(everything) == 300


def test_chosen_segments_do_not_overlap() -> None:
    first = np.arange(0, 100, 4)
    same = np.zeros(len(first), np.int64)
    counts = np.ones((len(first), len(TARGET_SHARES)))
    candidates = Candidates(counts, np.full(len(first), 20.0), same + 33, same, first)
    begins = np.sort(first[choose_balanced(candidates, 10**6)])
    assert (np.diff(begins) >= 33).all() and len(begins) >= 2


@pytest.fixture(scope="module")
def town(sumo: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[StreetMap, Recording]:
    folder = tmp_path_factory.mktemp("selection")
    network = build_network(TOWNS[TOWN], folder / f"{TOWN}.net.xml")
    streets = read_streets(network)
    demand = write_demand(streets, PLACES[TOWN], 3, 90.0, folder / "demand.rou.xml")
    return streets, record(network, demand, 3, 20.0, 70.0)


def count(segments: list[LogSegment], name: str) -> float:
    rows = [(segment, segment.first + segment.decisions()) for segment in segments]
    total = sum(len(found) for _, found in rows)
    return sum(segment.situations.counts(found)[name] for segment, found in rows) / total


def test_balanced_segments_turn_both_ways_and_skip_what_teaches_nothing(town: tuple[StreetMap, Recording]) -> None:
    streets, recording = town
    ranked, balanced, everything = (
        select_segments(recording, streets, PLACES[TOWN], wanted, selection)  # type: ignore[arg-type]
        for wanted, selection in ((WANTED, "ranked"), (WANTED, "balanced"), (10**6, "ranked"))
    )
    for segments in (ranked, balanced):
        assert WANTED <= sum(len(segment.decisions()) for segment in segments) < WANTED + 47
    turning = [count(segments, "left_turn") + count(segments, "right_turn") for segments in (balanced, everything)]
    assert turning[0] >= 0.3 and turning[0] > turning[1]
    assert abs(count(balanced, "left_turn") - count(balanced, "right_turn")) < 0.12
    assert count(balanced, "slow") >= 0.3 and count(balanced, "fast") >= 0.1
    assert count(balanced, "start") > count(everything, "start")
    assert count(balanced, "uneventful") < count(everything, "uneventful")
    assert all(segment.thin_uneventful for segment in balanced) and not any(s.thin_uneventful for s in ranked)


def test_a_city_of_two_towns(sumo: None, tmp_path: Path) -> None:
    config = CityConfig(
        shares=(
            Share("city_train", "trainval", "old-town", 1, 30, "balanced"),
            Share("city_val", "trainval", "star", 1, 30),
        ),
        height=28,
        width=49,
        supersample=1,
        cameras=("CAM_F0",),
        warm_up=12.0,
        duration=24.0,
    )
    make_city(config, tmp_path / "city", workers=1)
    info = city_info(tmp_path / "city")
    assert info.complete and [place.selection for place in info.places] == ["balanced", "ranked"]
    train, val = info.places
    assert train.decisions >= train.decisions_wanted == 30 and val.decisions >= val.decisions_wanted
    assert train.location == "town-old-town" and train.place_km is not None and train.place_km > 4.0
    split = find_split("city_train", tmp_path / "city")
    source = NavsimSource(tmp_path / "city", split, routes=CityRoutes(tmp_path / "city"))
    report = prepare(source, tmp_path / "store", SerialExecutor(), show_progress=False)
    assert report.scenes == train.decisions
