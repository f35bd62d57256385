"""Does scenery keep off the streets?"""

from __future__ import annotations

import numpy as np
import shapely

from world4scorer.city.scenery.light import to_linear, to_srgb
from world4scorer.city.scenery.models import actor_models
from world4scorer.city.scenery.polyline import cut, parallel, points_at
from world4scorer.city.scenery.scenery import Scenery
from world4scorer.city.scenery.surface import SurfaceClass
from world4scorer.city.streets.street_map import LaneUse
from world4scorer.engine.scene.geometry import arc_length_hypot


def traffic_area(streets):
    strips = [
        shapely.LineString(lane.shape).buffer(lane.width / 2, cap_style="flat")
        for lane in streets.lanes.values()
        if lane.use is not LaneUse.WALKING_AREA
    ]
    return shapely.union_all([*strips, *(shapely.Polygon(j.shape) for j in streets.junctions.values())])


def test_houses_stand_free_of_streets_and_of_each_other(world, streets):
    houses = [shapely.Polygon(house.outline) for house in world.scenery.houses]
    area = traffic_area(streets)
    assert len(houses) >= 8
    assert min(house.distance(area) for house in houses) > 0.5
    for k, house in enumerate(houses):
        assert all(house.intersection(other).area < 0.5 for other in houses[k + 1 :])


def test_nothing_stands_in_a_lane_for_cars_or_bicycles(world, streets):
    arrays = world.scenery.arrays
    centre = np.empty((len(arrays.corners), 2))
    for (i, j), cell in np.ndenumerate(arrays.cells):
        if cell >= 0:
            rows = slice(arrays.span[cell, 0], arrays.span[cell, 3])
            centre[rows] = arrays.corner + (np.array([j, i]) + 0.5) * arrays.cell
    low = arrays.corners[:, :, 2].min(1) < 1.0
    points = (arrays.corners[..., :2].mean(1) + centre)[low]
    lanes = [lane for lane in streets.lanes.values() if lane.use in (LaneUse.DRIVE, LaneUse.BICYCLE)]
    road = shapely.union_all(
        [shapely.LineString(lane.shape).buffer(lane.width / 2, cap_style="flat") for lane in lanes]
    )
    assert not shapely.contains_xy(road, points).any()


def test_scenery_has_everything_and_follows_its_seed(world, streets):
    kinds = set(np.unique(world.scenery.arrays.surface).tolist())
    assert {SurfaceClass.BUILDING, SurfaceClass.VEGETATION, SurfaceClass.POLE, SurfaceClass.SIGNAL} <= kinds
    again, other = Scenery.build(streets, 1), Scenery.build(streets, 2)
    assert (again.arrays.corners == world.scenery.arrays.corners).all()
    assert again.arrays.corners.shape != other.arrays.corners.shape
    assert len(world.scenery.heads) == 2 + 2  # two posts of the approach, two ends of the crossing


def test_shapes_of_actors_fill_their_boxes_and_look_outwards():
    models = actor_models()
    for start, end in zip(models.start[:-1], models.start[1:], strict=True):
        corners = models.corners[start:end]
        assert 0.92 < np.ptp(corners[..., 2]) < 1.03
        # Legs at rest leave room for a step; mirrors stick out.
        assert 0.45 < np.ptp(corners[..., 0]) < 1.08 and np.ptp(corners[..., 1]) < 1.2
    assert len(models.corners) < 3000


def test_lines():
    line = np.array([(0.0, 0.0), (10.0, 0.0), (10.0, 10.0)])
    assert arc_length_hypot(line).tolist() == [0, 10, 20]
    assert parallel(line, 1.0).tolist() == [[0, 1], [9, 1], [9, 10]]
    assert cut(line, 5, 12).tolist() == [[5, 0], [10, 0], [10, 2]]
    place, heading = points_at(line, np.array([15.0]))
    assert place.tolist() == [[10, 5]] and heading[0] == np.pi / 2


def test_colours_survive_the_way_to_light_and_back():
    colours = np.arange(256)
    assert np.abs(to_srgb(to_linear(colours).astype(np.float64)) - colours).max() < 0.01
