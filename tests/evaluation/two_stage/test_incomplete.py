"""Missing and failing frames end in a verdict that names them, and the rest can be scored."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.evaluation.two_stage.test_golden import plans_of
from tests.support.navhard_golden import NavhardGolden
from world4scorer.datasets.navsim.filters import Split, read_split
from world4scorer.datasets.store import SceneStore
from world4scorer.evaluation.two_stage.evaluate import IncompleteEvaluationError, evaluate_two_stage
from world4scorer.evaluation.two_stage.groups import first_stage_tokens, read_groups, second_stage_tokens
from world4scorer.evaluation.two_stage.score_files import verdict, write_scores
from world4scorer.evaluation.two_stage.submission import (
    read_two_stage_submission,
    submission_problems,
    write_two_stage_submission,
)


@pytest.fixture(scope="module")
def plans(navhard: NavhardGolden, navhard_store: SceneStore) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    groups = read_groups(read_split(navhard.split("noise")))
    first, second = (
        plans_of(navhard, navhard_store, "noise", tokens(groups))
        for tokens in (first_stage_tokens, second_stage_tokens)
    )
    return groups, first, second


def without(plans: dict[str, Any], *tokens: str) -> dict[str, Any]:
    return {token: plan for token, plan in plans.items() if token not in tokens}


def test_a_missing_follow_up(navhard_store: SceneStore, plans: Any, tmp_path: Path) -> None:
    groups, first, second = plans
    gone, other = groups[0].follow_ups[0]
    with pytest.raises(IncompleteEvaluationError, match=f"1 of .* frames are missing or failed .{gone}: has no plan"):
        evaluate_two_stage(navhard_store, first, without(second, gone), groups, traffic="replay")
    result = evaluate_two_stage(navhard_store, first, without(second, gone), groups, traffic="replay", partial=True)
    kept = [replace(groups[0], follow_ups=groups[0].follow_ups[1:]), *groups[1:]]
    assert list(result.groups) == kept and not result.valid
    whole = evaluate_two_stage(navhard_store, first, without(second, gone, other), kept, traffic="replay")
    assert result.combined == whole.combined
    assert "PARTIAL" in verdict(result) and gone in verdict(result) and "PARTIAL" not in verdict(whole)
    write_scores(result, tmp_path / "s.csv")
    lines = (tmp_path / "s.csv").read_text().splitlines()
    assert sum(line.split(",")[2] == "False" for line in lines) == 2 + 3  # the pair, and the means


def test_a_missing_recorded_frame_costs_its_group(navhard_store: SceneStore, plans: Any) -> None:
    groups, first, second = plans
    result = evaluate_two_stage(
        navhard_store, without(first, groups[1].previous), second, groups, traffic="replay", partial=True
    )
    assert list(result.groups) == [groups[0], *groups[2:]]
    with pytest.raises(IncompleteEvaluationError, match="no group is complete"):
        evaluate_two_stage(navhard_store, {}, second, groups, traffic="replay", partial=True)


def test_a_failing_frame_is_named(navhard_store: SceneStore, plans: Any) -> None:
    groups, first, second = plans
    token = groups[0].now
    broken = {**first, token: np.full((8, 3), np.nan)}
    with pytest.raises(IncompleteEvaluationError, match=f"{token}: plans of {token}: plan 0"):
        evaluate_two_stage(navhard_store, broken, second, groups, traffic="replay")


def test_submissions_are_checked(plans: Any, tmp_path: Path) -> None:
    groups, first, second = plans
    path = tmp_path / "s.pkl"
    assert submission_problems(first, second, groups) == []
    write_two_stage_submission(path, first, second, groups, team_name="us")
    found = read_two_stage_submission(path, groups)
    assert set(found.plans) == set(first) and set(found.second_stage) == set(second)
    with pytest.raises(ValueError, match=r"second stage: 1 of .* have no plan"):
        write_two_stage_submission(path, first, without(second, groups[0].follow_ups[0][0]), groups)
    swapped = submission_problems(second, first, groups)
    assert len(swapped) == 4 and "in no group of the split" in swapped[1]
    with pytest.raises(ValueError, match="--partial"):
        read_two_stage_submission(path, groups[1:])
    assert read_two_stage_submission(path, groups[1:], partial=True).plans


def test_groups_that_cannot_be_weighed(navhard: NavhardGolden) -> None:
    split = read_split(navhard.split("cv"))
    with pytest.raises(ValueError, match="no second stage"):
        read_groups(replace(split, two_stage=()))
    with pytest.raises(ValueError, match="occurs 2 times"):
        read_groups(replace(split, two_stage=(*split.two_stage, split.two_stage[0])))
    with pytest.raises(ValueError, match="no follow-up"):
        read_groups(Split("s", "test", split.filter, (("a", "b", ()),)))
