"""Official tables of `w4s evaluate`: of submissions for one stage, and of agents that need no model."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from world4scorer.cli.arguments import Benchmark, Lqr
from world4scorer.cli.exit_codes import UsageError

AgentName = Literal["human", "constant-velocity", "stationary"]


def write_official_table(
    source: Path | None,
    out: Path | None,
    store: Path | None,
    split: str | None,
    agents: tuple[AgentName, ...],
    metric: Benchmark | None,
    official: Path | None,
    allow_missing: bool,
    lqr: Lqr,
) -> int:
    """Write a CSV as the official one-stage scripts do, and print its means."""
    from world4scorer.cli.console_tables import print_official, print_scores, print_tables
    from world4scorer.datasets.navsim.submissions import read_submission
    from world4scorer.datasets.store import SceneStore
    from world4scorer.evaluation.scores.official_scores import compare_with_official
    from world4scorer.evaluation.scores.reports import compare_agents, evaluate_one_stage
    from world4scorer.evaluation.scores.tables import agent_tables

    if out is None or out.suffix != ".csv":
        raise UsageError(f"--out {out}: must end in .csv for --agents and --metric")
    if store is None:
        raise UsageError("--store: name the scene store to evaluate on")
    if agents and (metric is not None or split is not None or allow_missing):
        raise UsageError(
            "--agents: scored by both metrics on all recorded frames; --metric, --split and --allow-missing "
            "belong to submissions"
        )
    if official is not None and agents:
        raise UsageError("--official: compares the table of a submission; leave out --agents")
    if split is not None:
        raise UsageError(f"--split {split}: not a two-stage split; the store says which frames an official table has")
    scenes = SceneStore(store)
    if source is None:
        print_tables(agent_tables(compare_agents(scenes, agents, out, lqr)))
        return 0
    plans = read_submission(source)
    table = evaluate_one_stage(scenes, plans, out, metric or "epdms-v2.2", lqr, allow_missing)
    print_scores(table, out)
    if official is not None:
        print_official(compare_with_official(table, official))
    return 0
