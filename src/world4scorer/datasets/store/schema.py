"""Schema of a shard: the Arrow file with the scenes of one log, one per row, in time order.

Every array of a scene is a list in its row, so that a scene is found by slicing and nothing is decoded or copied that
need not be. What scenes of a log share is written once: a name (of a track, polygon, lane), a polygon or a lane lies in
the row of the first scene that uses it, in a `new_` column. Read over all rows these columns are the log's *pools*, and
scenes refer to names, polygons and lanes by their place in the pool. A centreline lies in the row of the first scene
that has it.

Tracks lie as the rows of their boxes that are valid, track by track, step by step. Sizes are left out of the rows
where no track of the scene changes its size. A track of `tracks_v2` with the boxes of one in `tracks` refers to it.

Version 2 added lanes and what the current frame annotates, both for reactive traffic; files of version 1 are read as
well, and `w4s prepare` upgrades them.

Legend: N tracks, T steps, P polygons, K lights, B valid boxes, M lanes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike

SCHEMA_VERSION: Final = 2
"""Increased with every change that older readers would misread."""


class StoreError(ValueError):
    """A store or a file in it that cannot be used; the message names the file and what to do."""


@dataclass(frozen=True)
class Ragged:
    """A column with a list of numbers, or of short rows of numbers, in every row."""

    dtype: DTypeLike
    width: int = 1
    """Numbers in a row of the list."""
    nullable: bool = False

    @property
    def arrow(self) -> pa.DataType:
        """The column's type."""
        item = pa.from_numpy_dtype(np.dtype(self.dtype))
        return pa.list_(item if self.width == 1 else pa.list_(item, self.width))


RAGGED: Final[dict[str, Ragged]] = {
    "ego_state": Ragged(np.float64),
    "centerline": Ragged(np.float64, 3),  # none where an earlier scene has the same
    "route_lanes": Ragged(np.int32),  # names
    "polygons": Ragged(np.int32),  # (P,) places in the pool of polygons
    "track_names": Ragged(np.int32),  # (N,)
    "track_type": Ragged(np.int8),  # (N,)
    "track_valid": Ragged(np.uint8),  # (N, T)
    "track_size": Ragged(np.float64, 2),  # (N, 2), or none where sizes change
    "track_rows": Ragged(np.float64),  # (B, 5) or, with sizes, (B, 7)
    "track_v2_names": Ragged(np.int32, nullable=True),
    "track_v2_type": Ragged(np.int8, nullable=True),
    "track_v2_valid": Ragged(np.uint8, nullable=True),
    "track_v2_alias": Ragged(np.int32, nullable=True),  # (N,) the track in `tracks` with these boxes, or -1
    "track_v2_size": Ragged(np.float64, 2, nullable=True),
    "track_v2_rows": Ragged(np.float64, nullable=True),  # of the tracks without an alias
    "reference": Ragged(np.float64, 3),
    "reference_v2": Ragged(np.float64, 3, nullable=True),
    "light_polygon": Ragged(np.int64),  # (K,)
    "light_status": Ragged(np.int8),  # (K, T)
    "light_on_route": Ragged(np.uint8),  # (K,)
    "past_states": Ragged(np.float64, 11, nullable=True),
    "past_time_us": Ragged(np.int64, nullable=True),
    "human_future": Ragged(np.float64, 3, nullable=True),
    "new_polygon_name": Ragged(np.int32),
    "new_polygon_layer": Ragged(np.int8),
    "new_polygon_rings": Ragged(np.int32),  # rings of each polygon
    "new_ring_vertices": Ragged(np.int32),  # vertices of each ring
    "new_vertices": Ragged(np.float64, 2),
    "track_current": Ragged(np.uint8, nullable=True),  # (N,)
    "track_v2_current": Ragged(np.uint8, nullable=True),
    "lanes": Ragged(np.int32, nullable=True),  # (M,) places in the pool of lanes
    "new_lane_name": Ragged(np.int32),
    "new_lane_connector": Ragged(np.uint8),
    "new_lane_limit": Ragged(np.float64),
    "new_lane_points": Ragged(np.int32),  # vertices of each baseline
    "new_lane_vertices": Ragged(np.float64, 2),
}

ADDED_IN_2: Final = (
    "track_current",
    "track_v2_current",
    "lanes",
    "new_lane_name",
    "new_lane_connector",
    "new_lane_limit",
    "new_lane_points",
    "new_lane_vertices",
)
"""Columns that files of version 1 lack."""

SCHEMA: Final = pa.schema(
    [
        pa.field("token", pa.string(), nullable=False),
        pa.field("time_us", pa.int64(), nullable=False),
        pa.field("centerline_row", pa.int32(), nullable=False),  # the row that holds the scene's centreline
        pa.field("track_steps", pa.int32(), nullable=False),
        pa.field("track_v2_steps", pa.int32(), nullable=False),
        pa.field("light_steps", pa.int32(), nullable=False),
        pa.field("extras", pa.string(), nullable=False),  # a JSON object
        pa.field("new_names", pa.list_(pa.string()), nullable=False),
        *(pa.field(name, column.arrow, nullable=column.nullable) for name, column in RAGGED.items()),
    ]
)

SCHEMAS: Final[dict[int, pa.Schema]] = {
    1: pa.schema([field for field in SCHEMA if field.name not in ADDED_IN_2]),
    SCHEMA_VERSION: SCHEMA,
}
"""Columns of a file by its version."""

META_VERSION: Final = b"world4scorer.schema_version"
META_LOG: Final = b"world4scorer.log_name"
META_PROVENANCE: Final = b"world4scorer.provenance"
META_CHECKSUM: Final = b"world4scorer.checksum"
META_SOURCES: Final = b"world4scorer.sources"
