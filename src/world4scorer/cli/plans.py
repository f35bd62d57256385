"""Commands of `With plans of any planner`: score, rerank."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from world4scorer.cli.arguments import Folder, Lqr, OptionalCount, PositionalPaths
from world4scorer.cli.exit_codes import INPUT_ERROR, UsageError

Metric = Literal["labels-v1", "pdms-v1.1", "epdms-v2.2", "epdms-pre151", "all"]


def score(
    files: PositionalPaths, /, out: Folder, metric: Metric = "all", lqr: Lqr = "navsim", threads: OptionalCount = None
) -> int:
    """Score every plan of exchange files.

    Writes one result file for each, and prints a table of means.

    Example: w4s score scenes/ --metric all --out scores

    Args:
        files: Exchange files (.npz), or folders of them.
        out: Folder for the results, one .npz of the same name for each file.
        metric: Which outcomes to compute.
        lqr: Tracker of the rollouts: as in the official simulator, or with the intended jerk penalty.
        threads: Files at a time; one for each core unless given.
    """
    from world4scorer.cli.console_tables import print_tables
    from world4scorer.engine.outcomes.batch import set_threads
    from world4scorer.evaluation.scores.exchange_files import exchange_files, score_files
    from world4scorer.evaluation.scores.tables import mean_tables

    _check_given(files)
    if threads is not None:
        set_threads(threads)
    scored = list(score_files(exchange_files(files), metric, out, lqr))
    print_tables(mean_tables(scored), total=True)
    return _report_failures([result.error for result in scored if result.error is not None], len(scored))


def rerank(files: PositionalPaths, /, out: Folder, weight: float = 1.0, lqr: Lqr = "navsim") -> int:
    """Select plans along logs with inertial re-ranking.

    Each exchange file holds the frames of a log in time order, with utilities of their plans.

    Example: w4s rerank logs/ --weight 1.0 --out choices

    Args:
        files: Exchange files (.npz) with utilities, or folders of them.
        out: Folder for the choices, one .npz of the same name for each file.
        weight: How much consistency with the last choice counts; 0 turns re-ranking off.
        lqr: Tracker of the rollouts: as in the official simulator, or with the intended jerk penalty.
    """
    from world4scorer.cli.console_tables import print_tables
    from world4scorer.evaluation.scores.exchange_files import exchange_files, rerank_files
    from world4scorer.evaluation.scores.tables import reranked_tables

    _check_given(files)
    results = list(rerank_files(exchange_files(files), weight, out, lqr))
    print_tables(reranked_tables(results, weight))
    return _report_failures([result.error for result in results if result.error is not None], len(results))


def _check_given(files: Sequence[Path]) -> None:
    if not files:
        raise UsageError("no exchange files given; name .npz files, or folders of them")


def _report_failures(errors: Sequence[str], total: int) -> int:
    for error in errors:
        print(f"w4s: {error}", file=sys.stderr)
    if errors and total > 1:
        print(f"w4s: {len(errors)} of {total} files could not be used; the others are done", file=sys.stderr)
    return INPUT_ERROR if errors else 0
