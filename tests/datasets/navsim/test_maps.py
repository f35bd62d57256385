from __future__ import annotations

import shutil
import sqlite3
import struct
from pathlib import Path

import numpy as np
import pyogrio
import pytest
import shapely

from tests.support.navsim_golden import LOCATION, NavsimGolden
from world4scorer.datasets.navsim import geopackage
from world4scorer.datasets.navsim.city_map import CityMap
from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.datasets.navsim.geopackage import projected_crs, read_layers
from world4scorer.datasets.navsim.map_files import LOCATIONS, map_path
from world4scorer.datasets.navsim.map_reader import LAYERS, read_city_map, read_map_file
from world4scorer.datasets.navsim.map_writer import CHANGE_COUNTERS, LAYER_COLUMNS, LayerTable, complete_maps, write_map

PROJECTION = 1e-8
"""m, rad: releases of PROJ differ in the last digits of coordinates of millions of metres (9.5 and 9.8 by 2e-9)."""


@pytest.fixture
def copy(compact: NavsimGolden, tmp_path: Path) -> Path:
    """A map that a test may damage."""
    path = tmp_path / "map.gpkg"
    shutil.copy(map_path(compact.dataset / "maps", LOCATION), path)
    path.chmod(0o644)
    return path


def test_golden_objects(compact: NavsimGolden, city: CityMap) -> None:
    want = compact.map_objects
    paths = dict(zip((lane.id for lane in city.lanes), city.lanes, strict=True))
    for index, name in enumerate(want["baseline_lane_id"]):
        rows = want["baseline_xyh"][want["baseline_offset"][index] : want["baseline_offset"][index + 1]]
        np.testing.assert_allclose(paths[str(name)].path, rows, rtol=0, atol=PROJECTION)
    shapes = {
        "LANE": (city.lane_index, city.lane_polygons),
        "LANE_CONNECTOR": (city.lane_index, city.lane_polygons),
        "ROADBLOCK": (city.block_index, city.block_polygons),
        "ROADBLOCK_CONNECTOR": (city.block_index, city.block_polygons),
        "INTERSECTION": ({name: i for i, name in enumerate(city.intersection_ids)}, city.intersections),
        "CARPARK_AREA": ({name: i for i, name in enumerate(city.carpark_ids)}, city.carparks),
    }
    checked = 0
    for index, layer in enumerate(want["layers"].tolist()):
        if layer not in shapes:
            continue
        places, polygons = shapes[layer]
        ring = shapely.get_coordinates(polygons[places[str(want["ids"][index])]].exterior)
        rows = want["exterior_xy"][want["exterior_offset"][index] : want["exterior_offset"][index + 1]]
        np.testing.assert_allclose(ring, rows, rtol=0, atol=PROJECTION)
        checked += 1
    assert checked == len(city.lanes) + len(city.blocks) + len(city.intersections) + len(city.carparks)


def test_links(city: CityMap) -> None:
    assert not city.problems
    for index, block in enumerate(city.blocks):
        for following in block.outgoing:
            assert index in city.blocks[following].incoming
            assert block.is_connector != city.blocks[following].is_connector
        assert all(city.lanes[lane].block == index for lane in block.lanes)
    for lane in city.lanes:
        for following in lane.outgoing:
            gap = lane.path[-1, :2] - city.lanes[following].path[0, :2]
            assert np.hypot(*gap) < 1.0


def test_every_location_opens(compact: NavsimGolden) -> None:
    for location in LOCATIONS:
        assert location in read_city_map(compact.dataset / "maps", location).describe()


def test_store_gathers_polygons_with_holes_and_parts() -> None:
    from world4scorer.datasets.navsim.polygon_store import PolygonStore

    holed = shapely.box(0, 0, 10, 10).difference(shapely.box(2, 2, 4, 4))
    double = shapely.MultiPolygon([shapely.box(20, 0, 21, 1), shapely.box(30, 0, 31, 1)])
    store = PolygonStore.from_geometries(np.array([shapely.box(0, 0, 1, 1), holed, double, shapely.Polygon()], object))
    item, vertices, rings, owner = store.gather(np.array([2, 3, 1]))
    assert item.tolist() == [0, 0, 2]
    assert owner.tolist() == [0, 1, 2, 2]
    assert np.diff(rings).tolist() == [4, 4, 4, 4] and len(vertices) == 16
    areas = [shapely.Polygon(vertices[rings[r] : rings[r + 1]]).area for r in range(4)]
    assert areas == [1.0, 1.0, 100.0, 4.0]


def test_another_coordinate_system(copy: Path, city: CityMap) -> None:
    """The layer's own declaration counts: the same lanes stored in metres, or in another projection."""
    for crs in ("EPSG:32611", "EPSG:3857"):
        meta, fids, geometry, fields = pyogrio.raw.read(copy, layer="baseline_paths", return_fids=True)
        from pyproj import Transformer

        lines = shapely.from_wkb(geometry)
        moved = Transformer.from_crs(meta["crs"], crs, always_xy=True).transform(*shapely.get_coordinates(lines).T)
        lines = shapely.set_coordinates(lines, np.stack(moved, axis=1))
        pyogrio.raw.write(
            copy, shapely.to_wkb(lines), [fids, *fields], ["fid", *meta["fields"]], layer="baseline_paths",
            driver="GPKG", geometry_type="LineString", crs=crs, append=False, layer_options={"FID": "fid"},
        )  # fmt: skip
        again = read_map_file(copy, LOCATION)
        for lane, other in zip(city.lanes, again.lanes, strict=True):
            np.testing.assert_allclose(other.path[:, :2], lane.path[:, :2], rtol=0, atol=1e-6)


def sql(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    with connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")  # they need functions that plain SQLite does not have
        for statement in statements:
            connection.execute(statement)
    connection.close()


@pytest.mark.parametrize("layer", LAYERS)
def test_missing_layer(copy: Path, layer: str) -> None:
    for table in ("gpkg_geometry_columns", "gpkg_contents", "gpkg_ogr_contents"):
        sql(copy, f"DELETE FROM {table} WHERE table_name = '{layer}'")
    sql(copy, f"DROP TABLE {layer}")
    with pytest.raises(DatasetError, match="layer is missing") as error:
        read_map_file(copy, LOCATION)
    assert layer in str(error.value) and str(copy) in str(error.value)


def test_missing_meta_row(copy: Path) -> None:
    sql(copy, "DELETE FROM meta WHERE key = 'projectedCoordSystem'")
    with pytest.raises(DatasetError, match="projectedCoordSystem"):
        read_map_file(copy, LOCATION)


def test_missing_files(compact: NavsimGolden, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="No such file"):
        read_city_map(tmp_path, LOCATION)
    with pytest.raises(DatasetError, match="no map of"):
        read_city_map(compact.dataset / "maps", "atlantis")
    with pytest.raises(DatasetError, match="no such map"):
        read_map_file(tmp_path / "map.gpkg", LOCATION)
    (tmp_path / "map.gpkg").write_bytes(b"not a database")
    with pytest.raises(DatasetError, match="not a readable GeoPackage"):
        read_map_file(tmp_path / "map.gpkg", LOCATION)


def test_links_that_lead_nowhere_are_left_out(copy: Path) -> None:
    sql(copy, "UPDATE lane_connectors SET entry_lane_fid = 999999 WHERE fid = (SELECT MIN(fid) FROM lane_connectors)")
    found = read_map_file(copy, LOCATION)
    assert len(found.problems) == 1 and "leads to no lane" in found.problems[0]


def test_maps_survive_writing(compact: NavsimGolden, city: CityMap, tmp_path: Path) -> None:
    layers = read_layers(map_path(compact.dataset / "maps", LOCATION), LAYER_COLUMNS)
    tables = {name: LayerTable(layer.ids, layer.geometry, layer.columns) for name, layer in layers.items()}
    path = write_map(tmp_path, LOCATION, tables)
    assert path == map_path(tmp_path, LOCATION)
    again = read_city_map(tmp_path, LOCATION)
    assert not again.problems
    assert [lane.id for lane in again.lanes] == [lane.id for lane in city.lanes]
    assert [lane.speed_limit for lane in again.lanes] == [lane.speed_limit for lane in city.lanes]
    assert [(b.id, b.lanes, b.incoming, b.outgoing) for b in again.blocks] == [
        (b.id, b.lanes, b.incoming, b.outgoing) for b in city.blocks
    ]
    for lane, other in zip(city.lanes, again.lanes, strict=True):
        np.testing.assert_allclose(other.path, lane.path, rtol=0, atol=1e-6)
    original = {row[0] for row in pyogrio.list_layers(map_path(compact.dataset / "maps", LOCATION))}
    assert {row[0] for row in pyogrio.list_layers(path)} == original
    for name in LAYER_COLUMNS:
        fields = pyogrio.read_info(path, layer=name)["fields"]
        assert set(fields) == set(pyogrio.read_info(map_path(compact.dataset / "maps", LOCATION), layer=name)["fields"])


def test_missing_cities_are_added_empty(tmp_path: Path) -> None:
    write_map(tmp_path, LOCATION, {})
    assert len(complete_maps(tmp_path)) == 3 and not complete_maps(tmp_path)
    for location in LOCATIONS:
        assert read_city_map(tmp_path, location).lanes == ()


@pytest.mark.parametrize("location", ["de-berlin", LOCATION])
def test_other_cities_bring_their_coordinate_system(tmp_path: Path, location: str) -> None:
    square = shapely.box(391_000.0, 5_820_000.0, 391_010.0, 5_820_020.0)
    table = LayerTable(np.array([7]), np.array([square], object))
    path = write_map(tmp_path, location, {"intersections": table}, crs="epsg:32633", version="3.1")
    assert path == tmp_path / location / "3.1" / "map.gpkg" and projected_crs(path) == "epsg:32633"
    found = read_city_map(tmp_path, location).intersections[0]
    np.testing.assert_allclose(shapely.bounds(found), shapely.bounds(square), atol=1e-6)
    assert {written.parent.parent.name for written in complete_maps(tmp_path)} == set(LOCATIONS) - {location}


def test_the_same_map_is_the_same_file(tmp_path: Path) -> None:
    table = LayerTable(np.array([1]), np.array([shapely.box(391_000.0, 5_820_000.0, 391_010.0, 5_820_020.0)], object))
    first, second = (
        write_map(tmp_path / name, "de-berlin", {"walkways": table}, crs="epsg:32633").read_bytes()
        for name in ("first", "second")
    )
    assert first == second
    # SQLite counts transactions there, of which GDAL makes more when the clock's second changes between layers.
    assert {first[place : place + 4] for place in CHANGE_COUNTERS} == {(1).to_bytes(4, "big")}


def test_maps_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"atlantis.*give its coordinate system"):
        write_map(tmp_path, "atlantis", {})
    with pytest.raises(DatasetError, match="coordinate system 'flat'"):
        write_map(tmp_path, "atlantis", {}, crs="flat")
    with pytest.raises(DatasetError, match="names a folder"):
        write_map(tmp_path, "../atlantis", {}, crs="epsg:32633")
    nothing = LayerTable(np.zeros(0, np.int64), np.zeros(0, object), {"colour": np.zeros(0)})
    with pytest.raises(DatasetError, match="no column 'colour'"):
        write_map(tmp_path, LOCATION, {"walkways": nothing})
    with pytest.raises(DatasetError, match="no layer"):
        write_map(tmp_path, LOCATION, {"rivers": nothing})
    assert not list(tmp_path.rglob("*.gpkg"))


def test_a_geometry_that_cannot_be_read_names_its_layer(tmp_path, monkeypatch):
    ring = struct.pack("<BIII6d", 1, 3, 1, 3, 0, 0, 1, 0, 1, 1)  # a polygon whose ring does not close
    read = ({"fields": [], "crs": "epsg:32611"}, np.array([1]), np.array([ring], object), [])
    monkeypatch.setattr(geopackage.pyogrio.raw, "read", lambda *_, **__: read)
    with pytest.raises(DatasetError, match=r"layer 'lanes_polygons': a geometry cannot be read"):
        geopackage._read_raw(tmp_path / "map.gpkg", "lanes_polygons", geometry=True)
