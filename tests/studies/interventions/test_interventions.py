from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tests.support.log_draws import assert_close, drawn_interval, mean_interval
from tests.support.model_golden import tiny_inputs, tiny_planner
from tests.support.random_pools import random_pools
from world4scorer.cli.run import main
from world4scorer.datasets.store import SceneStore
from world4scorer.engine.selection.pool_metrics import ORDERING_MARGIN as TRAINING_MARGIN
from world4scorer.engine.selection.pool_metrics import pool_metrics
from world4scorer.evaluation.pools import ScoredPools, framewise
from world4scorer.planner.model.utility import utility
from world4scorer.studies.interventions.scenes import SCENES_PER_KIND, STRAIGHT_HEADING, TURN_HEADING, pick_scenes
from world4scorer.studies.interventions.study import Block, interventions, labelled
from world4scorer.studies.shared.reassignment import (
    ORDERING_MARGIN,
    SINGLE_SEED,
    derangement,
    ordered_pairs,
    reassigned,
)

DRAWS, REPEATS, FIRST = 150, 6, 20260909


def plain_derangement(count, seed):
    rng = np.random.default_rng(seed)
    while True:
        drawn = list(rng.permutation(count))
        if not any(place == value for place, value in enumerate(drawn)):
            return drawn


def first_best(values):
    best = 0
    for place in range(1, len(values)):
        if values[place] > values[best]:
            best = place
    return best


def expected_numbers(log_names, utilities, scores):
    """Everything the study reports of one set of pools, frame by frame, plan by plan."""
    frames, count = scores.shape
    seeds = [SINGLE_SEED, *range(FIRST, FIRST + REPEATS)]
    ways = [list(range(count))] + [plain_derangement(count, seed) for seed in seeds]
    selected, flips = (np.zeros((len(ways), frames)) for _ in range(2))
    ordered = {gap: np.zeros((len(ways), frames)) for gap in (0.0, 0.05)}
    pairs = {gap: np.zeros(frames) for gap in ordered}
    best, middle = np.zeros(frames), np.zeros(frames)
    own_choice = [first_best(utilities[s]) for s in range(frames)]
    for s in range(frames):
        best[s], middle[s] = max(scores[s]), sum(scores[s]) / count
        for i in range(count):
            for j in range(count):
                for gap in pairs:
                    if scores[s, i] > scores[s, j] + gap:
                        pairs[gap][s] += 1
                        for way, swap in enumerate(ways):
                            ordered[gap][way, s] += utilities[s, swap[i]] > utilities[s, swap[j]]
        for way, swap in enumerate(ways):
            choice = first_best([utilities[s, swap[i]] for i in range(count)])
            selected[way, s] = scores[s, choice]
            flips[way, s] = choice != own_choice[s]

    def mean(values):
        return mean_interval(log_names, values, DRAWS)

    def ordering(rows, gap):
        return None if rows is None else drawn_interval(log_names, ordered[gap][rows].mean(0), pairs[gap], DRAWS)

    def assignment(value, changed, rows):
        return {
            "selected": mean(value),
            "regret": mean(best - value),
            "drop": mean(selected[0] - value),
            "flips": mean(changed),
            "ordering": ordering(rows, 0.0),
            "ordering_wide": ordering(rows, 0.05),
        }

    means = [float(np.mean(selected[way])) for way in range(2, len(ways))]
    return {
        "oracle": mean(best),
        "random": mean(middle),
        "own": assignment(selected[0], flips[0], [0]) | {"drop": None, "flips": None},
        "scene_mean": assignment(scores[:, 0], [choice != 0 for choice in own_choice], None),
        "single": assignment(selected[1], flips[1], [1]),
        "repeated": assignment(selected[2:].mean(0), flips[2:].mean(0), range(2, len(ways))),
        "repeats": means,
        "repeats_lowering_pdms": sum(value < float(np.mean(selected[0])) for value in means),
    }


@given(st.integers(2, 70), st.integers(0, 2**32))
def test_a_derangement_moves_everything(count, seed):
    drawn = derangement(count, seed)
    assert sorted(drawn) == list(range(count))
    assert all(drawn[place] != place for place in range(count))
    np.testing.assert_array_equal(drawn, derangement(count, seed))


def test_derangements_are_equally_likely():
    drawn = [tuple(derangement(4, seed)) for seed in range(1800)]
    counts = [drawn.count(one) for one in set(drawn)]
    assert len(counts) == 9
    # 200 each; five standard deviations are 67
    assert all(133 < count < 267 for count in counts)


def test_one_plan_has_no_other_state():
    with pytest.raises(ValueError, match="at least two plans"):
        reassigned(random_pools(plans=1))
    with pytest.raises(ValueError, match="repeats: 0"):
        reassigned(random_pools(), repeats=0)


@pytest.mark.parametrize("seed", range(3))
def test_numbers_on_random_pools(seed):
    pools = random_pools(seed, logs=4, frames=5, plans=6)
    # Some ties, where the first plan counts.
    pools = replace(pools, utility_v1=np.round(pools.utility_v1, 1 if seed else 0).astype(np.float32))
    other = random_pools(seed + 10, logs=3, frames=4, plans=5)
    blocks = [Block("own pools", "own", pools), Block("theirs", "baseline", other)]
    finding = interventions(blocks, DRAWS, REPEATS, FIRST)
    for block in blocks:
        expected = expected_numbers(block.pools.log_names, block.pools.utility_v1, block.pools.v1[..., -1])
        assert_close(finding.numbers["pools"][block.label], expected)
    assert finding.numbers["pools"]["theirs"]["kind"] == "baseline"
    json.dumps(finding.numbers, allow_nan=False)


def test_numbers_from_files_read_with_arrow_alone(pool_folder, tmp_path):
    words = ["--out", str(tmp_path), "--draws", str(DRAWS), "--repeats", str(REPEATS)]
    assert main(["study", "interventions", str(pool_folder), *words, "--foreign", f"again={pool_folder}"]) == 0
    names, utilities, scores = [], [], []
    for path in sorted(pool_folder.glob("*.arrow")):
        pool = pa.ipc.open_file(path).read_all()
        outcomes = pa.ipc.open_file(pool_folder / "outcomes" / path.name).read_all()
        for row in range(len(pool)):
            names.append(path.stem)
            utilities.append(pool["utility_v1"][row].as_py())
            scores.append(np.reshape(outcomes["v1"][row].as_py(), (len(utilities[-1]), 7))[:, 6])
    found = json.loads((tmp_path / "interventions.json").read_text())["numbers"]
    expected = expected_numbers(names, np.array(utilities), np.array(scores))
    assert len(set(np.array(scores).ravel())) > 10  # outcomes of the simulator, not one constant
    for label in ("own pools", "again"):
        assert_close(found["pools"][label], expected)
    assert np.asarray(Image.open(tmp_path / "interventions.png")).std() > 5
    assert "interventions.png" in (tmp_path / "interventions.md").read_text()


@pytest.mark.parametrize("gap", [0.0, ORDERING_MARGIN])
def test_ordering_is_that_of_training(gap):
    pools = random_pools(5, plans=9)
    ordered, pairs = ordered_pairs(pools.utility_v1, pools.pdms, [], gap)
    theirs = pool_metrics(pools.utility_v1, pools.pdms, gap)
    np.testing.assert_array_equal(ordered[0], theirs.ordered)
    np.testing.assert_array_equal(pairs, theirs.pairs)
    assert ORDERING_MARGIN == TRAINING_MARGIN


@pytest.mark.parametrize("benchmark", ["v1", "v2"])
def test_swapped_states_are_swapped_utilities_of_the_network(benchmark):
    planner = tiny_planner().double()
    image, status = (part.double() for part in tiny_inputs(planner.config))
    scored = planner(image, status)
    own = scored.utility(benchmark).numpy()
    assert np.ptp(own, axis=1).min() > 1e-6
    swap = derangement(own.shape[1], 1)
    judged = utility(planner.judge(scored.states[:, torch.from_numpy(swap)], status), benchmark).numpy()
    np.testing.assert_allclose(judged, own[:, swap], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(framewise(judged), framewise(own[:, swap]))


@pytest.mark.parametrize("benchmark", ["v1", "v2"])
def test_with_the_mean_state_all_plans_are_equally_good(benchmark):
    planner = tiny_planner()
    image, status = tiny_inputs(planner.config)
    states = planner(image, status).states
    mean = states.mean(1, keepdim=True).expand_as(states).contiguous()
    judged = utility(planner.judge(mean, status), benchmark)
    # Equal up to rounding: some processors sum the rows of a product in different orders, by their place.
    torch.testing.assert_close(judged, judged[:, :1].expand_as(judged), rtol=1e-5, atol=1e-6)


def test_states_that_know_the_outcome():
    pools = random_pools(2, logs=6, frames=8, plans=8)
    untied = pools.pdms + 1e-4 * np.random.default_rng(0).random(pools.pdms.shape)
    found = reassigned(replace(pools, utility_v1=untied.astype(np.float32)), draws=200)
    assert found.own.regret.value == pytest.approx(0, abs=1e-3)
    assert found.own.ordering.value == 1
    assert found.lower == len(found.means) == 100
    assert found.repeated.flips.value == 1
    # Of eight plans none keeps its place, so a little less than half of the pairs are in order.
    assert 0.4 < found.repeated.ordering.value < 0.5


def test_labels():
    assert labelled("some name=a/b") == ("some name", labelled("a/b")[1])
    assert labelled("runs/city")[0] == "city"
    pools = random_pools()
    with pytest.raises(ValueError, match="each may be used once"):
        interventions([Block("a", "own", pools), Block("a", "foreign", pools)])


def test_a_folder_whose_name_has_an_equals_sign(tmp_path):
    (tmp_path / "lr=1").mkdir()
    assert labelled(str(tmp_path / "lr=1")) == ("lr=1", tmp_path / "lr=1")


def test_picked_scenes_follow_the_rule():
    pools = random_pools(3, logs=8, frames=30, plans=6)
    rng = np.random.default_rng(0)
    human = pools.human_plan.copy()
    human[:, -1] = np.stack([rng.uniform(0, 60, len(pools)), np.zeros(len(pools)), rng.normal(0, 0.5, len(pools))], 1)
    human[rng.random(len(pools)) < 0.3, -1, 2] = 0.0
    human[:5] = np.nan
    told = replace(pools, human_plan=human, utility_v1=pools.pdms.astype(np.float32))
    picked = pick_scenes(told)
    swapped = framewise(told.utility_v1[:, derangement(6, SINGLE_SEED)])
    for kind, places in picked.items():
        assert len(places) == SCENES_PER_KIND == len({told.log_names[place] for place in places})
        for place in places:
            heading = human[place, -1, 2]
            fits = {
                "left": heading > TURN_HEADING,
                "right": heading < -TURN_HEADING,
                "straight": abs(heading) < STRAIGHT_HEADING,
            }
            own = framewise(told.utility_v1)[place]
            assert fits[kind]
            assert told.pdms[place, own] == told.pdms[place].max() >= 0.8
            assert own != swapped[place]


def test_few_scenes_come_from_the_logs_there_are():
    pools = random_pools(3, logs=1, frames=40, plans=6)
    human = pools.human_plan.copy()
    human[:, -1, 2] = np.linspace(0.4, 1.0, len(pools))
    told = replace(pools, human_plan=human, utility_v1=pools.pdms.astype(np.float32))
    picked = pick_scenes(told)
    assert len(picked["left"]) == SCENES_PER_KIND and picked["right"] == picked["straight"] == []
    assert picked["left"] == sorted(picked["left"], reverse=True)  # the strongest turn first


@pytest.mark.filterwarnings("error")
def test_scenes_are_drawn(pool_folder, tmp_path):
    pools = ScoredPools.open(pool_folder)
    store = SceneStore(pools.about["store"])
    human = np.zeros((len(pools), 8, 3))
    human[:, -1, 2] = 1.0
    told = replace(pools, human_plan=human, utility_v1=pools.pdms.astype(np.float32))
    finding = interventions([Block("own pools", "own", told)], DRAWS, REPEATS, store=store)
    finding.save(tmp_path, "w4s study interventions")
    assert np.asarray(Image.open(tmp_path / "interventions_scenes.png")).std() > 5
    assert "interventions_scenes.png" in (tmp_path / "interventions.md").read_text()
    nobody = replace(told, human_plan=np.full_like(human, np.nan))
    assert interventions([Block("own pools", "own", nobody)], DRAWS, REPEATS, store=store).pictures == {}
