"""The `w4s` command: one function for each verb. Heavy imports happen inside the verb that needs them.

w4s score scenes/ --metric all --out scores
w4s rerank scenes/ --weight 1.0 --out choices
w4s doctor
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Literal

import tyro

Paths = Annotated[tuple[Path, ...], tyro.conf.Positional]
Metric = Literal["labels-v1", "pdms-v1.1", "epdms-v2.2", "epdms-pre151", "all"]
Lqr = Literal["navsim", "corrected"]

INPUT_FAILED = 1
"""Exit code when an input could not be used; 2 is a wrong command line."""


def score(files: Paths, /, out: Path, metric: Metric = "all", lqr: Lqr = "navsim", threads: int | None = None) -> int:
    """Score every plan of exchange files: one result file for each, and a table of means.

    Args:
        files: Exchange files (.npz), or folders of them.
        out: Folder for the results, one .npz of the same name for each file.
        metric: Which outcomes to compute.
        lqr: Tracker of the rollouts: as the official simulator has it, or with the intended jerk penalty.
        threads: Files scored at a time; one for each core unless given.
    """
    from world4scorer.evaluation.exchange_files import exchange_files, score_files
    from world4scorer.evaluation.tables import print_means
    from world4scorer.outcomes.batch import set_threads

    if threads is not None:
        set_threads(threads)
    scored = list(score_files(exchange_files(files), metric, out, lqr))
    print_means(scored)
    return _report_failures([result.error for result in scored if result.error is not None], len(scored))


def rerank(files: Paths, /, out: Path, weight: float = 1.0, lqr: Lqr = "navsim") -> int:
    """Choose plan after plan along each file with inertial re-ranking, by the utilities it holds.

    Args:
        files: Exchange files (.npz) with utilities, or folders of them.
        out: Folder for the choices, one .npz of the same name for each file.
        weight: How much consistency with the last choice counts against utility; 0 turns it off.
        lqr: Tracker of the rollouts.
    """
    from world4scorer.evaluation.exchange_files import exchange_files
    from world4scorer.evaluation.rerank_files import rerank_files
    from world4scorer.evaluation.tables import print_reranked

    results = list(rerank_files(exchange_files(files), weight, out, lqr))
    print_reranked(results, weight)
    return _report_failures([result.error for result in results if result.error is not None], len(results))


def doctor() -> int:
    """Check this installation: versions, threads, kernel cache, and a numerical self-test against stored values."""
    from world4scorer.doctor import examine

    findings = examine()
    for finding in findings:
        print(f"{'ok  ' if finding.sound else 'BAD '} {finding.topic:22s} {finding.text}")
    return 0 if all(finding.sound for finding in findings) else INPUT_FAILED


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a verb and return the exit code: 0, 1 where an input could not be used, 2 for a wrong command line."""
    verbs: dict[str, Callable[..., int]] = {"score": score, "rerank": rerank, "doctor": doctor}
    try:
        return int(
            tyro.extras.subcommand_cli_from_dict(
                verbs,
                prog="w4s",
                description="Score driving plans that nobody executed.",
                args=arguments,
                sort_subcommands=False,
            )
        )
    except (ValueError, OSError) as error:  # what a user can cause; anything else is ours and keeps its traceback
        print(f"w4s: {error}", file=sys.stderr)
        return INPUT_FAILED


def _report_failures(errors: Sequence[str], total: int) -> int:
    for error in errors:
        print(f"w4s: {error}", file=sys.stderr)
    if errors:
        print(f"w4s: {len(errors)} of {total} files could not be used; the others are done", file=sys.stderr)
    return INPUT_FAILED if errors else 0


if __name__ == "__main__":
    sys.exit(main())
