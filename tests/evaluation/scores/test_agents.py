from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.scenes import make_log
from world4scorer.datasets.store import SceneStore, write_shard
from world4scorer.engine.scene.indices import State
from world4scorer.evaluation.scores.agent_scores import COLUMNS, evaluate_agents
from world4scorer.evaluation.scores.agents import AGENTS
from world4scorer.evaluation.scores.submission import evaluate_plans


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> SceneStore:
    folder = tmp_path_factory.mktemp("store")
    write_shard(folder, "alpha", make_log("alpha", 4, seed=0))
    write_shard(folder, "gaps", make_log("gaps", 3, seed=2, spacing_us=600_000))
    return SceneStore(folder)


def test_plans(store: SceneStore) -> None:
    scene = store[store.tokens[0]]
    speed = np.hypot(*scene.ego_state[[State.VELOCITY_X, State.VELOCITY_Y]])
    plan = AGENTS["constant-velocity"](scene)
    assert plan.dtype == np.float32 and not plan[:, 1:].any()
    np.testing.assert_allclose(plan[:, 0], 0.5 * speed * np.arange(1, 9), rtol=1e-6)
    np.testing.assert_array_equal(AGENTS["human"](scene), scene.human_future)
    assert not AGENTS["stationary"](scene).any()
    with pytest.raises(ValueError, match=scene.token):
        AGENTS["human"](replace(scene, human_future=None))


def test_agents_together_score_as_each_alone(store: SceneStore) -> None:
    scores = evaluate_agents(store, list(AGENTS))
    assert scores.frames == 7
    for place, name in enumerate(scores.agents):
        plans = {token: AGENTS[name](store[token]) for token in store.tokens}
        for metric, columns in COLUMNS.items():
            alone = evaluate_plans(store, plans, metric=metric).averages  # type: ignore[arg-type]
            for column in columns:
                assert scores.means[metric][column][place] == pytest.approx(alone[column], abs=1e-12), column


def test_what_cannot_be_averaged_is_left_empty(tmp_path: Path) -> None:
    write_shard(tmp_path / "store", "gaps", make_log("gaps", 2, seed=2, spacing_us=600_000))
    scores = evaluate_agents(SceneStore(tmp_path / "store"), ["stationary"])
    scores.save(tmp_path / "results.csv")
    assert scores.rows[0]["epdms-v2.2/two_frame_extended_comfort"] is None
    header, row = (line.split(",") for line in (tmp_path / "results.csv").read_text().splitlines())
    assert dict(zip(header, row, strict=True))["epdms-v2.2/two_frame_extended_comfort"] == ""


def test_wrong_agents(store: SceneStore) -> None:
    with pytest.raises(ValueError, match="unknown agent 'taxi'; choose from human"):
        evaluate_agents(store, ["taxi"])
    with pytest.raises(ValueError, match="no agent"):
        evaluate_agents(store, [])
