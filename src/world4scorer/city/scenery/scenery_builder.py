"""Scenery builder: triangles sorted into square cells of the map."""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from world4scorer.city.scenery.surface import Material, SurfaceClass

CELL_SIZE: Final = 32.0
"""Side of a cell [m]."""


class DetailLevel(IntEnum):
    """Distances from which a triangle is drawn."""

    NEAR = 0
    ALWAYS = 1
    FAR = 2


class SceneryArrays(NamedTuple):
    """Static triangles by cell. Corners are relative to the centre of their cell."""

    corners: NDArray[np.float32]
    """(n, 3, 3) counter-clockwise seen from outside."""
    normal: NDArray[np.float32]
    """(n, 3)"""
    paint: NDArray[np.float32]
    """(n, 3) linear colour."""
    material: NDArray[np.uint8]
    surface: NDArray[np.uint8]
    detail: NDArray[np.int32]
    """(n,) row of the facade table; for signal lamps 4 times the head plus the lamp."""
    offset: NDArray[np.float32]
    span: NDArray[np.int64]
    """(cells, 4) first triangle for near, for always, for far views, and the end."""
    sphere: NDArray[np.float32]
    """(cells, 4) centre, relative to the cell's, and radius."""
    cells: NDArray[np.int32]
    """(rows, columns) number of a cell, -1 for empty ones."""
    corner: NDArray[np.float64]
    """(2,) x, y of the first cell's corner."""
    cell: float
    boxes: NDArray[np.float64]
    """(b, 7) houses: centre x, y, cosine, sine, half length, half depth, height."""
    box_span: NDArray[np.int64]
    """(cells, 2) boxes of each cell."""


class SceneryBuilder:
    """Collects triangles."""

    def __init__(self) -> None:
        self._rows: list[tuple[NDArray[np.float64], ...]] = []
        self.facades: list[list[float]] = []
        self.boxes: list[tuple[float, ...]] = []

    def add(
        self,
        corners: NDArray[np.float64],
        paint: NDArray[np.float32],
        material: Material | NDArray[np.int64],
        surface: SurfaceClass | NDArray[np.int64],
        anchor: NDArray[np.float64],
        detail: int | NDArray[np.int64] = -1,
        offset: float | NDArray[np.float64] = 0.0,
        seen: DetailLevel = DetailLevel.ALWAYS,
    ) -> None:
        """Add triangles (n, 3, 3) of the map; `anchor` (2,) or (n, 2) decides their cell."""
        n = len(corners)
        self._rows.append(
            (
                corners,
                np.broadcast_to(paint, (n, 3)),
                np.broadcast_to(material, n),
                np.broadcast_to(surface, n),
                np.broadcast_to(anchor, (n, 2)),
                np.broadcast_to(detail, n),
                np.broadcast_to(offset, n),
                np.full(n, seen),
            )
        )

    def pack(self) -> SceneryArrays:
        """Sort triangles by cell and detail level."""
        if not self._rows:
            return _empty_arrays()
        corners, paint, material, surface, anchor, detail, offset, seen = (
            np.concatenate(column) for column in zip(*self._rows, strict=True)
        )
        boxes = np.array(self.boxes, np.float64).reshape(-1, 7)
        low = np.floor(np.minimum(anchor.min(0), boxes[:, :2].min(0) if len(boxes) else np.inf) / CELL_SIZE) * CELL_SIZE
        cell = ((anchor - low) // CELL_SIZE).astype(np.int64)
        box_cell = ((boxes[:, :2] - low) // CELL_SIZE).astype(np.int64)
        columns, rows = np.concatenate([cell, box_cell]).max(0) + 1
        key = cell[:, 1] * columns + cell[:, 0]
        box_key = box_cell[:, 1] * columns + box_cell[:, 0]
        order, box_order = np.lexsort((seen, key)), np.argsort(box_key, kind="stable")
        key, seen, box_key = key[order], seen[order], box_key[box_order]
        used = np.unique(np.concatenate([key, box_key]))
        index = np.full(rows * columns, -1, np.int32)
        index[used] = np.arange(len(used))
        combined = key * 4 + seen
        span = np.stack([np.searchsorted(combined, used * 4 + level) for level in (0, 1, 2, 3)], 1)
        centre = low + (np.stack([used % columns, used // columns], 1) + 0.5) * CELL_SIZE
        local = corners[order].copy()
        local[..., :2] -= centre[np.searchsorted(used, key)][:, None]
        sphere = np.zeros((len(used), 4), np.float32)
        for k, (start, *_, end) in enumerate(span):
            if end > start:
                points = local[start:end].reshape(-1, 3)
                middle = (points.min(0) + points.max(0)) / 2
                sphere[k] = *middle, np.sqrt(((points - middle) ** 2).sum(1).max())
        normal = np.cross(local[:, 1] - local[:, 0], local[:, 2] - local[:, 0])
        normal /= np.maximum(np.linalg.norm(normal, axis=1), 1e-12)[:, None]
        return SceneryArrays(
            local.astype(np.float32),
            normal.astype(np.float32),
            np.ascontiguousarray(paint[order], np.float32),
            material[order].astype(np.uint8),
            surface[order].astype(np.uint8),
            detail[order].astype(np.int32),
            offset[order].astype(np.float32),
            span,
            sphere,
            index.reshape(rows, columns),
            low,
            CELL_SIZE,
            np.ascontiguousarray(boxes[box_order]),
            np.stack([np.searchsorted(box_key, used), np.searchsorted(box_key, used, "right")], 1),
        )


def _empty_arrays() -> SceneryArrays:
    def none(*shape: int, dtype: type = np.float32) -> NDArray[np.float32]:
        return np.zeros((0, *shape), dtype)

    return SceneryArrays(
        none(3, 3),
        none(3),
        none(3),
        np.zeros(0, np.uint8),
        np.zeros(0, np.uint8),
        np.zeros(0, np.int32),
        none(),
        np.zeros((0, 4), np.int64),
        none(4),
        np.full((1, 1), -1, np.int32),
        np.zeros(2),
        CELL_SIZE,
        np.zeros((0, 7)),
        np.zeros((0, 2), np.int64),
    )
