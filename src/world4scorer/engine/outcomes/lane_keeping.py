"""LK, lane keeping (v2.2): 0 once the ego's centre has been more than 0.5 m off the centreline for 2 s, else 1.

Steps inside an intersection are skipped: they neither count nor reset the count.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from world4scorer.engine.kernels import inlined, kernel, leaf
from world4scorer.engine.outcomes.areas import covered
from world4scorer.engine.scene.packed import INTERSECTION
from world4scorer.engine.scene.segments import segment_distance

MAX_LATERAL_DEVIATION: Final = 0.5
"""m"""
MAX_DEVIATION_STEPS: Final = 20
"""Steps."""
MARGIN: Final = 1e-3
"""Margin of the segment search [m]."""


@kernel
def lane_keeping(polygons, grid, ego, line, score, step):
    """Score every rollout against the centreline `line` (C, 2..): fill `score` (N,), and `step` (N,) where it drops."""
    start, segments = segments_by_cell(grid, line)
    lanes_kept(polygons, grid, ego, line, start, segments, score, step)


@kernel
def segments_by_cell(grid, line):
    """The segments of the line within 0.5 m of each cell: offsets (rows * columns + 1,) and segments."""
    cells = grid.rows * grid.columns
    start = np.zeros(cells + 1, np.int64)
    _sort_segments(grid, line, start, start[:0])
    segments = np.empty(start[cells], np.int64)
    _sort_segments(grid, line, start, segments)
    return start, segments


@leaf
def _sort_segments(grid, line, start, segments):
    """Sort the segments of the line into the cells that they come within 0.5 m of.

    With no room in `segments` only count: turn the zeros of `start` into offsets.
    """
    counting = segments.size == 0
    cells = start.size - 1
    for i in range(line.shape[0] - 1):
        left, right = min(line[i, 0], line[i + 1, 0]), max(line[i, 0], line[i + 1, 0])
        low, high = min(line[i, 1], line[i + 1, 1]), max(line[i, 1], line[i + 1, 1])
        reach = MAX_LATERAL_DEVIATION + MARGIN
        from_column = max(0, int(np.floor((left - reach - grid.x0) * grid.scale)))
        to_column = min(grid.columns - 1, int(np.floor((right + reach - grid.x0) * grid.scale)))
        from_row = max(0, int(np.floor((low - reach - grid.y0) * grid.scale)))
        to_row = min(grid.rows - 1, int(np.floor((high + reach - grid.y0) * grid.scale)))
        for row in range(from_row, to_row + 1):
            for column in range(from_column, to_column + 1):
                index = row * grid.columns + column
                if counting:
                    start[index + 1] += 1
                else:
                    segments[start[index]] = i
                    start[index] += 1
    if counting:
        for index in range(cells):
            start[index + 1] += start[index]
    else:
        for index in range(cells, 0, -1):
            start[index] = start[index - 1]
        start[0] = 0


@leaf
def lanes_kept(polygons, grid, ego, line, start, segments, score, step):
    """Score every rollout, with the segments of the line by cell."""
    for n in range(score.size):
        score[n], step[n] = 1.0, -1
        count = 0
        for t in range(ego.x.shape[1]):
            x, y = ego.x[n, t], ego.y[n, t]
            if covered(grid, polygons, INTERSECTION, x, y):
                continue
            count = 0 if _on_line(grid, line, start, segments, x, y) else count + 1
            if count >= MAX_DEVIATION_STEPS:
                score[n], step[n] = 0.0, t
                break


@inlined
def _on_line(grid, line, start, segments, x, y):
    """Whether a point lies within 0.5 m of the line. Off the grid every segment is tested."""
    column, row = int(np.floor((x - grid.x0) * grid.scale)), int(np.floor((y - grid.y0) * grid.scale))
    on_line = False
    if column < 0 or row < 0 or column >= grid.columns or row >= grid.rows:
        for i in range(line.shape[0] - 1):
            distance, _ = segment_distance(line[i, 0], line[i, 1], line[i + 1, 0], line[i + 1, 1], x, y)
            on_line = on_line or distance <= MAX_LATERAL_DEVIATION * MAX_LATERAL_DEVIATION
    else:
        index = row * grid.columns + column
        for k in range(start[index], start[index + 1]):
            i = segments[k]
            distance, _ = segment_distance(line[i, 0], line[i, 1], line[i + 1, 0], line[i + 1, 1], x, y)
            on_line = on_line or distance <= MAX_LATERAL_DEVIATION * MAX_LATERAL_DEVIATION
    return on_line
