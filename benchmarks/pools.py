"""What it costs to judge pools, and to know every pair of consecutive plans at once.

    python benchmarks/pools.py

Writes results/pools.json and results/pools.md. On the bundled golden logs, one thread. Pairs: which of 64 plans
continue which of 64 of the frame before, by one call of `extended_comfort_pairs`, against one call of
`extended_comfort` for each of the 64. Choosing: `inertial` on the flags that are kept, against `InertialReranker` on
scenes and plans.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from world4scorer import InertialReranker, epdms, extended_comfort, pdms, read_exchange, roll_out
from world4scorer.datasets.store import SceneStore, write_shard
from world4scorer.engine.outcomes.extended_comfort import extended_comfort_pairs
from world4scorer.evaluation.pools import LogPool, ScoredPools, inertial
from world4scorer.evaluation.pools.outcome_files import judge_log

ROOT = Path(__file__).resolve().parents[1]
LOGS = sorted((ROOT / "tests" / "golden" / "outcomes").glob("*_log*.npz"))
ROUNDS = 15


def main() -> None:
    """Measure and write."""
    with tempfile.TemporaryDirectory() as folder:
        logs = [read_exchange(path) for path in LOGS]
        for frames in logs:
            write_shard(folder, frames[0].scene.log_name, [frame.scene for frame in frames])
        store = SceneStore(folder)
        pools = [as_pool(frames) for frames in logs]
        judged = ScoredPools.join({}, [(log, judge_log(log, store)) for log in pools])
        frames = [frame for log in logs for frame in log]
        now, before = (roll_out(frames[place].scene, frames[place].plans) for place in (3, 2))

        def reranked() -> None:
            reranker = InertialReranker()
            for frame in frames:
                reranker.choose(frame.scene, frame.plans, frame.utilities)

        count = len(frames)
        found = {
            "judge": best(lambda: [judge_log(log, store) for log in pools]) / count,
            "pdms_and_epdms": best(lambda: [(pdms(f.scene, f.plans), epdms(f.scene, f.plans)) for f in frames]) / count,
            "pairs_at_once": best(lambda: extended_comfort_pairs(now, before, 0.5)),
            "pairs_one_by_one": best(lambda: [extended_comfort(now, one, 0.5) for one in before]),
            "choose_from_files": best(lambda: inertial(judged, judged.utility_v2)) / count,
            "choose_from_scenes": best(reranked) / count,
        }
    rows = {
        "judge a frame: PDMS, EPDMS, all pairs": ("judge", None),
        "of which PDMS and EPDMS of 64 plans": ("pdms_and_epdms", None),
        "64 x 64 pairs at once; one previous plan at a time": ("pairs_at_once", "pairs_one_by_one"),
        "re-rank a frame from files; from scene and plans": ("choose_from_files", "choose_from_scenes"),
    }
    lines = ["# Pools", "", "`python benchmarks/pools.py`; one thread, the fastest of 15 rounds.", ""]
    lines += ["| | ms | otherwise, ms | times |", "|---|---|---|---|"]
    for title, (name, other) in rows.items():
        beside = "|  |" if other is None else f"{1e3 * found[other]:.2f} | {found[other] / found[name]:.0f} |"
        lines.append(f"| {title} | {1e3 * found[name]:.3f} | {beside}")
    (ROOT / "results" / "pools.md").write_text("\n".join(lines) + "\n")
    (ROOT / "results" / "pools.json").write_text(json.dumps({"seconds": found, "frames": count}, indent=1) + "\n")
    print("\n".join(lines))


def as_pool(frames) -> LogPool:
    """The pools of an exchange file."""
    worth = np.stack([frame.utilities for frame in frames])
    plans = np.stack([frame.plans for frame in frames])
    times = np.array([frame.scene.time_us for frame in frames])
    return LogPool(frames[0].scene.log_name, tuple(f.scene.token for f in frames), times, plans, worth, worth)


def best(work: Callable[[], object]) -> float:
    """Seconds of the fastest round."""
    seconds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


if __name__ == "__main__":
    main()
