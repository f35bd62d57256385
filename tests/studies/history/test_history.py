"""Choices under other histories: against loops over rollouts, on a store of two small logs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.random_pools import random_pools
from tests.support.scenes import make_map, make_plans, make_scene
from tests.support.stored_pools import write_pools
from world4scorer.cli.study.subcommands import SUBCOMMANDS
from world4scorer.datasets.store import SceneStore, write_shard
from world4scorer.engine.outcomes.extended_comfort import extended_comfort
from world4scorer.engine.outcomes.v2 import epdms
from world4scorer.engine.rollout.plans import roll_out
from world4scorer.evaluation.pools import LogPool, ScoredPools, framewise, inertial
from world4scorer.studies.history.rollouts import OtherHistories, foreign_indices, has_two_before, other_histories
from world4scorer.studies.history.study import ROWS, choose_given, histories, history
from world4scorer.studies.shared.options import StudyOptions

PLANS = 8
STARTS = {"first": (0.0, 0.5, 1.0, 1.5, 2.5, 3.0, 3.5, 4.0, 4.5), "second": (0.0, 0.4, 0.9, 1.4, 1.9, 2.4, 2.9)}
"""s of the frames of each log; one has a gap, one a shorter step."""


def steady(scene: Any, seed: int) -> np.ndarray:
    """Plans of which some continue each other and some do not: each brakes or speeds up from some moment on."""
    rng = np.random.default_rng(seed)
    after = np.maximum(0.0, np.arange(1, 9) * 0.5 - rng.uniform(0, 3, (PLANS, 1)))
    push = rng.uniform(-1.5, 1.5, (PLANS, 1)) * after**2 / 2
    plans = 0.3 * make_plans(scene, PLANS, seed)
    plans[..., 0] += 0.7 * scene.ego_state[3] * np.arange(1, 9) * 0.5 + push
    return plans.astype(np.float32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("history")
    rng = np.random.default_rng(0)
    polygons = make_map()
    logs = []
    for number, (name, starts) in enumerate(STARTS.items()):
        times = [1_000_000 + round(1e6 * start) for start in starts]
        scenes = [
            make_scene(100 * number + place, log_name=name, time_us=time, polygons=polygons)
            for place, time in enumerate(times)
        ]
        write_shard(root / "store", name, scenes, {"options": {}})
        utility = rng.normal(size=(len(scenes), PLANS)).astype(np.float32)
        plans = np.stack([steady(scene, place) for place, scene in enumerate(scenes)])
        logs.append(LogPool(name, tuple(s.token for s in scenes), np.array(times), plans, utility, utility))
    return write_pools(root / "pools", root / "store", logs)


@pytest.fixture(scope="module")
def pools(folder: Path) -> ScoredPools:
    return ScoredPools.open(folder)


@pytest.fixture(scope="module")
def others(pools: ScoredPools) -> OtherHistories:
    return other_histories(pools, SceneStore(pools.about["store"]), seed=1)


def slow_choices(pools: ScoredPools, row: str, seed: int) -> list[int]:
    """Frame by frame with rollouts, as the row says in words."""
    store = SceneStore(pools.about["store"])
    foreign = foreign_indices(pools.log_names, seed)
    chosen: list[int] = []
    for s, token in enumerate(pools.tokens):
        utility = pools.utility_v2[s].astype(float)
        since = (pools.time_us[s] - pools.time_us[s - 1]) * 1e-6
        paired = s > 0 and pools.log_names[s] == pools.log_names[s - 1] and since < 0.56
        age, given = since, None
        if row == "wrong_log" and paired:
            given = (int(foreign[s]), int(pools.utility_v2[foreign[s]].argmax()))
        elif row == "correct" and paired:
            given = (s - 1, chosen[s - 1])
        elif row.startswith("two_step_old") and paired and s > 1 and pools.log_names[s] == pools.log_names[s - 2]:
            older = (pools.time_us[s - 1] - pools.time_us[s - 2]) * 1e-6
            given = (s - 2, chosen[s - 2]) if older < 0.56 else None
            age = since + older if row.endswith("aligned") else since
        if given is not None:
            frame, plan = given
            past = roll_out(store[pools.tokens[frame]], pools.plans[frame])[plan]
            utility = utility + np.log(
                0.01 + 0.99 * extended_comfort(roll_out(store[token], pools.plans[s]), past, age)
            )
        chosen.append(int(np.argmax(utility)))
    return chosen


def test_choices_are_those_of_loops_over_rollouts(pools: ScoredPools, others: OtherHistories) -> None:
    found = {name: choose_given(pools.utility_v2, given) for name, given in histories(pools, others).items()}
    for name, chosen in found.items():
        assert chosen.tolist() == slow_choices(pools, name, seed=1), name
    assert len({tuple(chosen) for chosen in found.values()}) == len(found), "two histories led to the same choices"


def test_copies_are_scored_where_they_are_submitted(pools: ScoredPools, others: OtherHistories) -> None:
    store = SceneStore(pools.about["store"])
    best = framewise(pools.utility_v2)
    before = None
    for s, token in enumerate(pools.tokens):
        source = s - 1 if pools.paired[s] else s
        outcome = epdms(store[token], pools.plans[source, best[source]][None])
        np.testing.assert_array_equal(others.copied[s], outcome.table[0])
        if pools.paired[s]:
            expected = extended_comfort(outcome.rollouts, before, float(pools.interval[s]))[0]
            assert others.copied_comfort[s] == expected
        else:
            assert np.isnan(others.copied_comfort[s])
        before = outcome.rollouts[0].copy()


def test_the_finding(folder: Path, pools: ScoredPools, tmp_path: Path) -> None:
    numbers = history(pools, seed=1, draws=50).numbers
    assert list(numbers["rows"]) == list(ROWS)
    assert numbers["rows"]["memoryless"]["EPDMS"]["value"] == pools.epdms(framewise(pools.utility_v2)).mean()
    assert numbers["rows"]["correct"]["EPDMS"]["value"] == pools.epdms(inertial(pools, pools.utility_v2)).mean()
    for name, gap in numbers["correct_minus"].items():
        rows = numbers["rows"]
        assert gap["value"] == pytest.approx(rows["correct"]["EPDMS"]["value"] - rows[name]["EPDMS"]["value"])


@pytest.mark.parametrize("command", ["taxonomy", "consecutive", "lambda", "history"])
def test_the_commands(command: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert SUBCOMMANDS[command](folder, options=StudyOptions(tmp_path, draws=20)) == 0
    assert f"w4s study {command} pools" in capsys.readouterr().out
    assert json.loads((tmp_path / f"{command}.json").read_text())["study"] == command
    assert (tmp_path / f"{command}.png").stat().st_size > 10_000


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("weight", [0.5, 1.0])
def test_the_correct_history_is_inertial_reranking(seed: int, weight: float) -> None:
    pools = random_pools(seed, logs=5, frames=8)
    nothing = np.zeros(0, np.bool_)
    unused = OtherHistories(nothing, nothing, nothing, nothing, np.zeros(0), np.zeros(0))
    given = histories(pools, unused)["correct"]
    np.testing.assert_array_equal(
        choose_given(pools.utility_v2, given, weight), inertial(pools, pools.utility_v2, weight)
    )


def test_two_before_needs_two_pairs() -> None:
    pools = random_pools(0, logs=2, frames=6)  # the third frame of a log follows a gap
    assert has_two_before(pools).tolist() == [False, False, False, False, True, True] * 2


def test_foreign_frames_are_of_other_logs_and_fixed_by_the_seed() -> None:
    names = ["a"] * 5 + ["b"] * 30 + ["c"] * 2
    places = foreign_indices(names, 3)
    assert all(names[place] != name for place, name in zip(places, names, strict=True))
    np.testing.assert_array_equal(places, foreign_indices(names, 3))
    assert (places != foreign_indices(names, 4)).any()
    assert {names[place] for place in places[5:35]} == {"a", "c"}
    with pytest.raises(ValueError, match="'a' is the only one"):
        foreign_indices(["a", "a"])
