"""Routes, starting lanes and centrelines beyond what the golden logs hold."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from world4scorer.datasets.navsim.city_map import CityMap
from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.datasets.navsim.filters import SceneFilter, Split, windows
from world4scorer.datasets.navsim.frames import LogFrame
from world4scorer.datasets.navsim.logs import Log
from world4scorer.datasets.prepare.centerline import centerline, find_lanes
from world4scorer.datasets.prepare.route import EgoBlock, correct_route, load_route, locate, route_lanes
from world4scorer.datasets.prepare.scene_builder import build_scene, build_scenes
from world4scorer.datasets.prepare.search import find_chain


def changed(log: Log, **fields: Any) -> tuple[LogFrame, ...]:
    """The first window of a log whose frame of now is altered."""
    window = list(log.frames[:14])
    window[3] = replace(window[3], **fields)
    return tuple(window)


def test_route_that_leaves_the_map(logs: list[Log], city: CityMap) -> None:
    window = changed(logs[0], roadblock_ids=(*logs[0].frames[3].roadblock_ids, "777"))
    with pytest.raises(DatasetError, match="777") as error:
        build_scene(window, city)
    assert window[3].token in str(error.value) and str(logs[0].path) in str(error.value)


def test_empty_route(logs: list[Log], city: CityMap) -> None:
    with pytest.raises(DatasetError, match="route is empty") as error:
        build_scene(changed(logs[0], roadblock_ids=()), city)
    assert logs[0].frames[3].token in str(error.value)


def test_ego_off_the_map(logs: list[Log], city: CityMap) -> None:
    far = logs[0].frames[3].ego_pose + np.array([5_000.0, 5_000.0, 0.0])
    scene = build_scene(changed(logs[0], ego_pose=far), city)
    assert scene.map.ids == () or set(scene.map.layer.tolist()) == {100}
    assert np.isfinite(scene.reference).all()


def test_another_city(logs: list[Log], city: CityMap) -> None:
    with pytest.raises(DatasetError, match="us-ma-boston"):
        build_scene(changed(logs[0], map_location="us-ma-boston"), city)


def test_too_few_frames(logs: list[Log], city: CityMap) -> None:
    with pytest.raises(DatasetError, match="7 frames follow, 8 are needed"):
        build_scene(logs[0].frames[:11], city)


def test_errors_can_be_collected(logs: list[Log], city: CityMap, split: Split) -> None:
    frames = list(logs[0].frames)
    frames[5] = replace(frames[5], roadblock_ids=("777",))
    frames[7] = replace(frames[7], annotations=None)
    log = replace(logs[0], frames=tuple(frames))
    failed: list[str] = []
    scenes = list(build_scenes(log, city, split.filter, lambda token, error: failed.append(token)))
    expected = [window[3].token for window in windows(log, split.filter)]
    assert [token for token in expected if token not in failed] == [scene.token for scene in scenes]
    assert failed == [frame.token for frame in frames[3:8]]  # those whose ten next frames, or own route, are bad
    with pytest.raises(DatasetError, match="no annotations"):
        list(build_scenes(log, city, split.filter))


def test_max_scenes(logs: list[Log], city: CityMap) -> None:
    assert len(list(build_scenes(logs[0], city, SceneFilter(frame_interval=1, max_scenes=2)))) == 2


def test_repeated_ids_count_once(city: CityMap) -> None:
    first, second = city.blocks[0].id, city.blocks[1].id
    assert load_route(city, [first, second, first], "frame") == (0, 1)


@given(st.data())
def test_chains_are_connected_and_shortest(city: CityMap, data: st.DataObject) -> None:
    block = st.integers(0, len(city.blocks) - 1)
    start, goal = data.draw(block), data.draw(block)
    forward = data.draw(st.booleans())
    chain = find_chain(city, start, (goal,), 30, forward)
    distance = steps_between(city, start, goal, forward)
    if distance is None:
        assert chain is None
        return
    assert chain is not None and len(chain) == distance + 1
    assert (chain[0], chain[-1]) == ((start, goal) if forward else (goal, start))
    for before, after in pairwise(chain):
        assert after in city.blocks[before].outgoing


def steps_between(city: CityMap, start: int, goal: int, forward: bool) -> int | None:
    """Plain breadth-first search, the oracle."""
    seen, level = {start}, [start]
    for depth in range(30):
        if goal in level:
            return depth
        level = [
            n for b in level for n in (city.blocks[b].outgoing if forward else city.blocks[b].incoming) if n not in seen
        ]
        seen.update(level)
    return None


@given(st.data())
def test_corrected_routes_are_roads(city: CityMap, data: st.DataObject) -> None:
    """Any route: after correction blocks are known and distinct, and a mended route is a fixed point."""
    block = st.integers(0, len(city.blocks) - 1)
    route = tuple(data.draw(st.lists(block, min_size=1, max_size=6, unique=True)))
    ego = data.draw(block)
    mended = correct_route(city, route, EgoBlock(ego, frozenset([ego])))
    assert len(set(mended)) == len(mended)
    lanes = route_lanes(city, mended)
    assert all(city.lanes[lane].block in mended for lane in lanes)
    if mended and lanes:
        start = lanes[0]
        chain = find_lanes(city, start, mended, lanes)
        assert chain[0] == start and set(chain) <= set(lanes)
        line = centerline(city, chain)
        assert len(line) == sum(len(city.lanes[lane].path) for lane in chain)


def test_ego_is_located_on_its_lane(city: CityMap) -> None:
    for lane in city.lanes:
        pose = lane.path[len(lane.path) // 2].copy()
        found = locate(city, pose, (lane.block,))
        assert found.block == lane.block
