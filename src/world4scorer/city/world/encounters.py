"""Kernels that find leaders, conflicts and contacts along one drive.

Shapes: F frames, at most A boxes per frame, P points of the path.
"""

from __future__ import annotations

import math
from typing import Final

from world4scorer.engine.kernels import kernel
from world4scorer.engine.rollout.angles import sine_cosine, wrap
from world4scorer.engine.scene.boxes import boxes_meet
from world4scorer.engine.scene.vehicle import HALF_LENGTH, HALF_WIDTH, REAR_AXLE_TO_CENTRE

HORIZON_STEPS: Final = 8
"""Prediction horizon in steps of 0.5 s."""
INTERACTION_RADIUS: Final = 80.0
"""Boxes beyond this distance are ignored [m]."""
SUBSTEPS: Final = 2
"""Comparisons per frame interval."""
NO_AGENT: Final = -1
CONTACT_SUBSTEPS: Final = 5
"""Comparisons per frame interval for contacts."""
CONTACT_MARGIN: Final = 0.1
"""Gap below which boxes are in contact [m]."""


@kernel
def find_leaders(pose, boxes, count, path, first, half_lane, reach, leaders, gaps, nearest):
    """Find the first box on the path ahead and the nearest box of each frame.

    `pose` (F, 3) rear axle; `boxes` (F, A, 5) centre x, y, heading, length, width, the first `count` (F,) valid;
    `path` (P, 2) future points of the rear axle, 1 m apart, `first` (F,) its current point. Fills, per frame, the row
    of the leader or -1, the gap to it [m], and the distance between the centres of ego and nearest box [m].
    """
    points = path.shape[0]
    for frame in range(pose.shape[0]):
        sine, cosine = sine_cosine(pose[frame, 2])
        x = pose[frame, 0] + REAR_AXLE_TO_CENTRE * cosine
        y = pose[frame, 1] + REAR_AXLE_TO_CENTRE * sine
        leaders[frame], gaps[frame], nearest[frame] = NO_AGENT, reach, 1e9
        for row in range(count[frame]):
            bx, by, bh, bl, bw = boxes[frame, row]
            distance = math.sqrt((bx - x) ** 2 + (by - y) ** 2)
            nearest[frame] = min(nearest[frame], distance)
            if distance > reach + 15.0:
                continue
            bs, bc = sine_cosine(bh)
            for ahead in range(4, int(reach)):
                point = first[frame] + ahead
                if point >= points:
                    break
                dx, dy = path[point, 0] - bx, path[point, 1] - by
                # Signed distances of the path point from the box's sides.
                inside_length = abs(dx * bc + dy * bs) - bl / 2
                inside_width = abs(dy * bc - dx * bs) - bw / 2
                if max(inside_length, inside_width) < half_lane:
                    gap = ahead + half_lane - 4.0
                    if gap < gaps[frame]:
                        gaps[frame], leaders[frame] = gap, row
                    break


@kernel
def find_conflicts(pose, speed, boxes, ids, count, path, first, least_speed, conflicts):
    """Find the first box that an ego with constant speed on its path would hit within the horizon.

    `ids` (F, A) identify boxes across frames; other arguments as in `find_leaders`. The ego's speed is at least
    `least_speed`. Fills the row of the box in each frame, or -1.
    """
    frames, points = pose.shape[0], path.shape[0]
    for frame in range(frames):
        conflicts[frame] = NO_AGENT
        pace = max(speed[frame], least_speed)
        for row in range(count[frame]):
            if conflicts[frame] != NO_AGENT:
                break
            dx, dy = boxes[frame, row, 0] - pose[frame, 0], boxes[frame, row, 1] - pose[frame, 1]
            if dx * dx + dy * dy > INTERACTION_RADIUS**2:
                continue
            before = row
            met = False
            for step in range(HORIZON_STEPS):
                if frame + step + 1 >= frames:
                    break
                after = _row_of(ids, count, frame + step + 1, ids[frame, row])
                if after == NO_AGENT:
                    break
                for part in range(1, SUBSTEPS + 1):
                    share = part / SUBSTEPS
                    travel = pace * (step + share) * 0.5
                    point = first[frame] + int(travel)
                    if point + 3 >= points:
                        break
                    # The path ahead of the rear axle gives the heading.
                    rx, ry = path[point, 0], path[point, 1]
                    hx, hy = path[point + 3, 0] - rx, path[point + 3, 1] - ry
                    length = max(math.sqrt(hx * hx + hy * hy), 1e-9)
                    ec, es = hx / length, hy / length
                    ex, ey = rx + REAR_AXLE_TO_CENTRE * ec, ry + REAR_AXLE_TO_CENTRE * es
                    old, new = boxes[frame + step, before], boxes[frame + step + 1, after]
                    bx, by = old[0] + share * (new[0] - old[0]), old[1] + share * (new[1] - old[1])
                    bs, bc = sine_cosine(new[2])
                    if boxes_meet(ex, ey, ec, es, HALF_LENGTH, HALF_WIDTH, bx, by, bc, bs, new[3] / 2, new[4] / 2):
                        # Rear-end hits are not the ego's fault.
                        met = True
                        if (bx - ex) * ec + (by - ey) * es > 0.0:
                            conflicts[frame] = row
                        break
                if met:
                    break
                before = after


@kernel
def find_contacts(pose, boxes, ids, count, touching):
    """Whether a box comes within the margin of the ego between a frame and the next; arguments as above."""
    frames = pose.shape[0]
    for frame in range(frames):
        touching[frame] = False
        following = min(frame + 1, frames - 1)
        for row in range(count[frame]):
            dx, dy = boxes[frame, row, 0] - pose[frame, 0], boxes[frame, row, 1] - pose[frame, 1]
            if dx * dx + dy * dy > INTERACTION_RADIUS**2:
                continue
            after = _row_of(ids, count, following, ids[frame, row])
            old = boxes[frame, row]
            new = boxes[following, after] if after != NO_AGENT else old
            for part in range(CONTACT_SUBSTEPS):
                share = part / CONTACT_SUBSTEPS
                sine, cosine = sine_cosine(pose[frame, 2] + share * (pose[following, 2] - pose[frame, 2]))
                x = pose[frame, 0] + share * (pose[following, 0] - pose[frame, 0]) + REAR_AXLE_TO_CENTRE * cosine
                y = pose[frame, 1] + share * (pose[following, 1] - pose[frame, 1]) + REAR_AXLE_TO_CENTRE * sine
                bs, bc = sine_cosine(old[2] + share * wrap(new[2] - old[2]))
                bx, by = old[0] + share * (new[0] - old[0]), old[1] + share * (new[1] - old[1])
                length, width = old[3] / 2 + CONTACT_MARGIN, old[4] / 2 + CONTACT_MARGIN
                if boxes_meet(x, y, cosine, sine, HALF_LENGTH, HALF_WIDTH, bx, by, bc, bs, length, width):
                    touching[frame] = True


@kernel
def _row_of(ids, count, frame, wanted):
    for row in range(count[frame]):
        if ids[frame, row] == wanted:
            return row
    return NO_AGENT
