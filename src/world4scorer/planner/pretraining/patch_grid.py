"""Where the patches of an encoder lie in a view.

Patches are squares, counted from the top left; where their side does not divide the view, those at the right and at
the bottom are cut off.

Shapes: S views, P patches, H x W pixels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from world4scorer.planner.pretrained.image_encoder import ImageEncoder


@dataclass(frozen=True)
class PatchGrid:
    """Patches of a view."""

    rows: int
    columns: int
    height: int
    """Of a view [pixels]."""
    width: int

    @classmethod
    def of(cls, encoder: ImageEncoder) -> PatchGrid:
        """The patches of an encoder."""
        return cls(*encoder.grid, encoder.config.image_height, encoder.config.image_width)

    def __len__(self) -> int:
        return self.rows * self.columns

    @property
    def side(self) -> int:
        """Of a whole patch [pixels]."""
        return max(-(-self.height // self.rows), -(-self.width // self.columns))

    @property
    def row_edges(self) -> NDArray[np.int64]:
        """(rows + 1,) pixels."""
        return np.minimum(np.arange(self.rows + 1) * self.side, self.height)

    @property
    def column_edges(self) -> NDArray[np.int64]:
        """(columns + 1,) pixels."""
        return np.minimum(np.arange(self.columns + 1) * self.side, self.width)

    @property
    def centres(self) -> NDArray[np.float64]:
        """(P, 2) column and row [pixels] of the centres of patches, row by row."""
        middles = [(edges[:-1] + edges[1:]) / 2 for edges in (self.column_edges, self.row_edges)]
        across, down = np.meshgrid(*middles)
        return np.stack([across.ravel(), down.ravel()], 1)

    def sums(self, values_SHW: NDArray[np.float32]) -> NDArray[np.float32]:
        """(S, P) sums of values over each patch."""
        columns = np.add.reduceat(values_SHW, self.column_edges[:-1], 2)
        return np.asarray(np.add.reduceat(columns, self.row_edges[:-1], 1).reshape(len(values_SHW), -1))

    def means(self, values_SHW: NDArray[np.float32]) -> NDArray[np.float32]:
        """(S, P) means of values over each patch."""
        sizes = np.outer(np.diff(self.row_edges), np.diff(self.column_edges)).ravel().astype(np.float32)
        return np.asarray(self.sums(values_SHW) / sizes)
