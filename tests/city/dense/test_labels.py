"""Dense labels against Shapely and arithmetic by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import shapely

from tests.support.city_fixtures import ingolstadt, ingolstadt_network
from tests.support.tiny_town import CAR, PERSON, some_actors, tiny_town
from world4scorer.city.dense.labels import dense_labels
from world4scorer.city.dense.street_raster import (
    DRIVABLE_TABLES,
    RESOLUTION,
    StreetRaster,
    _Canvas,
    encode_heading,
)
from world4scorer.city.render.renderer import RenderedViews
from world4scorer.city.streets.lane_graph import lane_graph
from world4scorer.city.streets.map_export import export_map
from world4scorer.datasets.dense.labels import (
    CELLS,
    COARSE_CELLS,
    VELOCITY_STEP,
    X_RANGE,
    Y_RANGE,
    MapBit,
    cell_centres,
)
from world4scorer.engine.scene.geometry import to_global_axes
from world4scorer.planner.pretraining.dense_batches import mirror_labels

__all__ = ["ingolstadt", "ingolstadt_network"]

AREA = (5530.0, 5515.0, 5935.0, 5830.0)
NOWHERE = StreetRaster((-500.0, -500.0), np.zeros((4000, 4000), np.uint8), np.zeros((4000, 4000), np.uint8), ())
"""A place without streets."""
CAMERAS = [0, 1, 3, 2]
"""The mirrored camera of each."""


def views_that_show(*actors):
    """Views in which the given rows of the actors cover ten pixels each."""
    instances = np.full((4, 40, 60), -1, np.int16)
    for number, actor in enumerate(actors):
        instances[0, number, :10] = actor
    shape = instances.shape
    return RenderedViews(
        np.zeros((*shape, 3), np.uint8), np.full(shape, 3, np.uint8), np.full(shape, 8.0, np.float32), instances
    )


def labels_of(raster, pose, actors=None, speeds=None, signals=None, shown=()):
    """Labels without signals unless given."""
    raster = raster if signals else replace(raster, zones=())
    actors = some_actors() if actors is None else actors
    speeds = np.zeros(len(actors)) if speeds is None else speeds
    return dense_labels(raster, np.asarray(pose, float), actors, speeds, signals or {}, views_that_show(*shown), 8)


def headings(codes):
    return (codes.astype(float) - 0.5) / 255 * 2 * np.pi - np.pi


def has(labels, bit):
    return (labels.bits & bit) > 0


@pytest.fixture(scope="module")
def raster(ingolstadt):
    return StreetRaster.build(ingolstadt, AREA)


@pytest.fixture(scope="module")
def town():
    return StreetRaster.build(tiny_town(), (0.0, -20.0, 140.0, 20.0))


@pytest.mark.parametrize("seed", range(4))
def test_drivable_cells_are_those_of_the_exported_map(raster, ingolstadt, seed):
    rng = np.random.default_rng(seed)
    pose = np.array([rng.uniform(AREA[0], AREA[2]), rng.uniform(AREA[1], AREA[3]), rng.uniform(-3, 3)])
    layers, _ = export_map(ingolstadt)
    shapes = [shape for table in DRIVABLE_TABLES for shape in layers[table].shapes]
    streets = shapely.union_all(shapely.transform(np.array(shapes, object), lambda p: p - ingolstadt.offset))
    points = to_global_axes(cell_centres().reshape(-1, 2), pose)
    expected = shapely.contains_xy(streets, points[:, 0], points[:, 1]).reshape(CELLS)
    from_edge = shapely.distance(streets.boundary, shapely.points(points)).reshape(CELLS)
    found = has(labels_of(raster, pose), MapBit.DRIVABLE)
    sure = from_edge > 2 * RESOLUTION  # Pillow also fills pixels that an outline touches
    assert sure.mean() > 0.7
    assert (found == expected)[sure].all()
    assert (found == expected).mean() > 0.98


def test_holes_are_left_out_and_erase_nothing():
    square = shapely.box(1, 1, 9, 9)
    ring = shapely.Polygon(square.exterior, [shapely.box(3, 3, 7, 7).exterior])
    canvas = _Canvas(np.zeros(2), 40, 40)
    around = np.asarray(canvas.filled([ring]))
    assert around[8, 8] and not around[20, 20] and not around[38, 38]
    assert np.asarray(canvas.filled([shapely.box(4, 4, 5, 5), ring]))[18, 18]


@pytest.mark.parametrize("heading", [0.0, 0.4, -2.5])
def test_lanes_point_where_traffic_goes_as_the_ego_sees_it(town, heading):
    pose = np.array([20.0, -0.6, heading])
    codes = labels_of(town, pose).direction
    angles = headings(codes[codes > 0])
    apart = np.abs((angles + heading + np.pi) % (2 * np.pi) - np.pi)
    assert len(angles) > 50 and apart.max() < 2 * (2 * np.pi / 255)


def test_headings_have_255_codes():
    codes = encode_heading(np.linspace(-np.pi, np.pi, 1000, endpoint=False))
    assert codes.min() == 1 and codes.max() == 255 and (np.diff(codes.astype(int)) >= 0).all()


def test_directions_agree_with_the_lanes_below(raster, ingolstadt):
    graph = lane_graph(ingolstadt)
    pose = np.array([5700.0, 5650.0, 1.0])
    codes = labels_of(raster, pose).direction
    x = X_RANGE[0] + np.arange(COARSE_CELLS[0]) + 0.5
    y = Y_RANGE[0] + np.arange(COARSE_CELLS[1]) + 0.5
    centres = np.stack(np.meshgrid(x, y, indexing="ij"), -1)
    lanes = [graph.lane_bands[lane.id] for lane in graph.lanes]
    checked = 0
    for row, column in np.argwhere(codes > 0)[::7]:
        point = shapely.Point(to_global_axes(centres[row, column][None], pose)[0])
        below = [band for band in lanes if band.polygon.distance(point) < 0.5]
        if len(below) != 1 or not below[0].polygon.contains(point):  # lanes may overlap a little
            continue
        line = shapely.LineString(below[0].line)
        along = line.project(point)
        ahead, behind = (line.interpolate(np.clip(along + step, 0, line.length)) for step in (0.5, -0.5))
        expected = np.arctan2(ahead.y - behind.y, ahead.x - behind.x) - pose[2]
        found = headings(codes[row, column])
        apart = abs((found - expected + np.pi) % (2 * np.pi) - np.pi)
        assert apart < 0.25, (row, column)
        checked += 1
    assert checked > 10


def test_road_users_cover_their_boxes():
    pose = np.array([10.0, -4.0, 0.7])
    places = ((20.0, 3.0, 0.5, CAR), (-8.0, -5.0, -1.0, CAR), (12.0, 6.0, 0.0, PERSON), (30.0, -9.0, 2.0, CAR))
    rows = [(*to_global_axes(np.array([[x, y]]), pose)[0], pose[2] + turn, *kind) for x, y, turn, kind in places]
    labels = labels_of(NOWHERE, pose, some_actors(*rows), np.array([4.0, 0.0, 1.5, 9.0]), shown=(0, 1, 2))
    points = to_global_axes(cell_centres().reshape(-1, 2), pose)

    def inside(row):
        x, y, heading, length, width = row[:5]
        box = shapely.affinity.rotate(
            shapely.box(x - length / 2, y - width / 2, x + length / 2, y + width / 2), heading, "center", True
        )
        return shapely.contains_xy(box, points[:, 0], points[:, 1]).reshape(CELLS)

    assert np.array_equal(has(labels, MapBit.VEHICLE), inside(rows[0]) | inside(rows[1]))
    assert np.array_equal(has(labels, MapBit.PERSON), inside(rows[2]))
    assert np.array_equal(has(labels, MapBit.HIDDEN), inside(rows[3]))
    assert inside(rows[2]).any() and inside(rows[3]).any()
    velocity = labels.velocity[36, 35] * VELOCITY_STEP
    assert velocity == pytest.approx(4.0 * np.array([np.cos(0.5), np.sin(0.5)]), abs=VELOCITY_STEP)


def test_red_signals_mark_the_end_of_their_lane(town):
    pose = np.array([30.0, -0.6, 0.0])
    red = has(labels_of(town, pose, signals={"j": "rr"}), MapBit.RED)
    centres = cell_centres()
    x, y = centres[..., 0] + pose[0], centres[..., 1] + pose[1]
    assert np.array_equal(red, (x > 52) & (x < 60) & (np.abs(y + 0.6) < 1.6))
    assert not has(labels_of(town, pose, signals={"j": "GG"}), MapBit.RED).any()
    assert not has(labels_of(town, [66.0, 2.6, np.pi], signals={"j": "rr"}), MapBit.RED).any()


def test_labels_of_a_mirrored_world_are_mirrored():
    rng = np.random.default_rng(3)
    rows = [(*rng.uniform((-10, -25), (50, 25)), rng.uniform(-3, 3), *kind) for kind in (CAR, CAR, PERSON, CAR)]
    speeds = rng.uniform(0, 10, 4)
    there = [(x, -y, -heading, *rest) for x, y, heading, *rest in rows]
    plain, mirrored = (
        labels_of(NOWHERE, np.zeros(3), some_actors(*each), speeds, shown=(0, 2)) for each in (rows, there)
    )
    flipped = mirror_labels(plain, CAMERAS)
    assert np.array_equal(flipped.bits, mirrored.bits)
    assert np.array_equal(flipped.velocity, mirrored.velocity)


def test_lane_directions_mirror(town):
    labels = labels_of(town, [20.0, -0.6, 0.5])
    flipped = mirror_labels(labels, CAMERAS).direction
    assert np.array_equal(flipped > 0, labels.direction[:, ::-1] > 0)
    assert headings(flipped[flipped > 0]) == pytest.approx(0.5, abs=2 * (2 * np.pi / 255))
