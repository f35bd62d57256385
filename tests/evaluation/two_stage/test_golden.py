"""Both stages against the official evaluation: every column, weight, mean and the CSV."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.navhard_golden import AGENTS, POLICIES, NavhardGolden
from world4scorer.datasets.navsim.agent_input import future_poses
from world4scorer.datasets.navsim.filters import read_split
from world4scorer.datasets.navsim.synthetic import read_synthetic_scene
from world4scorer.datasets.store import SceneStore
from world4scorer.evaluation.scores.agents import constant_velocity
from world4scorer.evaluation.two_stage.evaluate import COLUMNS, TwoStageResult, evaluate_two_stage
from world4scorer.evaluation.two_stage.explain import explain_score
from world4scorer.evaluation.two_stage.groups import (
    FRAMES,
    StageGroup,
    first_stage_tokens,
    read_groups,
    second_stage_tokens,
)
from world4scorer.evaluation.two_stage.score_files import ROWS, write_scores
from world4scorer.jobs.data_folder import DataFolder

DISCRETE = [name for name in COLUMNS if name != "ego_progress"]


def plans_of(navhard: NavhardGolden, store: SceneStore, agent: str, tokens: list[str]) -> dict[str, Any]:
    if agent == "cv":
        return {token: constant_velocity(store[token]) for token in tokens}
    if agent == "human":
        return {token: driven(navhard, store, token) for token in tokens}
    return {token: navhard.stored_plans[agent][token] for token in tokens}


def driven(navhard: NavhardGolden, store: SceneStore, token: str) -> Any:
    human = store[token].human_future
    if human is not None:
        return human
    scenes = DataFolder(navhard.root).synthetic_scenes("mini_two_stage")
    return future_poses(read_synthetic_scene(scenes / f"{token}.pkl").frames)


def evaluate(
    navhard: NavhardGolden, store: SceneStore, agent: str, policy: str
) -> tuple[list[StageGroup], TwoStageResult]:
    groups = read_groups(read_split(navhard.split(agent)))
    first = plans_of(navhard, store, agent, first_stage_tokens(groups))
    second = plans_of(navhard, store, agent, second_stage_tokens(groups))
    return groups, evaluate_two_stage(store, first, second, groups, traffic=policy)  # type: ignore[arg-type]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("agent", AGENTS)
def test_official_numbers(
    navhard: NavhardGolden, navhard_store: SceneStore, agent: str, policy: str, tmp_path: Path
) -> None:
    groups, result = evaluate(navhard, navhard_store, agent, policy)
    rows = navhard.tokens(agent, policy)
    assert {row["token"] for row in rows} == set(result.frames)
    weights = {
        token: weight
        for group in groups
        for frame in FRAMES
        for token, weight in zip(group.second(frame), result.weights[group.first(frame)].weights, strict=True)
    }
    for row in rows:
        token = row["token"]
        found = result.frames[token].row
        assert {name: found[name] for name in DISCRETE} == {name: float(row[name]) for name in DISCRETE}, token
        assert found["multiplicative_metrics_prod"] == float(row["product"]), token
        assert found["ego_progress"] == pytest.approx(float(row["ego_progress"]), abs=1e-6), token
        assert found["score"] == pytest.approx(float(row["score"]), abs=1e-6), token
        assert weights.get(token, 1.0) == pytest.approx(float(row["weight"]), abs=1e-9), token
    compare_csv(navhard, result, agent, policy, tmp_path / "scores.csv")
    costs = explain_score(result)
    assert sum(cost.cost for cost in costs) == pytest.approx(1 - result.combined)


def compare_csv(navhard: NavhardGolden, result: TwoStageResult, agent: str, policy: str, path: Path) -> None:
    write_scores(result, path)
    with path.open() as stream:
        found = {row["token"]: row for row in csv.DictReader(stream)}
    official = navhard.summary(agent, policy)
    assert list(found)[-3:] == list(ROWS)
    for token, row in official.items():
        assert list(row) == list(found[token])
        for name in list(row)[2:]:
            if row[name] in ("", "True", "False"):
                assert found[token][name] == row[name], (token, name)
            else:
                assert float(found[token][name]) == pytest.approx(float(row[name]), abs=1e-6), (token, name)
    assert not navhard.whole or set(official) == set(found)


def test_far_plans_fall_back_to_uniform_weights(navhard: NavhardGolden, navhard_store: SceneStore) -> None:
    _, result = evaluate(navhard, navhard_store, "far", "replay")
    assert all(part.weights.uniform for part in result.by_frame)
    for part in result.by_frame:
        np.testing.assert_array_equal(part.weights.weights, 1 / len(part.group.follow_ups))
