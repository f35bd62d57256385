"""Time to make the bank of a scene, and to draw from a pack as training does.

    python benchmarks/bank.py --store scenes --pack bank

Writes results/bank.json and results/bank.md. Processor time of one thread, best of several repeats.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import numpy as np
import tyro

from world4scorer.datasets.store import SceneStore
from world4scorer.drawing.finding import Table
from world4scorer.engine.outcomes import label
from world4scorer.planner.bank import BankConfig, CandidateBank, bank_statistics
from world4scorer.planner.bank.choice import find_distinct, is_unsafe
from world4scorer.planner.bank.perturbations import Perturbations
from world4scorer.planner.bank.report import family_table, statistics_table
from world4scorer.planner.bank.scene_bank import build_scene_bank

ROOT = Path(__file__).resolve().parents[1]
REPEATS = 5
PROPOSALS = (96, 128, 192, 256)


def best(function: Callable[[], object]) -> float:
    """Seconds of processor time: other programs may be running."""
    took = []
    for _ in range(REPEATS):
        start = time.process_time()
        function()
        took.append(time.process_time() - start)
    return min(took)


def making(store: SceneStore, count: int) -> dict[str, float]:
    """Milliseconds per scene."""
    config = BankConfig()
    proposer = Perturbations(config)
    tokens = store.tokens[:: max(1, len(store) // count)]
    scenes = [scene for scene in (store[token] for token in tokens) if scene.human_future is not None]
    proposed = [proposer.propose(scene, 0) for scene in scenes]
    label(scenes[0], proposed[0].plans)
    each = 1e3 / len(scenes)
    return {
        "propose": each * best(lambda: [proposer.propose(scene, 0) for scene in scenes]),
        "label": each * best(lambda: [label(s, p.plans).table for s, p in zip(scenes, proposed, strict=True)]),
        "find duplicates": each * best(lambda: [find_distinct(p.plans, config) for p in proposed]),
        "whole bank, further rounds included": each
        * best(lambda: [build_scene_bank(s, proposer, config) for s in scenes]),
    }


def needed(store: SceneStore, count: int, proposals: int) -> dict[str, float]:
    """What one round of so many proposals gives: candidates kept, and shares of scenes that lack a kind."""
    config = BankConfig(proposals=proposals, rounds=1)
    kept, unsafe = [], []
    for token in store.tokens[:: max(1, len(store) // count)]:
        bank = build_scene_bank(store[token], Perturbations(config), config)
        kept.append(len(bank.plans))
        unsafe.append(int(is_unsafe(bank.labels).sum()))
    others = np.subtract(kept, unsafe)
    return {
        "kept": float(np.mean(kept)),
        "fewer than 8 unsafe": float(np.mean(np.less(unsafe, 8))),
        "fewer than 8 others": float(np.mean(others < 8)),
        "fewer than 32 unsafe": float(np.mean(np.less(unsafe, 32))),
        "fewer than 32 others": float(np.mean(others < 32)),
    }


def drawing(pack: CandidateBank, batch: int) -> float:
    """Microseconds per scene, with a seed for each."""
    rng = np.random.default_rng(0)
    batches = [[pack.tokens[row] for row in rng.integers(0, len(pack), batch)] for _ in range(20)]
    seeds = [(3, i) for i in range(batch)]
    return 1e6 / batch / len(batches) * best(lambda: [pack.draw_batch(tokens, seeds) for tokens in batches])


def main(store: Path, pack: Path, scenes: int = 200, out: Path = ROOT / "results" / "bank") -> None:
    """Measure and write the tables."""
    opened = CandidateBank.open(pack)
    found = bank_statistics(opened)
    make = making(SceneStore(store), scenes)
    draw = {f"batch of {batch}": drawing(opened, batch) for batch in (16, 64)}
    rounds = {str(number): needed(SceneStore(store), 2 * scenes, number) for number in PROPOSALS}
    values = {
        "proposals in one round": rounds,
        "make [ms per scene]": make,
        "draw [us per scene]": draw,
        "pack": asdict(found),
    }
    out.with_suffix(".json").write_text(json.dumps(values, indent=1) + "\n")
    kept = tuple(
        (name, f"{row['kept']:.1f}", *(f"{share:.1%}" for part, share in row.items() if part != "kept"))
        for name, row in rounds.items()
    )
    parts = [
        "# Candidate banks\n",
        "`python benchmarks/bank.py --store STORE --pack PACK`; processor time of one thread.\n",
        Table("Make", ("make", "ms per scene"), tuple((n, f"{value:.2f}") for n, value in make.items())).markdown(),
        Table("Rounds", ("proposals in one round", *rounds["128"]), kept).markdown(),
        Table("Draw", ("draw", "us per scene"), tuple((n, f"{value:.0f}") for n, value in draw.items())).markdown(),
        "The pack (`w4s bank info PACK`):\n",
        statistics_table(found).markdown(),
        family_table(found).markdown(),
    ]
    out.with_suffix(".md").write_text("\n".join(parts))
    print(out.with_suffix(".md").read_text())


if __name__ == "__main__":
    tyro.cli(main)
