"""Occupied cells against Shapely."""

from __future__ import annotations

import numpy as np
import shapely
import shapely.affinity

from tests.support.golden import COMPACT
from world4scorer.datasets.dense.labels import X_RANGE, Y_RANGE
from world4scorer.engine.scene import read_exchange
from world4scorer.engine.scene.geometry import relative_poses
from world4scorer.engine.scene.indices import Box
from world4scorer.planner.forecasting.occupancy import FORECAST_CELL, STEPS_PER_POSE, occupancy


def test_occupied_cells_have_their_centres_in_boxes():
    for frame in read_exchange(COMPACT / "outcomes" / "pub_s23_cross.npz"):
        cells = occupancy(frame.scene)
        tracks, ego = frame.scene.tracks, frame.scene.ego_state[:3]
        x = X_RANGE[0] + FORECAST_CELL * (np.arange(cells.shape[1]) + 0.5)
        y = Y_RANGE[0] + FORECAST_CELL * (np.arange(cells.shape[2]) + 0.5)
        centres = shapely.points(*np.meshgrid(x, y, indexing="ij"))
        assert cells.any()
        for time in range(len(cells)):
            there = tracks.valid[:, STEPS_PER_POSE * (time + 1)]
            boxes = tracks.boxes[there, STEPS_PER_POSE * (time + 1)]
            poses = relative_poses(boxes[:, [Box.X, Box.Y, Box.HEADING]], ego)
            wanted = np.zeros(cells.shape[1:], bool)
            for (px, py, heading), length, width in zip(poses, boxes[:, Box.LENGTH], boxes[:, Box.WIDTH], strict=True):
                box = shapely.box(-length / 2, -width / 2, length / 2, width / 2)
                turned = shapely.affinity.rotate(box, heading, origin=(0, 0), use_radians=True)
                wanted |= shapely.intersects(shapely.affinity.translate(turned, px, py), centres)
                row, column = int((px - X_RANGE[0]) // FORECAST_CELL), int((py - Y_RANGE[0]) // FORECAST_CELL)
                if 0 <= row < len(wanted) and 0 <= column < wanted.shape[1]:
                    wanted[row, column] = True  # a small box is seen, too
            assert np.array_equal(cells[time] > 0, wanted)
