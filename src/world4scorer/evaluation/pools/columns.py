"""Arrays of any shape as columns of an Arrow table: one list of fixed length per row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def column(values: NDArray[Any]) -> pa.Array:
    """Rows of an array (F, ...) as lists."""
    flat = np.ascontiguousarray(values).reshape(len(values), -1)
    return pa.FixedSizeListArray.from_arrays(pa.array(flat.ravel()), flat.shape[1])


def numbers(table: pa.Table, name: str, *shape: int) -> NDArray[Any]:
    """A column as an array (F, *shape)."""
    values = table[name].combine_chunks()
    flat = values.flatten() if pa.types.is_fixed_size_list(values.type) else values
    return np.asarray(flat).reshape(len(table), *shape)
