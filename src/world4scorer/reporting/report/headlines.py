"""The numbers that a report begins with, each with its source and, where there is one, the paper's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from world4scorer.evaluation.pools.choices import continued, framewise, inertial
from world4scorer.evaluation.pools.scored import ScoredPools
from world4scorer.evaluation.scores.bootstrap import LogBootstrap
from world4scorer.evaluation.scores.paper import paper
from world4scorer.jobs.run_folder import RunFolder
from world4scorer.reporting.report.contents import Contents, Training
from world4scorer.reporting.report.page import Html, tile, tiles

HISTORY = RunFolder(Path()).history_file.name
MARK = "paper, NAVSIM"
MINUTE = 60.0


def headlines(contents: Contents) -> Html:
    """Scores of the pools if there are any, else of the last validation; then the training."""
    shown: list[Html] = []
    if contents.pools is not None:
        shown += _of_pools(contents.pools, contents.pools_name)
    if contents.training is not None and contents.training.curves.history:
        shown += _of_training(contents.training, contents.pools is None)
    return tiles(shown) if shown else Html("")


def _of_pools(pools: ScoredPools, where: str) -> Iterator[Html]:
    bootstrap, reported = LogBootstrap(pools.log_names), _reported()

    def percent(values: Any) -> tuple[str, str]:
        found = bootstrap.mean(values).times(100)
        return f"{found.value:.1f}", f"95 % interval over logs {found.low:.1f} to {found.high:.1f}"

    first = framewise(pools.utility_v1)
    value, interval = percent(pools.at(pools.pdms, first))
    best, drawn = (percent(part)[0] for part in (pools.pdms.max(1), pools.pdms.mean(1)))
    detail = f"{interval}; pool oracle {best}, random pick {drawn}"
    yield tile("PDMS v1.1 of the selected plan", value, detail, f"{MARK}: {reported['framewise']['PDMS']}", where)
    off, on = framewise(pools.utility_v2), inertial(pools, pools.utility_v2)
    for name, chosen, key in (("framewise", off, "framewise"), ("with inertial re-ranking", on, "reranked")):
        value, interval = percent(pools.epdms(chosen))
        yield tile(f"EPDMS v2.2, {name}", value, interval, f"{MARK}: {reported[key]['EPDMS']}", where)
    if pools.paired.any():
        before, after = (percent(continued(pools, chosen)) for chosen in (off, on))
        comfort = [reported[key]["EC"] for key in ("framewise", "reranked")]
        detail, there = f"{after[1]}; framewise {before[0]}", f"{MARK}: {comfort[1]}; framewise {comfort[0]}"
        yield tile("Extended comfort, re-ranked", after[0], detail, there, where)


def _of_training(training: Training, alone: bool) -> Iterator[Html]:
    last = training.curves.history[-1]
    if alone:
        detail = f"pool oracle {100 * last['val/oracle']:.1f}, random pick {100 * last['val/random']:.1f}"
        reported = f"{MARK}: {_reported()['framewise']['PDMS']}"
        yield tile("PDMS v1.1 of the selected plan", f"{100 * last['val/score']:.1f}", detail, reported, HISTORY)
    ordering = f"{100 * last['val/ordering']:.1f}\u00a0%"
    yield tile("Pairs of plans in the true order", ordering, "last validation; 50 % is chance", "", HISTORY)
    seconds = last["seconds"]
    lasted = f"{seconds / MINUTE:.1f} min" if seconds < 120 * MINUTE else f"{seconds / MINUTE / 60:.1f} h"
    yield tile("Training", lasted, f"{last['step']:,.0f} steps, {last['epoch']:.0f} epochs", "", HISTORY)


def _reported() -> dict[str, dict[str, Any]]:
    table = paper("navsim")
    return {name: dict(zip(table["columns"], table[f"ours_{name}"], strict=True)) for name in ("framewise", "reranked")}
