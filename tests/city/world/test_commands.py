from __future__ import annotations

import numpy as np
import pytest

from tests.support.crossing import crossing
from world4scorer.city.streets.street_map import LaneUse, StreetMap
from world4scorer.city.world.commands import LEFT, RIGHT, STRAIGHT, UNKNOWN, RouteReader


@pytest.fixture(scope="module")
def streets() -> StreetMap:
    return crossing()


def test_the_command_tells_where_the_route_leads(streets: StreetMap) -> None:
    """OpenScene's rule by hand: 20 m along the connection from the end of each lane."""
    reader = RouteReader(streets)
    seen = set()
    for way in streets.connections:
        if way.use is not LaneUse.DRIVE:
            continue
        before, after = streets.lanes[way.from_lane], streets.lanes[way.to_lane]
        line = np.concatenate([way.shape, after.shape])
        along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(line, axis=0), axis=1))])
        if along[-1] < 21.0:
            continue
        further = np.array([np.interp(20.0, along, line[:, 0]), np.interp(20.0, along, line[:, 1])])
        ahead = before.shape[-1] - before.shape[-2]
        ahead /= np.linalg.norm(ahead)
        gap = further - before.shape[-1]
        offset = ahead[0] * gap[1] - ahead[1] * gap[0]
        expected = LEFT if offset >= 2.0 else RIGHT if offset <= -2.0 else STRAIGHT
        assert reader.command(before.id, (before.edge, after.edge), before.shape[-1] - 0.01 * ahead) == expected
        seen.add(expected)
    assert seen == {LEFT, STRAIGHT, RIGHT}


def test_off_the_route_or_at_its_end_the_command_is_unknown(streets: StreetMap) -> None:
    reader = RouteReader(streets)
    way = next(way for way in streets.connections if way.use is LaneUse.DRIVE)
    before, after = streets.lanes[way.from_lane], streets.lanes[way.to_lane]
    assert reader.command(before.id, ("nowhere",), before.shape[0]) == UNKNOWN
    assert reader.command(after.id, (before.edge, after.edge), after.shape[-1]) == UNKNOWN


def test_the_nearest_lane_runs_in_the_direction_of_the_car(streets: StreetMap) -> None:
    reader = RouteReader(streets)
    way = next(way for way in streets.connections if way.use is LaneUse.DRIVE)
    before, after = streets.lanes[way.from_lane], streets.lanes[way.to_lane]
    ahead = before.shape[-1] - before.shape[0]
    pose = np.array([*before.shape.mean(0), np.arctan2(ahead[1], ahead[0])])
    assert reader.nearest_lane((before.edge, after.edge), pose) == before.id
    assert reader.distance_to_lanes(before.shape[0]) < 0.01
    assert reader.distance_to_lanes(np.array([1000.0, 1000.0])) > 100.0
