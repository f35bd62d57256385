"""The verb that tells all about a run on one page: report."""

from __future__ import annotations

from world4scorer.cli.arguments import MaybeFile, MaybeFolder, MaybeSplit, RunOrPools


def report(
    source: RunOrPools,
    /,
    out: MaybeFile = None,
    split: MaybeSplit = None,
    store: MaybeFolder = None,
) -> int:
    """Write one HTML page with all that a run knows.

    Evaluation, learning curves, studies, frames, configuration. The page stands alone: no other file, no network, no
    script. What was not made yet is named with its command.

    Example: w4s report runs/city

    Args:
        source: Folder of a training run, or a folder of pools.
        out: The page; SOURCE/report.html unless given.
        split: Whose pools to show; those of the validation split unless given.
        store: Scene store of the pools, if it is not where they say.
    """
    from world4scorer.cli.learn import needs_torch
    from world4scorer.evaluation.pools.open import is_pools, is_run_folder

    if is_run_folder(source) and not is_pools(source):
        needs_torch("w4s report")
    from world4scorer.reporting.report.write import write_report

    path = write_report(source, out, split, store)
    print(f"written: {path}, {path.stat().st_size / 1e6:.1f} MB")
    return 0
