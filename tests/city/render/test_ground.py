"""Is the painted ground what the plan says?"""

from __future__ import annotations

import itertools

import numpy as np

from tests.support.ground import class_at, mip_levels
from tests.support.tiny_town import bare_world, tiny_town
from world4scorer.city.render.ground import Ground
from world4scorer.city.render.ground_kernels import COARSE_RESOLUTION, FINE_RESOLUTION, MIP_LEVELS, TILE_SIZE
from world4scorer.city.scenery.ground_plan import PAVING_COLOUR, GroundPlan, Paving
from world4scorer.city.scenery.surface import SurfaceClass


def plan_of(square, paving):
    outline = np.array(square, np.float64)
    bounds = np.array([[*outline.min(0), *outline.max(0)]])
    return GroundPlan([outline], np.array([paving]), bounds)


def test_a_square_lands_on_its_texels():
    ground = Ground(plan_of([(8, 16), (24, 16), (24, 48), (8, 48)], Paving.ASPHALT), slots=2)
    class_at(ground, 1.0, 1.0)
    road = ground.classes[0] == SurfaceClass.ROAD
    rows, columns = np.nonzero(road)
    assert (rows.min(), rows.max() + 1) == (16 * FINE_RESOLUTION, 48 * FINE_RESOLUTION)
    assert (columns.min(), columns.max() + 1) == (8 * FINE_RESOLUTION, 24 * FINE_RESOLUTION)
    colour = mip_levels(ground.texels[0])[0][200:300, 100:150, :3].reshape(-1, 3).mean(0)
    np.testing.assert_allclose(colour, PAVING_COLOUR[Paving.ASPHALT], atol=12)


def test_markings_have_a_share_of_their_own():
    ground = Ground(plan_of([(10, 10), (20, 10), (20, 20), (10, 20)], -1), slots=2)
    assert class_at(ground, 15.0, 15.0) == SurfaceClass.MARKING
    white = mip_levels(ground.texels[0])[0][..., 3] / 255
    assert abs(white.sum() / FINE_RESOLUTION**2 - 100) < 1.5


def test_mip_levels_are_means():
    world = bare_world(tiny_town())
    class_at(world.ground, 30.0, 0.0)
    levels = mip_levels(world.ground.texels[0])
    assert [len(level) for level in levels] == [TILE_SIZE >> k for k in range(MIP_LEVELS)]
    for fine, coarse in itertools.pairwise(levels):
        mean = fine.reshape(len(coarse), 2, len(coarse), 2, 4).astype(float).mean((1, 3))
        assert np.abs(mean - coarse).max() <= 0.5


def test_tiles_are_painted_once_and_the_oldest_makes_room():
    ground = bare_world(tiny_town()).ground
    tiles = ground.around(30.0, 0.0)
    painted = ground.painted
    again = ground.around(31.0, 0.0)
    assert ground.painted == painted and (tiles.slots == again.slots).all()
    assert (tiles.slots[0] >= 0).any() and (tiles.slots[1] >= 0).any()
    size = TILE_SIZE / FINE_RESOLUTION
    assert tiles.corner[0, 0] <= -size and tiles.corner[1, 0] <= -TILE_SIZE / COARSE_RESOLUTION
    small = Ground(ground.plan, slots=2)
    for x in (0.0, 70.0, 140.0, 0.0):
        class_at(small, x, 0.0)
    assert small.painted == 4 and len(small.held) == 2
