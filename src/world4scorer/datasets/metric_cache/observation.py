"""The cached observation: one occupancy map every 0.1 s, as tracks and closed areas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import shapely
from numpy.typing import NDArray

from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.datasets.navsim.pickles import pickled_field
from world4scorer.engine.scene.indices import STEPS, Box, Light
from world4scorer.engine.scene.tracks import Lights, Tracks

RED_LIGHT: Final = "red_light"
"""Tokens of closed areas begin so; the rest is the id of a lane connector."""
CORNERS: Final = 4


@dataclass(frozen=True, eq=False)
class Observation:
    """Other road users, and areas that red lights close."""

    tracks: Tracks
    """A cache keeps outlines by step, and type and speed of a track when first seen: its velocity at every step is
    that. The metrics read no other."""
    red_ids: tuple[str, ...]
    """K connectors that a light closes at some step."""
    red_areas: tuple[Any, ...]
    """K polygons."""
    red: NDArray[np.bool_]
    """(K, T) when."""

    def lights(self, first_polygon: int) -> Lights:
        """The lights of a scene in whose map the areas are the polygons from `first_polygon` on."""
        count, steps = self.red.shape
        status = np.where(self.red, int(Light.RED), int(Light.GREEN)).astype(np.int8)
        padded = np.full((count, max(steps, STEPS)), int(Light.GREEN), np.int8)
        padded[:, :steps] = status
        return Lights(first_polygon + np.arange(count), padded, np.ones(count, np.bool_))


def read_observation(observation: Any) -> Observation:
    """Read a `PDMObservation` of a cache, or one of the devkit."""
    maps = pickled_field(observation, "occupancy_maps", None)
    objects = pickled_field(observation, "unique_objects", None)
    if not isinstance(maps, list | tuple) or not isinstance(objects, Mapping):
        raise DatasetError("observation: has no occupancy maps and unique objects; the cache is of another version")
    steps = [_step(occupancy) for occupancy in maps]
    names = list(dict.fromkeys(token for tokens, _ in steps for token in tokens))
    ids = [name for name in names if not name.startswith(RED_LIGHT)]
    closed = [name for name in names if name.startswith(RED_LIGHT)]
    index = {name: row for row, name in enumerate(ids)} | {name: row for row, name in enumerate(closed)}
    boxes = np.zeros((len(ids), len(steps), len(Box)))
    valid = np.zeros((len(ids), len(steps)), np.bool_)
    red = np.zeros((len(closed), len(steps)), np.bool_)
    areas: dict[str, Any] = {}
    for step, (tokens, geometries) in enumerate(steps):
        here = [place for place, token in enumerate(tokens) if not token.startswith(RED_LIGHT)]
        rows = [index[tokens[place]] for place in here]
        boxes[rows, step, : Box.VELOCITY_X] = _boxes(geometries[here], tokens)
        valid[rows, step] = True
        for token, geometry in zip(tokens, geometries, strict=True):
            if token.startswith(RED_LIGHT):
                red[index[token], step] = True
                areas.setdefault(token, geometry)
    types = np.zeros(len(ids), np.int8)
    for row, name in enumerate(ids):
        if name not in objects:
            raise DatasetError(f"observation: track {name!r} is not among its unique objects; the cache is damaged")
        types[row] = int(pickled_field(objects[name], "tracked_object_type").value)
        velocity = pickled_field(objects[name], "velocity", None)
        if velocity is not None:
            boxes[row, :, Box.VELOCITY_X :] = [pickled_field(velocity, axis) for axis in ("x", "y")]
    tracks = Tracks(tuple(ids), types, boxes, valid)
    connectors = tuple(name.removeprefix(f"{RED_LIGHT}_") for name in closed)
    return Observation(tracks, connectors, tuple(areas[name] for name in closed), red)


def _step(occupancy: Any) -> tuple[list[str], NDArray[np.object_]]:
    tokens = [str(token) for token in pickled_field(occupancy, "tokens")]
    geometries = np.empty(len(tokens), object)
    geometries[:] = list(pickled_field(occupancy, "geometries"))
    return tokens, geometries


def _boxes(outlines: NDArray[np.object_], tokens: list[str]) -> NDArray[np.float64]:
    """(n, 5) centre, heading, length, width of outlines: corners front left, rear left, rear right, front right."""
    points, owner = shapely.get_coordinates(outlines, return_index=True)
    if not np.array_equal(owner, np.repeat(np.arange(len(outlines)), CORNERS + 1)):
        raise DatasetError(f"observation: an outline among {', '.join(tokens[:3])}, ... is not the box of a track")
    corners = points.reshape(-1, CORNERS + 1, 2)[:, :CORNERS]
    along, across = corners[:, 0] - corners[:, 1], corners[:, 0] - corners[:, 3]
    heading = np.arctan2(along[:, 1], along[:, 0])
    sizes = (np.hypot(*along.T), np.hypot(*across.T))
    return np.column_stack([corners.mean(axis=1), heading, *sizes])
