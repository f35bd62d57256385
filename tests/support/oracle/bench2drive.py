"""Bench2Drive's outcome labels once more, plan by plan, with Shapely."""

from __future__ import annotations

import numpy as np
import shapely
from shapely import affinity


def car(x, y, heading, half_length, half_width):
    box = shapely.box(-half_length, -half_width, half_length, half_width)
    return affinity.translate(affinity.rotate(box, heading, origin=(0, 0), use_radians=True), x, y)


def meets(pose, boxes):
    x, y, heading = pose
    forward = np.array([np.cos(heading), np.sin(heading)])
    centre = np.array([x, y]) + 1.35 * forward
    ego = car(*centre, heading, 2.45, 0.92)
    for box in boxes:
        came_from_behind = (box[:2] - centre) @ forward < -0.5
        if not came_from_behind and ego.intersects(car(*box)):
            return True
    return False


def labels(plan, boxes_by_time, drivable, expert_end):
    """NC, DAC, EP, TTC, C, DDC, PDMS of one plan (8, 3)."""
    after = np.concatenate([plan[1:], [2 * plan[-1] - plan[-2]]])
    nc = not any(meets(pose, boxes) for pose, boxes in zip(plan, boxes_by_time, strict=True))
    ttc = not any(meets(pose, boxes) for pose, boxes in zip(after, boxes_by_time, strict=True))

    def is_drivable(x, y):
        column, row = int(np.floor((x + 10) / 0.5)), int(np.floor((y + 25) / 0.5))
        return drivable[column, row] if 0 <= column < 120 and 0 <= row < 100 else True

    dac = np.mean([is_drivable(x, y) for x, y, _ in plan])
    distance = np.linalg.norm(expert_end)
    ep = 1.0 if distance <= 5 else np.clip(plan[-1, :2] @ (expert_end / distance) / distance, 0, 1)
    poses = np.concatenate([np.zeros((1, 3)), plan])
    acceleration = (poses[2:, :2] - 2 * poses[1:-1, :2] + poses[:-2, :2]) / 0.5**2
    turn = np.angle(np.exp(1j * (poses[2:, 2] - poses[:-2, 2]))) / 1.0
    comfort = (np.linalg.norm(acceleration, axis=1) < 9).all() and (np.abs(turn) < 1.5).all()
    return np.array([nc, dac, ep, ttc, comfort, 1.0, nc * dac * (5 * ep + 5 * ttc + 2 * comfort) / 12], np.float64)
