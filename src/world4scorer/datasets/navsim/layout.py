"""Where things lie in a dataset folder (`OPENSCENE_DATA_ROOT`)."""

from __future__ import annotations

import json
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Layout:
    """Paths below a dataset folder."""

    root: Path

    @property
    def maps(self) -> Path:
        """Map folder."""
        return self.root / "maps"

    def logs(self, data_split: str) -> Path:
        """Folder with one pickle per log."""
        return self.root / "navsim_logs" / data_split

    def sensors(self, data_split: str) -> Path:
        """Folder that image paths are relative to."""
        return self.root / "sensor_blobs" / data_split

    def log(self, data_split: str, name: str) -> Path:
        """A log pickle."""
        return self.logs(data_split) / f"{name}.pkl"

    def log_paths(self, data_split: str) -> list[Path]:
        """All log pickles of a folder, by name."""
        folder = self.logs(data_split)
        if not folder.is_dir():
            raise DatasetError(
                f"{folder}: no such folder; unpack the logs of {data_split!r} there or choose another root"
            )
        return sorted(folder.glob("*.pkl"))

    def map(self, location: str) -> Path:
        """The GeoPackage of a city, in the version that the map index names."""
        return map_path(self.maps, location)


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
