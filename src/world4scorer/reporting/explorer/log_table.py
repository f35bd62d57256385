"""What choosing and filtering need of a log: utilities, outcomes, and which plans continue which of the frame before.

A page loads it of every log, so that choices and filters of all frames are computed without asking anybody.

Shapes: F frames of the log, N plans.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.outcomes.results import V1_COLUMNS, V2_COLUMNS
from world4scorer.evaluation.pools.scored import ScoredPools
from world4scorer.reporting.explorer.rounding import SCORE, quantise
from world4scorer.reporting.explorer.typed_file import pack

FORMAT: Final = "world4scorer-table-1"
V2_KEPT: Final = V2_COLUMNS[:-1]
"""`pdm_score` is left out: EPDMS follows from the others."""


def pack_table(
    pools: ScoredPools,
    rows: slice,
    situations: NDArray[np.uint8],
    outliers: NDArray[np.float32],
    agreements: NDArray[np.float64] | None = None,
) -> bytes:
    """The table of the frames `rows`, those of one log; `situations` and `outliers` (S,) of all frames.

    `agreements` (F, N) are those of the plans with the route, where it is known.
    """
    filtered, raw = (_scores(table[rows, :, : len(V2_KEPT)]) for table in (pools.v2, pools.v2_raw))
    continues = pools.continues[rows]
    arrays: dict[str, NDArray[Any]] = {
        "time_us": pools.time_us[rows].astype(np.float64),
        "interval": pools.interval[rows].astype(np.float32),
        "utility_v1": _as_float(pools.utility_v1[rows]),
        "utility_v2": _as_float(pools.utility_v2[rows]),
        "v1": _scores(pools.v1[rows]),
        "v2": filtered,
        "continues": np.packbits(continues.reshape(len(continues), -1), axis=1, bitorder="little"),
        "situation": situations[rows],
        "outlier": outliers[rows],
    }
    if not np.array_equal(filtered, raw):
        arrays["v2_raw"] = raw
    if agreements is not None:
        arrays["route_agreement"] = agreements
    header = {"format": FORMAT, "log_name": pools.log_names[rows.start], "tokens": pools.tokens[rows]}
    return pack({**header, "v1": V1_COLUMNS, "v2": V2_KEPT}, arrays)


def _scores(table: NDArray[np.float64]) -> NDArray[np.uint16]:
    return quantise(table, SCORE).astype(np.uint16)


def _as_float(values: NDArray[Any]) -> NDArray[Any]:
    """Utilities to the bit: choices among near ties must be those of the engine."""
    return values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)
