from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import shapely

from tests.support.crossing import OFFSET, crossing
from world4scorer.city.streets.errors import CityError
from world4scorer.city.streets.map_export import Layers, export_map
from world4scorer.city.streets.map_index import MapIndex
from world4scorer.city.streets.street_map import StreetMap, Turn
from world4scorer.city.streets.swept_path import corner_trails
from world4scorer.datasets.navsim.annotations import Annotations
from world4scorer.datasets.navsim.frames import COMMANDS
from world4scorer.datasets.navsim.log_writer import FrameRecord, write_log
from world4scorer.datasets.navsim.logs import read_log
from world4scorer.datasets.navsim.map_files import map_path
from world4scorer.datasets.navsim.map_reader import read_city_map
from world4scorer.datasets.navsim.map_writer import LAYER_COLUMNS, write_map
from world4scorer.datasets.prepare.scene_builder import build_scene
from world4scorer.engine.outcomes import epdms

LOCATION = "de-crossing"
ROUTE = ["south_in", "east_out", "far_out"]
SPEED = 6.0


@pytest.fixture(scope="module")
def streets() -> StreetMap:
    return crossing()


@pytest.fixture(scope="module")
def exported(streets: StreetMap) -> tuple[Layers, MapIndex]:
    return export_map(streets)


@pytest.fixture(scope="module")
def layers(exported: tuple[Layers, MapIndex]) -> Layers:
    return exported[0]


@pytest.fixture(scope="module")
def index(exported: tuple[Layers, MapIndex]) -> MapIndex:
    return exported[1]


def drivable(layers: Layers) -> shapely.Geometry:
    return shapely.union_all(np.concatenate([layers[n].shapes for n in ("lane_groups_polygons", "intersections")]))


def baselines(layers: Layers) -> dict[int, np.ndarray]:
    table = layers["baseline_paths"]
    owner = np.fmax(table.columns["lane_fid"], table.columns["lane_connector_fid"]).astype(int)
    assert len(set(owner.tolist())) == len(owner)
    return {fid: shapely.get_coordinates(line) for fid, line in zip(owner.tolist(), table.shapes, strict=True)}


def test_shapes_are_sound(layers: Layers) -> None:
    assert set(layers) <= set(LAYER_COLUMNS)
    for name, table in layers.items():
        kind = shapely.GeometryType.POLYGON if LAYER_COLUMNS[name][0] == "Polygon" else shapely.GeometryType.LINESTRING
        assert (shapely.get_type_id(table.shapes) == kind).all(), name
        assert shapely.is_valid(table.shapes).all() and not shapely.is_empty(table.shapes).any(), name
        assert set(table.columns) <= set(LAYER_COLUMNS[name][1])
    counts = {name: len(table.ids) for name, table in layers.items()}
    assert counts["lanes_polygons"] == 20 and counts["lane_connectors"] == 21
    assert counts["lane_groups_polygons"] == 10 and counts["stop_polygons"] == 8
    assert counts["crosswalks"] == 1 and counts["walkways"] == 11


def test_ids_are_positive_and_distinct(layers: Layers) -> None:
    shared = "gen_lane_connectors_scaled_width_polygons"  # has the ids of its connectors
    ids = np.concatenate([table.ids for name, table in layers.items() if name != shared])
    assert ids.min() > 0 and len(np.unique(ids)) == len(ids)


def test_links_lead_somewhere(layers: Layers, index: MapIndex) -> None:
    lanes, connectors = layers["lanes_polygons"], layers["lane_connectors"]
    ids = {name: set(table.ids.tolist()) for name, table in layers.items()}
    for table in (connectors, lanes):
        for column, target in {
            "exit_lane_fid": "lanes_polygons",
            "entry_lane_fid": "lanes_polygons",
            "lane_group_fid": "lane_groups_polygons",
            "lane_group_connector_fid": "lane_group_connectors",
            "left_boundary_fid": "boundaries",
            "right_boundary_fid": "boundaries",
        }.items():
            if column in table.columns:
                assert set(table.columns[column].tolist()) <= ids[target], column
    stops = [text for text in connectors.columns["traffic_light_stop_line_fids"] if text]
    assert len(stops) == 16 and {int(text) for text in stops} == ids["stop_polygons"]
    turns = dict(zip(connectors.ids.tolist(), connectors.columns["turn_type_fid"].tolist(), strict=True))
    assert turns[index.connector["south_in_3", "west_out_3"]] == 1
    assert turns[index.connector["south_in_2", "east_out_2"]] == 2
    assert turns[index.connector["far_out_3", "far_in_3"]] == 3
    places = dict(zip(lanes.ids.tolist(), lanes.columns["lane_index"].tolist(), strict=True))
    assert (places[index.lane["south_in_3"]], places[index.lane["south_in_2"]]) == (0, 1)
    limits = dict(zip(connectors.ids.tolist(), connectors.columns["speed_limit_mps"].tolist(), strict=True))
    assert limits[index.connector["south_in_2", "east_out_2"]] == 5.0


def test_centrelines_join(layers: Layers, index: MapIndex) -> None:
    lines = baselines(layers)
    assert set(lines) == {*index.lane.values(), *index.connector.values()}
    for line in lines.values():
        steps = np.hypot(*np.diff(line, axis=0).T)
        assert steps.min() > 0.1 and steps.max() <= 1.0 + 1e-6
    around = index.connector["far_out_3", "far_in_3"]
    for (before, after), fid in index.connector.items():
        chain = [lines[index.lane[before]], lines[fid], lines[index.lane[after]]]
        for one, other in pairwise(chain):
            np.testing.assert_array_equal(one[-1], other[0])
            if fid != around:
                arrives, sets_out = one[-1] - one[-2], other[1] - other[0]
                cosine = arrives @ sets_out / np.hypot(*arrives) / np.hypot(*sets_out)
                assert cosine > np.cos(0.06)


def test_polygons_hold_their_centrelines(layers: Layers) -> None:
    lines = baselines(layers)
    area = drivable(layers)
    for name in ("lanes_polygons", "gen_lane_connectors_scaled_width_polygons"):
        table = layers[name]
        for fid, polygon in zip(table.ids.tolist(), table.shapes, strict=True):
            assert polygon.buffer(0.01).contains(shapely.LineString(lines[fid]))
    for polygon in layers["lanes_polygons"].shapes:
        assert area.contains(polygon)


def test_carriageways_reach_from_kerb_to_kerb(layers: Layers, index: MapIndex) -> None:
    table = layers["lane_groups_polygons"]
    blocks = dict(zip(table.ids.tolist(), table.shapes, strict=True))
    block = shapely.transform(blocks[index.roadblock["north_in"]], lambda points: points - OFFSET)
    left, _, right, _ = shapely.bounds(shapely.intersection(block, shapely.LineString([[-20, 40], [20, 40]])))
    assert (left, right) == pytest.approx((-8.4, 0.2), abs=0.01)  # the bicycle lane too, and 0.2 m of the other side
    _, low, _, high = shapely.bounds(block)
    assert low < 16.0 < 70.0 < high
    facing = shapely.intersection(blocks[index.roadblock["north_in"]], blocks[index.roadblock["north_out"]])
    assert facing.area == pytest.approx(0.4 * 54, rel=0.05)


def test_roadblock_connectors_do_not_reach_beyond_their_lanes(layers: Layers) -> None:
    """Where two of them on a route overlap by a square metre, the route is cut as a loop; streets can be that short."""
    connectors, bands = layers["lane_connectors"], layers["gen_lane_connectors_scaled_width_polygons"].shapes
    table = layers["lane_group_connectors"]
    for fid, polygon in zip(table.ids.tolist(), table.shapes, strict=True):
        own = shapely.union_all(bands[connectors.columns["lane_group_connector_fid"] == fid])
        assert polygon.area == pytest.approx(own.area, rel=0.02)


def test_only_meeting_streets_make_an_intersection(layers: Layers) -> None:
    table = layers["intersections"]
    centres = shapely.get_coordinates(shapely.centroid(table.shapes)) - OFFSET
    assert len(table.ids) == 2 and table.columns["intersection_type_fid"].tolist() == [1, 0]
    np.testing.assert_allclose(centres[0], 0.0, atol=1.0)
    assert centres[1, 0] > 109.0  # where cars can only turn around
    assert not table.shapes[0].contains(shapely.Point(OFFSET + np.array([14.5, 9.3])))  # pavement
    links = layers["lane_group_connectors"].columns["intersection_fid"]
    assert (links == 0).sum() == 2


def test_cars_stay_on_the_road(streets: StreetMap, layers: Layers, index: MapIndex) -> None:
    lines = baselines(layers)
    area = drivable(layers)
    shapely.prepare(area)
    ways = [
        np.concatenate(
            [
                lines[index.lane[c.from_lane]],
                lines[index.connector[c.from_lane, c.to_lane]][1:-1],
                lines[index.lane[c.to_lane]][:20],
            ]
        )
        for c in streets.connections
        if c.turn is not Turn.AROUND
    ]
    for trail in corner_trails(ways):
        points = trail[:, 24:].reshape(-1, 2)  # a car does not begin outside of the map
        assert shapely.contains_xy(area, points[:, 0], points[:, 1]).all()


def test_routes_alternate(index: MapIndex) -> None:
    ids = index.route(ROUTE)
    assert ids == [
        str(fid)
        for fid in (
            index.roadblock["south_in"],
            index.roadblock_connector["south_in", "east_out"],
            index.roadblock["east_out"],
            index.roadblock_connector["east_out", "far_out"],
            index.roadblock["far_out"],
        )
    ]
    assert index.route([]) == []
    with pytest.raises(CityError, match="no edge 'nowhere'"):
        index.route(["nowhere"])
    with pytest.raises(CityError, match="from edge 'south_in' to 'south_out'"):
        index.route(["south_in", "south_out"])


def test_lights(streets: StreetMap, index: MapIndex) -> None:
    state = "rGgyuOo" + "G" * (len(streets.connections) - 7)
    lights = index.lights({"signal": state})
    assert len(lights) == 16
    assert [red for _, red in lights[:7]] == [True, False, False, False, True, False, False]
    first = streets.connections[0]
    assert lights[0][0] == str(index.connector[first.from_lane, first.to_lane])
    with pytest.raises(CityError, match="no lamp"):
        index.lights({"signal": "rr"})


def test_lanes_that_meet_leave_room_for_a_connection(streets: StreetMap) -> None:
    end = streets.lanes["east_out_3"].shape[-1]
    lanes = dict(streets.lanes)
    lanes["far_out_3"] = replace(lanes["far_out_3"], shape=np.stack([end, lanes["far_out_3"].shape[-1]]))
    connections = tuple(
        replace(c, shape=np.stack([end, end])) if c.to_lane == "far_out_3" else c for c in streets.connections
    )
    layers, index = export_map(replace(streets, lanes=lanes, connections=connections))
    lines = baselines(layers)
    line = lines[index.connector["east_out_3", "far_out_3"]]
    np.testing.assert_allclose(line[-1] - line[0], [0.25, 0.0], atol=1e-6)
    np.testing.assert_array_equal(lines[index.lane["east_out_3"]][-1], line[0])


def test_streets_without_cars_are_refused(streets: StreetMap) -> None:
    with pytest.raises(CityError, match="no lane for cars"):
        export_map(replace(streets, lanes={}, connections=()))


def test_written_maps_are_read_back(streets: StreetMap, layers: Layers, index: MapIndex, tmp_path: Path) -> None:
    path = write_map(tmp_path, LOCATION, layers, crs=streets.crs)
    assert path == map_path(tmp_path, LOCATION)
    city = read_city_map(tmp_path, LOCATION)
    assert not city.problems and city.location == LOCATION
    lines = baselines(layers)
    for lane in city.lanes:
        np.testing.assert_allclose(lane.path[:, :2], lines[int(lane.id)], atol=1e-6)
    again = export_map(crossing())[0]
    assert path.read_bytes() == write_map(tmp_path / "again", LOCATION, again, crs=streets.crs).read_bytes()
    for before, after in pairwise(ROUTE):
        link = city.blocks[city.block_index[str(index.roadblock_connector[before, after])]]
        assert [city.blocks[block].id for block in link.outgoing] == [str(index.roadblock[after])]


def test_a_drive_over_the_map_is_flawless(streets: StreetMap, layers: Layers, index: MapIndex, tmp_path: Path) -> None:
    """A right turn at the signal, written as a log, prepared and judged."""
    write_map(tmp_path, LOCATION, layers, crs=streets.crs)
    lines = baselines(layers)
    chain = [("south_in_2", "east_out_2"), ("east_out_2", "far_out_2")]
    way = np.concatenate(
        [lines[index.lane["south_in_2"]]]
        + [part[1:] for pair in chain for part in (lines[index.connector[pair]], lines[index.lane[pair[1]]])]
    )
    trail = corner_trails([way])[0]
    ahead = trail[0] - trail[3]
    heading = np.arctan2(ahead[:, 1], ahead[:, 0])
    rear_axle = (trail[2] + trail[3]) / 2 + 1.127 * ahead / np.hypot(*ahead.T)[:, None]
    states = "G" * len(streets.connections)
    records = [
        FrameRecord(
            token=f"{k:016x}",
            time_us=1_000_000 + 500_000 * k,
            scene_name="scene",
            scene_token="0" * 16,
            map_location=LOCATION,
            ego_pose=np.array([*rear_axle[step], heading[step]]),
            velocity=np.array([SPEED, 0.0]),
            acceleration=np.zeros(2),
            command=COMMANDS.index("right"),
            roadblock_ids=index.route(ROUTE),
            traffic_lights=index.lights({"signal": states}),
            annotations=Annotations.none(),
            cameras=(),
        )
        for k, step in enumerate(range(120, 120 + 14 * 12, 12))
    ]
    write_log(tmp_path / "drive.pkl", "1" * 16, records)
    scene = build_scene(read_log(tmp_path / "drive.pkl").frames, read_city_map(tmp_path, LOCATION))
    assert set(scene.route_lane_ids) >= {
        str(index.lane["south_in_2"]),
        str(index.connector["south_in_2", "east_out_2"]),
    }
    assert scene.human_future is not None
    outcome = epdms(scene, scene.human_future[None], human_filter=False)
    found = dict(zip(("NC", "DAC", "DDC", "TLC"), outcome.table[0], strict=False))
    assert found == {"NC": 1.0, "DAC": 1.0, "DDC": 1.0, "TLC": 1.0}
