"""A grid over the part of the map that rollouts cover, so that most area queries need one cell.

Each polygon marks a cell as covered, as crossed by its outline, or not at all. In a crossed cell a point is tested
exactly, against those edges only that share its row of cells (the polygon's band in that row).

Shapes: P polygons, V vertices, `rows` x `columns` cells.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.kernels import inlined, kernel, leaf
from world4scorer.engine.outcomes.ego import RADIUS, centre_bounds
from world4scorer.engine.scene.containment import inside
from world4scorer.engine.scene.packed import LANE

MIN_CELL_SIZE: Final = 0.5
"""m"""
MAX_CELLS: Final = 8192
"""Of a grid that is made for one call."""
CROSSED_SHIFT: Final = 4
"""The upper four bits of a cell's flags say which parts cross it, the lower four which cover it."""
SLACK: Final = 1e-6
"""Share of a cell by which outlines are widened, against rounding."""


class AreaGrid(NamedTuple):
    """Cells in row-major order; a cell's entries are polygons, `2 p` if crossed and `2 p + 1` if covered."""

    x0: float
    y0: float
    scale: float
    """Cells per metre."""
    columns: int
    rows: int
    flags: NDArray[np.uint8]
    """(rows * columns,)"""
    entry_start: NDArray[np.int64]
    """(rows * columns + 1,)"""
    entries: NDArray[np.int32]
    band_first: NDArray[np.int64]
    """(P,) first band of a polygon minus its first row, so that row r has band `band_first[p] + r`."""
    band_start: NDArray[np.int64]
    """Offsets of bands into `band_edges`; a band is the part of a polygon in one row of cells."""
    band_edges: NDArray[np.int64]
    """Edges by their first vertex."""


@kernel
def build_grid(polygons, ego):
    """Lay a grid over the part of the map that the boxes `ego` can touch."""
    return grid_within(polygons, centre_bounds(ego), MAX_CELLS)


@kernel
def grid_within(polygons, centres, most):
    """Lay a grid of about `most` cells over what boxes can touch whose centres lie within bounds `centres` (4,)."""
    count = polygons.part.size
    x_low, y_low, x_high, y_high = _region(polygons, centres)
    wide, high = max(x_high - x_low, 0.0), max(y_high - y_low, 0.0)
    cell = max(MIN_CELL_SIZE, np.sqrt(wide * high / most), max(wide, high) / most)
    columns, rows = int(wide / cell) + 1, int(high / cell) + 1

    window = np.empty((count, 4), np.int64)
    band_first = np.empty(count, np.int64)
    bands, most_entries = _windows(
        polygons, x_low, y_low, x_high, y_high, 1.0 / cell, columns, rows, window, band_first
    )
    band_start = np.zeros(bands + 1, np.int64)
    _count_band_edges(polygons, x_low, y_low, 1.0 / cell, window, band_first, band_start)
    band_edges = np.empty(band_start[bands], np.int64)
    _fill_band_edges(polygons, x_low, y_low, 1.0 / cell, window, band_first, band_start, band_edges)

    flags = np.zeros(rows * columns, np.uint8)
    entry_start = np.zeros(rows * columns + 1, np.int64)
    found = np.empty((2, most_entries), np.int32)
    grid = AreaGrid(
        x_low, y_low, 1.0 / cell, columns, rows, flags, entry_start, found[0], band_first, band_start, band_edges
    )
    used = _mark_cells(polygons, grid, window, np.empty(columns, np.bool_), found)
    entries = np.empty(used, np.int32)
    _sort_entries(found, entry_start, entries)
    return AreaGrid(
        x_low, y_low, 1.0 / cell, columns, rows, flags, entry_start, entries, band_first, band_start, band_edges
    )


@leaf
def _region(polygons, centres):
    """Bounds of what the boxes can touch and the map covers: x_min, y_min, x_max, y_max."""
    x_low, y_low, x_high, y_high = centres
    left = low = np.inf
    right = high = -np.inf
    for p in range(polygons.part.size):
        left, right = min(left, polygons.bounds[p, 0]), max(right, polygons.bounds[p, 2])
        low, high = min(low, polygons.bounds[p, 1]), max(high, polygons.bounds[p, 3])
    reach = 1.1 * RADIUS
    x_low, y_low = max(x_low - reach, left), max(y_low - reach, low)
    x_high, y_high = min(x_high + reach, right), min(y_high + reach, high)
    if not (x_low <= x_high and y_low <= y_high):  # no polygon anywhere near
        x_low, y_low, x_high, y_high = 0.0, 0.0, 0.0, 0.0
    return x_low, y_low, x_high, y_high


@leaf
def _windows(polygons, x_low, y_low, x_high, y_high, scale, columns, rows, window, band_first):
    """Find the cells of each polygon's bounds: fill `window` (P, 4), first row, last row, first and last column.

    Returns the number of bands and the most entries that the cells can get.
    """
    bands, cells = 0, 0
    for p in range(window.shape[0]):
        left, low, right, high = polygons.bounds[p]
        if polygons.part[p] == 0 or left > x_high or right < x_low or low > y_high or high < y_low:
            window[p, 0], window[p, 1] = 0, -1
            continue
        window[p, 0] = max(0, int(np.floor((low - y_low) * scale)))
        window[p, 1] = min(rows - 1, int(np.floor((high - y_low) * scale)))
        window[p, 2] = max(0, int(np.floor((left - x_low) * scale - SLACK)))
        window[p, 3] = min(columns - 1, int(np.floor((right - x_low) * scale + SLACK)))
        height = window[p, 1] - window[p, 0] + 1
        band_first[p] = bands - window[p, 0]
        bands += height
        cells += height * max(0, window[p, 3] - window[p, 2] + 1)
    return bands, cells


@inlined
def _rows_crossed(polygons, i, y_low, scale, window, p):
    """First and last row that edge i crosses inside the window of its polygon."""
    j = polygons.following[i]
    low, high = min(polygons.y[i], polygons.y[j]), max(polygons.y[i], polygons.y[j])
    first = max(window[p, 0], int(np.floor((low - y_low) * scale)))
    last = min(window[p, 1], int(np.floor((high - y_low) * scale)))
    return first, last


@leaf
def _count_band_edges(polygons, x_low, y_low, scale, window, band_first, band_start):
    """Turn the zeros of `band_start` into the offsets of each band's edges."""
    for p in range(window.shape[0]):
        if window[p, 1] < window[p, 0]:
            continue
        for i in range(polygons.polygon_start[p], polygons.polygon_start[p + 1]):
            if max(polygons.x[i], polygons.x[polygons.following[i]]) >= x_low:  # else no ray to the right meets it
                first, last = _rows_crossed(polygons, i, y_low, scale, window, p)
                for row in range(first, last + 1):
                    band_start[band_first[p] + row + 1] += 1
    for band in range(band_start.size - 1):
        band_start[band + 1] += band_start[band]


@leaf
def _fill_band_edges(polygons, x_low, y_low, scale, window, band_first, band_start, band_edges):
    """Sort edges into their bands, keeping their order, so that rings stay together."""
    for p in range(window.shape[0]):
        if window[p, 1] < window[p, 0]:
            continue
        for i in range(polygons.polygon_start[p], polygons.polygon_start[p + 1]):
            if max(polygons.x[i], polygons.x[polygons.following[i]]) >= x_low:
                first, last = _rows_crossed(polygons, i, y_low, scale, window, p)
                for row in range(first, last + 1):
                    band = band_first[p] + row
                    band_edges[band_start[band]] = i
                    band_start[band] += 1
    for band in range(band_start.size - 1, 0, -1):  # each start was moved to its end
        band_start[band] = band_start[band - 1]
    band_start[0] = 0


@leaf
def _mark_cells(polygons, grid, window, crossed, found):
    """Walk each polygon row by row, first along its outline, then between: set flags, list entries in `found` (2, E).

    `crossed` (columns,) is scratch. Returns the number of entries; `entry_start` is left holding counts.
    """
    cell = 1.0 / grid.scale
    used = 0
    for p in range(window.shape[0]):
        part = polygons.part[p]
        from_column, to_column = window[p, 2], window[p, 3]
        for row in range(window[p, 0], window[p, 1] + 1):
            band = grid.band_first[p] + row
            start, end = grid.band_start[band], grid.band_start[band + 1]
            for column in range(from_column, to_column + 1):
                crossed[column] = False
            for e in range(start, end):
                left, right = _columns_crossed(polygons, grid.band_edges[e], grid.x0, grid.y0, grid.scale, row)
                for column in range(max(left, from_column), min(right, to_column) + 1):
                    crossed[column] = True
            known, within = False, False
            for column in range(from_column, to_column + 1):
                index = row * grid.columns + column
                if crossed[column]:
                    known = False
                    grid.flags[index] |= part << CROSSED_SHIFT
                elif not known:
                    known = True
                    x, y = grid.x0 + (column + 0.5) * cell, grid.y0 + (row + 0.5) * cell
                    within = inside(polygons, p, x, y, grid.band_edges, start, end)
                if known and within:
                    grid.flags[index] |= part
                if not known or (within and part & LANE):  # only lanes are ever asked for one by one
                    found[0, used] = index
                    found[1, used] = 2 * p + known
                    grid.entry_start[index + 1] += 1
                    used += 1
    return used


@leaf
def _sort_entries(found, entry_start, entries):
    """Sort the entries `found` by cell; `entry_start` holds their counts on entry and their offsets on return."""
    cells = entry_start.size - 1
    for index in range(cells):
        entry_start[index + 1] += entry_start[index]
    for k in range(entries.size):
        index = found[0, k]
        entries[entry_start[index]] = found[1, k]
        entry_start[index] += 1
    for index in range(cells, 0, -1):
        entry_start[index] = entry_start[index - 1]
    entry_start[0] = 0


@inlined
def _columns_crossed(polygons, i, x_low, y_low, scale, row):
    """First and last column that edge i may cross in a row of cells."""
    j = polygons.following[i]
    x1, y1 = (polygons.x[i] - x_low) * scale, (polygons.y[i] - y_low) * scale - row
    x2, y2 = (polygons.x[j] - x_low) * scale, (polygons.y[j] - y_low) * scale - row
    if y1 > y2:
        x1, y1, x2, y2 = x2, y2, x1, y1
    left, right = min(x1, x2), max(x1, x2)
    if y2 > y1:
        slope = (x2 - x1) / (y2 - y1)
        enter = x1 if y1 >= -SLACK else x1 + slope * (-SLACK - y1)
        leave = x2 if y2 <= 1.0 + SLACK else x1 + slope * (1.0 + SLACK - y1)
        left, right = max(left, min(enter, leave)), min(right, max(enter, leave))
    return int(np.floor(left - SLACK)), int(np.floor(right + SLACK))
