"""Render the cameras of a car in a static world with actors.

Example::

    world = World.build(read_streets("berlin.net.xml"), seed=0)
    renderer = Renderer(world, CameraRig.default(), size=(112, 196))
    rendering = renderer.draw(ego_pose, actors, signals, weather, classes=True)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.city.render.cameras import DEFAULT_CAMERAS, CameraRig
from world4scorer.city.render.ground import Ground
from world4scorer.city.render.instancing import gather_scenery, place_actors
from world4scorer.city.render.kernel_types import ANCHOR_PERIOD, CameraView, Lighting, TriangleBuffer
from world4scorer.city.render.rasteriser import CONTACT_MARGIN
from world4scorer.city.render.sky import paint_sky
from world4scorer.city.render.view_kernels import draw_views, label_views
from world4scorer.city.render.weather import Weather
from world4scorer.city.scenery.actors import ActorKind, Actors
from world4scorer.city.scenery.ground_plan import GroundPlan
from world4scorer.city.scenery.houses import forecourts
from world4scorer.city.scenery.light import decode_table, tone_table
from world4scorer.city.scenery.models import actor_models
from world4scorer.city.scenery.scenery import Scenery
from world4scorer.city.scenery.signal_heads import lamp_bits
from world4scorer.city.streets.street_map import StreetMap
from world4scorer.engine.scene.geometry import turn

SCENERY_RADIUS: Final = 170.0
DETAIL_RADIUS: Final = 52.0
"""Radii within which scenery is drawn, and drawn in full detail [m]."""
ACTOR_RADIUS: Final = 130.0
"""Radius within which actors are drawn [m]."""
EGO_SIZE: Final = (4.6, 1.9, 1.6)
EGO_CENTRE: Final = 1.4
"""Length, width, height of the ego, and distance of its centre from the rear axle [m]."""


@dataclass(frozen=True, eq=False)
class StaticWorld:
    """Static part of a city: streets, ground, scenery."""

    streets: StreetMap
    ground: Ground
    scenery: Scenery

    @classmethod
    def build(cls, streets: StreetMap, seed: int) -> StaticWorld:
        """Build the scenery along the streets; takes seconds."""
        scenery = Scenery.build(streets, seed)
        return cls(streets, Ground(GroundPlan.of(streets, forecourts(scenery.houses), seed)), scenery)


@dataclass(frozen=True, eq=False)
class RenderedViews:
    """Images of c cameras; labels are sampled at pixel centres."""

    images: NDArray[np.uint8]
    """(c, H, W, 3) RGB"""
    classes: NDArray[np.uint8] | None = None
    """(c, H, W) `SurfaceClass`"""
    depth: NDArray[np.float32] | None = None
    """(c, H, W) metres along the optical axis, inf for the sky"""
    instances: NDArray[np.int16] | None = None
    """(c, H, W) row of the actors, -1 for none"""


class Renderer:
    """Renders one world at one image size. Not thread-safe."""

    def __init__(
        self,
        world: StaticWorld,
        rig: CameraRig,
        size: tuple[int, int] = (112, 196),
        supersample: int = 2,
        cameras: tuple[str, ...] = DEFAULT_CAMERAS,
    ) -> None:
        if min(size) < 1 or supersample < 1:
            raise ValueError(f"size {size} and supersample {supersample} must be at least 1")
        self.world = world
        self.rig = rig.select(cameras)
        self.size = size
        self.supersample = supersample
        self._triangles = TriangleBuffer.allocate(40_000, 1_000)
        self._tables = (decode_table(), tone_table())

    def draw(
        self,
        ego_pose: NDArray[np.float64],
        actors: Actors,
        signals: Mapping[str, str],
        weather: Weather,
        classes: bool = False,
        depth: bool = False,
        cameras: Sequence[str] | None = None,
    ) -> RenderedViews:
        """Images from an ego whose rear axle is at `ego_pose` (3,) x, y, heading.

        `signals` maps traffic lights to their SUMO states; `classes` and `depth` add labels. `cameras` selects cameras
        in this order; all by default.
        """
        rig = self.rig if cameras is None else self.rig.select(tuple(cameras))
        x, y, heading = (float(value) for value in ego_pose)
        light = Lighting.of(weather, paint_sky(weather))
        ground = self.world.ground.around(x, y)
        chunks = self._collect(x, y, heading, actors, signals, light)
        footprints = _footprints(actors, x, y, heading)
        height, width = self.size
        images = np.empty((len(rig.names), height, width, 3), np.uint8)
        views = self._views(rig, x, y, heading, self.supersample)
        facades = self.world.scenery.facades
        draw_views(
            self._triangles, chunks, footprints, facades, ground, light, views, self._tables, self.supersample, images
        )
        if not (classes or depth):
            return RenderedViews(images)
        shape = images.shape[:3]
        labels = (np.empty(shape, np.uint8), np.empty(shape, np.float32), np.empty(shape, np.int16))
        label_views(self._triangles, chunks, ground, self._views(rig, x, y, heading, 1), *labels)
        return RenderedViews(images, labels[0] if classes else None, labels[1] if depth else None, labels[2])

    def _collect(
        self, x: float, y: float, heading: float, actors: Actors, signals: Mapping[str, str], light: Lighting
    ) -> int:
        """Fill the buffer with all triangles near by; returns the number of chunks."""
        scenery = self.world.scenery
        bits = lamp_bits(scenery.heads, signals)
        rows = np.append(actors.near(x, y, ACTOR_RADIUS), -1)
        middle = (x + EGO_CENTRE * np.cos(heading), y + EGO_CENTRE * np.sin(heading), heading)
        table = (
            np.concatenate([actors.pose, [middle]]),
            np.concatenate([actors.size, [EGO_SIZE]]),
            np.append(actors.kind, np.int8(ActorKind.CAR)).astype(np.int64),
            np.append(actors.look, np.uint32(0)).astype(np.int64),
            np.append(actors.brake, False),
            np.append(actors.left, False),
            np.append(actors.right, False),
            np.append(actors.stride, 0.0),
        )
        while True:
            n, chunks = gather_scenery(
                scenery.arrays, x, y, SCENERY_RADIUS, DETAIL_RADIUS, light, bits, self._triangles
            )
            if n >= 0:
                n, chunks = place_actors(
                    actor_models(), scenery.arrays, *table, rows, x, y, light, self._triangles, n, chunks
                )
            if n >= 0:
                return int(chunks)
            self._triangles = TriangleBuffer.allocate(
                2 * len(self._triangles.corners), 2 * len(self._triangles.chunk_span)
            )

    def _views(self, rig: CameraRig, x: float, y: float, heading: float, supersample: int) -> CameraView:
        """Camera poses in axes parallel to the map's with the origin at the ego."""
        c, s = np.cos(heading), np.sin(heading)
        turn = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]])
        height, width = self.size
        focal = np.float32(rig.intrinsics(height, width)[0, 0, 0] * supersample)
        anchor = np.array([x % ANCHOR_PERIOD, y % ANCHOR_PERIOD], np.float32)
        return CameraView(
            np.ascontiguousarray((turn @ rig.rotation).transpose(0, 2, 1), np.float32),
            (rig.translation @ turn.T).astype(np.float32),
            focal,
            np.array([c, s], np.float32),
            anchor,
        )


def _footprints(actors: Actors, x: float, y: float, heading: float) -> NDArray[np.float32]:
    """(n, 4, 2) ground corners of vehicles near by and of the ego, relative to (x, y)."""
    near = actors.near(x, y, ACTOR_RADIUS)
    pose = np.concatenate([actors.pose[near] - (x, y, 0), [(np.cos(heading), np.sin(heading), heading)]])
    pose[-1, :2] *= EGO_CENTRE
    size = np.concatenate([actors.size[near, :2], [EGO_SIZE[:2]]]) * CONTACT_MARGIN / 2
    signs = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)])
    along, across = signs[:, 0] * size[:, :1], signs[:, 1] * size[:, 1:]
    corners = np.stack(turn(along, across, pose[:, 2, None]), -1)
    return np.asarray(corners + pose[:, None, :2], np.float32)
