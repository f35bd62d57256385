"""The engine on scenes and plans drawn to be awkward: no crash, no NaN, the same as its readable version."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tests.faults.attack import Result, in_child
from tests.support.oracle import metrics as oracle
from tests.support.oracle import rollout as rollout_oracle
from tests.support.scene_factory import make_frame, moved
from world4scorer.engine.outcomes import epdms, label
from world4scorer.engine.scene import PolygonMap, Scene, Tracks

SCENES: Final = 12
"""Of a seed."""
PLANS: Final = 64
COMPARED: Final = 2
"""Plans of a scene that are compared with the readable version, which takes a thousand times as long."""

Plans = NDArray[np.float64]
Change = Callable[[Scene, Plans, np.random.Generator], tuple[Scene, Plans]]


def _plain(scene: Scene, plans: Plans, rng: np.random.Generator) -> tuple[Scene, Plans]:
    return scene, plans


def _far(scene: Scene, plans: Plans, rng: np.random.Generator) -> tuple[Scene, Plans]:
    """Kilometres from the origin, as maps in UTM are."""
    return moved(scene, rng.uniform(-1e6, 1e6, 2), rng.uniform(-3, 3)), plans


def _extreme_plans(scene: Scene, plans: Plans, rng: np.random.Generator) -> tuple[Scene, Plans]:
    scale = 10.0 ** rng.uniform(-300, 6, plans.shape)
    return scene, np.clip(rng.normal(size=plans.shape) * scale, -1e6, 1e6)


def _turned(scene: Scene, plans: Plans, rng: np.random.Generator) -> tuple[Scene, Plans]:
    plans = plans.copy()
    plans[..., 2] = rng.choice([np.pi, -np.pi, np.nextafter(np.pi, 4), 0.0, 2 * np.pi], plans.shape[:2])
    return scene, plans


def _standing(scene: Scene, plans: Plans, rng: np.random.Generator) -> tuple[Scene, Plans]:
    return scene, plans * rng.choice([0.0, 1e-9, 1e-3])


def _no_tracks(scene: Scene, plans: Plans, rng: np.random.Generator) -> tuple[Scene, Plans]:
    return replace(scene, tracks=Tracks.none()), plans


def _no_route(scene: Scene, plans: Plans, rng: np.random.Generator) -> tuple[Scene, Plans]:
    return replace(scene, route_lane_ids=()), plans


def _repeated_points(scene: Scene, plans: Plans, rng: np.random.Generator) -> tuple[Scene, Plans]:
    polygons = scene.map
    rings = [
        (
            polygons.ids[p],
            int(polygons.layer[p]),
            [np.repeat(r, rng.integers(1, 4, len(r)), 0) for r in polygons.rings(p)],
        )
        for p in range(len(polygons.ids))
    ]
    return replace(scene, map=PolygonMap.from_polygons(rings)), plans


CHANGES: Final[dict[str, tuple[Change, bool]]] = {
    "plain": (_plain, True),
    "far": (_far, True),
    "extreme plans": (_extreme_plans, False),
    "turned by pi": (_turned, False),
    "standing": (_standing, True),
    "no tracks": (_no_tracks, True),
    "no route": (_no_route, True),
    "repeated points": (_repeated_points, True),
}
"""What is changed, and whether the readable version applies (plans beyond reason differ in the last digit)."""


def engine_pairs(seed: int, folder: Path) -> Result:
    """Scenes with plans, each judged by both rules."""
    ended = in_child(lambda: [one for number in range(SCENES) for one in _judge(SCENES * seed + number)], timeout=600)
    problems = ended.value if ended.value is not None else [ended.error or ended.died]
    compared = sum(CHANGES[_change_of(SCENES * seed + number)][1] for number in range(SCENES)) * COMPARED
    return Result(SCENES * PLANS, tuple(problems), compared)


def _change_of(seed: int) -> str:
    return list(CHANGES)[seed % len(CHANGES)]


def _judge(seed: int) -> list[str]:
    rng = np.random.default_rng([7, seed])
    name = _change_of(seed)
    change, comparable = CHANGES[name]
    frame = make_frame(seed, plans=PLANS)
    scene, plans = change(frame.scene, frame.plans, rng)
    first, second = label(scene, plans), epdms(scene, plans, human_filter=False)
    wrong = []
    for rules, outcome in (("v1", first), ("v2", second)):
        if not np.isfinite(outcome.table).all() or (outcome.table < 0).any() or (outcome.table > 1).any():
            wrong.append(f"scene {seed}, {name}: {rules} is not within 0 and 1")
    chosen = rng.integers(0, PLANS, COMPARED)
    alone = label(scene, plans[chosen[:1]]).table[0]
    if not np.array_equal(alone, first.table[chosen[0]]):
        wrong.append(f"scene {seed}, {name}: plan {chosen[0]} is judged differently alone")
    if comparable:
        wrong += [f"scene {seed}, {name}: {one}" for one in _compare(scene, plans[chosen], chosen, first, second)]
    return wrong


def _compare(scene: Scene, plans: Plans, chosen: NDArray[np.int64], first: Any, second: Any) -> list[str]:
    states = rollout_oracle.roll_out(scene, plans)
    wrong = []
    for version, outcome in ((1, first), (2, second)):
        world = oracle.prepare_shapes(oracle.World(scene, version))
        rules = {
            "nc": oracle.no_collision,
            "dac": oracle.drivable_area,
            "ddc": oracle.driving_direction,
            "ttc": oracle.time_to_collision,
        }
        if version == 2:
            rules |= {"tlc": oracle.traffic_light, "lk": oracle.lane_keeping}
        for (name, rule), (row, plan) in ((rule, place) for rule in rules.items() for place in enumerate(chosen)):
            if (ours := float(getattr(outcome, name)[plan])) != (theirs := float(rule(world, states[row]))):
                wrong.append(f"v{version} {name} of plan {plan}: {ours}, readable version {theirs}")
    return wrong
