"""Why route re-ranking stops the car: both rules on synthetic pools.

    python benchmarks/route_reranking.py

The ego drives slightly beside its route, on a straight road or in a bend, or stands on it. A pool holds 60 plans along
paths with errors, at all speeds up to 8 or 1.5 m/s, and four that stand. Nothing is in the way, so utility grows with
progress, up to noise. Shown is what each rule chooses: how far the plan leads, how often it stands or creeps (less than
2 m in 4 s), and how well its path follows the route (mean distance from it).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.selection.route import RouteRule, route_agreement, route_utility

POOLS: Final = 100
PLANS, STANDING = 60, 4
"""Plans of a pool that drive, and that stand."""
NOISE: Final = 0.15
"""Standard deviation of a utility, where that of the longest plan is 1 and of a standing one 0."""
HEADING_ERROR: Final = 0.04
"""Of a path's first direction [rad]."""
CURVATURE_ERROR: Final = 0.01
"""Of its curvature [1/m]."""
TIMES: Final = 0.5 * np.arange(1, 9)
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Road:
    """Where the ego is."""

    name: str
    bend: float
    """Curvature of the route [1/m]."""
    offset: float
    """Standard deviation of the ego's distance from its route [m]."""
    speed: float
    """Highest speed of a plan [m/s]."""


ROADS: Final = (
    Road("straight", 0.0, 0.3, 8.0),
    Road("bend of 40 m", 1 / 40, 0.3, 8.0),
    Road("at rest on the route", 0.0, 0.0, 1.5),
)


def arc(distance: Floats, heading: float, curvature: float) -> Floats:
    """Points (n, 2) along an arc."""
    angle = heading + curvature * distance / 2
    chord = distance * np.sinc(curvature * distance / 2 / np.pi)
    return np.column_stack([chord * np.cos(angle), chord * np.sin(angle)])


def make_pool(rng: np.random.Generator, road: Road) -> tuple[Floats, Floats, Floats, Floats]:
    """Plans (N, 8, 3), utilities (N,), the route ahead (31, 2), and errors of the paths (N,) [m]."""
    ahead = arc(np.arange(31.0), rng.normal(0, HEADING_ERROR), road.bend) + np.array([0.0, rng.normal(0, road.offset)])
    plans, errors = [np.zeros((8, 3))] * STANDING, [np.nan] * STANDING
    for speed in rng.uniform(0, road.speed, PLANS):
        heading, curvature = rng.normal(0, HEADING_ERROR), road.bend + rng.normal(0, CURVATURE_ERROR)
        plans.append(np.column_stack([arc(speed * TIMES, heading, curvature), heading + curvature * speed * TIMES]))
        path = arc(np.arange(0.0, 28.0), heading, curvature)
        errors.append(float(np.linalg.norm(path[:, None] - ahead, axis=2).min(1).mean()))
    pool = np.array(plans)
    progress = np.linalg.norm(pool[:, -1, :2], axis=1)
    return pool, progress / progress.max() + rng.normal(0, NOISE, len(pool)), ahead, np.array(errors)


def rerank(utility: Floats, plans: Floats, ahead: Floats, rule: RouteRule, weight: float) -> Floats:
    """Utilities (N,) re-weighted by a rule."""
    return route_utility(utility, route_agreement(plans, ahead, rule), weight, rule)


def measure(rule: RouteRule | None, road: Road, weight: float) -> tuple[float, float, float]:
    """Mean length of the chosen plans [m], share that stands, mean error of their paths [m]; None: utility alone."""
    rng = np.random.default_rng(0)
    lengths, errors = [], []
    for _ in range(POOLS):
        plans, utility, ahead, error = make_pool(rng, road)
        ranked = utility if rule is None else rerank(utility, plans, ahead, rule, weight)
        chosen = int(np.argmax(ranked))
        lengths.append(np.linalg.norm(plans[chosen, -1, :2]))
        errors.append(error[chosen])
    return float(np.mean(lengths)), float((np.array(lengths) < 2.0).mean()), float(np.nanmean(errors))


def main() -> None:
    """Print the table."""
    print("| road | rule | weight | length [m] | stands or creeps [%] | error of its path [m] |")
    print("|---|---|--:|--:|--:|--:|")
    rules: tuple[tuple[RouteRule | None, float], ...] = (
        (None, 0.0), ("published", 1.0), ("published", 4.0), ("equal-distance", 1.0), ("equal-distance", 4.0),
    )  # fmt: skip
    for road in ROADS:
        for rule, weight in rules:
            length, stands, error = measure(rule, road, weight)
            name = rule or "utility alone"
            print(f"| {road.name} | {name} | {weight:g} | {length:.1f} | {100 * stands:.0f} | {error:.2f} |")


if __name__ == "__main__":
    main()
