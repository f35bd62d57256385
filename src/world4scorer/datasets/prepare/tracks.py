"""Traffic from 2 Hz annotations to 10 Hz tracks.

A thing seen in several frames moves on straight lines between them, gaps included, and is there only from its first to
its last sight. A thing seen in one frame only stands there at all steps, before and after. Size and type are those of
the first sight. Frames count as exactly 0.5 s apart; their time stamps are not looked at.

v1.1 looks at 5 s (51 steps), v2.2 at 4 s (41 steps). A thing last seen, or seen for the second time, after 4 s makes
the two differ: then the second version has tracks of its own.

Shapes: F frames from now on, N things, S steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.datasets.navsim.frames import LogFrame
from world4scorer.engine.kernels import kernel
from world4scorer.engine.rollout.angles import wrap
from world4scorer.engine.scene.geometry import Floats
from world4scorer.engine.scene.indices import DT, Box
from world4scorer.engine.scene.tracks import Tracks

FRAMES_V1: Final = 11
FRAMES_V2: Final = 9
STEPS_PER_FRAME: Final = 5
INTERVAL: Final = 0.5
"""Time between frames [s]."""

LENGTH: Final = int(Box.LENGTH)
WIDTH: Final = int(Box.WIDTH)
VELOCITY_X: Final = int(Box.VELOCITY_X)


def interpolate_tracks(frames: Sequence[LogFrame]) -> tuple[Tracks, Tracks | None]:
    """Tracks of a window that starts now, and those of v2.2 where they differ.

    With fewer than 11 frames both versions share the 41 steps of the first nine.
    """
    count = FRAMES_V1 if len(frames) >= FRAMES_V1 else FRAMES_V2
    return tracks_from_detections(*_detections(frames[:count]))


def tracks_from_detections(
    ids: list[str], kinds: NDArray[np.int8], sizes: Floats, poses: Floats, seen: NDArray[np.bool_]
) -> tuple[Tracks, Tracks | None]:
    """The same from detections: types (N,), sizes (N, 2), poses with velocities (N, F, 5), presence (N, F)."""
    count = seen.shape[1]
    tracks = _fill(ids, kinds, sizes, poses, seen)
    if count == FRAMES_V2 or not _versions_differ(seen):
        return tracks, None
    early = np.flatnonzero(seen[:, :FRAMES_V2].any(axis=1))
    names = [ids[i] for i in early]
    return tracks, _fill(names, kinds[early], sizes[early], poses[early, :FRAMES_V2], seen[early, :FRAMES_V2])


def _detections(frames: Sequence[LogFrame]) -> tuple[list[str], NDArray[np.int8], Floats, Floats, NDArray[np.bool_]]:
    """Tokens, types (N,), sizes (N, 2), poses with velocities (N, F, 5), presence (N, F); by type, then appearance."""
    row: dict[str, int] = {}
    every = [frame.boxes_by_type for frame in frames]
    # In reverse, so that the first detection of a track overwrites the others.
    track = np.array([row.setdefault(token, len(row)) for boxes in every for token in boxes.tokens], np.int64)[::-1]
    frame = np.repeat(np.arange(len(frames)), [len(boxes.tokens) for boxes in every])[::-1]
    names = list(row)
    kinds = np.zeros(len(names), np.int8)
    sizes = np.zeros((len(names), 2))
    poses = np.zeros((len(names), len(frames), 5))
    seen = np.zeros((len(names), len(frames)), np.bool_)
    kinds[track] = np.concatenate([boxes.type for boxes in every])[::-1]
    sizes[track] = np.concatenate([boxes.sizes for boxes in every])[::-1]
    poses[track, frame] = np.concatenate([boxes.poses for boxes in every])[::-1]
    seen[track, frame] = True
    by_type = np.argsort(kinds, kind="stable")
    return [names[i] for i in by_type], kinds[by_type], sizes[by_type], poses[by_type], seen[by_type]


def _versions_differ(seen: NDArray[np.bool_]) -> bool:
    early, late = seen[:, :FRAMES_V2], seen[:, FRAMES_V2:]
    count = early.sum(axis=1)
    once_late = (count == 0) & (late.sum(axis=1) == 1)
    again_late = late.any(axis=1) & ((count == 1) | ((count > 1) & ~early[:, -1]))
    return bool((once_late | again_late).any())


def _fill(ids: list[str], kinds: NDArray[np.int8], sizes: Floats, poses: Floats, seen: NDArray[np.bool_]) -> Tracks:
    steps = (seen.shape[1] - 1) * STEPS_PER_FRAME + 1
    boxes = np.zeros((len(ids), steps, len(Box)))
    valid = np.zeros((len(ids), steps), np.bool_)
    _interpolate(poses, seen, sizes, boxes, valid)
    return Tracks(tuple(ids), kinds, boxes, valid, np.ascontiguousarray(seen[:, 0]))


@kernel
def _interpolate(poses, seen, sizes, boxes, valid):
    """Fill `boxes` (N, S, 7) and `valid` (N, S) from `poses` (N, F, 5), `seen` (N, F) and `sizes` (N, 2)."""
    count, frames = seen.shape
    steps = valid.shape[1]
    for n in range(count):
        first, last, sights = -1, -1, 0
        for f in range(frames):
            if seen[n, f]:
                first = f if first < 0 else first
                last = f
                sights += 1
        if sights == 0:
            continue
        left, right = first, first
        for s in range(steps):
            time = s * DT
            if sights > 1:
                if time < first * INTERVAL or time > last * INTERVAL:
                    continue
                while right < last and (right == left or time > right * INTERVAL):
                    left = right
                    right += 1
                    while not seen[n, right]:
                        right += 1
            valid[n, s] = True
            boxes[n, s, LENGTH], boxes[n, s, WIDTH] = sizes[n, 0], sizes[n, 1]
            for column in range(5):
                start = poses[n, left, column]
                value = start
                if sights > 1:
                    change = poses[n, right, column] - start
                    if column == 2:
                        change = wrap(change)
                    value = change / ((right - left) * INTERVAL) * (time - left * INTERVAL) + start
                    if column == 2:
                        value = wrap(value)
                boxes[n, s, column if column < 3 else VELOCITY_X + column - 3] = value
