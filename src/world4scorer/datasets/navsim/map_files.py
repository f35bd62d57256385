"""Files of a map folder: the index, and a GeoPackage per city."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from world4scorer.datasets.navsim.errors import DatasetError

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
    try:
        versions = json.loads(index.read_text(encoding="utf-8"))
        version = str(versions[location]["version"])
    except FileNotFoundError:
        raise DatasetError(f"{index}: no such file; unpack the nuPlan maps there") from None
    except (json.JSONDecodeError, TypeError) as error:
        raise DatasetError(f"{index}: not a readable map index: {error}") from error
    except KeyError:
        raise DatasetError(f"{index}: knows no location {location!r}") from None
    return maps / location / version / MAP_FILE
