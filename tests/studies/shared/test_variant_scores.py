from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.random_pools import random_pools
from world4scorer.cli.command_line import command_line
from world4scorer.cli.study.subcommands import SUBCOMMANDS
from world4scorer.evaluation.scores.bootstrap import LogBootstrap
from world4scorer.studies.auxiliary_target import study as auxiliary_target
from world4scorer.studies.coverage import study as coverage
from world4scorer.studies.coverage.study import coverage_measures, spread
from world4scorer.studies.label_pairing import study as label_pairing
from world4scorer.studies.parts import study as parts
from world4scorer.studies.shared.options import DEFAULT_LABEL_PAIRING_OPTIONS, StudyOptions
from world4scorer.studies.shared.variant_scores import (
    EC,
    ORDERING,
    PDMS,
    WIDE_ORDERING,
    VariantScores,
    mean,
    pool_measures,
)

DRAWS = 300


def scores(names, measures=pool_measures, seeds=2) -> VariantScores:
    """Variants that differ in what their planners think of the same pools."""
    found = {}
    pools = random_pools(0)
    for place, name in enumerate(names):
        found[name] = []
        for seed in range(seeds):
            rng = np.random.default_rng((place, seed))
            utility = rng.normal(size=pools.utility_v1.shape).astype(np.float32)
            found[name].append(measures(replace(pools, utility_v1=utility, utility_v2=utility)))
    return VariantScores(found, tuple(range(seeds)), pools.log_names, "drawn.", DRAWS)


def test_measures_are_those_of_the_chosen_plans():
    pools = random_pools(1)
    found = pool_measures(pools)
    chosen = pools.utility_v1.argmax(1)
    assert found[PDMS].upper == pytest.approx(pools.pdms[np.arange(len(pools)), chosen])
    assert found[EC].lower.sum() == pools.paired.sum() < len(pools)
    for name, gap in ((ORDERING, 0.0), (WIDE_ORDERING, 0.05)):
        right = pairs = 0
        for worth, score in zip(pools.utility_v1, pools.pdms, strict=True):
            for i in range(len(worth)):
                for j in range(len(worth)):
                    if score[i] > score[j] + gap:
                        pairs += 1
                        right += worth[i] > worth[j]
        assert (found[name].upper.sum(), found[name].lower.sum()) == (right, pairs)


def test_differences_are_paired_by_frame():
    three = scores(("a", "b"))
    both = {name: np.mean([one[PDMS].upper for one in three.measures[name]], axis=0) for name in "ab"}
    wanted = LogBootstrap(three.log_names, DRAWS).mean(both["b"] - both["a"])
    assert three.change("b", PDMS, "a") == pytest.approx(wanted)
    assert three.value("a", PDMS).value == pytest.approx(np.mean(three.by_seed("a", PDMS)))
    assert np.mean(three.change_by_seed("b", PDMS, "a")) == pytest.approx(wanted.value)


def drawn_logs(rng, shift, seeds=1, spread_of_seeds=0.0) -> VariantScores:
    """Two variants on 40 logs of 3 frames that differ by `shift`, less or more with the log and the seed."""
    of_log = np.repeat(rng.normal(shift, 0.3, 40), 3)
    of_seed = rng.normal(0.0, spread_of_seeds, seeds)
    measures = {"a": [{PDMS: mean(np.zeros(120))}] * seeds, "b": [{PDMS: mean(of_log + one)} for one in of_seed]}
    return VariantScores(measures, tuple(range(seeds)), tuple(f"log{k // 3}" for k in range(120)), "drawn.", DRAWS)


def test_a_detectable_difference_is_seen_four_times_in_five():
    rng = np.random.default_rng(0)
    smallest = np.mean([drawn_logs(rng, 0.0).detectable("b", PDMS, "a") for _ in range(100)])
    seen = [drawn_logs(rng, smallest).change("b", PDMS, "a").low > 0 for _ in range(400)]
    assert np.mean(seen) == pytest.approx(0.8, abs=0.06)


def test_seeds_that_differ_make_less_detectable():
    rng = np.random.default_rng(1)
    same, other = (drawn_logs(rng, 0.1, 3, spread) for spread in (0.0, 0.5))
    assert other.detectable("b", PDMS, "a") > 2 * same.detectable("b", PDMS, "a") > 0


def test_the_change_of_a_ratio_against_drawing_logs_one_by_one():
    rng = np.random.default_rng(0)
    logs = np.repeat([f"log{i}" for i in range(9)], rng.integers(2, 12, 9))
    (up, low), (other_up, other_low) = rng.random((2, 2, len(logs))) + 0.1
    found = LogBootstrap(list(logs), 20_000).ratio_change((up, low), (other_up, other_low))
    assert found.value == pytest.approx(up.sum() / low.sum() - other_up.sum() / other_low.sum())
    drawn = []
    for _ in range(4000):
        at = np.concatenate([np.flatnonzero(logs == name) for name in rng.choice(np.unique(logs), 9)])
        drawn.append(up[at].sum() / low[at].sum() - other_up[at].sum() / other_low[at].sum())
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(drawn, (0.025, 0.975))), abs=0.02)
    nothing = np.zeros(len(logs))
    assert np.isnan(LogBootstrap(list(logs), 50).ratio_change((up, nothing), (up, low)).value)


def test_what_pools_offer():
    pools = random_pools(2, plans=5)
    found = coverage_measures(pools)
    for s, (one, before) in enumerate(zip(found[coverage.CEILING].upper, pools.previous, strict=True)):
        if before >= 0:
            last = pools.utility_v2[before].argmax()
            assert one == pools.continues[s, :, last].any()
    plans = pools.plans[0, ..., :2]
    apart = [np.linalg.norm(plans[i] - plans[j], axis=-1).mean() for i in range(5) for j in range(5) if i != j]
    assert spread(pools.plans)[0] == pytest.approx(np.mean(apart), rel=1e-5)
    nearest = np.linalg.norm(plans - pools.human_plan[0, None, :, :2], axis=-1).mean(-1).min()
    assert found[coverage.NEAREST].upper[0] == pytest.approx(nearest, rel=1e-5)


@pytest.mark.parametrize(
    ("study", "names", "measures"),
    [
        (auxiliary_target, ("none", "current", "future"), pool_measures),
        (label_pairing, ("none", "bank", "all"), pool_measures),
        (parts, ("whole", "no-bank", "no-images", "with-route"), pool_measures),
        (coverage, ("run", "coverage"), coverage_measures),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
@pytest.mark.parametrize("seeds", [1, 3])
def test_findings_hold_all_variants(study, names, measures, seeds, tmp_path):
    given = [scores(names, measures, seeds)] * (2 if study is label_pairing else 1)
    found = study.describe(*given)
    path = found.save(tmp_path, "made here")
    content = json.loads(path.with_suffix(".json").read_text())
    for name in names:
        assert len(content["numbers"][name][PDMS]["by_seed"]) == seeds
    assert ("One seed" in content["remarks"][-1]) == (seeds == 1)
    text = path.with_suffix(".md").read_text()
    assert all(name in text for name in names) and "nan" not in text
    assert path.with_suffix(".png").stat().st_size > 5000


def test_missing_values_are_said_to_be_missing():
    some = scores(("a", "b"))
    empty = {name: [{**one, EC: mean(np.full(24, np.nan))} for one in each] for name, each in some.measures.items()}
    numbers = replace(some, measures=empty).numbers((EC,), "a")
    assert "value" not in numbers["b"][EC] and numbers["b"][EC]["by_seed"] == [None, None]
    json.dumps(numbers, allow_nan=False)


def test_flags_that_differ_from_the_usual():
    """A finding names the command that leads to it, without where folders lie or what machine trained."""
    source = Path("/far/away/run")

    def pairing(**changes):
        words = ["w4s", "study", "label-pairing"]
        return command_line(
            words, SUBCOMMANDS["label-pairing"], source, {"training": replace(DEFAULT_LABEL_PAIRING_OPTIONS, **changes)}
        )

    assert pairing() == pairing(devices=2, out=Path("there")) == "w4s study label-pairing run"
    assert pairing(seeds=(3, 4), epochs=6, target_encoder="city").endswith(
        "--seeds 3 4 --epochs 6 --target-encoder city"
    )
    given = {"foreign": ("theirs=/a/b", "/c/d"), "repeats": 100, "options": StudyOptions(draws=7)}
    command = command_line(["w4s", "study", "interventions"], SUBCOMMANDS["interventions"], source, given)
    assert command == "w4s study interventions run --foreign theirs=b d --draws 7"
