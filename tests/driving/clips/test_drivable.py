from __future__ import annotations

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from world4scorer.driving.clips.drivable import DrivableGrid, GridPainter, city_grid, pack_raster, unpack_raster
from world4scorer.driving.clips.errors import ClipError
from world4scorer.driving.clips.opendrive_map import opendrive_grid

HAS_CARLA = importlib.util.find_spec("carla") is not None
ROAD = """<?xml version="1.0"?>
<OpenDRIVE>
  <header revMajor="1" revMinor="4" name="road" version="1" north="0" south="0" east="0" west="0"/>
  <road name="road" length="100.0" id="1" junction="-1">
    <planView><geometry s="0.0" x="0.0" y="0.0" hdg="0.5" length="100.0"><line/></geometry></planView>
    <lanes><laneSection s="0.0">
      <left>
        <lane id="2" type="sidewalk" level="false"><link/><width sOffset="0" a="2.0" b="0" c="0" d="0"/></lane>
        <lane id="1" type="driving" level="false"><link/><width sOffset="0" a="3.5" b="0" c="0" d="0"/></lane>
      </left>
      <center><lane id="0" type="none" level="false"><link/></lane></center>
      <right>
        <lane id="-1" type="driving" level="false"><link/><width sOffset="0" a="3.5" b="0" c="0" d="0"/></lane>
        <lane id="-2" type="parking" level="false"><link/><width sOffset="0" a="2.5" b="0" c="0" d="0"/></lane>
        <lane id="-3" type="shoulder" level="false"><link/><width sOffset="0" a="1.5" b="0" c="0" d="0"/></lane>
      </right>
    </laneSection></lanes>
  </road>
</OpenDRIVE>
"""


def strip(least, most):
    """A grid where everything from one y to another is drivable."""
    painter = GridPainter("Strip", np.array([-60.0, -60.0]), np.array([60.0, 60.0]))
    grid = painter.finish()
    y = grid.origin[1] + 0.5 * (np.arange(grid.cells.shape[1]) + 0.5)
    grid.cells[:, (y > least) & (y < most)] = True
    return grid


STRIP = strip(-3.0, 2.0)


def test_rasters_reach_from_behind_to_far_ahead():
    raster = strip(-3.0, 2.0).around(np.zeros(3))
    assert raster.shape == (120, 100)
    rows = np.flatnonzero(raster.any(0))
    # y from -25 m, half a metre each: -3 m is row 44, 2 m is row 54.
    assert rows.tolist() == list(range(44, 54)) and raster[:, rows].all()


def test_rasters_turn_with_the_ego():
    """An ego that looks along y sees the strip across its way."""
    raster = strip(-3.0, 2.0).around(np.array([0.0, -10.0, math.pi / 2]))
    columns = np.flatnonzero(raster.any(1))
    # The strip is 7 m to 12 m ahead, and rasters begin 10 m behind.
    assert columns.tolist() == list(range(34, 44)) and raster[columns].all()


@settings(deadline=None)
@given(st.floats(-20, 20), st.floats(-20, 20), st.floats(-4, 4), st.integers(0, 119), st.integers(0, 99))
def test_every_cell_asks_at_its_middle(x, y, heading, column, row):
    grid = STRIP
    forward, left = -10 + 0.5 * (column + 0.5), -25 + 0.5 * (row + 0.5)
    place = np.array(
        [
            x + forward * math.cos(heading) - left * math.sin(heading),
            y + forward * math.sin(heading) + left * math.cos(heading),
        ]
    )
    if abs(place / 0.5 - np.round(place / 0.5)).min() > 1e-6:  # on the line between two cells either may answer
        assert grid.around(np.array([x, y, heading]))[column, row] == grid.at(place)


def test_beyond_the_rim_nothing_is_drivable():
    assert not strip(-3.0, 2.0).at(np.array([[1e4, 0.0], [0.0, -1e4]])).any()


def test_files(tmp_path):
    grid = strip(-3.0, 2.0)
    grid.save(tmp_path / "Strip.npz")
    read = DrivableGrid.open(tmp_path / "Strip.npz")
    assert read.town == "Strip" and np.array_equal(read.cells, grid.cells) and np.array_equal(read.origin, grid.origin)
    raster = grid.around(np.array([3.0, 1.0, 0.3]))
    assert np.array_equal(unpack_raster(pack_raster(raster)), raster)
    with pytest.raises(ClipError, match="w4s b2d map"):
        DrivableGrid.open(tmp_path / "none.npz")
    (tmp_path / "bad.npz").write_bytes((tmp_path / "Strip.npz").read_bytes()[:200])
    with pytest.raises(ClipError, match=r"bad\.npz: not a drivable area"):
        DrivableGrid.open(tmp_path / "bad.npz")
    np.savez(tmp_path / "other.npz", format="another", town="x")
    with pytest.raises(ClipError, match="a file of another"):
        DrivableGrid.open(tmp_path / "other.npz")


def test_areas_of_a_city_are_drivable():
    class City:
        area_polygons = np.array(
            [shapely.box(0, 0, 20, 4), shapely.Polygon([(30, 0), (50, 0), (40, 9)], [[(38, 2), (42, 2), (40, 4)]])],
            np.object_,
        )

    grid = city_grid(City(), "TownX")
    x, y = np.meshgrid(np.arange(-4.75, 60, 0.5), np.arange(-4.75, 15, 0.5), indexing="ij")
    expected = shapely.contains_xy(shapely.union_all(City.area_polygons), x, y)
    np.testing.assert_array_equal(grid.at(np.stack([x, y], -1)), expected)


@pytest.mark.skipif(not HAS_CARLA, reason="needs CARLA's client")
def test_lanes_of_opendrive_are_drivable(tmp_path):
    """OpenDRIVE counts y to the left, as we do: driving lanes 3.5 m to both sides, then a parking lane on the right."""
    path = tmp_path / "TownR.xodr"
    path.write_text(ROAD)
    grid = opendrive_grid(path)
    assert grid.town == "TownR"
    forward, left = np.array([math.cos(0.5), math.sin(0.5)]), np.array([-math.sin(0.5), math.cos(0.5)])

    def drivable(along, aside):
        return bool(grid.at(along * forward + aside * left))

    for along in (2.0, 50.0, 98.0):
        for aside, expected in ((5.0, False), (2.9, True), (0.0, True), (-2.9, True), (-5.4, True), (-7.0, False)):
            assert drivable(along, aside) == expected, (along, aside)
    assert not drivable(-4.0, 1.0) and not drivable(104.0, 1.0)


def test_what_is_no_opendrive(tmp_path):
    with pytest.raises(ClipError, match="no such file"):
        opendrive_grid(tmp_path / "none.xodr")
    path = Path(tmp_path / "bad.xodr")
    path.write_text("<nothing/>")
    with pytest.raises(ClipError, match=r"bad\.xodr: not OpenDRIVE"):
        opendrive_grid(path)
    path.write_text("<OpenDRIVE></OpenDRIVE>")
    with pytest.raises(ClipError, match=r"bad\.xodr" if HAS_CARLA else r"world4scorer\[carla\]"):
        opendrive_grid(path)
