"""Labels of forecasts: which cells of the map road users and objects occupy at the times of a plan's poses."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from world4scorer.datasets.dense.labels import CELL, CELLS, X_RANGE, Y_RANGE
from world4scorer.engine.kernels import kernel
from world4scorer.engine.scene import Scene
from world4scorer.engine.scene.indices import Box, State
from world4scorer.planner.model.dense_encoder_config import SCALE
from world4scorer.planner.model.forecast import FORECAST_SCALE, FORECAST_TIMES

FORECAST_CELL = CELL * SCALE / FORECAST_SCALE
"""Side of a cell of a forecast [m]."""
STEPS_PER_POSE = 5
"""Steps of 0.1 s from one pose of a plan to the next."""


def occupancy(scene: Scene) -> NDArray[np.uint8]:
    """Occupied cells (T, 2X, 2Y), 0 or 1, around the present ego pose, 0.5 s apart from 0.5 s ahead."""
    rows, columns = (size * FORECAST_SCALE // SCALE for size in CELLS)
    cells = np.zeros((FORECAST_TIMES, rows, columns), np.uint8)
    times = STEPS_PER_POSE * np.arange(1, FORECAST_TIMES + 1)
    columns_read = [Box.X, Box.Y, Box.HEADING, Box.LENGTH, Box.WIDTH]
    boxes = np.ascontiguousarray(scene.tracks.boxes[:, times][:, :, columns_read])
    ego = scene.ego_state[[State.X, State.Y, State.HEADING]]
    fill_occupied(boxes, scene.tracks.valid[:, times], ego, X_RANGE[0], Y_RANGE[0], FORECAST_CELL, cells)
    return cells


@kernel
def fill_occupied(boxes: Any, valid: Any, ego: Any, x_min: Any, y_min: Any, cell: Any, out: Any) -> Any:
    """Set the cells of `out` (T, rows, columns) whose centres lie in boxes (N, T, 5), and at least one for each box.

    Boxes are x, y, heading, length, width in global axes; `ego` (3,) is the pose that the cells lie around.
    """
    cosine, sine = np.cos(ego[2]), np.sin(ego[2])
    rows, columns = out.shape[1], out.shape[2]
    for n in range(boxes.shape[0]):
        for t in range(boxes.shape[1]):
            if not valid[n, t]:
                continue
            dx, dy = boxes[n, t, 0] - ego[0], boxes[n, t, 1] - ego[1]
            x, y = dx * cosine + dy * sine, dy * cosine - dx * sine
            turn = boxes[n, t, 2] - ego[2]
            c, s = np.cos(turn), np.sin(turn)
            length, width = boxes[n, t, 3] / 2, boxes[n, t, 4] / 2
            reach_x, reach_y = abs(c) * length + abs(s) * width, abs(s) * length + abs(c) * width
            first = max(0, int(np.floor((x - reach_x - x_min) / cell)))
            last = min(rows - 1, int(np.floor((x + reach_x - x_min) / cell)))
            left = max(0, int(np.floor((y - reach_y - y_min) / cell)))
            right = min(columns - 1, int(np.floor((y + reach_y - y_min) / cell)))
            for i in range(first, last + 1):
                for j in range(left, right + 1):
                    u, v = x_min + cell * (i + 0.5) - x, y_min + cell * (j + 0.5) - y
                    if abs(u * c + v * s) <= length and abs(v * c - u * s) <= width:
                        out[t, i, j] = 1
            i, j = int(np.floor((x - x_min) / cell)), int(np.floor((y - y_min) / cell))
            if 0 <= i < rows and 0 <= j < columns:
                out[t, i, j] = 1
