"""Write a map as a nuPlan GeoPackage, with the layers and columns that the devkit and `map_reader` need.

Shapes are given in metres of the city's UTM zone and stored as longitude and latitude, like the public maps.

Example::

    write_map(DataFolder(root).maps, "us-nv-las-vegas-strip", {
        "lanes_polygons": LayerTable(ids, polygons, {"lane_fid": ids, ...}), ...
    })
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import numpy as np
import shapely
from numpy.typing import NDArray

try:
    import pyogrio
    from pyproj import Transformer
    from pyproj.exceptions import CRSError
except ImportError as error:
    from world4scorer.jobs.extras import missing

    raise missing(error, "writing maps", extra="city") from error

from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.datasets.navsim.map_files import LOCATIONS, MAP_FILE, MAP_INDEX
from world4scorer.jobs.files import atomic_write, read_json

STORED_CRS: Final = "EPSG:4326"
OWN_VERSION: Final = "1.0"
"""Version of maps other than the public ones."""
NAME_PATTERN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
LAST_CHANGE: Final = "2000-01-01T00:00:00.000Z"
"""Fixed time stamp, so that the same map gives the same file."""
CHANGE_COUNTERS: Final = (24, 92)
"""Where the header of an SQLite file counts its transactions, as four bytes: of all, and of the last that it describes.
Both must agree. How many GDAL makes depends on the clock."""
UNFINISHED_MAPS: Final = ".*.gpkg*"
"""What a killed process leaves beside a map."""
LAYER_COLUMNS: Final[Mapping[str, tuple[str, Mapping[str, type]]]] = {
    "lanes_polygons": (
        "Polygon",
        {
            "lane_fid": int,
            "lane_group_fid": int,
            "lane_index": int,
            "speed_limit_mps": float,
            "left_boundary_fid": int,
            "right_boundary_fid": int,
            "lane_type_fid": int,
        },
    ),
    "lane_connectors": (
        "LineString",
        {
            "exit_lane_fid": int,
            "entry_lane_fid": int,
            "lane_group_connector_fid": int,
            "exit_lane_group_fid": int,
            "entry_lane_group_fid": int,
            "intersection_fid": int,
            "speed_limit_mps": float,
            "traffic_light_stop_line_fids": str,
            "turn_type_fid": int,
        },
    ),
    "gen_lane_connectors_scaled_width_polygons": (
        "Polygon",
        {"lane_connector_fid": int, "left_boundary_fid": int, "right_boundary_fid": int},
    ),
    "baseline_paths": ("LineString", {"lane_fid": int, "lane_connector_fid": int, "path_type_fid": int}),
    "boundaries": ("LineString", {"boundary_type_fid": int, "boundary_segment_fids": str}),
    "lane_groups_polygons": ("Polygon", {"lane_count": int}),
    "lane_group_connectors": (
        "Polygon",
        {"from_lane_group_fid": int, "to_lane_group_fid": int, "intersection_fid": int},
    ),
    "intersections": ("Polygon", {"intersection_type_fid": int}),
    "carpark_areas": ("Polygon", {"heading": float}),
    "generic_drivable_areas": ("Polygon", {}),
    "crosswalks": ("Polygon", {"intersection_fids": str}),
    "walkways": ("Polygon", {}),
    "stop_polygons": ("Polygon", {"stop_polygon_type_fid": int}),
    "road_segments": ("Polygon", {}),
}
"""Geometry type and columns of every layer. Links without a target (e.g. the lane of a connector's path) are NULL."""


@dataclass(frozen=True, eq=False)
class LayerTable:
    """n features of a layer."""

    ids: NDArray[np.int64]
    """(n,) positive, distinct."""
    shapes: NDArray[np.object_]
    """(n,) shapely geometries [m]."""
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """Each (n,); integer columns may be float with NaN where there is no link. Missing columns are left NULL."""


def write_map(
    maps: str | os.PathLike[str],
    location: str,
    layers: Mapping[str, LayerTable],
    crs: str | None = None,
    version: str | None = None,
) -> Path:
    """Write the GeoPackage of a city, register it in the map index, and return its path.

    `crs` is the metric coordinate system of the shapes. The four public cities bring theirs; another city needs one,
    under a name of its own, or under a public name for tools that know no others. The same layers give the same bytes.
    Layers that are not given are written empty, for the official map database opens all of them.
    """
    version, crs = _identity(location, crs, version)
    unknown = set(layers) - set(LAYER_COLUMNS)
    if unknown:
        raise DatasetError(f"layer {min(unknown)!r} is no layer of a nuPlan map: {', '.join(LAYER_COLUMNS)}")
    try:
        to_stored = Transformer.from_crs(crs, STORED_CRS, always_xy=True)
    except CRSError as error:
        raise DatasetError(f"coordinate system {crs!r} of {location!r} is not known: {error}") from error
    path = Path(maps) / location / version / MAP_FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{uuid4().hex[:8]}.gpkg")
    try:
        for name in LAYER_COLUMNS:
            _write_layer(temporary, name, layers.get(name), to_stored)
        _write_meta(temporary, crs, version)
        _fix_counters(temporary)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    known = _read_index(Path(maps))
    with atomic_write(Path(maps) / MAP_INDEX) as stream:
        stream.write(json.dumps({**known, location: {"version": version, "layers": {}}}, indent=1).encode())
    return path


def _identity(location: str, crs: str | None, version: str | None) -> tuple[str, str]:
    """Version and coordinate system of a city."""
    public_version, public_crs = LOCATIONS.get(location, (OWN_VERSION, None))
    crs = crs or public_crs
    if crs is None:
        raise DatasetError(
            f"location {location!r} is not one that NAVSIM knows: {', '.join(LOCATIONS)}; give its coordinate system"
        )
    version = version or public_version
    for name in (location, version):
        if not NAME_PATTERN.fullmatch(name):
            raise DatasetError(f"{name!r} names a folder: letters, digits, '-', '_' and '.' only")
    return version, crs


def complete_maps(maps: str | os.PathLike[str]) -> list[Path]:
    """Write empty maps for the missing cities: the devkit always opens all four."""
    known = _read_index(Path(maps))
    return [write_map(maps, location, {}) for location in LOCATIONS if location not in known]


def _read_index(maps: Path) -> dict[str, Any]:
    index = maps / MAP_INDEX
    return read_json(index, DatasetError, "delete it and write the maps again") if index.exists() else {}


def _write_layer(path: Path, name: str, table: LayerTable | None, to_stored: Transformer) -> None:
    kind, columns = LAYER_COLUMNS[name]
    table = table or LayerTable(np.zeros(0, np.int64), np.zeros(0, object))
    unknown = set(table.columns) - set(columns)
    if unknown:
        raise DatasetError(f"layer {name!r} has no column {min(unknown)!r}; its columns are {', '.join(columns)}")
    count = len(table.ids)
    for column, values in {"shapes": table.shapes, **table.columns}.items():
        if len(values) != count:
            raise DatasetError(f"layer {name!r}: {len(values)} {column} for {count} ids")
    coordinates = shapely.get_coordinates(table.shapes)
    if count:
        coordinates = np.stack(to_stored.transform(coordinates[:, 0], coordinates[:, 1]), axis=1)
    shapes = shapely.set_coordinates(np.array(table.shapes, object), coordinates)
    data, masks = [], []
    for column, type_ in columns.items():
        values, mask = _column(table.columns.get(column), type_, count)
        data.append(values)
        masks.append(mask)
    # The fid is passed as a column that the driver uses as primary key.
    pyogrio.raw.write(
        path,
        geometry=shapely.to_wkb(shapes),
        field_data=[np.asarray(table.ids, np.int64), *data],
        fields=["fid", *columns],
        field_mask=[None, *masks],
        layer=name,
        driver="GPKG",
        geometry_type=kind,
        crs=STORED_CRS,
        append=path.exists(),
        layer_options={"FID": "fid"},
    )


def _column(values: NDArray[Any] | None, type_: type, count: int) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Values and NULL mask of a column, as the driver needs them."""
    if type_ is str:
        text = np.array([None] * count if values is None else [None if v is None else str(v) for v in values], object)
        return text, None
    numbers = np.full(count, np.nan) if values is None else np.asarray(values, np.float64)
    if type_ is float:
        return numbers, None
    empty = np.isnan(numbers)
    return np.where(empty, 0, numbers).astype(np.int64), empty


def _write_meta(path: Path, crs: str, version: str) -> None:
    """The attribute table that names the coordinate systems."""
    rows = [("geographicCoordSystem", STORED_CRS.lower()), ("projectedCoordSystem", crs), ("mapVersion", version)]
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("CREATE TABLE meta (fid INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, key TEXT, value TEXT)")
        connection.executemany("INSERT INTO meta (key, value) VALUES (?, ?)", rows)
        connection.execute(
            "INSERT INTO gpkg_contents (table_name, data_type, identifier) VALUES ('meta', 'attributes', 'meta')"
        )
        connection.execute("UPDATE gpkg_contents SET last_change = ?", (LAST_CHANGE,))
    connection.close()


def _fix_counters(path: Path) -> None:
    """Set the number of transactions to one, so that the same map gives the same file; waits for the disk."""
    with open(path, "r+b") as stream:
        for place in CHANGE_COUNTERS:
            stream.seek(place)
            stream.write((1).to_bytes(4, "big"))
        stream.flush()
        os.fsync(stream.fileno())
