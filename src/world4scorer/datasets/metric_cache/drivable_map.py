"""The cached drivable map as polygons by layer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import shapely

from world4scorer.datasets.metric_cache.observation import Observation
from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.datasets.navsim.pickles import pickled_field
from world4scorer.engine.scene.indices import Layer
from world4scorer.engine.scene.map import PolygonMap


def read_map(drivable: Any, observation: Observation) -> PolygonMap:
    """Read a `PDMDrivableMap`; the areas that red lights of the observation close are its last polygons."""
    kinds = [int(getattr(kind, "value", kind)) for kind in pickled_field(drivable, "map_types")]
    tokens, areas = pickled_field(drivable, "tokens"), pickled_field(drivable, "geometries")
    if not len(tokens) == len(areas) == len(kinds):
        raise DatasetError("drivable_area_map: tokens, layers and polygons differ in number; the cache is damaged")
    known = [part for row in zip(tokens, kinds, areas, strict=True) for part in _parts(*row)]
    closed = [
        (name, int(Layer.SIGNAL_AREA), _rings(area))
        for name, area in zip(observation.red_ids, observation.red_areas, strict=True)
    ]
    return PolygonMap.from_polygons([*known, *closed])


def _parts(token: Any, layer: int, area: Any) -> Iterator[tuple[str, int, Sequence[object]]]:
    for part in shapely.get_parts(area):
        yield str(token), layer, _rings(part)


def _rings(area: Any) -> list[np.ndarray[Any, Any]]:
    return [shapely.get_coordinates(ring)[:-1] for ring in shapely.get_rings(area)]
