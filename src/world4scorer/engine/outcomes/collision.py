"""NC, no at-fault collision: 1, 0.5 or 0; the same rule in v1.1 and v2.2.

At every step 0..40, each track whose box meets the ego's is classified, first match wins:

1. ego standing (speed <= 0.05 m/s): not at fault;
2. track standing (a static type, or standing when first seen): at fault;
3. track behind (more than 150 degrees off the heading, seen from the rear axle): not at fault;
4. the front bumper meets the track: at fault;
5. else a lateral collision: at fault only if the ego is in multiple lanes or off the road.

At fault, the score falls to 0 for a vehicle, pedestrian or bicycle and to 0.5 for a static object. Not at fault, the
track is ignored for the rest of this rollout.
"""

from __future__ import annotations

from typing import Final

from world4scorer.engine.kernels import inlined, leaf
from world4scorer.engine.outcomes.areas import in_multiple_lanes, off_road
from world4scorer.engine.outcomes.ego import corner
from world4scorer.engine.outcomes.traffic import BEHIND_COSINE, LOOK_AHEAD_STEPS, STOPPED_SPEED, bearing, meets_track
from world4scorer.engine.scene.boxes import segment_meets_box

STATIC_SCORE: Final = 0.5
"""Score after hitting a static object."""


@leaf
def no_collision(polygons, grid, traffic, ego, forgiven, corners, score, step, cause):
    """Score every rollout: fill `score` (N,), and where it is below 1 the deciding `step` (N,) and track `cause` (N,).

    The deciding collision is the first at fault that brought the score to its final value. `forgiven` (B,) and
    `corners` (P,) are scratch, the latter zero.
    """
    for n in range(score.size):
        score[n], step[n], cause[n] = 1.0, -1, -1
        for b in range(forgiven.size):
            forgiven[b] = False
        for t in range(ego.x.shape[1]):
            slot = t * len(LOOK_AHEAD_STEPS)
            for k in range(traffic.near_start[slot], traffic.near_start[slot + 1]):
                b = traffic.near[k]
                if forgiven[b] or not meets_track(ego, n, t, ego.x[n, t], ego.y[n, t], traffic, b, t):
                    continue
                if not _at_fault(polygons, grid, traffic, ego, n, t, b, corners):
                    forgiven[b] = True
                    continue
                left = STATIC_SCORE if traffic.static[b] else 0.0
                if left < score[n]:
                    score[n], step[n], cause[n] = left, t, traffic.track[b]
            if score[n] == 0.0:
                break


@inlined
def _at_fault(polygons, grid, traffic, ego, n, t, b, corners):
    if ego.speed[n, t] <= STOPPED_SPEED:
        fault = False
    elif traffic.stopped[b]:
        fault = True
    elif bearing(ego, n, t, traffic, b, t) < BEHIND_COSINE:
        fault = False
    elif _bumper_meets(ego, n, t, traffic, b):
        fault = True
    else:
        fault = off_road(grid, polygons, ego, n, t) >= 0 or in_multiple_lanes(grid, polygons, ego, n, t, corners)
    return fault


@inlined
def _bumper_meets(ego, n, t, traffic, b):
    """Whether the front bumper meets track b, both as they are at step t."""
    c, s = traffic.cosine[b, t], traffic.sine[b, t]
    left_x, left_y = corner(ego, n, t, 0)
    right_x, right_y = corner(ego, n, t, 3)
    x1, y1 = left_x - traffic.x[b, t], left_y - traffic.y[b, t]
    x2, y2 = right_x - traffic.x[b, t], right_y - traffic.y[b, t]
    return segment_meets_box(
        x1 * c + y1 * s, y1 * c - x1 * s, x2 * c + y2 * s, y2 * c - x2 * s,
        traffic.half_length[b, t], traffic.half_width[b, t],
    )  # fmt: skip
