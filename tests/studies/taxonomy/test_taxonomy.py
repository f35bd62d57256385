"""The taxonomy recounted by loops, from arrays and from pool files read with pyarrow alone."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.support.random_pools import random_pools
from world4scorer.evaluation.pools import LogPool, PoolFolder, ScoredPools, continued
from world4scorer.evaluation.pools.outcome_files import LogOutcomes, read_outcomes, write_outcomes
from world4scorer.studies.taxonomy.study import smoothest, taxonomy

DRAWS = 60


def resampled(flags: list[tuple[str, float, float]]) -> dict[str, float] | None:
    """Sum of the second over sum of the third entry of all rows (log, upper, lower), with its interval over logs."""
    if not sum(lower for _, _, lower in flags):
        return None
    logs = sorted({log for log, _, _ in flags})
    found = []
    for times in np.random.default_rng(0).multinomial(len(logs), [1 / len(logs)] * len(logs), DRAWS):
        often = dict(zip(logs, times, strict=True))
        below = sum(often[log] * lower for log, _, lower in flags)
        if below:
            found.append(sum(often[log] * upper for log, upper, _ in flags) / below)
    low, high = np.quantile(found, (0.025, 0.975))
    value = sum(upper for _, upper, _ in flags) / sum(lower for _, _, lower in flags)
    return {"value": value, "low": low, "high": high}


def longest(continues: Any, paired: list[bool], logs: list[str]) -> dict[str, int]:
    """Most continued pairs in every log, forwards over all plans."""
    most = dict.fromkeys(logs, 0)
    plans = len(continues[0])
    best = [0] * plans
    for s, log in enumerate(logs):
        if not paired[s]:
            most[log] += max(best) if s and logs[s - 1] == log else 0
            best = [0] * plans
        else:
            best = [max(best[j] + int(continues[s][i][j]) for j in range(plans)) for i in range(plans)]
        if s + 1 == len(logs) or logs[s + 1] != log:
            most[log] += max(best)
            best = [0] * plans
    return most


def recount(
    logs: list[str], paired: list[bool], utility: Any, continues: Any, human: Any, near_tie: float, dynamics: Any
) -> dict[str, Any]:
    """Every number of the finding from plain arrays: frames of all logs in order, the pair is the frame before."""
    frames = range(len(logs))
    off = [max(range(len(row)), key=lambda i, row=row: (row[i], -i)) for row in utility]
    on = list(off)
    for s in frames:
        if paired[s]:
            values = [float(u) + np.log(0.01 + 0.99 * continues[s][i][on[s - 1]]) for i, u in enumerate(utility[s])]
            on[s] = values.index(max(values))
    kind: dict[int, str] = {}
    for s in frames:
        if not paired[s] or continues[s][off[s]][off[s - 1]]:
            continue
        passing = [i for i in range(len(utility[s])) if continues[s][i][off[s - 1]]]
        if not passing:
            kind[s] = "pool_limited"
        elif min(float(utility[s][off[s]]) - float(utility[s][i]) for i in passing) <= near_tie:
            kind[s] = "near_tie"
        else:
            kind[s] = "conflict"
    passes = {s: bool(continues[s][on[s]][on[s - 1]]) for s in frames if paired[s]}
    residual = [s for s in passes if not passes[s]]
    pairs = list(passes)

    def share(of: list[int], when: Any) -> dict[str, float] | None:
        rows = [(log, 0.0, 0.0) for log in logs] + [(logs[s], float(when(s)), 1.0) for s in of]
        return resampled(rows)

    most = longest(continues, paired, logs)
    known = [s for s in pairs if dynamics is not None and not np.isnan(dynamics[s])]
    threshold = np.quantile([dynamics[s] for s in known], 0.75) if known else np.nan
    limited = [s for s in kind if kind[s] == "pool_limited"]
    driven = [s for s in pairs if not np.isnan(human[s])]
    return {
        "near_tie": near_tie,
        "weight": 1.0,
        "pairs": len(pairs),
        "failures": len(kind),
        "classes": {
            name: {
                "failures": sum(one == name for one in kind.values()),
                "share": share(list(kind), lambda s, name=name: kind[s] == name),
                "repaired": share([s for s in kind if kind[s] == name], lambda s: passes[s]),
            }
            for name in ("conflict", "near_tie", "pool_limited")
        },
        "residual": {
            "failures": len(residual),
            "without_compatible_plan": share(
                residual, lambda s: not any(continues[s][i][on[s - 1]] for i in range(len(utility[s])))
            ),
        },
        "pass_rates": {
            "framewise": share(pairs, lambda s: continues[s][off[s]][off[s - 1]]),
            "reranked": share(pairs, lambda s: passes[s]),
            "compatible": share(pairs, lambda s: s not in limited),
            "reachable": resampled(
                [(log, 0.0, float(paired[s])) for s, log in enumerate(logs)]
                + [(log, float(count), 0.0) for log, count in most.items()]
            ),
            "human": share(driven, lambda s: human[s]),
            "human_pool_limited": share([s for s in limited if s in driven], lambda s: human[s]),
        },
        "pool_limited_most_dynamic": (
            None if dynamics is None else share([s for s in limited if s in known], lambda s: dynamics[s] >= threshold)
        ),
    }


def same(found: Any, expected: Any, where: str = "") -> None:
    if isinstance(expected, dict):
        assert isinstance(found, dict) and set(found) == set(expected), where
        for name in expected:
            same(found[name], expected[name], f"{where}.{name}")
    elif expected is None or isinstance(expected, int):
        assert found == expected, where
    else:
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-12), where


@pytest.mark.parametrize("seed", range(6))
def test_every_number_is_what_loops_count(seed: int, tmp_path: Path) -> None:
    pools = random_pools(seed, logs=5, frames=9, plans=5, passing=(0.1, 0.25, 0.5)[seed % 3])
    # Coarse utilities, so that there are ties; a near-tie at a distance that floats hold exactly counts as one.
    pools = replace(pools, utility_v2=np.round(4 * pools.utility_v2).astype(np.float32) / 4)
    dynamics = np.random.default_rng(seed).random(len(pools))
    dynamics[::7] = np.nan
    given = dynamics if seed % 2 else None
    finding = taxonomy(pools, near_tie=0.25, draws=DRAWS, dynamics=given)
    expected = recount(
        list(pools.log_names),
        pools.paired.tolist(),
        pools.utility_v2,
        pools.continues,
        pools.human_continues,
        0.25,
        given,
    )
    same(finding.numbers, expected)
    assert all(part["failures"] for part in finding.numbers["classes"].values()), "a case without one of the classes"
    assert set(json.loads(finding.save(tmp_path, "test").with_suffix(".json").read_text())["numbers"]) == set(expected)


def folder_of(pools: ScoredPools, where: Path) -> PoolFolder:
    """Random pools and their outcomes as files."""
    folder = PoolFolder.begin(where, pools.about)
    logs = np.asarray(pools.log_names)
    for name in sorted(set(pools.log_names)):
        there = np.flatnonzero(logs == name)
        log = LogPool(
            name, tuple(pools.tokens[s] for s in there), pools.time_us[there], pools.plans[there],
            pools.utility_v1[there], pools.utility_v2[there],
        )  # fmt: skip
        folder.write(log)
        parts = {field: getattr(pools, field)[there] for field in LogOutcomes._fields}
        write_outcomes(folder.outcomes_path(name), log, LogOutcomes(**parts), b"{}")
    return folder


def test_it_is_a_function_of_the_pool_files(tmp_path: Path) -> None:
    folder = folder_of(random_pools(3, logs=3, frames=8, plans=6, passing=0.15), tmp_path / "pools")
    logs, paired, utility, continues, human = [], [], [], [], []
    for path in sorted((tmp_path / "pools").glob("*.arrow")):
        pool = pa.ipc.open_file(str(path)).read_all()
        outcome = pa.ipc.open_file(str(tmp_path / "pools" / "outcomes" / path.name)).read_all()
        for frame in range(len(pool)):
            row = pool["utility_v2"][frame].as_py()
            bits = "".join(f"{byte:08b}" for byte in outcome["continues"][frame].as_py())
            flags = [bit == "1" for bit in bits[: len(row) ** 2]]
            logs.append(path.stem)
            paired.append(not np.isnan(outcome["interval"][frame].as_py()))
            utility.append(row)
            continues.append([flags[start : start + len(row)] for start in range(0, len(flags), len(row))])
            human.append(outcome["human_continues"][frame].as_py())

    read = ((log, read_outcomes(folder.outcomes_path(log.log_name), log.plans.shape[1])) for log in folder)
    pools = ScoredPools.join({**folder.about, "lqr": "navsim"}, read)
    same(taxonomy(pools, draws=DRAWS).numbers, recount(logs, paired, utility, continues, human, 4.1e-5, None))


def test_no_sequence_passes_more_often_than_the_smoothest() -> None:
    pools = random_pools(2, logs=2, frames=5, plans=3, passing=0.3)
    each = [
        max(
            sum(pools.continues[s, taken[s - start], taken[s - start - 1]] for s in range(start + 1, start + 5)
                if pools.paired[s])
            for taken in itertools.product(range(3), repeat=5)
        )
        for start in (0, 5)
    ]  # fmt: skip
    assert np.nansum(continued(pools, smoothest(pools))) == sum(each)


def test_pools_without_failures_leave_nothing_to_classify(tmp_path: Path) -> None:
    pools = replace(random_pools(1), continues=np.ones_like(random_pools(1).continues))
    finding = taxonomy(pools, draws=DRAWS)
    assert finding.numbers["failures"] == 0
    assert finding.numbers["classes"]["conflict"] == {"failures": 0, "share": None, "repaired": None}
    assert "nothing to classify" in finding.remarks[0]
    finding.save(tmp_path, "test")


def test_dynamics_must_fit() -> None:
    with pytest.raises(ValueError, match="one number for each"):
        taxonomy(random_pools(), draws=DRAWS, dynamics=np.zeros(3))
