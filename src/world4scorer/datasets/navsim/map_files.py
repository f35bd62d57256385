"""Files of a map folder: the index, and a GeoPackage per city."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.jobs.files import read_json

MAP_INDEX: Final = "nuplan-maps-v1.0.json"
MAP_FILE: Final = "map.gpkg"
LOCATIONS: Final = {
    "sg-one-north": ("9.17.1964", "epsg:32648"),
    "us-ma-boston": ("9.12.1817", "epsg:32619"),
    "us-nv-las-vegas-strip": ("9.15.1915", "epsg:32611"),
    "us-pa-pittsburgh-hazelwood": ("9.17.1937", "epsg:32617"),
}
"""The four cities: public map version, metric coordinate system."""


def map_path(maps: Path, location: str) -> Path:
    """The GeoPackage of a city below a map folder."""
    index = maps / MAP_INDEX
    versions = read_json(index, DatasetError, "unpack the nuPlan maps there")
    try:
        version = str(versions[location]["version"])
    except (KeyError, TypeError):
        raise DatasetError(f"{index}: knows no map of {location!r}; unpack the nuPlan maps there") from None
    return maps / location / version / MAP_FILE
