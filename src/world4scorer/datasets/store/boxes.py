"""Packed tracks of a shard: valid boxes only, constant sizes once, shared boxes by reference."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.kernels import kernel
from world4scorer.engine.scene.geometry import Floats
from world4scorer.engine.scene.indices import Box
from world4scorer.engine.scene.tracks import Tracks

MOTION: Final = (int(Box.X), int(Box.Y), int(Box.HEADING), int(Box.VELOCITY_X), int(Box.VELOCITY_Y))
SIZE: Final = (int(Box.LENGTH), int(Box.WIDTH))
COLUMNS: Final = len(Box)
LENGTH: Final = int(Box.LENGTH)
WIDTH: Final = int(Box.WIDTH)


class PackedBoxes(NamedTuple):
    """The boxes of N tracks, B of them valid."""

    rows: Floats
    """(B * 5,) the columns of `MOTION`, or (B * 7,) all of `Box` where sizes change."""
    size: Floats
    """(N, 2) length and width, or (0, 2) where they change."""


def pack_boxes(boxes: Floats, valid: NDArray[np.bool_]) -> PackedBoxes:
    """Pack boxes (N, T, 7), of which those `valid` (N, T) are kept."""
    kept = boxes[valid]
    count = valid.sum(axis=1)
    sizes = np.ascontiguousarray(kept[:, SIZE])
    first = np.minimum(np.cumsum(count) - count, max(len(kept) - 1, 0))
    size = sizes[first] if len(kept) else np.zeros((len(valid), 2))
    # Compared as bytes, so that minus zero is preserved.
    if (sizes.view(np.int64) == np.repeat(size, count, axis=0).view(np.int64)).all():
        return PackedBoxes(np.ascontiguousarray(kept[:, MOTION]).reshape(-1), size)
    return PackedBoxes(kept.reshape(-1), np.zeros((0, 2)))


def find_aliases(tracks: Tracks, others: Tracks) -> NDArray[np.int32]:
    """For each of `others`, the track of the same name and with the same boxes wherever the other is valid, or -1."""
    row = {name: index for index, name in enumerate(tracks.ids)}
    alias = np.array([row.get(name, -1) for name in others.ids], np.int32)
    steps = min(tracks.steps, others.steps)
    same = alias >= 0
    mine = tracks.boxes[alias[same], :steps].view(np.int64)
    equal = (mine == others.boxes[same, :steps].view(np.int64)).all(axis=2) & tracks.valid[alias[same], :steps]
    holds = (equal | ~others.valid[same, :steps]).all(axis=1) & ~others.valid[same, steps:].any(axis=1)
    alias[np.flatnonzero(same)[~holds]] = -1
    return alias


def unpack_boxes(
    rows: Floats, size: Floats, valid: NDArray[np.bool_], alias: NDArray[np.int32], shared: Floats
) -> Floats:
    """Return boxes (N, T, 7); those that are not valid are 0. `alias` (N,) names tracks of `shared` (M, S, 7), or -1.

    Raises ValueError where the parts do not fit together.
    """
    own = alias < 0
    needed = int(valid[own].sum()) * (COLUMNS if len(size) == 0 else len(MOTION))
    if len(rows) != needed or len(size) not in (0, len(valid)) or (alias >= len(shared)).any():
        raise ValueError("boxes, sizes and references of the tracks do not fit together")
    if not own.all() and valid.shape[1] > shared.shape[1]:
        raise ValueError("tracks reach beyond those that they refer to")
    boxes = np.zeros((*valid.shape, COLUMNS))
    _unpack(rows, size, valid, alias, shared, boxes)
    return boxes


@kernel
def _unpack(rows, size, valid, alias, shared, boxes):
    at = 0
    for n in range(valid.shape[0]):
        for t in range(valid.shape[1]):
            if not valid[n, t]:
                continue
            if alias[n] >= 0:
                for column in range(COLUMNS):
                    boxes[n, t, column] = shared[alias[n], t, column]
            elif size.shape[0] == 0:
                for column in range(COLUMNS):
                    boxes[n, t, column] = rows[at + column]
                at += COLUMNS
            else:
                for i in range(len(MOTION)):
                    boxes[n, t, MOTION[i]] = rows[at + i]
                boxes[n, t, LENGTH] = size[n, 0]
                boxes[n, t, WIDTH] = size[n, 1]
                at += len(MOTION)
