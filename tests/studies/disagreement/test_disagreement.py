from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from scipy.stats import pearsonr, rankdata, spearmanr

from tests.support.log_draws import assert_close, drawn_interval, mean_interval
from tests.support.random_pools import random_pools
from world4scorer.cli.run import main
from world4scorer.engine.outcomes.results import V1_COLUMNS, V2_COLUMNS
from world4scorer.studies.disagreement.objectives import gap_parts, logarithmic_mean, objective
from world4scorer.studies.disagreement.study import disagreement
from world4scorer.studies.shared.row_correlation import correlation, rank_correlation, ranks

DRAWS = 120
NAN = float("nan")
WEIGHTS = {"v1": (1, 1, 0, 5, 5, 2), "v2": (10, 13, 6, 14, 15, 2.1)}
"""NC, DAC, DDC, TTC, EP, C."""


def lifted(p):
    return math.log(0.01 + 0.99 * p)


def plain_utility(row, benchmark, ec=None):
    """Of one plan: its row of the v1 table."""
    p = {name: float(row[V1_COLUMNS.index(name)]) for name in V1_COLUMNS}
    nc, dac, ddc, ttc, ep, comfort = WEIGHTS[benchmark]
    product = nc * lifted(p["NC"]) + dac * lifted(p["DAC"]) + ddc * lifted(p["DDC"])
    added = ttc * p["TTC"] + ep * p["EP"] + comfort * p["C"]
    value = product + (math.log(added) if added > 0 else -math.inf)
    return value if ec is None else value + lifted(ec)


def plain_epdms(row, ec=None):
    p = {name: float(row[V2_COLUMNS.index(name)]) for name in V2_COLUMNS}
    total = 5 * p["EP"] + 5 * p["TTC"] + 2 * p["LK"] + 2 * p["HC"]
    return p["product"] * (total / 14 if ec is None else (total + 2 * ec) / 16)


def first_best(values):
    return max(range(len(values)), key=lambda place: (values[place], -place))


def spearman(a, b):
    return NAN if len(set(a)) == 1 or len(set(b)) == 1 else float(spearmanr(rankdata(a), rankdata(b)).statistic)


def compared(names, frames, first, second, alone):
    """What the study says of two rules, given as values by frame and plan."""
    taken = [(first_best(a), first_best(b), first_best(c)) for a, b, c in zip(first, second, alone, strict=True)]
    differ = [a != b for a, b, _ in taken]
    pairs = [f["paired"] for f in frames]
    gain = [f["ec"][b] - f["ec"][a] for f, (a, b, _) in zip(frames, taken, strict=True)]
    loss = [f["ep"][a] - f["ep"][b] for f, (a, b, _) in zip(frames, taken, strict=True)]
    cost = [f["pdms"][a] - f["pdms"][b] for f, (a, b, _) in zip(frames, taken, strict=True)]
    fails = [d and f["ec"][a] == 0 for d, f, (a, _, _) in zip(differ, frames, taken, strict=True)]

    def mean(values):
        return mean_interval(names, values, DRAWS)

    def of_pairs(values):
        return mean([v if p else NAN for v, p in zip(values, pairs, strict=True)])

    def where_different(values):
        counted = [d and p for d, p in zip(differ, pairs, strict=True)]
        return drawn_interval(names, [v * c for v, c in zip(values, counted, strict=True)], counted, DRAWS)

    return {
        "argmax": mean(differ),
        "argmax_without_ec": mean([a != c for a, _, c in taken]),
        "v1_choice_not_best": mean([v[a] < max(v) for v, (a, _, _) in zip(second, taken, strict=True)]),
        "v1_choice_not_best_without_ec": mean([v[a] < max(v) for v, (a, _, _) in zip(alone, taken, strict=True)]),
        "rho": mean([spearman(a, b) for a, b in zip(first, second, strict=True)]),
        "rho_without_ec": mean([spearman(a, b) for a, b in zip(first, alone, strict=True)]),
        "v1_choice_fails_ec": where_different(fails),
        "v1_cost": mean(cost),
        "ec_gain": of_pairs(gain),
        "ec_gain_where_different": where_different(gain),
        "ep_loss": of_pairs(loss),
        "ep_loss_where_different": where_different(loss),
    }


def expected_numbers(log_names, previous, utility_v2, v1, v2, continues, change, population="all"):
    """Everything the study reports, frame by frame, plan by plan."""
    frames, names = [], []
    for s, before in enumerate(previous):
        if before < 0 and population == "paired":
            continue
        chosen = first_best(list(utility_v2[before]))
        ec = [1.0 if before < 0 else float(flags[chosen]) for flags in continues[s]]
        ep = [float(row[V1_COLUMNS.index("EP")]) for row in v1[s]]
        pdms = [float(row[-1]) for row in v1[s]]
        frames.append({"v1": v1[s], "v2": v2[s], "ec": ec, "ep": ep, "pdms": pdms, "change": change[s]})
        frames[-1]["paired"] = before >= 0
        names.append(log_names[s])
    first = [[plain_utility(row, "v1") for row in f["v1"]] for f in frames]
    alone = [[plain_utility(row, "v2") for row in f["v1"]] for f in frames]
    second = [[plain_utility(r, "v2", e) for r, e in zip(f["v1"], f["ec"], strict=True)] for f in frames]
    native = [
        [plain_epdms(r, e if f["paired"] else None) for r, e in zip(f["v2"], f["ec"], strict=True)] for f in frames
    ]
    native_alone = [[plain_epdms(row) for row in f["v2"]] for f in frames]

    all_ep = [value for f in frames for value in f["ep"]]
    upper, median = (float(np.quantile(all_ep, share)) for share in (0.75, 0.5))

    def infeasible(f, threshold):
        if not f["paired"]:
            return NAN
        return not any(e >= threshold and c == 1 for e, c in zip(f["ep"], f["ec"], strict=True))

    known = [f["change"] for f in frames if not math.isnan(f["change"])]
    busy = [bool(known) and f["change"] >= np.quantile(known, 0.75) and f["paired"] for f in frames]
    everywhere = [infeasible(f, upper) for f in frames]
    related = [
        NAN
        if not f["paired"] or len(set(f["ep"])) == 1 or len(set(f["ec"])) == 1
        else float(pearsonr(f["ep"], f["ec"]).statistic)
        for f in frames
    ]

    def mean(values):
        return mean_interval(names, values, DRAWS)

    shares = {name: [] for name in ("EC", "NC", "DAC", "DDC", "rest")}
    gaps = []
    for f, a, b in zip(frames, map(first_best, first), map(first_best, second), strict=True):
        old, new = f["v1"][a], f["v1"][b]
        for name, weight in (("NC", 10), ("DAC", 13), ("DDC", 6)):
            column = V1_COLUMNS.index(name)
            shares[name].append(weight * (lifted(new[column]) - lifted(old[column])))
        shares["EC"].append(lifted(f["ec"][b]) - lifted(f["ec"][a]))
        gap = 0.0 if a == b else plain_utility(new, "v2", f["ec"][b]) - plain_utility(old, "v2", f["ec"][a])
        shares["rest"].append(gap - shares["EC"][-1] - sum(shares[n][-1] for n in ("NC", "DAC", "DDC")))
        gaps.append(gap)
    return {
        "frames": len(frames),
        "pairs": sum(f["paired"] for f in frames),
        "utilities": compared(names, frames, first, second, alone),
        "native": compared(names, frames, [f["pdms"] for f in frames], native, native_alone),
        "gap_share": {name: drawn_interval(names, parts, gaps, DRAWS) for name, parts in shares.items()},
        "progress_thresholds": {"upper_quarter": upper, "median": median},
        "progress_and_comfort": {
            "infeasible": mean(everywhere),
            "infeasible_most_dynamic_quarter": drawn_interval(
                names, [b and e for e, b in zip(everywhere, busy, strict=True)], busy, DRAWS
            ),
            "infeasible_median_threshold": mean([infeasible(f, median) for f in frames]),
            "infeasible_within_scene": mean([infeasible(f, np.quantile(f["ep"], 0.75)) for f in frames]),
            "no_plan_continues": mean([not any(f["ec"]) if f["paired"] else NAN for f in frames]),
            "ep_saturated": mean([sum(e == 1 for e in f["ep"]) / len(f["ep"]) for f in frames]),
            "ep_ec_correlation": mean(related),
        },
    }


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("population", ["all", "paired"])
@pytest.mark.parametrize("seed", range(4))
def test_numbers_on_random_pools(seed, population):
    pools = random_pools(seed, logs=5, frames=7, plans=6, passing=(0.4, 0.15, 0.9, 0.4)[seed])
    v1 = pools.v1.copy()
    v1[..., V1_COLUMNS.index("EP")] = np.round(v1[..., V1_COLUMNS.index("EP")] * 1.4, 1).clip(0, 1)  # ties, saturation
    v1[4, :, :-1] = 0.0  # nothing is won by any plan
    v1[4, :, -1] = 0.0
    pools = replace(pools, v1=v1)
    change = np.random.default_rng(seed).random(len(pools))
    change[::6] = np.nan
    if seed == 3:
        change[:] = np.nan
    finding = disagreement(pools, None if seed == 3 else change, DRAWS, population)
    expected = expected_numbers(
        pools.log_names, pools.previous, pools.utility_v2, pools.v1, pools.v2, pools.continues, change, population
    )
    assert_close(finding.numbers, expected)
    assert finding.numbers["population"] == population
    json.dumps(finding.numbers, allow_nan=False)
    parts = [finding.numbers["gap_share"][name]["value"] for name in ("EC", "NC", "DAC", "DDC", "TTC", "EP", "C")]
    assert sum(parts) == pytest.approx(1)


def test_numbers_from_files_read_with_arrow_alone(pool_folder, tmp_path):
    assert main(["study", "disagreement", str(pool_folder), "--out", str(tmp_path), "--draws", str(DRAWS)]) == 0
    names, previous, utilities, v1, v2, continues = [], [], [], [], [], []
    for path in sorted(pool_folder.glob("*.arrow")):
        pool = pa.ipc.open_file(path).read_all()
        outcomes = pa.ipc.open_file(pool_folder / "outcomes" / path.name).read_all()
        for row in range(len(pool)):
            count = len(pool["utility_v2"][row].as_py())
            previous.append(-1 if math.isnan(outcomes["interval"][row].as_py()) else len(names) - 1)
            names.append(path.stem)
            utilities.append(pool["utility_v2"][row].as_py())
            v1.append(np.reshape(outcomes["v1"][row].as_py(), (count, 7)))
            v2.append(np.reshape(outcomes["v2"][row].as_py(), (count, 10)))
            bits = "".join(f"{byte:08b}" for byte in outcomes["continues"][row].as_py())
            continues.append([[bits[i * count + j] == "1" for j in range(count)] for i in range(count)])
    found = json.loads((tmp_path / "disagreement.json").read_text())["numbers"]
    assert_close(found, expected_numbers(names, previous, utilities, v1, v2, continues, [NAN] * len(names)))
    assert (found["frames"], found["pairs"]) == (15, 12)
    assert np.asarray(Image.open(tmp_path / "disagreement.png")).std() > 5


@pytest.mark.parametrize("study", ["interventions", "disagreement"])
def test_pools_can_be_studied_without_torch(pool_folder, tmp_path, study):
    code = (
        "import sys; from pathlib import Path; sys.modules['torch'] = None; "
        "from world4scorer.studies.shared.options import StudyOptions; "
        "from world4scorer.cli.study.subcommands import SUBCOMMANDS; "
        "SUBCOMMANDS[sys.argv[1]](Path(sys.argv[2]), options=StudyOptions(Path(sys.argv[3]), draws=10))"
    )
    words = [sys.executable, "-c", code, study, str(pool_folder), str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / f"{study}.md").is_file()


def test_frames_without_a_frame_before_are_refused():
    with pytest.raises(ValueError, match="no frame has one before it"):
        disagreement(random_pools(frames=1))


def test_rules_that_agree_leave_the_gap_open():
    pools = random_pools(1, plans=5)
    v1, v2 = np.ones_like(pools.v1), np.ones_like(pools.v2)
    v1[..., 1:, :] = v2[..., 1:, :] = 0.5  # the first plan is the best everywhere, whatever counts
    finding = disagreement(replace(pools, v1=v1, v2=v2, continues=np.ones_like(pools.continues)), None, DRAWS)
    assert finding.numbers["utilities"]["argmax"]["value"] == finding.numbers["native"]["argmax"]["value"] == 0
    assert finding.numbers["gap_share"]["EC"] is None and finding.numbers["utilities"]["v1_choice_fails_ec"] is None
    assert finding.numbers["utilities"]["rho"]["value"] == pytest.approx(1)
    assert finding.figure is not None


score = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1))
rows = st.lists(score, min_size=6, max_size=6).filter(lambda row: sum(row[3:]) > 1e-6)


@given(rows, rows, st.booleans(), st.booleans(), st.sampled_from(["v1", "v2"]))
@settings(max_examples=300)
def test_parts_add_up_to_the_gap(higher, lower, first, second, benchmark):
    a, b = np.array([higher]), np.array([lower])
    parts = gap_parts(a, b, np.array([first]), np.array([second]), benchmark)
    gap = objective(a, benchmark, np.array([first])) - objective(b, benchmark, np.array([second]))
    assert sum(parts.values())[0] == pytest.approx(gap[0], abs=1e-9, rel=1e-9)


@given(st.floats(1e-3, 30), st.floats(1e-3, 30))
def test_logarithmic_mean_lies_between(a, b):
    found = float(logarithmic_mean(np.array(a), np.array(b)))
    assert min(a, b) * (1 - 1e-9) <= found <= max(a, b) * (1 + 1e-9)
    assert math.sqrt(a * b) * (1 - 1e-9) <= found <= (a + b) / 2 * (1 + 1e-9)


@given(st.integers(0, 2**32), st.integers(2, 12), st.integers(1, 4))
def test_correlations_are_those_of_scipy(seed, count, steps):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, steps + 1, (2, 5, count)) / steps
    a[0, 0] = -np.inf
    np.testing.assert_array_equal(ranks(a), rankdata(a, axis=1))
    found, straight = rank_correlation(a, b), correlation(a[1:], b[1:])
    for row in range(5):
        expected = spearman(list(a[row]), list(b[row]))
        np.testing.assert_allclose(found[row], expected, atol=1e-12)
    for row in range(4):
        constant = len(set(a[row + 1])) == 1 or len(set(b[row + 1])) == 1
        np.testing.assert_allclose(
            straight[row], NAN if constant else pearsonr(a[row + 1], b[row + 1]).statistic, atol=1e-12
        )
