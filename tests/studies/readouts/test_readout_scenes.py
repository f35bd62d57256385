from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from world4scorer.engine.outcomes.results import V1_COLUMNS
from world4scorer.studies.readouts.scenes import drawn_scenes, junctions


def pools(turns, inside, utility, way=20.0):
    """Scenes (S, N) whose plans turn by so many degrees within four seconds."""
    turns = np.asarray(turns, np.float64)
    plans = np.zeros((*turns.shape, 8, 3))
    plans[..., -1, 0], plans[..., -1, 2] = way, np.radians(turns)
    v1 = np.zeros((*turns.shape, len(V1_COLUMNS)))
    v1[..., V1_COLUMNS.index("DAC")] = inside
    logs = tuple(f"log{number % 2}" for number in range(len(turns)))
    return SimpleNamespace(
        plans=plans, v1=v1, utility_v1=np.asarray(utility, np.float64), log_names=logs,
        at=lambda table, chosen: table[np.arange(len(table)), chosen],
    )  # fmt: skip


def test_junctions_need_three_ways():
    turns = [[40, 0, -40, 50]] * 5 + [[40, 20, -40, 50]]
    inside = np.ones((6, 4))
    inside[1, 2] = 0  # nowhere to turn right
    utility = np.tile([1.0, 9.0, 2.0, 3.0], (6, 1))
    has_future = np.array([True, True, False, True, True, True])
    utility[3] = [9.0, 1.0, 2.0, 3.0]  # a turn is selected
    found = junctions(pools(turns, inside, utility), has_future, 10)
    assert sorted(found.indices.tolist()) == [0, 4]
    assert found.plans.tolist() == [[3, 1, 2]] * 2  # of two left plans the one of higher utility


def test_standing_is_not_straight_on():
    found = junctions(pools([[40, 0, -40]], np.ones((1, 3)), [[1.0, 9.0, 2.0]], way=5.0), np.ones(1, bool), 10)
    assert len(found.indices) == 0


def test_scenes_without_future_are_not_drawn():
    scenes = drawn_scenes(pools([[0]] * 6, np.ones((6, 1)), [[1.0]] * 6), np.arange(6) > 1, 3)
    assert len(scenes) == 3 and min(scenes) > 1 and {place % 2 for place in scenes[:2].tolist()} == {0, 1}
