"""Drivable area: a bit grid of a town, and rasters of it around an ego.

>>> grid = DrivableGrid.open("maps/Town05.npz")
>>> grid.around(pose)                # (120, 100), seen from the ego

Cells are 0.5 m wide. The grid follows world axes; nothing outside it is drivable. A raster follows ego axes and samples
the grid at its cell centres.
"""

from __future__ import annotations

import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import shapely
from numpy.typing import NDArray

from world4scorer.datasets.navsim.city_map import CityMap
from world4scorer.driving.clips.errors import ClipError
from world4scorer.engine.scene.geometry import to_global_axes
from world4scorer.jobs.array_files import open_archive
from world4scorer.jobs.files import atomic_write

FORMAT: Final = "world4scorer-drivable-1"
CELL: Final = 0.5
"""m"""
RASTER_BEHIND: Final = 10.0
"""Extent of a raster behind the ego [m]."""
RASTER_SIDE: Final = 25.0
"""Extent of a raster to each side [m]."""
RASTER_SHAPE: Final = (120, 100)
"""Cells forward and to the left: 60 m x 50 m."""
MAX_CELLS: Final = 1 << 31
"""Largest number of cells of a grid."""

Bits = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class DrivableGrid:
    """Drivable area of a town, in world axes."""

    town: str
    origin: NDArray[np.float64]
    """(2,) smallest x and y [m]; a multiple of the cell size."""
    cells: Bits
    """(columns along x, rows along y)"""

    def at(self, points: NDArray[np.float64]) -> Bits:
        """Whether points (..., 2) are drivable."""
        index = np.floor((points - self.origin) / CELL).astype(np.int64)
        inside = np.asarray(((index >= 0) & (index < self.cells.shape)).all(-1))
        index = np.where(inside[..., None], index, 0)
        return np.asarray(inside & self.cells[index[..., 0], index[..., 1]])

    def around(self, pose: NDArray[np.float64]) -> Bits:
        """Raster (120, 100) around an ego pose (3,)."""
        return self.at(to_global_axes(_CELL_CENTRES, pose))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a plain .npz file."""
        with atomic_write(path) as stream:
            np.savez_compressed(
                stream,
                format=np.array(FORMAT),
                town=np.array(self.town),
                origin=self.origin,
                shape=np.array(self.cells.shape),
                bits=np.packbits(self.cells),
            )

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> DrivableGrid:
        """Read what `save` wrote."""
        try:
            with open_archive(path) as file:
                if str(file["format"]) != FORMAT:
                    raise ClipError(f"{path}: a file of {file['format']}, not of {FORMAT}; make it again")
                columns, rows = (int(count) for count in file["shape"])
                if not 0 < columns * rows <= MAX_CELLS:
                    raise ClipError(f"{path}: a grid of {columns} x {rows} cells; make it again")
                cells = np.unpackbits(file["bits"], count=columns * rows).reshape(columns, rows).astype(np.bool_)
                return cls(str(file["town"]), np.asarray(file["origin"], np.float64).reshape(2), cells)
        except FileNotFoundError:
            raise missing_map_error(path) from None
        except (KeyError, ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
            if isinstance(error, ClipError):
                raise
            raise ClipError(f"{path}: not a drivable area ({error}); make it again with `w4s b2d map`") from error


class GridPainter:
    """Builds a grid that covers a rectangle of the world."""

    def __init__(self, town: str, least: NDArray[np.float64], most: NDArray[np.float64]) -> None:
        """`least` and `most` are corners (2,) of the rectangle [m]."""
        first = np.floor(np.asarray(least) / CELL) - 1
        columns, rows = (np.ceil(np.asarray(most) / CELL) + 1 - first).astype(np.int64)
        if columns * rows > MAX_CELLS:
            raise ClipError(f"{town}: {columns} x {rows} cells are too many; is the map in metres?")
        self._town, self._origin = town, first * CELL
        self.cells: Bits = np.zeros((columns, rows), np.bool_)

    def mark(self, points: NDArray[np.float64]) -> None:
        """Mark the cells of points (..., 2) as drivable."""
        index = np.floor((points - self._origin) / CELL).astype(np.int64)
        self.cells[index[..., 0], index[..., 1]] = True

    def cell_centres(
        self, least: NDArray[np.float64], most: NDArray[np.float64]
    ) -> tuple[slice, slice, NDArray[np.float64]]:
        """Cells of a rectangle as slices, and their centres (columns, rows, 2)."""
        first = np.floor((np.asarray(least) - self._origin) / CELL).astype(np.int64)
        last = np.ceil((np.asarray(most) - self._origin) / CELL).astype(np.int64)
        x, y = (self._origin[axis] + CELL * (np.arange(first[axis], last[axis]) + 0.5) for axis in (0, 1))
        found = np.stack(np.meshgrid(x, y, indexing="ij"), -1)
        return slice(int(first[0]), int(last[0])), slice(int(first[1]), int(last[1])), found

    def finish(self) -> DrivableGrid:
        """The grid."""
        return DrivableGrid(self._town, self._origin, self.cells)


def city_grid(city: CityMap, town: str) -> DrivableGrid:
    """Drivable area of the embedded city: cells whose middle lies on a lane, in a junction or on a car park."""
    polygons = [polygon for polygon in city.area_polygons if not polygon.is_empty]
    corners = shapely.bounds(np.array(polygons, np.object_))
    painter = GridPainter(town, corners[:, :2].min(0), corners[:, 2:].max(0))
    for polygon, box in zip(polygons, corners, strict=True):
        columns, rows, cell_centres = painter.cell_centres(box[:2], box[2:])
        shapely.prepare(polygon)
        painter.cells[columns, rows] |= shapely.contains_xy(polygon, cell_centres[..., 0], cell_centres[..., 1])
    return painter.finish()


def _cell_centres() -> NDArray[np.float64]:
    x = -RASTER_BEHIND + CELL * (np.arange(RASTER_SHAPE[0]) + 0.5)
    y = -RASTER_SIDE + CELL * (np.arange(RASTER_SHAPE[1]) + 0.5)
    return np.stack(np.meshgrid(x, y, indexing="ij"), -1)


_CELL_CENTRES: Final = _cell_centres()
"""(120, 100, 2) centres of a raster's cells, in ego axes [m]."""


def pack_raster(raster: Bits) -> NDArray[np.uint8]:
    """Pack a raster into bytes (1500,)."""
    return np.packbits(raster)


def unpack_raster(data: NDArray[np.uint8]) -> Bits:
    """Unpack bytes (1500,) into a raster (120, 100)."""
    return np.unpackbits(data, count=RASTER_SHAPE[0] * RASTER_SHAPE[1]).reshape(RASTER_SHAPE).astype(np.bool_)


def missing_map_error(path: str | os.PathLike[str]) -> ClipError:
    """Error for a missing map."""
    return ClipError(f"{path}: no such map; `w4s b2d map` makes it from the town's OpenDRIVE file")


def map_path(maps: Path, town: str) -> Path:
    """Path of a town's map."""
    return maps / f"{town}.npz"
