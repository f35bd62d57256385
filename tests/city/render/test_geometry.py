"""Do things appear where the geometry of the cameras says?"""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.ground import class_at
from tests.support.tiny_town import CAR, PERSON, some_actors
from world4scorer.city.render.cameras import DEFAULT_CAMERAS, CameraRig
from world4scorer.city.render.renderer import Renderer
from world4scorer.city.render.weather import clear_noon
from world4scorer.city.scenery.actors import Actors
from world4scorer.city.scenery.surface import SurfaceClass
from world4scorer.datasets.navsim.cameras import Camera

EGO = np.array([20.0, -0.6, 0.0])
NOON = clear_noon()


def camera(name, size):
    rig = CameraRig.default((name,))
    return Camera(name, "", rig.rotation[0], rig.translation[0], rig.intrinsics(*size)[0], np.zeros(5))


def to_ego(points, ego):
    c, s = np.cos(ego[2]), np.sin(ego[2])
    flat = (points[:, :2] - ego[:2]) @ np.array([[c, -s], [s, c]])
    return np.concatenate([flat, points[:, 2:]], 1)


def box_corners(x, y, heading, length, width, height):
    signs = np.array([(i, j, k) for i in (-0.5, 0.5) for j in (-0.5, 0.5) for k in (0, 1)])
    shape = signs * (length, width, height)
    c, s = np.cos(heading), np.sin(heading)
    return shape @ np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]]) + (x, y, 0)


@pytest.mark.parametrize("ego", [EGO, np.array([20.0, -0.6, 0.7])])
@pytest.mark.parametrize(("name", "bearing"), list(zip(DEFAULT_CAMERAS, (0.05, np.pi, 0.96, -0.96), strict=True)))
def test_a_car_fills_its_projected_box(bare, name, bearing, ego):
    size = bare.size
    place = ego[:2] + 14 * np.array([np.cos(bearing + ego[2]), np.sin(bearing + ego[2])])
    row = (*place, bearing + 0.4, *CAR)
    drawn = bare.draw(ego, some_actors(row), {}, NOON, classes=True, depth=True)
    k = DEFAULT_CAMERAS.index(name)
    v, u = np.nonzero(drawn.classes[k] == SurfaceClass.VEHICLE)
    assert (drawn.instances[k][v, u] == 0).all()
    pixels, ahead = camera(name, size).project(to_ego(box_corners(*row[:6]), ego))
    assert ahead.all()
    low, high = pixels.min(0), pixels.max(0)
    assert u.min() + 0.5 > low[0] - 0.5 and u.max() + 0.5 < high[0] + 0.5
    assert v.min() + 0.5 > low[1] - 0.5 and v.max() + 0.5 < high[1] + 0.5
    # The body does not reach into the box's corners, but nearly.
    assert u.max() - u.min() > 0.85 * (high[0] - low[0]) - 1.5
    assert v.max() - v.min() > 0.80 * (high[1] - low[1]) - 1.5
    assert not np.isin(drawn.classes[[j for j in range(4) if j != k]], SurfaceClass.VEHICLE).any()


def test_depth_of_the_ground_and_of_a_car(bare):
    drawn = bare.draw(EGO, some_actors((EGO[0] + 20, EGO[1], 0.0, *CAR)), {}, NOON, depth=True)
    height, width = bare.size
    focal = bare.rig.intrinsics(height, width)[0, 0, 0]
    rows = np.arange(height - 20, height)
    expected = 1.5 * focal / (rows + 0.5 - height / 2)
    np.testing.assert_allclose(drawn.depth[0, rows, 3], expected, rtol=1e-5)
    car = drawn.depth[0][drawn.instances[0] == 0]
    rear, front = 20 - 2.2 - 1.95, 20 + 2.2 - 1.95
    assert rear - 0.05 < car.min() < rear + 0.1 and car.max() < front
    assert np.isinf(drawn.depth[0, 0, 0])


def test_the_nearer_actor_hides_the_farther(bare):
    near, far = (EGO[0] + 8, EGO[1], 0.0, *PERSON), (EGO[0] + 16, EGO[1], 0.0, *PERSON)
    for rows, front in (((near, far), 0), ((far, near), 1)):
        drawn = bare.draw(EGO, some_actors(*rows), {}, NOON, classes=True)
        alone = bare.draw(EGO, some_actors(near), {}, NOON, classes=True)
        assert ((drawn.instances[0] == front) == (alone.instances[0] == 0)).all()


def test_a_bus_beside_the_camera_is_clipped_not_lost(bare):
    from world4scorer.city.scenery.actors import ActorKind

    row = (EGO[0] + 3, EGO[1] + 2.0, 0.0, 12.0, 2.5, 3.1, ActorKind.BUS)
    drawn = bare.draw(EGO, some_actors(row), {}, NOON, classes=True, depth=True)
    left = DEFAULT_CAMERAS.index("CAM_L0")
    share = (drawn.classes[left] == SurfaceClass.VEHICLE).mean()
    # Its flank stands 0.5 m from the camera: it fills the picture but for what lies ahead of the bus.
    assert share > 0.75
    assert drawn.depth[left][drawn.classes[left] == SurfaceClass.VEHICLE].min() < 0.6


def test_masks_agree_with_the_ground_below_each_pixel(bare):
    drawn = bare.draw(EGO, Actors.empty(), {}, NOON, classes=True, depth=True)
    assert (drawn.classes[:, 0] == SurfaceClass.SKY).all() and (drawn.instances == -1).all()
    v, u = np.nonzero(drawn.depth[0] < 30)
    v, u = v[::7], u[::7]
    inverse = np.linalg.inv(bare.rig.intrinsics(*bare.size)[0])
    rays = np.stack([u + 0.5, v + 0.5, np.ones(len(u))], 1) @ inverse.T
    points = drawn.depth[0, v, u, None] * rays @ bare.rig.rotation[0].T + bare.rig.translation[0]
    np.testing.assert_allclose(points[:, 2], 0, atol=1e-4)
    ground = bare.world.ground
    expected = np.array([class_at(ground, EGO[0] + x, EGO[1] + y) for x, y, _ in points])
    assert (drawn.classes[0, v, u] == expected).mean() > 0.99
    seen = {SurfaceClass.ROAD, SurfaceClass.MARKING, SurfaceClass.SIDEWALK, SurfaceClass.GROUND}
    assert seen <= set(expected.tolist())


def test_classes_of_known_places(bare):
    for place, wanted in (
        ((32.0, 0.3), SurfaceClass.ROAD),
        ((32.0, -3.2), SurfaceClass.SIDEWALK),
        ((59.2, -0.6), SurfaceClass.MARKING),  # the stop line
        ((40.0, -9.0), SurfaceClass.GROUND),
        ((50.0, 20.0), SurfaceClass.BIKE_LANE),
    ):
        assert class_at(bare.world.ground, *place) == wanted


@pytest.mark.parametrize(("size", "supersample"), [((90, 160), 1), ((33, 57), 3)])
def test_other_sizes_and_all_cameras(bare, size, supersample):
    rig = CameraRig.default()
    renderer = Renderer(bare.world, rig, size, supersample, rig.names)
    drawn = renderer.draw(EGO, some_actors((30.0, 0.0, 0.0, *CAR)), {}, NOON, classes=True)
    assert drawn.images.shape == (8, *size, 3) and drawn.images.dtype == np.uint8
    assert drawn.classes.shape == (8, *size)


def test_unknown_cameras_are_refused():
    with pytest.raises(ValueError, match="CAM_X9"):
        CameraRig.default(("CAM_X9",))
    with pytest.raises(ValueError, match="CAM_B0"):
        CameraRig.default(("CAM_F0",)).select(("CAM_B0",))
