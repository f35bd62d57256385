"""TLC, traffic light compliance (v2.2): 0 if the ego's box ever meets the area that a red light on its route closes.

Touching counts, and so does standing in the junction already when the light is red.
"""

from __future__ import annotations

from world4scorer.engine.kernels import inlined, leaf
from world4scorer.engine.outcomes.ego import RADIUS
from world4scorer.engine.scene.boxes import segment_meets_box
from world4scorer.engine.scene.vehicle import HALF_LENGTH, HALF_WIDTH


@leaf
def traffic_light(polygons, ego, areas, red, score, step, cause):
    """Score every rollout: fill `score` (N,), and where it is 0 the first `step` (N,) and the light `cause` (N,).

    `areas` (K,) are the polygons of the lights and `red` (K, T..) says when they are closed.
    """
    for n in range(score.size):
        score[n], step[n], cause[n] = 1.0, -1, -1
        for t in range(ego.x.shape[1]):
            for k in range(areas.size):
                if red[k, t] and _meets_polygon(polygons, areas[k], ego, n, t):
                    score[n], step[n], cause[n] = 0.0, t, k
                    break
            if score[n] == 0.0:
                break


@inlined
def _meets_polygon(polygons, p, ego, n, t):
    """Whether the ego's box meets polygon p: an edge crosses the box, or the box lies entirely inside."""
    x, y, c, s = ego.x[n, t], ego.y[n, t], ego.cosine[n, t], ego.sine[n, t]
    left, low, right, high = polygons.bounds[p]
    meets = False
    if x + RADIUS >= left and x - RADIUS <= right and y + RADIUS >= low and y - RADIUS <= high:
        shell = polygons.ring[polygons.polygon_start[p]]
        in_shell, in_hole, odd, ring = False, False, False, shell
        for i in range(polygons.polygon_start[p], polygons.polygon_start[p + 1]):
            j = polygons.following[i]
            if polygons.ring[i] != ring:
                in_shell, in_hole = in_shell or (odd and ring == shell), in_hole or (odd and ring != shell)
                ring, odd = polygons.ring[i], False
            x1, y1 = polygons.x[i] - x, polygons.y[i] - y
            x2, y2 = polygons.x[j] - x, polygons.y[j] - y
            if segment_meets_box(
                x1 * c + y1 * s, y1 * c - x1 * s, x2 * c + y2 * s, y2 * c - x2 * s, HALF_LENGTH, HALF_WIDTH
            ):
                meets = True
                break
            if (y1 > 0.0) != (y2 > 0.0) and (x1 * y2 - x2 * y1 > 0.0) == (y2 > y1):
                odd = not odd
        in_shell, in_hole = in_shell or (odd and ring == shell), in_hole or (odd and ring != shell)
        meets = meets or (in_shell and not in_hole)
    return meets
