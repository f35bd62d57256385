"""The ground as textures from above, painted on demand and cached.

Two kinds of square tiles of the same number of texels: fine ones near the ego, coarse ones up to the horizon.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

import numpy as np
from PIL import Image, ImageDraw

from world4scorer.city.render.ground_kernels import COARSE_RESOLUTION, FINE_RESOLUTION, MIP_LEVELS, TILE_SIZE
from world4scorer.city.render.ground_tile import MARKING_OVERSAMPLE, OVERSAMPLE, finish_tile
from world4scorer.city.render.kernel_types import GroundTiles
from world4scorer.city.scenery.ground_plan import PAVING_CLASS, PAVING_COLOUR, PAVING_RELIEF, GroundPlan, Paving

FINE_RADIUS: Final = 72.0
COARSE_RADIUS: Final = 330.0
"""Radii around the ego covered by fine and coarse tiles [m]."""
TILE_SLOTS: Final = 160
"""Cached tiles: about 260 MB when all are in use."""
KERB_SAMPLES: Final = 2
"""Width of a kerb in samples of the oversampled painting."""

TileKey = tuple[int, int, int]
"""Kind (0 fine, 1 coarse), row, column."""


class Ground:
    """Painted tiles of a city."""

    def __init__(self, plan: GroundPlan, slots: int = TILE_SLOTS) -> None:
        self.plan = plan
        sizes = [(TILE_SIZE >> level) ** 2 for level in range(MIP_LEVELS)]
        self.level_start = np.cumsum([0, *sizes])[:-1]
        # Untouched pages of these arrays take no memory.
        self.texels = np.empty((slots, sum(sizes)), np.uint32)
        self.classes = np.empty((slots, TILE_SIZE, TILE_SIZE), np.uint8)
        self.held: OrderedDict[TileKey, int] = OrderedDict()
        self.painted = 0

    def around(self, x: float, y: float) -> GroundTiles:
        """Tiles around a point of the map; paints missing ones."""
        grids, corners = [], np.empty((2, 2), np.float32)
        for kind, (scale, reach) in enumerate(((FINE_RESOLUTION, FINE_RADIUS), (COARSE_RESOLUTION, COARSE_RADIUS))):
            size = TILE_SIZE / scale
            j0, j1 = int(np.floor((x - reach) / size)), int(np.floor((x + reach) / size)) + 1
            i0, i1 = int(np.floor((y - reach) / size)), int(np.floor((y + reach) / size)) + 1
            grids.append([[self._slot((kind, i, j)) for j in range(j0, j1)] for i in range(i0, i1)])
            corners[kind] = j0 * size - x, i0 * size - y
        rows, columns = max(len(g) for g in grids), max(len(g[0]) for g in grids)
        slots = np.full((2, rows, columns), -1, np.int32)
        for kind, grid in enumerate(grids):
            slots[kind, : len(grid), : len(grid[0])] = grid
        return GroundTiles(self.texels, self.classes, self.level_start, slots, corners)

    def _slot(self, key: TileKey) -> int:
        slot = self.held.get(key)
        if slot is not None:
            self.held.move_to_end(key)
            return slot
        slot = len(self.held) if len(self.held) < len(self.texels) else self.held.popitem(last=False)[1]
        self._paint(key, slot)
        self.held[key] = slot
        return slot

    def _paint(self, key: TileKey, slot: int) -> None:
        kind, i, j = key
        scale = FINE_RESOLUTION if kind == 0 else COARSE_RESOLUTION
        size = TILE_SIZE / scale
        x, y = j * size, i * size
        side, fine_side = TILE_SIZE * OVERSAMPLE, TILE_SIZE * MARKING_OVERSAMPLE
        paving = Image.new("L", (side, side), int(Paving.GRASS))
        marking = Image.new("L", (fine_side, fine_side), 0)
        on_paving, on_marking = ImageDraw.Draw(paving), ImageDraw.Draw(marking)
        for k in self.plan.within(x, y, size):
            # Pillow paints every pixel that an outline touches; half a pixel less keeps thin lines thin.
            white = self.plan.paving[k] < 0
            enlarged = scale * (MARKING_OVERSAMPLE if white else OVERSAMPLE)
            points = ((self.plan.outlines[k] - (x, y)) * enlarged - 0.5).ravel().tolist()
            if white:
                on_marking.polygon(points, fill=255)
            else:
                on_paving.polygon(points, fill=int(self.plan.paving[k]))
        kerb = KERB_SAMPLES if kind == 0 else 0
        finish_tile(
            np.asarray(paving),
            np.asarray(marking),
            j * TILE_SIZE,
            i * TILE_SIZE,
            scale,
            kerb,
            PAVING_COLOUR,
            PAVING_RELIEF,
            PAVING_CLASS,
            self.texels[slot].view(np.uint8).reshape(-1, 4),
            self.classes[slot],
        )
        self.painted += 1
