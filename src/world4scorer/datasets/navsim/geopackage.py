"""Layers of a nuPlan GeoPackage as arrays, in metres.

Each layer is brought from the coordinate system that it declares itself to the one that the table `meta` names.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import shapely
from numpy.typing import NDArray

try:
    import pyogrio
    from pyogrio.errors import DataLayerError, DataSourceError
    from pyproj import CRS, Transformer
    from pyproj.exceptions import CRSError
except ImportError as error:
    from world4scorer.jobs.extras import missing

    raise missing(error, "reading maps") from error

from world4scorer.datasets.navsim.errors import DatasetError

NO_LINK: Final = -1


@dataclass(frozen=True, eq=False)
class VectorLayer:
    """n features in table order."""

    ids: NDArray[np.int64]
    """(n,) feature ids."""
    geometry: NDArray[np.object_]
    """(n,) shapely geometries."""
    columns: Mapping[str, NDArray[Any]]
    """Each (n,)."""
    crs: str | None
    """Coordinate system of the geometries."""
    where: str
    """File and layer, for messages."""

    def links(self, name: str) -> NDArray[np.int64]:
        """A column of ids, which may be stored as integers, floats or text; `NO_LINK` where empty."""
        return np.array(self._values(name, int, NO_LINK), np.int64)

    def numbers(self, name: str) -> NDArray[np.float64]:
        """A column of numbers; NaN where empty."""
        return np.array(self._values(name, float, np.nan), np.float64)

    def _values(self, name: str, kind: Callable[[Any], Any], empty: Any) -> list[Any]:
        if name not in self.columns:
            raise DatasetError(f"{self.where}: column {name!r} is missing; is this a nuPlan map?")
        try:
            return [empty if _empty(value) else kind(value) for value in self.columns[name]]
        except (TypeError, ValueError) as error:
            raise DatasetError(f"{self.where}: column {name!r} holds something that is no number: {error}") from error


def _empty(value: Any) -> bool:
    return value is None or value != value or value == ""


def read_layers(path: str | os.PathLike[str], names: Iterable[str]) -> dict[str, VectorLayer]:
    """Read the named layers of a map."""
    path = Path(path)
    if not path.is_file():
        raise DatasetError(f"{path}: no such map; unpack the nuPlan maps there")
    target = projected_crs(path)
    return {name: _read_layer(path, name, target) for name in names}


def projected_crs(path: Path) -> str:
    """The metric coordinate system of a map, e.g. `epsg:32611`."""
    table = _read_raw(path, "meta", geometry=False)
    try:
        keys, values = (list(table.columns[name]) for name in ("key", "value"))
        return str(values[keys.index("projectedCoordSystem")])
    except (KeyError, ValueError):
        raise DatasetError(f"{path}: table 'meta' has no row 'projectedCoordSystem'; is this a nuPlan map?") from None


def _read_layer(path: Path, name: str, target: str) -> VectorLayer:
    raw = _read_raw(path, name, geometry=True)
    source = raw.crs
    if source is None:
        raise DatasetError(f"{raw.where}: the layer declares no coordinate system")
    coordinates, owner = shapely.get_coordinates(raw.geometry, return_index=True)
    moved = _transform(source, target, coordinates, raw.where)
    if not np.isfinite(moved).all():
        feature = raw.ids[owner[int(np.argmax(~np.isfinite(moved).all(axis=1)))]]
        raise DatasetError(f"{raw.where}: feature {feature} lies where {source} cannot be brought to {target}")
    return replace(raw, geometry=shapely.set_coordinates(raw.geometry, moved), crs=target)


def _transform(source: str, target: str, coordinates: NDArray[np.float64], where: str) -> NDArray[np.float64]:
    try:
        transformer = _transformer(source, target)
    except CRSError as error:
        raise DatasetError(f"{where}: coordinate system {source!r} or {target!r} is not known: {error}") from error
    if transformer is None or len(coordinates) == 0:
        return coordinates
    return np.stack(transformer.transform(coordinates[:, 0], coordinates[:, 1]), axis=1)


@cache
def _transformer(source: str, target: str) -> Transformer | None:
    """A transformer with longitude before latitude; None if both systems are the same."""
    if CRS.from_user_input(source) == CRS.from_user_input(target):
        return None
    return Transformer.from_crs(source, target, always_xy=True)


def _read_raw(path: Path, name: str, geometry: bool) -> VectorLayer:
    """A layer as stored, in its own coordinate system."""
    where = f"{path}, layer {name!r}"
    try:
        meta, ids, shapes, data = pyogrio.raw.read(
            path, layer=name, return_fids=True, read_geometry=geometry, force_2d=True
        )
    except DataLayerError:
        raise DatasetError(f"{where}: the layer is missing; is this a complete nuPlan map?") from None
    except DataSourceError as error:
        raise DatasetError(f"{path}: not a readable GeoPackage: {error}") from error
    try:
        shapes = np.array([], object) if shapes is None else shapely.from_wkb(shapes)
    except shapely.errors.GEOSException as error:
        raise DatasetError(f"{where}: a geometry cannot be read: {error}") from error
    if geometry and (len(shapes) != len(ids) or shapely.is_missing(shapes).any()):
        raise DatasetError(f"{where}: a feature has no geometry")
    columns = dict(zip([str(field) for field in meta["fields"]], data, strict=True))
    return VectorLayer(np.asarray(ids, np.int64), shapes, columns, meta["crs"], where)
