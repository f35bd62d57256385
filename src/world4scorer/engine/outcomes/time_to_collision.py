"""TTC, time to collision within bound: 1 or 0.

At each step the ego's box is moved ahead along its heading at its present speed (forward, even when it rolls back) by
0, 0.3, 0.6 and 0.9 s and compared with the tracks of that later step. A track that it meets

* is a violation if it lies ahead (within 30 degrees of the heading, seen from the rear axle now), or if the ego is in
  multiple lanes, off the road, or with its rear axle in an intersection, and the track is not behind (150 degrees);
* is ignored for the rest of this rollout otherwise.

Steps at which the ego stands (speed < 0.005 m/s) are skipped. v1.1 checks steps 0..40, v2.2 0..31.
"""

from __future__ import annotations

from typing import Final

from world4scorer.engine.kernels import inlined, leaf
from world4scorer.engine.outcomes.areas import covered, in_multiple_lanes, off_road
from world4scorer.engine.outcomes.traffic import AHEAD_COSINE, BEHIND_COSINE, LOOK_AHEAD_STEPS, bearing, meets_track
from world4scorer.engine.scene.indices import DT
from world4scorer.engine.scene.packed import INTERSECTION

STANDING_SPEED: Final = 0.005
"""m/s"""
STEPS_V1: Final = 41
STEPS_V2: Final = 32


@leaf
def time_to_collision(polygons, grid, traffic, ego, steps, forgiven, corners, score, step, cause):
    """Score every rollout: fill `score` (N,), and where it is 0 the violating `step` (N,) and track `cause` (N,).

    `forgiven` (B,) and `corners` (P,) are scratch, the latter zero.
    """
    for n in range(score.size):
        score[n], step[n], cause[n] = 1.0, -1, -1
        for b in range(forgiven.size):
            forgiven[b] = False
        for t in range(steps):
            if ego.speed[n, t] < STANDING_SPEED:
                continue
            for a in range(len(LOOK_AHEAD_STEPS)):
                slot = t * len(LOOK_AHEAD_STEPS) + a
                shift = ego.speed[n, t] * (DT * LOOK_AHEAD_STEPS[a])
                x = ego.x[n, t] + shift * ego.cosine[n, t]
                y = ego.y[n, t] + shift * ego.sine[n, t]
                for k in range(traffic.near_start[slot], traffic.near_start[slot + 1]):
                    b = traffic.near[k]
                    if forgiven[b] or not meets_track(ego, n, t, x, y, traffic, b, t + LOOK_AHEAD_STEPS[a]):
                        continue
                    if _in_the_way(polygons, grid, traffic, ego, n, t, b, t + LOOK_AHEAD_STEPS[a], corners):
                        score[n], step[n], cause[n] = 0.0, t, traffic.track[b]
                        break
                    forgiven[b] = True
                if score[n] == 0.0:
                    break
            if score[n] == 0.0:
                break


@inlined
def _in_the_way(polygons, grid, traffic, ego, n, t, b, later, corners):
    cosine = bearing(ego, n, t, traffic, b, later)
    return cosine > AHEAD_COSINE or (
        not cosine < BEHIND_COSINE
        and (
            off_road(grid, polygons, ego, n, t) >= 0
            or covered(grid, polygons, INTERSECTION, ego.rear_x[n, t], ego.rear_y[n, t])
            or in_multiple_lanes(grid, polygons, ego, n, t, corners)
        )
    )
