"""The cameras of a city: frames as JPEG files, the same bytes on disk and while driving."""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from world4scorer.city.render.cameras import CameraRig
from world4scorer.city.render.renderer import Renderer, StaticWorld
from world4scorer.city.render.weather import Weather
from world4scorer.city.scenery.actors import Actors
from world4scorer.city.streets.street_map import StreetMap
from world4scorer.city.world.config import CityConfig
from world4scorer.city.world.log_plan import FrameState
from world4scorer.engine.scene.geometry import Floats


def city_renderer(streets: StreetMap, config: CityConfig, cameras: Sequence[str]) -> Renderer:
    """The renderer of a city's streets, with images as configured."""
    world, size = StaticWorld.build(streets, config.seed), (config.height, config.width)
    return Renderer(world, CameraRig.default(), size, config.supersample, tuple(cameras))


class CameraRenderer:
    """Draws frames of one network; scenery is built with the first."""

    def __init__(self, streets: StreetMap, config: CityConfig) -> None:
        self._streets, self._config = streets, config

    @cached_property
    def _renderer(self) -> Renderer:
        return city_renderer(self._streets, self._config, self._config.cameras)

    def preload(self, ego_pose: Floats) -> None:
        """Build scenery and paint the ground around a pose (3,), so that copies of this process need not."""
        self._renderer.draw(ego_pose, Actors.empty(), {}, Weather.draw(0), cameras=self._config.cameras[:1])

    def render(self, frame: FrameState, weather: Weather, cameras: Sequence[str] | None = None) -> dict[str, bytes]:
        """JPEG files by camera: all of the configuration, or some of them, which are the same bytes."""
        wanted = self._config.cameras if cameras is None else tuple(cameras)
        drawn = self._renderer.draw(frame.ego_pose, frame.actors, frame.signals, weather, cameras=wanted).images
        return {name: jpeg(pixels, self._config.quality) for name, pixels in zip(wanted, drawn, strict=True)}


def jpeg(pixels: NDArray[np.uint8], quality: int) -> bytes:
    """An image (H, W, 3) as the bytes of a JPEG file."""
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, format="JPEG", quality=quality)
    return stream.getvalue()
