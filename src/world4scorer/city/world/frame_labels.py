"""Semantic labels of a city log's frames, rendered from the log alone, without simulating traffic.

>>> labels = FrameLabels(Path("city"))
>>> labels.classes(frame)                    # (H, W) SurfaceClass of the front camera

A log holds poses and sizes of road users near by; vehicle kinds are inferred from sizes. What it does not hold
(colours, lamps, gait phase) changes classes only at the legs of pedestrians and riders.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.city.render.renderer import RenderedViews, Renderer
from world4scorer.city.render.weather import Weather
from world4scorer.city.scenery.actors import ActorKind, Actors
from world4scorer.city.streets.places import PLACES
from world4scorer.city.streets.street_map import read_streets
from world4scorer.city.world.camera_renderer import city_renderer
from world4scorer.city.world.log_renderer import TRACK_TYPES
from world4scorer.city.world.manifest import read_config, read_manifest, weather_of_log
from world4scorer.city.world.vehicles import VEHICLE_TYPES
from world4scorer.datasets.navsim.annotations import Annotations
from world4scorer.datasets.navsim.cameras import FRONT, VIEWS
from world4scorer.datasets.navsim.frames import LogFrame
from world4scorer.engine.scene.geometry import to_global_axes
from world4scorer.engine.scene.indices import TrackType
from world4scorer.jobs.data_folder import DataFolder

NON_VEHICLE_KINDS: Final = {track: kind for kind, track in TRACK_TYPES.items()}
"""Actor kinds of tracks that are no vehicles."""


class FrameLabels:
    """Renders labelled frames of the logs of one city."""

    def __init__(self, root: Path, camera: str = VIEWS[FRONT]) -> None:
        self._root, self._camera = root, camera
        self._config = read_config(read_manifest(root))
        self._renderers: dict[str, Renderer] = {}
        self._offsets: dict[str, NDArray[np.float64]] = {}

    def classes(self, frame: LogFrame) -> NDArray[np.uint8]:
        """(H, W) `SurfaceClass` of every pixel, at the size of the images on disk."""
        classes = self.draw(frame).classes
        assert classes is not None
        front: NDArray[np.uint8] = classes[0]
        return front

    def draw(self, frame: LogFrame) -> RenderedViews:
        """Image and classes of the camera."""
        place, weather_seed = weather_of_log(self._root, frame.log_name)
        network = PLACES[place].network.name
        renderer = self._renderer(network)
        pose = frame.ego_pose - np.append(self._offsets[network], 0.0)
        actors = annotation_actors(frame.annotations or Annotations.none(), pose)
        return renderer.draw(pose, actors, {}, Weather.draw(weather_seed), classes=True)

    def _renderer(self, network: str) -> Renderer:
        if network not in self._renderers:
            streets = read_streets(DataFolder(self._root).city_network(network))
            self._offsets[network] = streets.offset
            self._renderers[network] = city_renderer(streets, self._config, [self._camera])
        return self._renderers[network]


def annotation_actors(seen: Annotations, ego_pose: NDArray[np.float64]) -> Actors:
    """Annotated boxes as actors of the renderer, in the frame of the ego's pose (3,)."""
    place = to_global_axes(seen.boxes[:, :2], ego_pose)
    size, none = seen.boxes[:, 3:6], np.zeros(len(seen.boxes), np.bool_)
    return Actors(
        pose=np.column_stack([place, seen.boxes[:, 6] + ego_pose[2]]),
        size=size,
        kind=np.array([_kind(TrackType(track), box) for track, box in zip(seen.type, size, strict=True)], np.int8),
        look=np.zeros(len(size), np.uint32),
        brake=none,
        left=none,
        right=none,
        stride=np.zeros(len(size)),
    )


def _kind(track: TrackType, size: NDArray[np.float64]) -> ActorKind:
    """The kind whose vehicle size is nearest."""
    if track is not TrackType.VEHICLE:
        return NON_VEHICLE_KINDS.get(track, ActorKind.BARRIER)
    sizes = {(one.length, one.width, one.height): one.kind for one in VEHICLE_TYPES.values()}
    return sizes[min(sizes, key=lambda one: float(np.abs(size - np.array(one)).sum()))]
